/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/cann/job.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

void job_install(const char *version)
{
    char folder[PATH_MAX];
    char server[32];
    snprintf(folder, sizeof folder, "%s/cann-%s", STANDIN_FOLDER, version);
    snprintf(server, sizeof server, "test%d", (int)getpid());
    setenv("ASCEND_HOME_PATH", folder, 1);
    setenv("CANN_SERVER", server, 1);
    unsetenv("ASCEND_TOOLKIT_HOME");
    unsetenv("ASCEND_RT_VISIBLE_DEVICES");
    unsetenv("CANN_VERSION");
}

void seat_take(seat_t *seat, int device)
{
    char why[512];
    memset(seat, 0, sizeof *seat);
    seat->size = 1;
    process_require(cann_open(&seat->cann, why, sizeof why) == MPINPU_OK, "%s", why);
    process_require(cann_start(&seat->cann, why, sizeof why) == MPINPU_OK, "%s", why);
    expect_code(seat, seat->cann.aclrtSetDevice(device), ACL_SUCCESS);
    expect_code(seat, seat->cann.aclrtCreateStream(&seat->stream), ACL_SUCCESS);
}

void seat_leave(seat_t *seat, int device)
{
    expect_code(seat, seat->cann.aclrtDestroyStream(seat->stream), ACL_SUCCESS);
    expect_code(seat, seat->cann.aclrtResetDevice(device), ACL_SUCCESS);
}

HcclResult job_communicator(seat_t *seat, process_t *self, HcclComm *comm)
{
    HcclRootInfo *all = calloc((size_t)self->size, sizeof *all);
    HcclRootInfo mine;
    HcclResult code = HCCL_SUCCESS;
    process_require(all != NULL, "no memory");
    memset(&mine, 0, sizeof mine);
    if (self->rank == 0) {
        code = seat->cann.HcclGetRootInfo(&mine);
    }
    process_allgather(self, &mine, all, sizeof mine);
    seat->rank = self->rank;
    seat->size = self->size;
    if (code == HCCL_SUCCESS && all[0].internal[0] != '\0') {
        code = seat->cann.HcclCommInitRootInfo((uint32_t)self->size, &all[0], (uint32_t)self->rank, comm);
    }
    free(all);
    return code;
}

void *device_new(seat_t *seat, const void *bytes, size_t count)
{
    void *device = NULL;
    expect_code(seat, seat->cann.aclrtMalloc(&device, count, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    if (bytes != NULL) {
        expect_code(seat, seat->cann.aclrtMemcpy(device, count, bytes, count, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
    }
    return device;
}

void device_read(seat_t *seat, void *bytes, const void *device, size_t count)
{
    expect_code(seat, seat->cann.aclrtMemcpy(bytes, count, device, count, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The loader of engine/hccl/cann.c: which libraries it finds, what it says where they are not there or not whole. */
#include "tests/cann/job.h"

#include <criterion/criterion.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char why[512];
static char described[16384];

/* A row's cells with bars between them. */
static void row_keep(void *context, unsigned count, const char *const *cells)
{
    (void)context;
    for (unsigned c = 0; c < count; c++) {
        strncat(described, cells[c], sizeof described - strlen(described) - 2);
        strcat(described, c + 1 < count ? "|" : "\n");
    }
}

static void describe(const cann_t *cann)
{
    described[0] = '\0';
    cann_describe(cann, row_keep, NULL);
}

static void expect_said(const char *text, const char *words)
{
    cr_assert(strstr(text, words) != NULL, "'%s' does not say '%s'", text, words);
}

Test(loader, finds_8_2)
{
    cann_t cann;
    job_install("8.2.RC1");
    setenv("CANN_SOC", "Ascend910B3", 1);
    setenv("CANN_DEVICES", "4", 1);
    cr_assert_eq(cann_open(&cann, why, sizeof why), MPINPU_OK, "%s", why);
    cr_assert_eq(cann_start(&cann, why, sizeof why), MPINPU_OK, "%s", why);
    cr_expect_str_eq(cann.version, "8.2.RC1");
    cr_expect_str_eq(cann.soc, "Ascend910B3");
    cr_expect_eq(cann.devices, 4);
    cr_expect_not_null(cann.aclrtPointerGetAttributes);
    cr_expect_null(cann.aclrtGetPrimaryCtxState);
    cr_expect_null(cann.libraries[CANN_HCOMM].handle);
    describe(&cann);
    expect_said(described, "cann-8.2.RC1/lib64/libascendcl.so\n");
    expect_said(described, "cann-8.2.RC1/lib64/libhccl.so\n");
    expect_said(described, "version|8.2.RC1\n");
    expect_said(described, "SoC|Ascend910B3\ndevices|4\n");
    expect_said(described, "HcclReduceScatterV|found\n");
    expect_said(described, "aclrtGetPrimaryCtxState|missing|done without; CANN has it since 8.3\n");
}

/* A second start, as by the program itself, is right. */
Test(loader, starts_twice)
{
    cann_t cann;
    job_install("8.2.RC1");
    cr_assert_eq(cann_open(&cann, why, sizeof why), MPINPU_OK, "%s", why);
    cr_assert_eq(cann_start(&cann, why, sizeof why), MPINPU_OK, "%s", why);
    cr_assert_eq(cann_start(&cann, why, sizeof why), MPINPU_OK, "%s", why);
}

Test(loader, does_without_what_7_0_lacks)
{
    cann_t cann;
    job_install("7.0");
    cr_assert_eq(cann_open(&cann, why, sizeof why), MPINPU_OK, "%s", why);
    cr_assert_eq(cann_start(&cann, why, sizeof why), MPINPU_OK, "%s", why);
    cr_expect_null(cann.HcclReduceScatterV);
    cr_expect_null(cann.HcclCommInitRootInfoConfig);
    cr_expect_null(cann.aclrtPointerGetAttributes);
    cr_expect_not_null(cann.HcclAllReduce);
    expect_said(cann.version, "unknown, its ACL is 1.");
    describe(&cann);
    expect_said(described, "HcclReduceScatterV|missing|done without; CANN has it since 8.1\n");
}

/* From 8.5: libacl_rt.so in the place of libascendcl.so, communicators in libhcomm.so. */
Test(loader, finds_8_5)
{
    cann_t cann;
    job_install("8.5.0");
    cr_assert_eq(cann_open(&cann, why, sizeof why), MPINPU_OK, "%s", why);
    cr_assert_eq(cann_start(&cann, why, sizeof why), MPINPU_OK, "%s", why);
    cr_expect_not_null(cann.HcclCommInitRootInfo);
    cr_expect_not_null(cann.HcclAllReduce);
    cr_expect_not_null(cann.aclrtGetPrimaryCtxState);
    describe(&cann);
    expect_said(described, "lib64/libacl_rt.so\n");
    expect_said(described, "lib64/libhcomm.so\n");
    cr_expect(strstr(described, "missing") == NULL, "%s", described);
}

/* A folder with copies of the stand-in's files. */
static void folder_make(char *folder, size_t folder_bytes)
{
    snprintf(folder, folder_bytes, "/tmp/mpinpu-loader.XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
}

static void file_copy(const char *from, const char *folder, const char *name)
{
    char to[PATH_MAX];
    char bytes[4096];
    size_t count;
    snprintf(to, sizeof to, "%s/%s", folder, name);
    FILE *in = fopen(from, "rb");
    FILE *out = fopen(to, "wb");
    cr_assert(in != NULL && out != NULL, "%s, %s", from, to);
    while ((count = fread(bytes, 1, sizeof bytes, in)) > 0) {
        cr_assert_eq(fwrite(bytes, 1, count, out), count);
    }
    fclose(in);
    fclose(out);
}

static void folder_end(const char *folder)
{
    static const char *const names[] = {"libascendcl.so", "libhccl.so"};
    char path[PATH_MAX];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    rmdir(folder);
}

Test(loader, names_required_functions_that_are_missing)
{
    cann_t cann;
    char folder[64];
    job_install("7.0");
    folder_make(folder, sizeof folder);
    /* libhccl.so is there and has none of HCCL's functions. */
    file_copy(STANDIN_FOLDER "/cann-7.0/lib64/libascendcl.so", folder, "libascendcl.so");
    file_copy(STANDIN_FOLDER "/cann-7.0/lib64/libascendcl.so", folder, "libhccl.so");
    setenv("ASCEND_HOME_PATH", folder, 1);
    mpinpu_status_t status = cann_open(&cann, why, sizeof why);
    folder_end(folder);
    cr_assert_eq(status, MPINPU_ERR_UNSUPPORTED);
    expect_said(why, "lacks HcclGetRootInfo, HcclCommInitRootInfo, HcclCommDestroy, HcclAllReduce, HcclReduceScatter");
    expect_said(why, folder);
    describe(&cann);
    expect_said(described, "HcclAllReduce|missing|needed\n");
    expect_said(described, "aclrtMalloc|found\n");
}

Test(loader, says_why_a_file_does_not_load)
{
    cann_t cann;
    char folder[64];
    job_install("7.0");
    folder_make(folder, sizeof folder);
    file_copy("/proc/self/environ", folder, "libascendcl.so");
    setenv("ASCEND_HOME_PATH", folder, 1);
    mpinpu_status_t status = cann_open(&cann, why, sizeof why);
    folder_end(folder);
    cr_assert_eq(status, MPINPU_ERR_UNSUPPORTED);
    expect_said(why, "CANN's libascendcl.so does not load: ");
    expect_said(why, folder);
}

Test(loader, says_that_there_is_no_cann)
{
    cann_t cann;
    if (access("/usr/local/Ascend", F_OK) == 0) {
        cr_skip_test("this machine has a CANN");
    }
    job_install("7.0");
    setenv("ASCEND_HOME_PATH", "/nonexistent", 1);
    cr_assert_eq(cann_open(&cann, why, sizeof why), MPINPU_ERR_UNSUPPORTED);
    expect_said(why, "no CANN here: libascendcl.so or libacl_rt.so is in none of ");
    describe(&cann);
    expect_said(described, "libascendcl.so|not found\n");
    cr_expect(strstr(described, "function") == NULL, "%s", described);
}

Test(loader, says_that_stubs_are_loaded)
{
    cann_t cann;
    job_install("8.2.RC1");
    setenv("CANN_STUB", "1", 1);
    cr_assert_eq(cann_open(&cann, why, sizeof why), MPINPU_OK, "%s", why);
    cr_assert_eq(cann_start(&cann, why, sizeof why), MPINPU_ERR_UNSUPPORTED);
    expect_said(why, "ACL_ERROR_COMPILING_STUB_MODE (100039): a stub of the library is loaded, no NPU");
}

Test(loader, says_that_there_is_no_device)
{
    cann_t cann;
    job_install("8.2.RC1");
    setenv("CANN_DEVICES", "0", 1);
    cr_assert_eq(cann_open(&cann, why, sizeof why), MPINPU_OK, "%s", why);
    cr_assert_eq(cann_start(&cann, why, sizeof why), MPINPU_ERR_UNSUPPORTED);
    expect_said(why, "ACL_ERROR_RT_NO_DEVICE (207004)");
    expect_said(why, "npu-smi info");
}

Test(loader, explains_codes)
{
    seat_t seat;
    void *memory = NULL;
    char text[1024];
    job_install("8.2.RC1");
    setenv("CANN_FAULT", "aclrtMalloc:1:207001", 1);
    seat_take(&seat, 0);
    aclError code = seat.cann.aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST);
    cr_assert_eq(code, ACL_ERROR_RT_MEMORY_ALLOCATION);
    cr_expect_eq(cann_acl_explain(&seat.cann, "aclrtMalloc", code, text, sizeof text), MPINPU_ERR_NO_MEMORY);
    expect_said(text, "aclrtMalloc failed: ACL_ERROR_RT_MEMORY_ALLOCATION (207001): memory is used up; ");
    expect_said(text, "; CANN says: E19999: aclrtMalloc: a fault on request (call 1)");
    cr_expect_eq(cann_hccl_explain(&seat.cann, "HcclAllReduce", HCCL_E_TIMEOUT, text, sizeof text), MPINPU_ERR_DEVICE);
    expect_said(text, "HcclAllReduce failed: HCCL_E_TIMEOUT (9): a rank did not come in time; look which rank");
    cr_expect_eq(cann_acl_explain(&seat.cann, "aclrtFree", 4711, text, sizeof text), MPINPU_ERR_DEVICE);
    expect_said(text, "(4711)");
    cr_expect_eq(cann_hccl_error(HCCL_E_NOT_SUPPORT)->status, MPINPU_ERR_UNSUPPORTED);
}

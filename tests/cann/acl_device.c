/* SPDX-License-Identifier: BSD-3-Clause */
/* aclInit, devices, contexts. */
#define _GNU_SOURCE
#include "tests/cann/standin.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int initialised_by; /* the process that called aclInit; 0: none */
static bool finalised;
static standin_context_t primaries[STANDIN_DEVICES_MAX];
static _Thread_local standin_context_t *current;

int standin_initialised(void)
{
    pid_t by = atomic_load(&initialised_by);
    if (by == 0) {
        return standin_refuse(ACL_ERROR_UNINITIALIZE, "EE1001: aclInit has not been called");
    }
    if (by != getpid()) {
        return standin_refuse(ACL_ERROR_RT_INTERNAL_ERROR, "EE9999: aclInit was called before the fork");
    }
    return ACL_SUCCESS;
}

standin_context_t *standin_context(int *code)
{
    *code = standin_initialised();
    if (*code != ACL_SUCCESS) {
        return NULL;
    }
    if (current == NULL || current->users == 0) {
        *code = standin_refuse(ACL_ERROR_RT_CONTEXT_NULL, "EE1001: the thread has no device");
        return NULL;
    }
    return current;
}

int standin_asked(void)
{
    if (atomic_load(&initialised_by) != getpid()) {
        return standin_fail(ACL_ERROR_UNINITIALIZE, "EE1001: aclInit has not been called");
    }
    if (current == NULL || current->users == 0) {
        return standin_fail(ACL_ERROR_RT_CONTEXT_NULL, "EE1001: the thread has no device");
    }
    return ACL_SUCCESS;
}

aclError aclInit(const char *configPath)
{
    STANDIN_ENTER(aclInit);
    int none = 0;
    if (configPath != NULL && access(configPath, R_OK) != 0) {
        return standin_refuse(ACL_ERROR_INVALID_PARAM, "EH0001: no file %s", configPath);
    }
    if (!atomic_compare_exchange_strong(&initialised_by, &none, (int)getpid())) {
        return ACL_ERROR_REPEAT_INITIALIZE;
    }
    return ACL_SUCCESS;
}

aclError aclFinalize(void)
{
    STANDIN_ENTER(aclFinalize);
    if (finalised) {
        return ACL_ERROR_REPEAT_FINALIZE;
    }
    if (atomic_exchange(&initialised_by, 0) == 0) {
        return standin_refuse(ACL_ERROR_UNINITIALIZE, "EE1001: aclInit has not been called");
    }
    finalised = true;
    return ACL_SUCCESS;
}

aclError aclrtGetVersion(int32_t *majorVersion, int32_t *minorVersion, int32_t *patchVersion)
{
    STANDIN_ENTER(aclrtGetVersion);
    if (majorVersion == NULL || minorVersion == NULL || patchVersion == NULL) {
        return standin_refuse(ACL_ERROR_INVALID_PARAM, "EH0002: a pointer is NULL");
    }
    *majorVersion = 1;
    *minorVersion = standin_release() >= 805 ? 16 : standin_release() >= 803 ? 15 : 12;
    *patchVersion = 0;
    return ACL_SUCCESS;
}

aclError aclsysGetCANNVersion(aclCANNPackageName name, aclCANNPackageVersion *version)
{
    STANDIN_ENTER(aclsysGetCANNVersion);
    if (version == NULL || name != ACL_PKG_NAME_CANN) {
        return standin_refuse(ACL_ERROR_INVALID_PARAM, "EH0002: the package or the pointer is not right");
    }
    memset(version, 0, sizeof *version);
    snprintf(version->version, sizeof version->version, "%s", standin_version());
    return ACL_SUCCESS;
}

/* The devices that this process sees, as the machine numbers them: ASCEND_RT_VISIBLE_DEVICES, ascending and without
   blanks; the list ends where it breaks the rule. */
static int devices_visible(int *physical)
{
    int all = (int)standin_number("CANN_DEVICES", 8);
    const char *list = getenv("ASCEND_RT_VISIBLE_DEVICES");
    int count = 0;
    all = all < 0 ? 0 : all > STANDIN_DEVICES_MAX ? STANDIN_DEVICES_MAX : all;
    if (list == NULL) {
        for (int i = 0; i < all; i++) {
            physical[count++] = i;
        }
        return count;
    }
    while (*list >= '0' && *list <= '9') {
        char *end = NULL;
        long device = strtol(list, &end, 10);
        if (device >= all || (count > 0 && device <= physical[count - 1])) {
            break;
        }
        physical[count++] = (int)device;
        list = *end == ',' ? end + 1 : end;
    }
    return count;
}

int standin_physical(int device)
{
    int physical[STANDIN_DEVICES_MAX];
    return device >= 0 && device < devices_visible(physical) ? physical[device] : -1;
}

aclError aclrtGetDeviceCount(uint32_t *count)
{
    STANDIN_ENTER(aclrtGetDeviceCount);
    int physical[STANDIN_DEVICES_MAX];
    int code = standin_initialised();
    if (code != ACL_SUCCESS) {
        return code;
    }
    if (count == NULL) {
        return standin_refuse(ACL_ERROR_INVALID_PARAM, "EH0002: count is NULL");
    }
    int devices = devices_visible(physical);
    if (devices == 0) {
        return standin_fail(ACL_ERROR_RT_NO_DEVICE, "EL0003: no device is visible");
    }
    *count = (uint32_t)devices;
    return ACL_SUCCESS;
}

const char *aclrtGetSocName(void)
{
    if (standin_enter("aclrtGetSocName") != 0 || atomic_load(&initialised_by) == 0) {
        return NULL;
    }
    return standin_soc();
}

aclError aclrtSetDevice(int32_t deviceId)
{
    STANDIN_ENTER(aclrtSetDevice);
    int code = standin_initialised();
    if (code != ACL_SUCCESS) {
        return code;
    }
    if (standin_physical(deviceId) < 0) {
        return standin_refuse(ACL_ERROR_RT_INVALID_DEVICEID, "EE1001: there is no device %d", deviceId);
    }
    pthread_mutex_lock(&lock);
    if (primaries[deviceId].users == 0) {
        primaries[deviceId].device = deviceId;
        primaries[deviceId].primary = true;
    }
    primaries[deviceId].users++;
    pthread_mutex_unlock(&lock);
    standin_account(ACCOUNT_DEVICES, 1);
    current = &primaries[deviceId];
    return ACL_SUCCESS;
}

/* The last reset ends what runs there; what the process has not freed stays in the account. */
aclError aclrtResetDevice(int32_t deviceId)
{
    STANDIN_ENTER(aclrtResetDevice);
    int code = standin_initialised();
    if (code != ACL_SUCCESS) {
        return code;
    }
    if (standin_physical(deviceId) < 0 || primaries[deviceId].users == 0) {
        return standin_refuse(ACL_ERROR_RT_INVALID_DEVICEID, "EE1001: device %d is not set", deviceId);
    }
    pthread_mutex_lock(&lock);
    bool last = --primaries[deviceId].users == 0;
    pthread_mutex_unlock(&lock);
    standin_account(ACCOUNT_DEVICES, -1);
    if (last) {
        standin_streams_stop(&primaries[deviceId]);
    }
    return ACL_SUCCESS;
}

aclError aclrtGetDevice(int32_t *deviceId)
{
    STANDIN_ENTER(aclrtGetDevice);
    int code = standin_initialised();
    if (code != ACL_SUCCESS) {
        return code;
    }
    if (current == NULL || current->users == 0) { /* a question, not a mistake: it is asked so */
        return standin_fail(ACL_ERROR_RT_CONTEXT_NULL, "EE1001: the thread has no device");
    }
    if (deviceId == NULL) {
        return standin_refuse(ACL_ERROR_INVALID_PARAM, "EH0002: deviceId is NULL");
    }
    *deviceId = current->device;
    return ACL_SUCCESS;
}

aclError aclrtGetPrimaryCtxState(int32_t deviceId, uint32_t *flags, int32_t *active)
{
    STANDIN_ENTER(aclrtGetPrimaryCtxState);
    int code = standin_initialised();
    if (code != ACL_SUCCESS) {
        return code;
    }
    if (standin_physical(deviceId) < 0 || active == NULL) {
        return standin_refuse(ACL_ERROR_INVALID_PARAM, "EE1001: device %d or the pointer is not right", deviceId);
    }
    if (flags != NULL) {
        *flags = 0;
    }
    *active = primaries[deviceId].users > 0;
    return ACL_SUCCESS;
}

aclError aclrtCreateContext(aclrtContext *context, int32_t deviceId)
{
    STANDIN_ENTER(aclrtCreateContext);
    int code = standin_initialised();
    if (code != ACL_SUCCESS) {
        return code;
    }
    if (context == NULL || standin_physical(deviceId) < 0) {
        return standin_refuse(ACL_ERROR_RT_INVALID_DEVICEID, "EE1001: there is no device %d", deviceId);
    }
    standin_context_t *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return standin_fail(ACL_ERROR_BAD_ALLOC, "EL0004: no memory");
    }
    made->device = deviceId;
    made->users = 1;
    current = made;
    *context = made;
    return ACL_SUCCESS;
}

/* The few bytes stay: a thread may have it as its own still. */
aclError aclrtDestroyContext(aclrtContext context)
{
    STANDIN_ENTER(aclrtDestroyContext);
    standin_context_t *made = context;
    if (made == NULL || made->primary || made->users == 0) {
        return standin_refuse(ACL_ERROR_INVALID_PARAM, "EE1001: not a context of aclrtCreateContext");
    }
    made->users = 0;
    standin_streams_stop(made);
    return ACL_SUCCESS;
}

aclError aclrtSetCurrentContext(aclrtContext context)
{
    STANDIN_ENTER(aclrtSetCurrentContext);
    standin_context_t *made = context;
    if (made == NULL || made->users == 0) {
        return standin_refuse(ACL_ERROR_INVALID_PARAM, "EE1001: no such context");
    }
    current = made;
    return ACL_SUCCESS;
}

aclError aclrtGetCurrentContext(aclrtContext *context)
{
    STANDIN_ENTER(aclrtGetCurrentContext);
    if (context == NULL) {
        return standin_refuse(ACL_ERROR_INVALID_PARAM, "EH0002: context is NULL");
    }
    if (current == NULL || current->users == 0) {
        return standin_fail(ACL_ERROR_RT_CONTEXT_NULL, "EE1001: the thread has no device");
    }
    *context = current;
    return ACL_SUCCESS;
}

aclError aclrtSetDeviceSatMode(aclrtFloatOverflowMode mode)
{
    STANDIN_ENTER(aclrtSetDeviceSatMode);
    int code;
    if (standin_context(&code) == NULL) {
        return code;
    }
    if (mode != ACL_RT_OVERFLOW_MODE_SATURATION && mode != ACL_RT_OVERFLOW_MODE_INFNAN) {
        return standin_refuse(ACL_ERROR_RT_PARAM_INVALID, "EE1001: no such mode: %d", (int)mode);
    }
    return ACL_SUCCESS;
}

aclError aclrtSynchronizeDevice(void)
{
    STANDIN_ENTER(aclrtSynchronizeDevice);
    int code;
    standin_context_t *context = standin_context(&code);
    return context == NULL ? code : standin_streams_wait(context);
}

/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "engine/hccl/cann.h"

#include "transport/log.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CANN_TYPE(NAME, BYTES) _Static_assert(sizeof(NAME) == (BYTES), #NAME);
#define CANN_PREFIX(NAME)
#define CANN_FIELD(TYPE, FIELD, OFFSET, BYTES) \
    _Static_assert(offsetof(TYPE, FIELD) == (OFFSET) && sizeof(((TYPE *)NULL)->FIELD) == (BYTES), #TYPE "." #FIELD);
#include "engine/hccl/cann_structs.def"
#undef CANN_TYPE
#undef CANN_PREFIX
#undef CANN_FIELD
_Static_assert(sizeof(HcclCommConfig) == 312, "the layout of version 6");

typedef enum need { REQUIRED, OPTIONAL } need_t;

typedef struct function_row {
    cann_library_id_t library;
    need_t need;
    const char *since;
    const char *name;
    size_t offset; /* of the pointer in cann_t */
} function_row_t;

static const function_row_t function_rows[] = {
#define CANN_FUNCTION(LIBRARY, NEED, SINCE, RESULT, NAME, PARAMETERS) \
    {CANN_##LIBRARY, NEED, SINCE, #NAME, offsetof(cann_t, NAME)},
#include "engine/hccl/cann_functions.def"
#undef CANN_FUNCTION
};
enum { FUNCTION_COUNT = sizeof function_rows / sizeof function_rows[0], NAMES_MAX = 2 };

static const char *const library_names[CANN_LIBRARY_COUNT][NAMES_MAX] = {
    [CANN_ACL] = {"libascendcl.so", "libacl_rt.so"}, /* the second replaces the first, from CANN 8.5 */
    [CANN_HCCL] = {"libhccl.so"},
    [CANN_HCOMM] = {"libhcomm.so"},
};

/* Where CANN is installed: a variable or a folder; its lib64 and itself are looked into. */
static const char *const places[] = {"$ASCEND_HOME_PATH", "$ASCEND_TOOLKIT_HOME", "/usr/local/Ascend/cann",
                                     "/usr/local/Ascend/ascend-toolkit/latest"};
enum { PLACE_COUNT = sizeof places / sizeof places[0] };

static void *function_get(const cann_t *cann, const function_row_t *row)
{
    void *address;
    memcpy(&address, (const char *)cann + row->offset, sizeof address);
    return address;
}

static void function_set(cann_t *cann, const function_row_t *row, void *address)
{
    memcpy((char *)cann + row->offset, &address, sizeof address);
}

static bool library_taken(cann_library_t *library, void *handle)
{
    struct link_map *map = NULL;
    if (handle == NULL) {
        return false;
    }
    library->handle = handle;
    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != NULL) {
        snprintf(library->path, sizeof library->path, "%s", map->l_name);
    }
    return true;
}

/* A file that is there but does not load is what the user must hear of, not that later places have none. */
static void failure_keep(char *failure, size_t failure_bytes, const char *text)
{
    if (failure[0] == '\0' && text != NULL) {
        snprintf(failure, failure_bytes, "%s", text);
    }
}

static bool library_open_in(cann_library_t *library, const char *folder, const char *name, char *failure,
                            size_t failure_bytes)
{
    char path[1024];
    int length = snprintf(path, sizeof path, "%s/%s", folder, name);
    if (length < 0 || (size_t)length >= sizeof path || access(path, F_OK) != 0) {
        return false;
    }
    if (library_taken(library, dlopen(path, RTLD_LAZY | RTLD_LOCAL))) {
        return true;
    }
    failure_keep(failure, failure_bytes, dlerror());
    return false;
}

/* By soname: one that the program has loaded, LD_LIBRARY_PATH, the loader's cache. */
static bool library_open_by_soname(cann_library_t *library, const char *name, char *failure, size_t failure_bytes)
{
    if (library_taken(library, dlopen(name, RTLD_LAZY | RTLD_LOCAL))) {
        return true;
    }
    const char *text = dlerror();
    if (text != NULL && strncmp(text, name, strlen(name)) != 0) { /* else it is the library itself that is nowhere */
        failure_keep(failure, failure_bytes, text);
    }
    return false;
}

static bool library_open(cann_library_t *library, const char *const *names, char *failure, size_t failure_bytes)
{
    for (int n = 0; n < NAMES_MAX && names[n] != NULL; n++) {
        if (library_open_by_soname(library, names[n], failure, failure_bytes)) {
            return true;
        }
    }
    for (int p = 0; p < PLACE_COUNT; p++) {
        const char *folder = places[p][0] == '$' ? getenv(places[p] + 1) : places[p];
        if (folder == NULL || folder[0] == '\0') {
            continue;
        }
        char lib64[1024];
        snprintf(lib64, sizeof lib64, "%s/lib64", folder);
        for (int n = 0; n < NAMES_MAX && names[n] != NULL; n++) {
            if (library_open_in(library, lib64, names[n], failure, failure_bytes) ||
                library_open_in(library, folder, names[n], failure, failure_bytes)) {
                return true;
            }
        }
    }
    return false;
}

static void functions_find(cann_t *cann, cann_library_id_t in, bool hccl)
{
    void *handle = cann->libraries[in].handle;
    for (int i = 0; handle != NULL && i < FUNCTION_COUNT; i++) {
        if ((function_rows[i].library != CANN_ACL) == hccl && function_get(cann, &function_rows[i]) == NULL) {
            function_set(cann, &function_rows[i], dlsym(handle, function_rows[i].name));
        }
    }
}

static bool functions_lack(const cann_t *cann, cann_library_id_t library)
{
    for (int i = 0; i < FUNCTION_COUNT; i++) {
        if (function_rows[i].library == library && function_get(cann, &function_rows[i]) == NULL) {
            return true;
        }
    }
    return false;
}

/* What is required and missing, by name: false if nothing is. */
static bool required_name(const cann_t *cann, char *text, size_t text_bytes)
{
    size_t length = 0;
    text[0] = '\0';
    for (int i = 0; i < FUNCTION_COUNT; i++) {
        if (function_rows[i].need == REQUIRED && function_get(cann, &function_rows[i]) == NULL && length < text_bytes) {
            length += (size_t)snprintf(text + length, text_bytes - length, "%s%s", length > 0 ? ", " : "",
                                       function_rows[i].name);
        }
    }
    return length > 0;
}

static mpinpu_status_t library_missing(cann_library_id_t library, const char *failure, char *why, size_t why_bytes)
{
    const char *second = library_names[library][1];
    if (failure[0] != '\0') {
        snprintf(why, why_bytes, "CANN's %s does not load: %s", library_names[library][0], failure);
    } else {
        snprintf(why, why_bytes,
                 "no CANN here: %s%s%s is in none of LD_LIBRARY_PATH, ASCEND_HOME_PATH, ASCEND_TOOLKIT_HOME, "
                 "/usr/local/Ascend/cann and /usr/local/Ascend/ascend-toolkit/latest",
                 library_names[library][0], second != NULL ? " or " : "", second != NULL ? second : "");
    }
    return MPINPU_ERR_UNSUPPORTED;
}

mpinpu_status_t cann_open(cann_t *cann, char *why, size_t why_bytes)
{
    char failure[512] = "";
    char names[512];

    memset(cann, 0, sizeof *cann);
    for (int id = CANN_ACL; id <= CANN_HCCL; id++) {
        if (!library_open(&cann->libraries[id], library_names[id], failure, sizeof failure)) {
            return library_missing((cann_library_id_t)id, failure, why, why_bytes);
        }
    }
    functions_find(cann, CANN_ACL, false);
    functions_find(cann, CANN_HCCL, true);
    /* Loaded already where libhccl.so needs it, as from CANN 8.5; the search is for packages that do not say so. */
    if (!library_taken(&cann->libraries[CANN_HCOMM], dlopen(library_names[CANN_HCOMM][0], RTLD_LAZY | RTLD_NOLOAD)) &&
        functions_lack(cann, CANN_HCOMM)) {
        library_open(&cann->libraries[CANN_HCOMM], library_names[CANN_HCOMM], failure, sizeof failure);
    }
    functions_find(cann, CANN_HCOMM, true);
    if (required_name(cann, names, sizeof names)) {
        snprintf(why, why_bytes, "this CANN (%s, %s) lacks %s", cann->libraries[CANN_ACL].path,
                 cann->libraries[CANN_HCCL].path, names);
        return MPINPU_ERR_UNSUPPORTED;
    }
    return MPINPU_OK;
}

static void version_find(cann_t *cann)
{
    aclCANNPackageVersion package;
    int32_t major, minor, patch;
    memset(&package, 0, sizeof package);
    if (cann->aclsysGetCANNVersion != NULL && cann->aclsysGetCANNVersion(ACL_PKG_NAME_CANN, &package) == ACL_SUCCESS &&
        package.version[0] != '\0') {
        snprintf(cann->version, sizeof cann->version, "%.*s", (int)sizeof package.version - 1, package.version);
    } else if (cann->aclrtGetVersion != NULL && cann->aclrtGetVersion(&major, &minor, &patch) == ACL_SUCCESS) {
        snprintf(cann->version, sizeof cann->version, "unknown, its ACL is %d.%d.%d", major, minor, patch);
    } else {
        snprintf(cann->version, sizeof cann->version, "unknown");
    }
}

mpinpu_status_t cann_start(cann_t *cann, char *why, size_t why_bytes)
{
    uint32_t devices = 0;
    aclError code = cann->aclInit(NULL);
    if (code != ACL_SUCCESS && code != ACL_ERROR_REPEAT_INITIALIZE) {
        return cann_acl_explain(cann, "aclInit", code, why, why_bytes);
    }
    version_find(cann);
    code = cann->aclrtGetDeviceCount(&devices);
    if (code != ACL_SUCCESS) {
        return cann_acl_explain(cann, "aclrtGetDeviceCount", code, why, why_bytes);
    }
    if (devices == 0) {
        snprintf(why, why_bytes,
                 "CANN is here, but this process may use no NPU (npu-smi info, "
                 "ASCEND_RT_VISIBLE_DEVICES)");
        return MPINPU_ERR_UNSUPPORTED;
    }
    const char *soc = cann->aclrtGetSocName();
    snprintf(cann->soc, sizeof cann->soc, "%s", soc != NULL ? soc : "");
    cann->devices = devices;
    log_debug("CANN %s, %u devices of %s", cann->version, devices, cann->soc);
    return MPINPU_OK;
}

static void row2(engine_row_t *row, void *context, const char *name, const char *text)
{
    row(context, 2, (const char *const[]){name, text});
}

static void functions_describe(const cann_t *cann, engine_row_t *row, void *context)
{
    char since[64];

    row(context, 1, (const char *const[]){"CANN's functions"});
    for (int i = 0; i < FUNCTION_COUNT; i++) {
        const function_row_t *function = &function_rows[i];
        if (function_get(cann, function) != NULL) {
            row2(row, context, function->name, "found");
            continue;
        }
        (void)snprintf(since, sizeof since, "%s%s%s", function->need == REQUIRED ? "needed" : "done without",
                       function->since[0] != '\0' ? "; CANN has it since " : "", function->since);
        row(context, 3, (const char *const[]){function->name, "missing", since});
    }
}

void cann_describe(const cann_t *cann, engine_row_t *row, void *context)
{
    char text[16];

    row(context, 1, (const char *const[]){"CANN"});
    if (cann->version[0] != '\0') {
        row2(row, context, "version", cann->version);
    }
    if (cann->devices > 0) {
        (void)snprintf(text, sizeof text, "%u", cann->devices);
        row2(row, context, "SoC", cann->soc[0] != '\0' ? cann->soc : "CANN does not name it");
        row2(row, context, "devices", text);
    }
    for (int id = 0; id < CANN_LIBRARY_COUNT; id++) {
        const cann_library_t *library = &cann->libraries[id];
        if (library->handle != NULL) {
            const char *slash = strrchr(library->path, '/');
            row2(row, context, slash != NULL ? slash + 1 : library_names[id][0], library->path);
        } else if (id != CANN_HCOMM) {
            row2(row, context, library_names[id][0], "not found");
        }
    }
    if (cann->libraries[CANN_ACL].handle != NULL) {
        functions_describe(cann, row, context);
    }
}

void cann_comm_config_init(HcclCommConfig *config)
{
    memset(config, 0, sizeof *config);
    config->size = sizeof *config;
    config->magic = CANN_COMM_CONFIG_MAGIC;
    config->version = CANN_COMM_CONFIG_VERSION;
    config->hcclBufferSize = CANN_COMM_CONFIG_NOT_SET;
    config->hcclDeterministic = CANN_COMM_CONFIG_NOT_SET;
    config->hcclRdmaTrafficClass = CANN_COMM_CONFIG_NOT_SET;
    config->hcclRdmaServiceLevel = CANN_COMM_CONFIG_NOT_SET;
}

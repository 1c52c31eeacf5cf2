/* SPDX-License-Identifier: BSD-3-Clause */
/* `mpinpu info`: what is found on this machine, and every setting with its value. */
#include "config.h"

#include "engine/engine.h"
#include "engine/host/kernels.h"
#include "engine/settings.h"
#include "tools/table.h"
#include "tools/tools.h"
#include "transport/transport.h"

#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What `mpinpu info` knows while it looks. */
typedef struct info {
    table_t table;
    const char *name; /* of the lines that follow */
} info_t;

static void field_add(info_t *info, const char *name, const char *text)
{
    table_row(&info->table, 2, (const char *const[]){name, text});
}

/* A line of a field: its name stands before the first. */
static void line_add(void *context, const char *text)
{
    info_t *info = context;

    field_add(info, info->name, text);
    info->name = "";
}

static void library_add(info_t *info)
{
    static const char core_name[] = "/mpinpu/libmpinpu-openmpi.so";
    char path[PATH_MAX];
    char core[PATH_MAX + sizeof core_name];

    if (!tool_library_find(path)) {
        field_add(info, "library", "not found");
        return;
    }
    field_add(info, "library", path);
    int folder = (int)(strrchr(path, '/') - path);
    snprintf(core, sizeof core, "%.*s%s", folder, path, core_name);
    field_add(info, "core", access(core, R_OK) == 0 ? core : "none for Open MPI: calls go straight to the host MPI");
}

static void mpi_add(info_t *info)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;

    MPI_Get_library_version(version, &length);
    version[strcspn(version, ",\n")] = '\0';
    field_add(info, "MPI", version);
}

static void transport_add(info_t *info, const settings_t *settings)
{
    /* The least that a job would ask for: it is the kind of memory that is tried here, not its amount. */
    transport_config_t config = {.window_bytes = (size_t)setting_row(SETTING_WINDOW_BYTES)->least};
    transport_t *transport;
    char why[256] = "";
    void *base;
    size_t bytes;

    if (transport_open(&config, &transport, why, sizeof why) != MPINPU_OK) {
        field_add(info, "transport", why);
        field_add(info, "windows", "no");
        return;
    }
    mpinpu_status_t mapped = transport_window_map(transport, &base, &bytes, why, sizeof why);
    info->name = "transport";
    transport_describe(transport, line_add, info);
    if (mapped == MPINPU_OK) {
        field_add(info, "windows",
                  settings_get(settings, SETTING_WINDOWS) != 0 ? "can be made" : "can be made; set to off");
    } else {
        char text[sizeof why + 32];
        (void)snprintf(text, sizeof text, "cannot be made: %s", why);
        field_add(info, "windows", text);
    }
    transport_close(transport);
}

/* What a job's first rank would find. */
static void npu_add(info_t *info, const settings_t *settings)
{
    const engine_config_t config = {
        .enabled = true,
        .local_ranks = 1,
        .npu.map = settings_get(settings, SETTING_DEVICE_MAP) == SETTING_DEVICE_MAP_DEVICES
                       ? settings_path(settings, SETTING_DEVICE_MAP)
                       : NULL,
        .quiet = true,
    };
    engine_t *engine;

    if (engine_hccl.open(&config, &engine) != MPINPU_OK) {
        field_add(info, "NPU", "no memory to look");
        return;
    }
    engine_hccl.describe(engine, table_row, &info->table);
    engine_hccl.close(engine);
}

static void settings_add(info_t *info, const settings_t *settings)
{
    table_row(&info->table, 1, (const char *const[]){"Settings"});
    for (int s = 0; s < SETTING_COUNT; s++) {
        char text[SETTINGS_TEXT_BYTES + 16];
        settings_value_text(settings, (setting_t)s, text, sizeof text);
        const char *origin = settings->value[s].from_variable ? "(environment)" : "(default)";
        const bool none = text[0] == '\0';
        table_row(
            &info->table, 3,
            (const char *const[]){setting_row((setting_t)s)->name, none ? "-" : text, none ? "(not set)" : origin});
    }
}

int tool_info(int argc, char **argv)
{
    settings_t settings;
    info_t info = {.name = ""};

    if (argc > 1) {
        return tool_word_unknown("info", argv[1]);
    }
    settings_load(&settings);
    field_add(&info, "mpinpu", PACKAGE_VERSION);
    library_add(&info);
    mpi_add(&info);
    transport_add(&info, &settings);
    field_add(&info, "kernels", kernel_isa_name());
    npu_add(&info, &settings);
    settings_add(&info, &settings);
    const bool whole = table_print(&info.table);
    table_free(&info.table);
    if (!whole) {
        fprintf(stderr, "mpinpu: info: no memory\n");
    }
    return whole ? TOOL_OK : TOOL_FAILED;
}

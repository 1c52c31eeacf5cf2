/* SPDX-License-Identifier: BSD-3-Clause */
/* `mpinpu info`: what is found on this machine, and every setting with its value. */
#include "config.h"

#include "engine/host/kernels.h"
#include "engine/settings.h"
#include "tools/tools.h"
#include "transport/transport.h"

#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void field_print(const char *name, const char *text)
{
    printf("%-14s %s\n", name, text);
}

/* A line of a field: its name stands before the first. */
static void line_print(void *context, const char *text)
{
    const char **name = context;

    field_print(*name, text);
    *name = "";
}

static void library_print(void)
{
    static const char core_name[] = "/mpinpu/libmpinpu-openmpi.so";
    char path[PATH_MAX];
    char core[PATH_MAX + sizeof core_name];

    if (!tool_library_find(path)) {
        field_print("library", "not found");
        return;
    }
    field_print("library", path);
    int folder = (int)(strrchr(path, '/') - path);
    snprintf(core, sizeof core, "%.*s%s", folder, path, core_name);
    field_print("core", access(core, R_OK) == 0 ? core : "none for Open MPI: calls go straight to the host MPI");
}

static void mpi_print(void)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;

    MPI_Get_library_version(version, &length);
    version[strcspn(version, ",\n")] = '\0';
    field_print("MPI", version);
}

static void transport_print(const settings_t *settings)
{
    /* The least that a job would ask for: it is the kind of memory that is tried here, not its amount. */
    transport_config_t config = {.window_bytes = (size_t)setting_row(SETTING_WINDOW_BYTES)->least};
    transport_t *transport;
    char why[256] = "";
    const char *name = "transport";
    void *base;
    size_t bytes;

    if (transport_open(&config, &transport, why, sizeof why) != MPINPU_OK) {
        field_print("transport", why);
        field_print("windows", "no");
        return;
    }
    mpinpu_status_t mapped = transport_window_map(transport, &base, &bytes, why, sizeof why);
    transport_describe(transport, line_print, &name);
    if (mapped == MPINPU_OK) {
        field_print("windows",
                    settings_get(settings, SETTING_WINDOWS) != 0 ? "can be made" : "can be made; set to off");
    } else {
        printf("%-14s cannot be made: %s\n", "windows", why);
    }
    transport_close(transport);
}

static void settings_print(const settings_t *settings)
{
    printf("\nsettings\n");
    for (int s = 0; s < SETTING_COUNT; s++) {
        char text[SETTINGS_TEXT_BYTES + 16];
        settings_value_text(settings, (setting_t)s, text, sizeof text);
        printf("  %-22s %-12s (%s)\n", setting_row((setting_t)s)->name, text,
               settings->value[s].from_variable ? "environment" : "default");
    }
}

int tool_info(int argc, char **argv)
{
    settings_t settings;

    if (argc > 1) {
        return tool_word_unknown("info", argv[1]);
    }
    settings_load(&settings);
    field_print("mpinpu", PACKAGE_VERSION);
    library_print();
    mpi_print();
    transport_print(&settings);
    field_print("kernels", kernel_isa_name());
    settings_print(&settings);
    return TOOL_OK;
}

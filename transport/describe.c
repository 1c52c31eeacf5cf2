/* SPDX-License-Identifier: BSD-3-Clause */
/* What was found, for `mpinpu info`. */
#include "transport/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* UCX tells its resources only as text: lines "#  resource 3 :  md 2  dev 3  flags -- sysv/memory". */
static void resources_list(char *text, char *list, size_t list_bytes)
{
    char *rest = text;
    size_t used = 0;
    list[0] = '\0';
    for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        char *name = strrchr(line, ' ');
        if (strstr(line, "resource ") == NULL || name == NULL || strchr(name, '/') == NULL) {
            continue;
        }
        int wrote = snprintf(list + used, list_bytes - used, "%s", used == 0 ? name + 1 : name);
        if (wrote < 0 || (size_t)wrote >= list_bytes - used) {
            return;
        }
        used += (size_t)wrote;
    }
}

static void resources_describe(transport_t *transport, void (*line)(void *context, const char *text), void *context)
{
    char *text = NULL;
    size_t bytes = 0;
    char list[768];
    char whole[800];
    FILE *stream = open_memstream(&text, &bytes);
    if (stream == NULL) {
        return;
    }
    ucx.ucp_context_print_info(transport->context, stream);
    if (fclose(stream) == 0) {
        resources_list(text, list, sizeof list);
        snprintf(whole, sizeof whole, "transports and devices: %s", list[0] == '\0' ? "not told by UCX" : list);
        line(context, whole);
    }
    free(text);
}

void transport_describe(transport_t *transport, void (*line)(void *context, const char *text), void *context)
{
    char text[3 * REASON_BYTES];
    unsigned major;
    unsigned minor;
    unsigned release;
    ucx.ucp_get_version(&major, &minor, &release);
    snprintf(text, sizeof text, "UCX %u.%u.%u, threads %s", major, minor, release,
             transport->config.thread_multiple ? "all at once" : "one at a time");
    line(context, text);
    resources_describe(transport, line, context);
    snprintf(text, sizeof text, "shared memory: %s", transport->memory);
    line(context, text);
    if (transport->window_base != NULL) {
        snprintf(text, sizeof text, "window: %zu bytes", transport->config.window_bytes);
    } else if (transport->no_window[0] != '\0') {
        snprintf(text, sizeof text, "window: none: %s", transport->no_window);
    } else {
        snprintf(text, sizeof text, "window: %s",
                 transport->config.window_bytes == 0 ? "none asked for" : "not mapped");
    }
    line(context, text);
}

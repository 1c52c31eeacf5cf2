/* SPDX-License-Identifier: BSD-3-Clause */
/* What a host must have for HCCL, checked at the start of a job and shown by `mpinpu info`. */
#include "config.h" /* _GNU_SOURCE: environ */

#include "engine/hccl/hccl.h"

#include "engine/hccl/ports.h"
#include "engine/job.h"
#include "transport/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool hccl_speaks(const engine_t *engine)
{
    if (engine->config.quiet) {
        return false;
    }
    return engine->config.local_rank == 0 || (engine->config.local_rank < 0 && job_is_speaker());
}

/* What the environment says, or NULL; a variable that the product does not know says nothing. */
static const char *variable_set(const hccl_environment_t *environment, const atlas_product_t *product,
                                hccl_variable_t variable)
{
    const bool known = product == NULL || (hccl_variable_row(variable)->products >> product->series & 1) != 0;

    return environment->value[variable].set && known ? hccl_environment_text(environment, variable) : NULL;
}

/* MPINPU_ERR_INVALID: the variables that name the ports are wrong. */
static mpinpu_status_t host_ports(const engine_t *engine, const hccl_environment_t *environment, ports_t *ports)
{
    port_set_t *hccl = malloc(sizeof *hccl);

    if (hccl == NULL) {
        return MPINPU_ERR_NO_MEMORY;
    }
    mpinpu_status_t status = ports_of_hccl(
        variable_set(environment, engine->product, HCCL_VARIABLE_IF_BASE_PORT),
        variable_set(environment, engine->product, HCCL_VARIABLE_HOST_SOCKET_PORT_RANGE), engine->version, hccl);
    if (status == MPINPU_OK) {
        status = ports_check(hccl, "/proc", ports);
    }
    free(hccl);
    return status;
}

static void port_line_warn(void *context, bool good, const char *text)
{
    if (!good) {
        log_warn("host %s: %s", (const char *)context, text);
    }
}

void hccl_host_warn(const engine_t *engine)
{
    char host[256] = "";
    ports_t *ports = malloc(sizeof *ports);

    if (ports != NULL && host_ports(engine, &engine->environment, ports) == MPINPU_OK && !ports_safe(ports)) {
        (void)gethostname(host, sizeof host - 1);
        ports_describe(ports, port_line_warn, host);
    }
    free(ports);
}

typedef struct table {
    engine_row_t *row;
    void *context;
} table_t;

static void head_tell(const table_t *table, const char *text)
{
    table->row(table->context, 1, (const char *const[]){text});
}

static void row_tell(const table_t *table, const char *name, const char *text)
{
    table->row(table->context, 2, (const char *const[]){name, text});
}

static void port_line_tell(void *context, bool good, const char *text)
{
    row_tell(context, good ? "right" : "to do", text);
}

static void ports_tell(const engine_t *engine, const hccl_environment_t *environment, const table_t *table)
{
    ports_t *ports = malloc(sizeof *ports);

    head_tell(table, "HCCL's ports on this host");
    const mpinpu_status_t status = ports != NULL ? host_ports(engine, environment, ports) : MPINPU_ERR_NO_MEMORY;
    if (status == MPINPU_OK) {
        ports_describe(ports, port_line_tell, (void *)table);
    } else {
        row_tell(table, "unknown",
                 status == MPINPU_ERR_INVALID ? "the variable that names them is wrong, see below"
                                              : status_name(status));
    }
    free(ports);
}

/* The datatypes that HCCL adds up, "int8, int32, ...". */
static void datatypes_text(const engine_t *engine, char *text, size_t bytes)
{
    size_t length = 0;

    text[0] = '\0';
    for (int d = 0; d < DTYPE_COUNT && length < bytes; d++) {
        if (atlas_serves(engine->product, engine->version, COLLECTIVE_ALLREDUCE, (dtype_t)d, OP_SUM)) {
            length +=
                (size_t)snprintf(text + length, bytes - length, "%s%s%s", length > 0 ? ", " : "",
                                 dtype_name((dtype_t)d), atlas_slow(engine->product, (dtype_t)d) ? " (slowly)" : "");
        }
    }
}

static void product_tell(const engine_t *engine, const table_t *table)
{
    const atlas_product_t *product = engine->product;
    char text[256];

    head_tell(table, "Product rules");
    row_tell(table, "product", product->name);
    row_tell(table, "together", product->rule);
    row_tell(table, "servers",
             product->power_of_two ? "fastest where their number is a power of two: 1, 2, 4, 8, 16, ..."
                                   : "any number of them, none is better than others");
    datatypes_text(engine, text, sizeof text);
    row_tell(table, "sums of", text);
    if (product->file != NULL) {
        (void)snprintf(text, sizeof text, "%s%s", product->file,
                       access(product->file, R_OK) == 0 ? "" : " is missing; HCCL needs it");
        row_tell(table, "file", text);
    }
}

static void complaint_drop(void *context, const char *sentence)
{
    (void)context;
    (void)sentence;
}

static void environment_tell(const engine_t *engine, const hccl_environment_t *environment, const table_t *table)
{
    char allowed[320];
    char remark[360];

    head_tell(table, "HCCL's environment");
    for (int v = 0; v < HCCL_VARIABLE_COUNT; v++) {
        const hccl_variable_row_t *row = hccl_variable_row((hccl_variable_t)v);
        const struct hccl_value *value = &environment->value[v];
        const bool known = engine->product == NULL || (row->products >> engine->product->series & 1) != 0;
        if (!known && !value->set) {
            continue;
        }
        const char *text = hccl_environment_text(environment, (hccl_variable_t)v);
        hccl_allowed_text((hccl_variable_t)v, engine->product, allowed, sizeof allowed);
        if (!known) {
            (void)snprintf(remark, sizeof remark, "has no effect on %s", engine->product->name);
        } else {
            (void)snprintf(remark, sizeof remark, "%s%s", value->wrong ? "WRONG: must be " : "", allowed);
        }
        table->row(table->context, 4,
                   (const char *const[]){row->name, text[0] != '\0' ? text : "-",
                                         value->set        ? "(environment)"
                                         : text[0] != '\0' ? "(default)"
                                                           : "(not set)",
                                         remark});
    }
}

/* Whether there is anything of CANN. */
static bool cann_any(const engine_t *engine)
{
    for (int id = 0; id < CANN_LIBRARY_COUNT; id++) {
        if (engine->cann.libraries[id].handle != NULL) {
            return true;
        }
    }
    return false;
}

void hccl_describe(engine_t *engine, engine_row_t *row, void *context)
{
    const table_t table = {row, context};
    char text[HCCL_SAID_BYTES + 64];
    hccl_environment_t *environment = malloc(sizeof *environment);

    if (engine->status != MPINPU_OK) {
        (void)snprintf(text, sizeof text, "none can be used: %s", engine->why);
    } else {
        (void)snprintf(text, sizeof text, "%u of %s; the first rank here would drive number %u", engine->cann.devices,
                       engine->cann.soc, engine->physical);
    }
    row_tell(&table, "NPU", text);
    if (environment != NULL && cann_any(engine)) {
        hccl_environment_parse(environment, environ, engine->product, complaint_drop, NULL);
        cann_describe(&engine->cann, row, context);
        if (engine->product != NULL) {
            product_tell(engine, &table);
        }
        ports_tell(engine, environment, &table);
        environment_tell(engine, environment, &table);
    }
    free(environment);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening and closing: the UCX context and worker, and who this process is. */
#include "transport/internal.h"
#include "transport/log.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

/* What UCX's worker takes of shared memory for its queues with the configuration below, generously. */
enum { WORKER_SHARED_BYTES = 2 << 20 };

/* Address space that must be left beside the own window: for the worker, for what peers share, and for the program,
   which had better keep what a limit leaves it. */
static const size_t address_space_left = (size_t)256 << 20;

static const double close_seconds = 1.0;

void transport_why(char *why, size_t why_bytes, const char *format, ...)
{
    if (why == NULL || why_bytes == 0) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, why_bytes, format, arguments);
    va_end(arguments);
}

double transport_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* FNV-1a, 64 bits: http://www.isthe.com/chongo/tech/comp/fnv/ */
static uint64_t digest(uint64_t seed, const char *bytes, size_t count)
{
    uint64_t value = seed;
    for (size_t i = 0; i < count; i++) {
        value = (value ^ (unsigned char)bytes[i]) * UINT64_C(0x100000001b3);
    }
    return value;
}

/* The boot id tells machines of one name apart; the name tells containers of one machine apart. */
uint64_t transport_host_digest(void)
{
    char name[256] = "";
    char boot[64] = "";
    gethostname(name, sizeof name - 1);
    int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (file >= 0) {
        ssize_t got = read(file, boot, sizeof boot - 1);
        boot[got < 0 ? 0 : got] = '\0';
        close(file);
    }
    return digest(digest(UINT64_C(0xcbf29ce484222325), name, strlen(name) + 1), boot, strlen(boot));
}

static bool identity_make(transport_identity_t *identity)
{
    identity->host = transport_host_digest();
    do {
        if (getrandom(&identity->uid, sizeof identity->uid, 0) != (ssize_t)sizeof identity->uid) {
            return false;
        }
    } while (identity->uid == 0);
    return true;
}

/* An option of UCX as the user has set it; NULL if not. */
static const char *user_option(const char *variable)
{
    return getenv(variable); /* NOLINT(concurrency-mt-unsafe): reads only, and opening is for one thread */
}

/* Sets a UCX option unless the user has set it, under any name in `variables` (NULL-ended). */
static void option_default(ucp_config_t *config, const char *name, const char *value, const char *const *variables)
{
    for (; *variables != NULL; variables++) {
        if (user_option(*variables) != NULL) {
            return;
        }
    }
    ucs_status_t status = ucx.ucp_config_modify(config, name, value);
    if (status != UCS_OK) {
        log_debug("UCX does not take %s=%s: %s", name, value, ucx.ucs_status_string(status));
    }
}

/* One transport over shared memory is enough, and each costs about 2 ms and 4 MiB. System V memory comes first: it does
   not live in /dev/shm, which is small in containers, and UCX removes its name as soon as it is made. UCX fails to make
   its worker at all where a transport finds no memory, hence the probe; another process may take what was found, so
   without `wanted` none is used. */
static void shared_memory_choose(transport_t *transport, ucp_config_t *config, bool wanted)
{
    static const char *const transports[] = {"UCX_TLS", NULL};
    static const char *const grow[] = {"UCX_SYSV_RX_BUFS_GROW", "UCX_POSIX_RX_BUFS_GROW", "UCX_MM_RX_BUFS_GROW", NULL};
    static const char *const huge[] = {"UCX_SYSV_HUGETLB_MODE", "UCX_POSIX_HUGETLB_MODE", "UCX_MM_HUGETLB_MODE", NULL};
    static const char *const left_out[] = {
        [SHARED_MEMORY_SYSV] = "^posix", [SHARED_MEMORY_POSIX] = "^sysv", [SHARED_MEMORY_NONE] = "^sysv,posix"};
    const char *user = user_option("UCX_TLS");
    if (user != NULL) {
        snprintf(transport->memory, sizeof transport->memory, "as UCX_TLS=%.200s gives it", user);
        return;
    }
    size_t need = WORKER_SHARED_BYTES + transport_window_room(transport->config.window_bytes);
    shared_memory_t found = SHARED_MEMORY_NONE;
    if (wanted) {
        found = shared_memory_probe(need, transport->no_window, sizeof transport->no_window);
    } else {
        transport_why(transport->no_window, sizeof transport->no_window, "shared memory ran out");
    }
    if (wanted && found == SHARED_MEMORY_NONE) {
        /* Perhaps the window alone is too large: messages through shared memory are still worth having. */
        found = shared_memory_probe(WORKER_SHARED_BYTES, NULL, 0);
    }
    option_default(config, "TLS", left_out[found], transports);
    if (found != SHARED_MEMORY_NONE) {
        option_default(config, "MM_RX_BUFS_GROW", "64", grow);
        /* Huge pages under a limit of their own are the one case where System V memory ends in SIGBUS. */
        option_default(config, "MM_HUGETLB_MODE", "n", huge);
    }
    snprintf(transport->memory, sizeof transport->memory, "%s",
             found == SHARED_MEMORY_SYSV    ? "System V (sysv)"
             : found == SHARED_MEMORY_POSIX ? "/dev/shm (posix)"
                                            : "none");
}

static mpinpu_status_t context_open(transport_t *transport, bool shared, char *why, size_t why_bytes)
{
    ucp_config_t *config;
    ucs_status_t status = ucx.ucp_config_read(NULL, NULL, &config);
    if (status != UCS_OK) {
        transport_why(why, why_bytes, "UCX cannot read its configuration: %s", ucx.ucs_status_string(status));
        return MPINPU_ERR_TRANSPORT;
    }
    shared_memory_choose(transport, config, shared);
    ucp_params_t params = {
        .field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_NAME,
        .features = UCP_FEATURE_TAG | UCP_FEATURE_RMA,
        .name = "mpinpu",
    };
    status = ucx.ucp_init_version(UCP_API_MAJOR, UCP_API_MINOR, &params, config, &transport->context);
    ucx.ucp_config_release(config);
    if (status != UCS_OK) {
        transport_why(why, why_bytes, "ucp_init: %s", ucx.ucs_status_string(status));
        return MPINPU_ERR_TRANSPORT;
    }
    return MPINPU_OK;
}

static mpinpu_status_t worker_open(transport_t *transport, char *why, size_t why_bytes)
{
    ucp_worker_params_t params = {
        .field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
        .thread_mode = UCS_THREAD_MODE_MULTI, /* the keeper is a second thread */
    };
    ucs_status_t status = ucx.ucp_worker_create(transport->context, &params, &transport->worker);
    if (status != UCS_OK) {
        transport_why(why, why_bytes, "ucp_worker_create: %s", ucx.ucs_status_string(status));
        return MPINPU_ERR_TRANSPORT;
    }
    ucp_worker_attr_t attr = {.field_mask = UCP_WORKER_ATTR_FIELD_THREAD_MODE};
    status = ucx.ucp_worker_query(transport->worker, &attr);
    transport->threads = status == UCS_OK && attr.thread_mode == UCS_THREAD_MODE_MULTI;
    if (status == UCS_OK && transport->config.thread_multiple && !transport->threads) {
        transport_why(why, why_bytes, "this UCX does not let several threads in at once (built without --enable-mt)");
        ucx.ucp_worker_destroy(transport->worker);
        return MPINPU_ERR_UNSUPPORTED;
    }
    if (status == UCS_OK) {
        status = ucx.ucp_worker_get_address(transport->worker, &transport->address, &transport->address_bytes);
    }
    if (status != UCS_OK) {
        transport_why(why, why_bytes, "UCX's worker tells no address: %s", ucx.ucs_status_string(status));
        ucx.ucp_worker_destroy(transport->worker);
        return MPINPU_ERR_TRANSPORT;
    }
    return MPINPU_OK;
}

mpinpu_status_t transport_card_pack(transport_t *transport, const void *key, size_t key_bytes)
{
    card_head_t head = {
        .magic = CARD_MAGIC,
        .window_base = (uintptr_t)transport->window_base,
        .window_bytes = transport->window_base == NULL ? 0 : transport->config.window_bytes,
        .address_bytes = transport->address_bytes,
        .key_bytes = key_bytes,
    };
    (void)gethostname(head.host, sizeof head.host - 1);
    size_t bytes = sizeof head + transport->address_bytes + key_bytes;
    unsigned char *card = malloc(bytes);
    if (card == NULL) {
        return MPINPU_ERR_NO_MEMORY;
    }
    memcpy(card, &head, sizeof head);
    memcpy(card + sizeof head, transport->address, transport->address_bytes);
    if (key_bytes > 0) {
        memcpy(card + sizeof head + transport->address_bytes, key, key_bytes);
    }
    free(transport->card);
    transport->card = card;
    transport->card_bytes = bytes;
    return MPINPU_OK;
}

/* Context and worker, with or without shared memory. */
static mpinpu_status_t ucx_start(transport_t *transport, bool shared, char *why, size_t why_bytes)
{
    mpinpu_status_t status = context_open(transport, shared, why, why_bytes);

    if (status == MPINPU_OK) {
        status = worker_open(transport, why, why_bytes);
        if (status != MPINPU_OK) {
            ucx.ucp_cleanup(transport->context);
        }
    }
    return status;
}

mpinpu_status_t transport_open(const transport_config_t *config, transport_t **transport, char *why, size_t why_bytes)
{
    mpinpu_status_t status = MPINPU_ERR_NO_MEMORY;
    transport_t *opened = calloc(1, sizeof *opened);
    if (opened == NULL) {
        transport_why(why, why_bytes, "out of memory");
        return MPINPU_ERR_NO_MEMORY;
    }
    opened->config = *config;
    opened->pid = getpid();
    atomic_init(&opened->failure_said, false);
    atomic_init(&opened->kept, false);
    atomic_init(&opened->driven, 0);
    if (pthread_mutex_init(&opened->mutex, NULL) != 0) {
        transport_why(why, why_bytes, "out of memory");
        goto free_transport;
    }
    status = ucx_open(why, why_bytes);
    if (status != MPINPU_OK) {
        goto destroy_mutex;
    }
    if (!identity_make(&opened->identity)) {
        transport_why(why, why_bytes, "getrandom: %m");
        status = MPINPU_ERR_UNSUPPORTED;
        goto destroy_mutex;
    }
    if (!limits_worker(address_space_left + transport_window_room(config->window_bytes), why, why_bytes)) {
        status = MPINPU_ERR_UNSUPPORTED;
        goto destroy_mutex;
    }
    status = ucx_start(opened, true, why, why_bytes);
    if (status == MPINPU_ERR_TRANSPORT && user_option("UCX_TLS") == NULL) {
        /* Other processes start too, and may have taken the memory that was found. */
        status = ucx_start(opened, false, why, why_bytes);
    }
    if (status != MPINPU_OK) {
        goto destroy_mutex;
    }
    status = transport_card_pack(opened, NULL, 0);
    if (status != MPINPU_OK) {
        transport_why(why, why_bytes, "out of memory");
        goto destroy_worker;
    }
    *transport = opened;
    return MPINPU_OK;

destroy_worker:
    ucx.ucp_worker_release_address(opened->worker, opened->address);
    ucx.ucp_worker_destroy(opened->worker);
    ucx.ucp_cleanup(opened->context);
destroy_mutex:
    pthread_mutex_destroy(&opened->mutex);
free_transport:
    free(opened);
    return status;
}

void transport_close(transport_t *transport)
{
    /* A forked child shares sockets and segments with its parent: it must touch none of them. */
    if (transport == NULL || transport->pid != getpid()) {
        return;
    }
    transport_keeper_stop(transport);
    bool all_closed = transport_peers_close(transport, close_seconds);
    transport_window_unmap(transport);
    ucx.ucp_worker_release_address(transport->worker, transport->address);
    if (all_closed) {
        transport_messages_drop(transport);
        ucx.ucp_worker_destroy(transport->worker);
        ucx.ucp_cleanup(transport->context);
    } else {
        /* UCX would complain of every request still under way; the kernel takes it all back at the process's end. */
        log_debug("peers did not take what was sent to them within %.0f s", close_seconds);
    }
    free(transport->card);
    pthread_mutex_destroy(&transport->mutex);
    free(transport);
}

transport_identity_t transport_identity_get(const transport_t *transport)
{
    return transport->identity;
}

void transport_card_get(const transport_t *transport, const void **card, size_t *bytes)
{
    *card = transport->card;
    *bytes = transport->card_bytes;
}

unsigned transport_progress(transport_t *transport)
{
    /* Before this process's first message there is nothing to move: endpoints for windows need no peer's answer. */
    if (!atomic_load_explicit(&transport->kept, memory_order_relaxed)) {
        return 0;
    }
    /* A lost count does no harm, so no locked addition. */
    atomic_store_explicit(&transport->driven, atomic_load_explicit(&transport->driven, memory_order_relaxed) + 1,
                          memory_order_relaxed);
    return ucx.ucp_worker_progress(transport->worker);
}

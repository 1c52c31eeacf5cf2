/* SPDX-License-Identifier: BSD-3-Clause */
/* How the ranks of a new communicator come together: a thread of the process that called HcclGetRootInfo listens, as
   HCCL's does on a port of the host; here on a socket whose name is in the root info. When all have come, each gets the
   list of all and the memory that they share, and the door is closed. */
#define _GNU_SOURCE
#include "tests/cann/communicator.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

typedef struct door {
    int listener;
    int port; /* the descriptor of the host port, or -1 */
    int come;
    int sockets[RANKS_MAX];
    member_t members[RANKS_MAX];
} door_t;

typedef struct answer {
    int code;
    char text[TEXT_BYTES];
    uint64_t shared_bytes;
    member_t members[RANKS_MAX];
} answer_t;

static const char door_sign[] = "stand-in ";

static socklen_t address_of(struct sockaddr_un *address, const char *name)
{
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    int length = snprintf(address->sun_path + 1, sizeof address->sun_path - 1, "%s", name);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

static int bind_name(const char *name)
{
    struct sockaddr_un address;
    socklen_t length = address_of(&address, name);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&address, length) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

int meet_device_claim(int device)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static bool claimed[STANDIN_DEVICES_MAX];
    int physical = standin_physical(device);
    char name[108];
    pthread_mutex_lock(&lock);
    for (int place = 0; !claimed[physical] && place < rules_processes(); place++) {
        snprintf(name, sizeof name, "cann %s device %d place %d", standin_server(), physical, place);
        claimed[physical] = bind_name(name) >= 0; /* held until the process ends, however it ends */
    }
    bool mine = claimed[physical];
    pthread_mutex_unlock(&lock);
    return mine ? HCCL_SUCCESS
                : standin_refuse(HCCL_E_UNAVAIL, "EJ0001: device %d is in use by another process", physical);
}

static void answer_send(int socket_fd, const answer_t *answer, int shared_fd)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.head = {.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
    struct iovec part = {.iov_base = (void *)(uintptr_t)answer, .iov_len = sizeof *answer};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    memcpy(CMSG_DATA(&control.head), &shared_fd, sizeof shared_fd);
    if (shared_fd >= 0) {
        message.msg_control = &control;
        message.msg_controllen = sizeof control;
    }
    if (sendmsg(socket_fd, &message, MSG_NOSIGNAL) < 0) {
        perror("stand-in: answer");
    }
}

/* Whether the ranks that have come are those of one communicator. */
static int door_check(const door_t *door)
{
    uint64_t seen = 0;
    int servers;
    bool even;
    for (int i = 0; i < door->come; i++) {
        const member_t *member = &door->members[i];
        if (member->ranks != door->members[0].ranks || (seen >> member->rank & 1) != 0) {
            return standin_refuse(HCCL_E_PARA, "EI0015: rank %u came twice, or the numbers of ranks differ",
                                  member->rank);
        }
        seen |= (uint64_t)1 << member->rank;
    }
    answer_t *order = calloc(1, sizeof *order);
    if (order == NULL) {
        return standin_fail(HCCL_E_MEMORY, "EI0007: no memory");
    }
    for (int i = 0; i < door->come; i++) {
        order->members[door->members[i].rank] = door->members[i];
    }
    int code = rules_topology(order->members, (uint32_t)door->come, &servers, &even);
    free(order);
    return code;
}

static void door_answer(door_t *door, int code)
{
    answer_t *answer = calloc(1, sizeof *answer);
    int shared_fd = -1;
    if (answer == NULL) {
        return;
    }
    answer->code = code;
    if (code == HCCL_SUCCESS) {
        answer->shared_bytes = sizeof(shared_t) + (uint64_t)door->come * 2 * SLOT_BYTES;
        shared_fd = memfd_create("cann", MFD_CLOEXEC);
        if (shared_fd < 0 || ftruncate(shared_fd, (off_t)answer->shared_bytes) != 0) {
            answer->code = standin_fail(HCCL_E_SYSCALL, "EI0007: %s", strerror(errno));
        }
    }
    snprintf(answer->text, sizeof answer->text, "%s", standin_said());
    for (int i = 0; i < door->come; i++) {
        answer->members[door->members[i].rank] = door->members[i];
    }
    /* This process last: once it has its answer it may end, and this thread with it. */
    for (int own = 0; own < 2; own++) {
        for (int i = 0; i < door->come; i++) {
            if ((door->members[i].process == (int)getpid()) == own) {
                answer_send(door->sockets[i], answer, shared_fd);
                close(door->sockets[i]);
            }
        }
    }
    if (shared_fd >= 0) {
        close(shared_fd);
    }
    free(answer);
}

static void door_let_in(door_t *door)
{
    struct timeval patience = {.tv_sec = 5};
    int fd = accept4(door->listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0) {
        return;
    }
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    member_t *member = &door->members[door->come];
    if (recv(fd, member, sizeof *member, MSG_WAITALL) != (ssize_t)sizeof *member || member->ranks > RANKS_MAX ||
        member->rank >= member->ranks) {
        close(fd);
        return;
    }
    door->sockets[door->come++] = fd;
}

static void *door_main(void *argument)
{
    door_t *door = argument;
    double deadline = 0;
    int code = HCCL_E_TIMEOUT;
    while (true) {
        struct pollfd ready = {.fd = door->listener, .events = POLLIN};
        double left = deadline == 0 ? 3600 : deadline - standin_now();
        if (left <= 0) {
            standin_fail(code, "EI0015: topo exchange: %d of %u ranks came in time", door->come,
                         door->members[0].ranks);
            break;
        }
        if (poll(&ready, 1, (int)(left * 1e3) + 1) <= 0) {
            continue;
        }
        door_let_in(door);
        if (door->come > 0 && deadline == 0) {
            deadline = standin_now() + rules_connect_timeout();
        }
        if (door->come > 0 && (door->come >= (int)door->members[0].ranks ||
                               door->members[door->come - 1].ranks != door->members[0].ranks)) {
            code = door_check(door);
            break;
        }
    }
    close(door->listener);
    if (door->port >= 0) {
        close(door->port);
    }
    door_answer(door, code);
    free(door);
    return NULL;
}

/* With CANN_PORTS=1 a host port is taken, as HCCL does: the first of its range and the device's number. */
static int port_take(int *port)
{
    *port = -1;
    if (standin_number("CANN_PORTS", 0) == 0) {
        return HCCL_SUCCESS;
    }
    int code;
    int number = (int)standin_number("HCCL_IF_BASE_PORT", 60000) + standin_physical(standin_context(&code)->device);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)number)};
    *port = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (*port < 0 || bind(*port, (struct sockaddr *)&address, sizeof address) != 0 || listen(*port, 8) != 0) {
        int error = errno;
        if (*port >= 0) {
            close(*port);
        }
        return standin_fail(HCCL_E_UNAVAIL, "EI0019: bind of host port %d failed: %s", number, strerror(error));
    }
    return HCCL_SUCCESS;
}

int meet_open(HcclRootInfo *root_info)
{
    static atomic_int opened;
    pthread_t thread;
    char name[64];
    int port;
    int code = port_take(&port);
    if (code != HCCL_SUCCESS) {
        return code;
    }
    door_t *door = calloc(1, sizeof *door);
    snprintf(name, sizeof name, "%scann door %d %d", door_sign, (int)getpid(), atomic_fetch_add(&opened, 1));
    int listener = door == NULL ? -1 : bind_name(name);
    if (listener < 0 || listen(listener, RANKS_MAX) != 0) {
        free(door);
        return standin_fail(HCCL_E_SYSCALL, "EI0019: no socket: %s", strerror(errno));
    }
    door->listener = listener;
    door->port = port;
    if (pthread_create(&thread, NULL, door_main, door) != 0) {
        close(listener);
        free(door);
        return standin_fail(HCCL_E_SYSCALL, "EI0019: no thread");
    }
    pthread_detach(thread);
    memset(root_info, 0, sizeof *root_info);
    snprintf(root_info->internal, sizeof root_info->internal, "%s", name);
    return HCCL_SUCCESS;
}

/* The descriptor that came with the answer, -1 if none; *answer is whole if *whole. */
static int answer_receive(int socket_fd, answer_t *answer, bool *whole)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec part = {.iov_base = answer, .iov_len = sizeof *answer};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    int shared_fd = -1;
    ssize_t got = recvmsg(socket_fd, &message, MSG_CMSG_CLOEXEC);
    struct cmsghdr *head = got > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (head != NULL && head->cmsg_type == SCM_RIGHTS) {
        memcpy(&shared_fd, CMSG_DATA(head), sizeof shared_fd);
    }
    while (got > 0 && (size_t)got < sizeof *answer) {
        ssize_t more = recv(socket_fd, (char *)answer + got, sizeof *answer - (size_t)got, 0);
        if (more <= 0) {
            break;
        }
        got += more;
    }
    *whole = got == (ssize_t)sizeof *answer;
    return shared_fd;
}

int meet_join(const HcclRootInfo *root_info, const member_t *mine, member_t *members, shared_t **shared,
              size_t *shared_bytes)
{
    struct sockaddr_un address;
    double patience = 1.2 * rules_connect_timeout() + 1;
    struct timeval limit = {.tv_sec = (time_t)patience};
    char name[64];
    bool whole = false;
    snprintf(name, sizeof name, "%.63s", root_info->internal);
    if (strncmp(name, door_sign, strlen(door_sign)) != 0) {
        return standin_refuse(HCCL_E_PARA, "EI0015: this is no root info");
    }
    answer_t *answer = calloc(1, sizeof *answer);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (answer == NULL || fd < 0) {
        free(answer);
        return standin_fail(HCCL_E_SYSCALL, "EI0015: no socket");
    }
    socklen_t length = address_of(&address, name);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    int shared_fd = -1;
    if (connect(fd, (struct sockaddr *)&address, length) == 0 &&
        send(fd, mine, sizeof *mine, MSG_NOSIGNAL) == (ssize_t)sizeof *mine) {
        shared_fd = answer_receive(fd, answer, &whole);
    }
    close(fd);
    int code = whole ? answer->code : HCCL_E_TIMEOUT;
    if (code != HCCL_SUCCESS) {
        standin_fail(code, "%s", whole ? answer->text : "EI0015: topo exchange: the root rank is not there any more");
    } else {
        void *memory = mmap(NULL, answer->shared_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, shared_fd, 0);
        code = memory == MAP_FAILED ? standin_fail(HCCL_E_MEMORY, "EI0007: no memory") : HCCL_SUCCESS;
        *shared = memory;
        *shared_bytes = answer->shared_bytes;
        memcpy(members, answer->members, sizeof answer->members);
    }
    if (shared_fd >= 0) {
        close(shared_fd);
    }
    free(answer);
    return code;
}

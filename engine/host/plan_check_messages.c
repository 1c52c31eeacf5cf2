/* SPDX-License-Identifier: BSD-3-Clause */
/* The checker's messages: matched in the order in which they are started, done when both ends have been started. */
#include "engine/host/plan_check_state.h"

#include <inttypes.h>
#include <stdlib.h>

static message_queue_t *queue_of(const check_t *check, bool send, uint32_t from, uint32_t to)
{
    message_queue_t *queues = send ? check->sends : check->receives;

    return &queues[(size_t)from * check->nranks + to];
}

/* Moves the symbols of a matched message. Its source is left alone until the sender knows that it is done, which is
   later; until the receiver knows, the destination is under way. */
static bool transfer(check_t *check, check_rank_t *rank, size_t send, size_t receive)
{
    const check_message_t *out = &check->messages[send];
    const check_message_t *in = &check->messages[receive];
    uint64_t done = 0;

    if (out->length != in->length) {
        return check_fail(check, rank,
                          "a message of %" PRIu64 " bytes from rank %" PRIu32 " meets a receive of %" PRIu64
                          " in rank %" PRIu32,
                          out->length, out->rank, in->length, in->rank);
    }
    if (out->item != in->item) {
        return check_fail(check, rank, "a message from rank %" PRIu32 " to %" PRIu32 " meets another collective's",
                          out->rank, in->rank);
    }
    while (done < out->length) {
        const stretch_t *source = memory_find(out->memory, out->start + done);
        if (source == NULL || source->item != out->item) {
            return check_fail(check, rank, "rank %" PRIu32 " sends what was never written", out->rank);
        }
        uint64_t length = source->end - (out->start + done);
        length = length < out->length - done ? length : out->length - done;
        const stretch_t arrived = {.start = in->start + done,
                                   .end = in->start + done + length,
                                   .at = source->at + (out->start + done - source->start),
                                   .written = in->ref.space == PLAN_WINDOW ? STRETCH_IN_FLIGHT : 0,
                                   .writer = in->rank,
                                   .symbol = source->symbol,
                                   .item = in->item};
        if (!memory_write(in->memory, &arrived)) {
            return check_no_memory(check);
        }
        done += length;
    }
    return true;
}

/* Meets the other end, or waits for it in a queue. */
static bool match(check_t *check, check_rank_t *rank, size_t mine, uint32_t peer)
{
    const bool send = check->messages[mine].send;
    const uint32_t from = send ? rank->me : peer;
    const uint32_t to = send ? peer : rank->me;
    message_queue_t *theirs = queue_of(check, !send, from, to);

    if (theirs->head != NO_MESSAGE) {
        const size_t other = theirs->head;
        theirs->head = check->messages[other].next;
        check->messages[other].partner = mine;
        check->messages[mine].partner = other;
        return transfer(check, rank, send ? mine : other, send ? other : mine);
    }
    message_queue_t *ours = queue_of(check, send, from, to);
    if (ours->head == NO_MESSAGE) {
        ours->head = mine;
    } else {
        check->messages[ours->tail].next = mine;
    }
    ours->tail = mine;
    return true;
}

static bool message_add(check_t *check, check_rank_t *rank, const check_message_t *message)
{
    void *messages = check->messages;
    void *own = rank->messages;

    if (!check_grow(&messages, check->nmessages, &check->messages_room, sizeof(*message))) {
        return check_no_memory(check);
    }
    check->messages = messages;
    if (!check_grow(&own, rank->nmessages, &rank->messages_room, sizeof(*rank->messages))) {
        return check_no_memory(check);
    }
    rank->messages = own;
    rank->messages[rank->nmessages++] = check->nmessages;
    check->messages[check->nmessages++] = *message;
    return true;
}

bool check_message_start(check_t *check, check_rank_t *rank, const plan_step_t *step)
{
    const plan_params_t *params = check_params(check, rank);
    check_message_t message = {.send = step->kind == PLAN_MESSAGE_SEND,
                               .length = step->length,
                               .rank = rank->me,
                               .item = rank->item,
                               .partner = NO_MESSAGE,
                               .next = NO_MESSAGE};
    check_view_t view;

    if (step->peer >= check->nranks || step->peer == rank->me) {
        return check_fail(check, rank, "a message to or from rank %" PRIu32, step->peer);
    }
    message.ref = message.send ? step->src : step->dst;
    if (message.send) {
        if (!check_view_read(check, rank, message.ref, step->length, &view)) {
            return false;
        }
        if (view.foreign) {
            return check_fail(check, rank, "sends from another rank's window");
        }
        if (!check_clocks_copy(check, &message.known, &rank->known)) {
            return check_no_memory(check);
        }
    } else {
        if (params->padded && message.ref.space == PLAN_RECV) {
            return check_fail(check, rank, "receives padded elements into recv");
        }
        if (!check_view_write(check, rank, message.ref, step->length, &view)) {
            return false;
        }
        if (view.foreign) {
            return check_fail(check, rank, "receives into another rank's window");
        }
        if (!memory_erase(view.memory, view.start, view.start + step->length)) {
            return check_no_memory(check);
        }
    }
    message.memory = view.memory;
    message.start = view.start;
    if (!message_add(check, rank, &message)) {
        check_clocks_close(&message.known);
        return false;
    }
    return match(check, rank, check->nmessages - 1, step->peer);
}

int check_message_complete(check_t *check, check_rank_t *rank, uint64_t messages)
{
    if (messages > rank->nmessages) {
        (void)check_fail(check, rank, "waits for %" PRIu64 " messages, %zu have been started", messages,
                         rank->nmessages);
        return -1;
    }
    for (size_t i = rank->completed; i < messages; i++) {
        if (check->messages[rank->messages[i]].partner == NO_MESSAGE) {
            return 0;
        }
    }
    for (; rank->completed < messages; rank->completed++) {
        const check_message_t *message = &check->messages[rank->messages[rank->completed]];
        if (!message->send) {
            check_message_t *partner = &check->messages[message->partner];
            check_clocks_join(check, &rank->known, &partner->known, false);
            check_clocks_close(&partner->known);
            if (message->ref.space == PLAN_WINDOW &&
                !memory_date(message->memory, message->start, message->start + message->length,
                             rank->known.order[rank->me])) {
                (void)check_no_memory(check);
                return -1;
            }
        }
    }
    return 1;
}

bool check_message_touches(const check_t *check, const check_rank_t *rank, const memory_t *memory, uint64_t start,
                           uint64_t length, bool writing)
{
    for (size_t i = rank->completed; i < rank->nmessages; i++) {
        const check_message_t *message = &check->messages[rank->messages[i]];
        if (message->memory == memory && (writing || !message->send) && message->start < start + length &&
            start < message->start + message->length) {
            return true;
        }
    }
    return false;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Events as lines of JSON. */
#include "shim/trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { HEAD_BYTES = 160, ESCAPED_BYTES = 6 * TRACE_COMM_BYTES };

void trace_text_escape(const char *text, char *escaped, size_t bytes)
{
    size_t length = 0;

    for (; *text != '\0' && length + 7 < bytes; text++) {
        const unsigned char letter = (unsigned char)*text;
        if (letter < 0x20 || letter >= 0x7f) {
            length += (size_t)snprintf(escaped + length, bytes - length, "\\u%04x", (unsigned)letter);
        } else {
            if (letter == '"' || letter == '\\') {
                escaped[length++] = '\\';
            }
            escaped[length++] = (char)letter;
        }
    }
    escaped[length] = '\0';
}

/* What the format wants of every event: phase, process, thread, time in microseconds. */
static void head_text(const trace_event_t *event, uint64_t process, int64_t offset_ns, char head[HEAD_BYTES])
{
    static const char phases[] = {[TRACE_CALL] = 'X', [TRACE_STARTED] = 'b', [TRACE_ENDED] = 'e',
                                  [TRACE_WAIT] = 'X', [TRACE_SET_UP] = 'X',  [TRACE_STALLED] = 'i'};
    const uint64_t begin = event->begin_ns + (uint64_t)offset_ns;
    const uint64_t duration = event->end_ns - event->begin_ns;
    int length = snprintf(head, HEAD_BYTES, "\"ph\":\"%c\",\"pid\":%" PRIu64 ",\"tid\":%u,\"ts\":%" PRIu64 ".%03u",
                          phases[event->kind], process, event->thread, begin / 1000, (unsigned)(begin % 1000));

    if (phases[event->kind] == 'X') {
        (void)snprintf(head + length, HEAD_BYTES - (size_t)length, ",\"dur\":%" PRIu64 ".%03u", duration / 1000,
                       (unsigned)(duration % 1000));
    } else if (event->kind == TRACE_STALLED) {
        (void)snprintf(head + length, HEAD_BYTES - (size_t)length, ",\"s\":\"p\"");
    } else {
        /* Numbers of this process: others have the same. */
        (void)snprintf(head + length, HEAD_BYTES - (size_t)length, ",\"id2\":{\"local\":\"%" PRIu64 "\"}", event->id);
    }
}

/* Who did it, in a word. */
static const char *engine_text(reason_t reason)
{
    if (reason_is_host(reason)) {
        return "host MPI";
    }
    return reason == REASON_HCCL ? "hccl" : reason == REASON_ONE_RANK ? "none" : "host";
}

static int collective_text(const trace_event_t *event, const char *head, const char *comm, char *line, size_t bytes)
{
    const char *name = report_function(event->mode, event->collective);
    const bool algorithm = event->algorithm != NULL;

    if (event->kind == TRACE_STARTED) {
        return snprintf(line, bytes,
                        "{%s,\"cat\":\"collective\",\"name\":\"%s\",\"args\":{\"bytes\":%" PRIu64
                        ",\"datatype\":\"%s\",\"op\":\"%s\",\"communicator\":\"%s\"}}",
                        head, name, event->bytes,
                        event->dtype < DTYPE_COUNT ? dtype_name((dtype_t)event->dtype) : "other",
                        event->op < OP_COUNT ? op_name((op_t)event->op) : "other", comm);
    }
    return snprintf(
        line, bytes,
        "{%s,\"cat\":\"collective\",\"name\":\"%s\",\"args\":{\"bytes\":%" PRIu64
        ",\"datatype\":\"%s\",\"op\":\"%s\",\"communicator\":\"%s\",\"engine\":\"%s\",\"why\":\"%s\"%s%s%s}}",
        head, name, event->bytes, event->dtype < DTYPE_COUNT ? dtype_name((dtype_t)event->dtype) : "other",
        event->op < OP_COUNT ? op_name((op_t)event->op) : "other", comm, engine_text(event->reason),
        reason_text(event->reason), algorithm ? ",\"algorithm\":\"" : "", algorithm ? event->algorithm : "",
        algorithm ? "\"" : "");
}

size_t trace_event_text(const trace_event_t *event, uint64_t process, int64_t offset_ns, char *line, size_t bytes)
{
    char head[HEAD_BYTES];
    char comm[ESCAPED_BYTES];
    int length = 0;

    head_text(event, process, offset_ns, head);
    trace_text_escape(event->comm, comm, sizeof comm);
    switch (event->kind) {
    case TRACE_CALL:
    case TRACE_STARTED:
    case TRACE_ENDED:
        length = collective_text(event, head, comm, line, bytes);
        break;
    case TRACE_WAIT:
        length = snprintf(line, bytes,
                          "{%s,\"cat\":\"wait\",\"name\":\"wait for rank %" PRIu32 "\",\"args\":{\"rank\":%" PRIu32
                          ",\"communicator\":\"%s\"}}",
                          head, event->rank, event->rank, comm);
        break;
    case TRACE_SET_UP:
        length =
            snprintf(line, bytes,
                     "{%s,\"cat\":\"set-up\",\"name\":\"set-up of a communicator\",\"args\":{\"communicator\":\"%s\"}}",
                     head, comm);
        break;
    case TRACE_STALLED:
        length = snprintf(line, bytes,
                          "{%s,\"cat\":\"wait\",\"name\":\"stalled: rank %" PRIu32
                          " has not come\",\"args\":{\"rank\":%" PRIu32 ",\"communicator\":\"%s\"}}",
                          head, event->rank, event->rank, comm);
        break;
    }
    return length > 0 && (size_t)length < bytes ? (size_t)length : 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine/host/stream.h"

#include <string.h>

#if defined(__x86_64__)

#include <immintrin.h>
#include <stdint.h>

enum { LINE = 64 };

/* One line past the caches. */
static inline void stream_line(unsigned char *dst, const unsigned char *src)
{
    const __m128i *in = (const __m128i *)(const void *)src;
    __m128i *out = (__m128i *)(void *)dst;
    __m128i a = _mm_loadu_si128(in);
    __m128i b = _mm_loadu_si128(in + 1);
    __m128i c = _mm_loadu_si128(in + 2);
    __m128i d = _mm_loadu_si128(in + 3);

    _mm_stream_si128(out, a);
    _mm_stream_si128(out + 1, b);
    _mm_stream_si128(out + 2, c);
    _mm_stream_si128(out + 3, d);
}

void stream_copy(void *dst, const void *src, size_t bytes)
{
    unsigned char *to = dst;
    const unsigned char *from = src;
    size_t head = (size_t)(-(uintptr_t)to % LINE);

    if (bytes < (size_t)LINE * STREAM_LANES * 2) {
        memcpy(to, from, bytes);
        return;
    }
    memcpy(to, from, head);
    to += head;
    from += head;
    bytes -= head;
    size_t lane = bytes / STREAM_LANES / LINE * LINE;
    for (size_t i = 0; i < lane; i += LINE) {
        stream_line(to + i, from + i);
        stream_line(to + lane + i, from + lane + i);
        stream_line(to + 2 * lane + i, from + 2 * lane + i);
        stream_line(to + 3 * lane + i, from + 3 * lane + i);
    }
    memcpy(to + STREAM_LANES * lane, from + STREAM_LANES * lane, bytes - STREAM_LANES * lane);
}

/* A line at a time by one instruction, where there is one that long. */
__attribute__((target("avx512f"))) static void store_lines_512(unsigned char *to, const unsigned char *from,
                                                               size_t bytes)
{
    for (size_t i = 0; i < bytes; i += LINE) {
        _mm512_stream_si512((__m512i *)(void *)(to + i), _mm512_loadu_si512(from + i));
    }
}

static void store_lines_128(unsigned char *to, const unsigned char *from, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += LINE) {
        stream_line(to + i, from + i);
    }
}

void stream_store(void *dst, const void *src, size_t bytes)
{
    unsigned char *to = dst;
    const unsigned char *from = src;
    const size_t head = (size_t)(-(uintptr_t)to % LINE);

    if (bytes < head + LINE) {
        memcpy(to, from, bytes);
        return;
    }
    const size_t lines = (bytes - head) / LINE * LINE;
    memcpy(to, from, head);
    /* Looked up in a table that the compiler's runtime fills in at start: no call. */
    if (__builtin_cpu_supports("avx512f")) {
        store_lines_512(to + head, from + head, lines);
    } else {
        store_lines_128(to + head, from + head, lines);
    }
    memcpy(to + head + lines, from + head + lines, bytes - head - lines);
}

void stream_end(void)
{
    _mm_sfence();
}

#else

void stream_copy(void *dst, const void *src, size_t bytes)
{
    memcpy(dst, src, bytes);
}

void stream_store(void *dst, const void *src, size_t bytes)
{
    memcpy(dst, src, bytes);
}

void stream_end(void)
{
}

#endif

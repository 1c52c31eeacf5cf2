/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine/host/stream.h"

#include <string.h>

#if defined(__x86_64__)

#include <emmintrin.h>
#include <stdint.h>

enum { LINE = 64 };

void stream_copy(void *dst, const void *src, size_t bytes)
{
    unsigned char *to = dst;
    const unsigned char *from = src;
    size_t head = (size_t)(-(uintptr_t)to % LINE);

    if (bytes < 2 * (size_t)LINE) {
        memcpy(to, from, bytes);
        return;
    }
    memcpy(to, from, head);
    to += head;
    from += head;
    /* Whole lines, so that each leaves the write-combining buffer in one piece. */
    for (bytes -= head; bytes >= LINE; bytes -= LINE, to += LINE, from += LINE) {
        const __m128i *in = (const __m128i *)(const void *)from;
        __m128i *out = (__m128i *)(void *)to;
        __m128i a = _mm_loadu_si128(in);
        __m128i b = _mm_loadu_si128(in + 1);
        __m128i c = _mm_loadu_si128(in + 2);
        __m128i d = _mm_loadu_si128(in + 3);
        _mm_stream_si128(out, a);
        _mm_stream_si128(out + 1, b);
        _mm_stream_si128(out + 2, c);
        _mm_stream_si128(out + 3, d);
    }
    memcpy(to, from, bytes);
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

void stream_end(void)
{
}

#endif

/*
 * Learned key order: behind a value there comes most likely what came there last time, byte for
 * byte (`, "pid": ` and so on), so that a key costs one comparison instead of a scan.
 */
#ifndef PYRO_TRACE_KINETO_KEYS_H
#define PYRO_TRACE_KINETO_KEYS_H

#include "base/json_scan.h"

#define PYRO_LITERAL_BYTES 64

/* The bytes from the end of a value to the start of the next one, and the state they lead to. */
typedef struct pyro_literal {
    _Alignas(16) char text[PYRO_LITERAL_BYTES];
    uint8_t length; /* 0: nothing learned */
    uint8_t next;
} pyro_literal;

/* A few of them for every state, the newest first. */
#define PYRO_LITERALS_A_STATE 3

typedef struct pyro_literals {
    pyro_literal known[PYRO_LITERALS_A_STATE];
} pyro_literals;

/* Remembers that `length` bytes at `text` lead to state `next`, when they are not too many. */
void pyro_literals_learn(pyro_literals *literals, const char *text, size_t length, unsigned next);

/* The same comparison without SIMD: what the other is tested against. */
bool pyro_same_bytes_scalar(const char *a, const char *b, size_t length);

/* Both sides are readable up to the next multiple of 16 bytes from their start. */
static inline bool pyro_same_bytes(const char *a, const char *b, size_t length)
{
#if defined(__SSE2__)
    for (size_t i = 0;; i += 16) {
        __m128i left = _mm_loadu_si128((const __m128i *)(a + i));
        __m128i right = _mm_loadu_si128((const __m128i *)(b + i));
        uint32_t same = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(left, right));
        if (length - i <= 16)
            return ((same ^ 0xffffu) & ((UINT32_C(2) << (length - i - 1)) - 1)) == 0;
        if (same != 0xffffu)
            return false;
    }
#else
    return pyro_same_bytes_scalar(a, b, length);
#endif
}

/* Where the next value starts, with `state` moved on; NULL when nothing that is known matches. */
static inline const char *pyro_literals_follow(const pyro_literals *literals, const char *at,
                                               unsigned *state)
{
    for (int i = 0; i < PYRO_LITERALS_A_STATE; i++) {
        const pyro_literal *literal = &literals->known[i];
        if (literal->length == 0)
            return NULL;
        if (pyro_same_bytes(literal->text, at, literal->length)) {
            *state = literal->next;
            return at + literal->length;
        }
    }
    return NULL;
}

#endif

/*
 * Learned key order. Between two values the bytes are most likely the same as last time (`, "pid":
 * 7, "tid": 7, "ts": ` and so on). One comparison then covers keys, and values that seldom change,
 * instead of one scan each.
 */
#ifndef PYRO_TRACE_KINETO_KEY_ORDER_H
#define PYRO_TRACE_KINETO_KEY_ORDER_H

#include "base/json/scan.h"

#define PYRO_KEY_STEP_BYTES 128 /* a multiple of 16 */
#define PYRO_KEY_HEAD_BYTES 32 /* that are compared at once; most steps are no longer */
#define PYRO_KEY_STEPS 512
/* Most steps per state; above the first number, values are no longer part of steps. */
#define PYRO_KEY_STEPS_PER_STATE 16
#define PYRO_MOST_KEY_STEPS_PER_STATE 32

/* The bytes of a step, the state it leads to, and how the value found there is handled. */
typedef struct pyro_key_step {
    _Alignas(16) char text[PYRO_KEY_STEP_BYTES];
    struct pyro_key_step *likely;  /* that followed last time; NULL: none yet */
    struct pyro_key_step *sibling; /* another step from the same state */
    uint16_t state;
    uint8_t length, action, field;
    uint8_t least; /* lowest byte that may follow: above a blank where a value must start */
    uint32_t head; /* one bit for each of the first PYRO_KEY_HEAD_BYTES that is part of the text */
    /* What the values inside the text set; `sets` has one bit for each. */
    uint8_t sets, category;
    char phase, named;
    uint64_t process, thread;
    int64_t thread_number;
} pyro_key_step;

typedef struct pyro_key_steps {
    pyro_key_step *first;
    unsigned count;
} pyro_key_steps;

/* The same comparison without SIMD; tests compare the two. */
bool pyro_same_bytes_scalar(const char *a, const char *b, size_t length);

/* Both sides are readable up to a multiple of 16 bytes from their start; `length` is not 0. */
static inline bool pyro_same_bytes(const char *a, const char *b, size_t length)
{
#if defined(__SSE2__)
    for (;; a += 16, b += 16, length -= 16) {
        __m128i left = _mm_loadu_si128((const __m128i *)a);
        __m128i right = _mm_loadu_si128((const __m128i *)b);
        uint32_t other = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(left, right)) ^ 0xffffu;
        if (length <= 16)
            return (other & ((UINT32_C(2) << (length - 1)) - 1)) == 0;
        if (other)
            return false;
    }
#elif defined(PYRO_JSON_SIMD)
    for (;; a += 16, b += 16, length -= 16) {
        uint8x16_t same = vceqq_u8(pyro_json_neon_load(a), pyro_json_neon_load(b));
        if (length <= 16)
            return ((pyro_json_neon_mask(same) ^ 0xffffu) & ((UINT32_C(2) << (length - 1)) - 1)) ==
                   0;
        if (vminvq_u8(same) == 0)
            return false;
    }
#else
    return pyro_same_bytes_scalar(a, b, length);
#endif
}

/* The bits of `head` for a text of this length. */
static inline uint32_t pyro_key_head(size_t length)
{
    return length < PYRO_KEY_HEAD_BYTES ? (UINT32_C(1) << length) - 1 : UINT32_MAX;
}

#if defined(PYRO_JSON_SIMD)
/* One bit for each of the first PYRO_KEY_HEAD_BYTES that differs. */
static inline uint32_t pyro_other_head(const char *a, const char *b)
{
#if defined(__SSE2__)
    const __m128i *left = (const __m128i *)a, *right = (const __m128i *)b;
    __m128i low = _mm_cmpeq_epi8(_mm_loadu_si128(left), _mm_loadu_si128(right));
    __m128i high = _mm_cmpeq_epi8(_mm_loadu_si128(left + 1), _mm_loadu_si128(right + 1));
    return ~((uint32_t)_mm_movemask_epi8(low) | (uint32_t)_mm_movemask_epi8(high) << 16);
#else
    uint8x16_t low = vceqq_u8(pyro_json_neon_load(a), pyro_json_neon_load(b));
    uint8x16_t high = vceqq_u8(pyro_json_neon_load(a + 16), pyro_json_neon_load(b + 16));
    return ~(pyro_json_neon_mask(low) | pyro_json_neon_mask(high) << 16);
#endif
}
#endif

static inline bool pyro_key_step_stands(const pyro_key_step *step, const char *at)
{
#if defined(PYRO_JSON_SIMD)
    if (pyro_other_head(step->text, at) & step->head)
        return false;
    if (step->length > PYRO_KEY_HEAD_BYTES &&
        !pyro_same_bytes(step->text + PYRO_KEY_HEAD_BYTES, at + PYRO_KEY_HEAD_BYTES,
                         step->length - (size_t)PYRO_KEY_HEAD_BYTES))
        return false;
#else
    if (!pyro_same_bytes(step->text, at, step->length))
        return false;
#endif
    return (unsigned char)at[step->length] >= step->least;
}

/* The step of a state whose bytes are at `at`, or NULL. */
pyro_key_step *pyro_key_steps_find(const pyro_key_steps *steps, const char *at);

#endif

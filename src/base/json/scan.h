/*
 * SIMD scans over JSON bytes: white space, ends of strings, nested values, integers; no grammar.
 * Every buffer is followed by PYRO_JSON_PADDING readable bytes, the first of them NUL. No token
 * contains a NUL, so that every scan stops there without a bounds check.
 */
#ifndef PYRO_BASE_JSON_SCAN_H
#define PYRO_BASE_JSON_SCAN_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#define PYRO_JSON_SIMD "SSE2"
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#include <immintrin.h>
#define PYRO_JSON_AVX2
#endif
#elif defined(__aarch64__) && defined(__ARM_NEON) && !defined(__AARCH64EB__)
#include <arm_neon.h>
#define PYRO_JSON_SIMD "NEON"
#endif

#define PYRO_JSON_PADDING 64

/* One bit per byte of a block of 64, the lowest for the first byte. */
typedef struct pyro_json_block {
    uint64_t quote, backslash;
    uint64_t open, close; /* brackets of both kinds */
    uint64_t curly;       /* of the brackets: those of objects; other bytes have any value */
} pyro_json_block;

/* The state of a scan over a nested value, which continues in the next piece of input. */
typedef struct pyro_json_nesting {
    int64_t depth;        /* open brackets; 0 after the end of the value */
    int64_t curly_depth;  /* open curly brackets; nonzero at the end: a mismatch */
    uint64_t in_string;   /* all ones inside a string */
    uint64_t escaped;     /* 1 when the next byte follows a backslash */
} pyro_json_nesting;

/*
 * Continues the scan of `nesting` (depth at least 1). Returns the byte after the value's last
 * bracket, or `end` if the value continues there (depth is not 0).
 */
const char *pyro_json_scan_nested(pyro_json_nesting *nesting, const char *at, const char *end);

/* Its implementations; the fastest that the machine supports is used. */
const char *pyro_json_scan_nested_baseline(pyro_json_nesting *nesting, const char *at,
                                           const char *end);
#if defined(PYRO_JSON_AVX2)
const char *pyro_json_scan_nested_avx2(pyro_json_nesting *nesting, const char *at, const char *end);
static inline bool pyro_json_has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("pclmul") &&
           __builtin_cpu_supports("popcnt") && __builtin_cpu_supports("bmi");
}
#endif

/* The scalar versions: portable, and the reference in tests. */
const char *pyro_json_scan_nested_scalar(pyro_json_nesting *nesting, const char *at,
                                         const char *end);
void pyro_json_classify_scalar(pyro_json_block *block, const char *at);
const char *pyro_json_scan_space_scalar(const char *at);
const char *pyro_json_scan_string_scalar(const char *at, bool *beyond_ascii);
const char *pyro_json_scan_integer_scalar(const char *at, uint64_t *value);

static inline bool pyro_json_is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static inline bool pyro_json_is_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

#if defined(__SSE2__)

/* Masks of 16 bytes: bit i is about byte i. */
static inline uint32_t pyro_json_mask_not_space(const char *at)
{
    __m128i bytes = _mm_loadu_si128((const __m128i *)at);
    __m128i space = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(' ')),
                                              _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\n'))),
                                 _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('\r')),
                                              _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\t'))));
    return (uint32_t)_mm_movemask_epi8(space) ^ 0xffffu;
}

/* Quotes, backslashes and control characters; `high` gets the bytes from 0x80 up. */
static inline uint32_t pyro_json_mask_string_stop(const char *at, uint32_t *high)
{
    __m128i bytes = _mm_loadu_si128((const __m128i *)at);
    __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1f)), bytes);
    __m128i stop = _mm_or_si128(control, _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')),
                                                      _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'))));
    *high = (uint32_t)_mm_movemask_epi8(bytes);
    return (uint32_t)_mm_movemask_epi8(stop);
}

/* Brackets of both kinds and backslashes; `quote` gets the quotes. */
static inline uint32_t pyro_json_mask_flat_stop(const char *at, uint32_t *quote)
{
    __m128i bytes = _mm_loadu_si128((const __m128i *)at);
    /* With bit 5 set, these are the three characters from '{' on. */
    __m128i folded = _mm_or_si128(bytes, _mm_set1_epi8(0x20));
    __m128i above = _mm_sub_epi8(folded, _mm_set1_epi8('{'));
    __m128i stop = _mm_cmpeq_epi8(_mm_min_epu8(above, _mm_set1_epi8(2)), above);
    *quote = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')));
    return (uint32_t)_mm_movemask_epi8(stop);
}

/* The digits at the start of 16 bytes. */
static inline unsigned pyro_json_leading_digits(const char *at)
{
    __m128i bytes = _mm_loadu_si128((const __m128i *)at);
    __m128i value = _mm_sub_epi8(bytes, _mm_set1_epi8('0'));
    __m128i is_digit = _mm_cmpeq_epi8(_mm_min_epu8(value, _mm_set1_epi8(9)), value);
    return (unsigned)__builtin_ctz(~(uint32_t)_mm_movemask_epi8(is_digit));
}

static inline void pyro_json_classify(pyro_json_block *block, const char *at)
{
    *block = (pyro_json_block){0};
    for (int i = 0; i < 4; i++) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(at + 16 * i));
        /* '{' is '[' with bit 5 set, and '}' is ']'. */
        __m128i folded = _mm_or_si128(bytes, _mm_set1_epi8(0x20));
        __m128i quote = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"'));
        __m128i backslash = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'));
        __m128i open = _mm_cmpeq_epi8(folded, _mm_set1_epi8('{'));
        __m128i close = _mm_cmpeq_epi8(folded, _mm_set1_epi8('}'));
        block->quote |= (uint64_t)(uint32_t)_mm_movemask_epi8(quote) << 16 * i;
        block->backslash |= (uint64_t)(uint32_t)_mm_movemask_epi8(backslash) << 16 * i;
        block->open |= (uint64_t)(uint32_t)_mm_movemask_epi8(open) << 16 * i;
        block->close |= (uint64_t)(uint32_t)_mm_movemask_epi8(close) << 16 * i;
        block->curly |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_slli_epi16(bytes, 2)) << 16 * i;
    }
}

#elif defined(PYRO_JSON_SIMD)

/* NEON has no movemask: each byte keeps one distinct bit, and neighbours are added. */
static inline uint32_t pyro_json_neon_mask(uint8x16_t truth)
{
    static const uint8_t bit_of_byte[16] = {1, 2, 4, 8, 16, 32, 64, 128,
                                            1, 2, 4, 8, 16, 32, 64, 128};
    uint8x16_t bits = vandq_u8(truth, vld1q_u8(bit_of_byte));
    bits = vpaddq_u8(bits, bits);
    bits = vpaddq_u8(bits, bits);
    bits = vpaddq_u8(bits, bits);
    return vgetq_lane_u16(vreinterpretq_u16_u8(bits), 0);
}

static inline uint8x16_t pyro_json_neon_load(const char *at)
{
    return vld1q_u8((const uint8_t *)at);
}

static inline uint32_t pyro_json_mask_not_space(const char *at)
{
    uint8x16_t bytes = pyro_json_neon_load(at);
    uint8x16_t space = vorrq_u8(
        vorrq_u8(vceqq_u8(bytes, vdupq_n_u8(' ')), vceqq_u8(bytes, vdupq_n_u8('\n'))),
        vorrq_u8(vceqq_u8(bytes, vdupq_n_u8('\r')), vceqq_u8(bytes, vdupq_n_u8('\t'))));
    return pyro_json_neon_mask(space) ^ 0xffffu;
}

static inline uint32_t pyro_json_mask_string_stop(const char *at, uint32_t *high)
{
    uint8x16_t bytes = pyro_json_neon_load(at);
    uint8x16_t stop = vorrq_u8(
        vcltq_u8(bytes, vdupq_n_u8(0x20)),
        vorrq_u8(vceqq_u8(bytes, vdupq_n_u8('"')), vceqq_u8(bytes, vdupq_n_u8('\\'))));
    *high = vmaxvq_u8(bytes) < 0x80 ? 0 : pyro_json_neon_mask(vcgeq_u8(bytes, vdupq_n_u8(0x80)));
    return pyro_json_neon_mask(stop);
}

static inline uint32_t pyro_json_mask_flat_stop(const char *at, uint32_t *quote)
{
    uint8x16_t bytes = pyro_json_neon_load(at);
    uint8x16_t above = vsubq_u8(vorrq_u8(bytes, vdupq_n_u8(0x20)), vdupq_n_u8('{'));
    *quote = pyro_json_neon_mask(vceqq_u8(bytes, vdupq_n_u8('"')));
    return pyro_json_neon_mask(vcleq_u8(above, vdupq_n_u8(2)));
}

static inline unsigned pyro_json_leading_digits(const char *at)
{
    uint8x16_t value = vsubq_u8(pyro_json_neon_load(at), vdupq_n_u8('0'));
    return (unsigned)__builtin_ctz(~pyro_json_neon_mask(vcleq_u8(value, vdupq_n_u8(9))));
}

static inline void pyro_json_classify(pyro_json_block *block, const char *at)
{
    *block = (pyro_json_block){0};
    for (int i = 0; i < 4; i++) {
        uint8x16_t bytes = pyro_json_neon_load(at + 16 * i);
        uint8x16_t folded = vorrq_u8(bytes, vdupq_n_u8(0x20));
        uint8x16_t quote = vceqq_u8(bytes, vdupq_n_u8('"'));
        uint8x16_t backslash = vceqq_u8(bytes, vdupq_n_u8('\\'));
        uint8x16_t open = vceqq_u8(folded, vdupq_n_u8('{'));
        uint8x16_t close = vceqq_u8(folded, vdupq_n_u8('}'));
        uint8x16_t curly = vtstq_u8(bytes, vdupq_n_u8(0x20));
        block->quote |= (uint64_t)pyro_json_neon_mask(quote) << 16 * i;
        block->backslash |= (uint64_t)pyro_json_neon_mask(backslash) << 16 * i;
        block->open |= (uint64_t)pyro_json_neon_mask(open) << 16 * i;
        block->close |= (uint64_t)pyro_json_neon_mask(close) << 16 * i;
        block->curly |= (uint64_t)pyro_json_neon_mask(curly) << 16 * i;
    }
}

#else

static inline void pyro_json_classify(pyro_json_block *block, const char *at)
{
    pyro_json_classify_scalar(block, at);
}

#endif

/* The first byte that is not white space. */
static inline const char *pyro_json_scan_space(const char *at)
{
    /* Usually there is no white space, or one blank after a comma or colon. */
    if ((unsigned char)*at > ' ')
        return at;
    if (*at == ' ' && (unsigned char)at[1] > ' ')
        return at + 1;
    if (!pyro_json_is_space(*at))
        return at;
    at++;
    if (!pyro_json_is_space(*at))
        return at;
#if defined(PYRO_JSON_SIMD)
    for (;; at += 16) {
        uint32_t stop = pyro_json_mask_not_space(at);
        if (stop)
            return at + __builtin_ctz(stop);
    }
#else
    return pyro_json_scan_space_scalar(at);
#endif
}

/*
 * From inside a string, finds its closing quote, or the first backslash or control character
 * (including the NUL after the buffer). Sets `beyond_ascii` if there are bytes from 0x80 up before
 * that, else leaves it unchanged.
 */
static inline const char *pyro_json_scan_string(const char *at, bool *beyond_ascii)
{
#if defined(PYRO_JSON_SIMD)
    for (;; at += 16) {
        uint32_t high, stop = pyro_json_mask_string_stop(at, &high);
        if (stop) {
            *beyond_ascii |= (high & ((stop & -stop) - 1)) != 0;
            return at + __builtin_ctz(stop);
        }
        *beyond_ascii |= high != 0;
    }
#else
    return pyro_json_scan_string_scalar(at, beyond_ascii);
#endif
}

/*
 * From behind a curly bracket: the byte behind the one that closes it, if what is between has no
 * other bracket and no backslash, as most args of events; else NULL. Needs no look into strings.
 */
static inline const char *pyro_json_scan_flat(const char *at, const char *end)
{
#if defined(PYRO_JSON_SIMD)
    uint32_t quotes = 0; /* as many, modulo 2, as there were so far */
    for (; at < end; at += 16) {
        uint32_t quote, stop = pyro_json_mask_flat_stop(at, &quote);
        if (!stop) {
            quotes ^= quote;
            continue;
        }
        quotes ^= quote & (stop ^ (stop - 1));
        at += __builtin_ctz(stop);
        return at < end && *at == '}' && !__builtin_parity(quotes) ? at + 1 : NULL;
    }
#else
    (void)at;
    (void)end;
#endif
    return NULL;
}

/* Counts the digits at the start of 8 bytes; `digits` gets their values, the first one lowest. */
static inline unsigned pyro_json_count_digits(const char *at, uint64_t *digits)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    *digits = word ^ UINT64_C(0x3030303030303030);
    /* A byte above 9 has its highest bit, or gets it by an addition that carries nothing over. */
    uint64_t raised = (*digits & UINT64_C(0x7f7f7f7f7f7f7f7f)) + UINT64_C(0x7676767676767676);
    uint64_t other = (raised | *digits) & UINT64_C(0x8080808080808080);
    return other ? (unsigned)__builtin_ctzll(other) / 8 : 8;
}

/* Reads three digits; false where there are fewer. */
static inline bool pyro_json_three_digits(const char *at, unsigned *value)
{
    uint32_t digits = pyro_le32((const unsigned char *)at) ^ UINT32_C(0x30303030);
    /* As above; what follows the digits is not looked at. */
    uint32_t raised = (digits & UINT32_C(0x7f7f7f)) + UINT32_C(0x767676);
    if ((raised | digits) & UINT32_C(0x808080))
        return false;
    *value = (digits & 0xff) * 100 + (digits >> 8 & 0xff) * 10 + (digits >> 16 & 0xff);
    return true;
}

#if defined(PYRO_JSON_SIMD)

/* The value of 1 to 8 digits; 8 bytes are readable. */
static inline uint64_t pyro_json_join_digits(const char *at, unsigned count)
{
    uint64_t digits;
    memcpy(&digits, at, sizeof digits);
    /* Zeros come in from the front, then pairs, fours and eights of digits are joined. */
    digits = (digits - UINT64_C(0x3030303030303030)) << (64 - 8 * count);
    digits = digits * 10 + (digits >> 8);
    digits = (digits & UINT64_C(0x000000ff000000ff)) * UINT64_C(0x000f424000000064) +
             (digits >> 16 & UINT64_C(0x000000ff000000ff)) * UINT64_C(0x0000271000000001);
    return digits >> 32;
}

#endif

/*
 * Reads up to 18 digits (leading zeros too) and returns the byte after them. NULL if there is no
 * digit, or more than 18, which may not fit in an int64.
 */
static inline const char *pyro_json_scan_integer(const char *at, uint64_t *value)
{
#if defined(PYRO_JSON_SIMD)
    unsigned count = pyro_json_leading_digits(at);
    if (count - 1 < 8) {
        *value = pyro_json_join_digits(at, count);
        return at + count;
    }
    if (count && (count < 16 || !pyro_json_is_digit(at[16]))) {
        *value = pyro_json_join_digits(at, count - 8) * UINT64_C(100000000) +
                 pyro_json_join_digits(at + count - 8, 8);
        return at + count;
    }
#endif
    return pyro_json_scan_integer_scalar(at, value);
}

#endif

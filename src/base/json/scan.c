/* Skips nested JSON values in steps of 64 bytes. Also has the scalar version of every scan. */
#include "base/json/scan.h"

void pyro_json_classify_scalar(pyro_json_block *block, const char *at)
{
    *block = (pyro_json_block){0};
    for (int i = 0; i < 64; i++) {
        uint64_t bit = UINT64_C(1) << i;
        block->quote |= at[i] == '"' ? bit : 0;
        block->backslash |= at[i] == '\\' ? bit : 0;
        block->open |= at[i] == '{' || at[i] == '[' ? bit : 0;
        block->close |= at[i] == '}' || at[i] == ']' ? bit : 0;
        block->curly |= at[i] & 0x20 ? bit : 0;
    }
}

const char *pyro_json_scan_space_scalar(const char *at)
{
    while (pyro_json_is_space(*at))
        at++;
    return at;
}

const char *pyro_json_scan_string_scalar(const char *at, bool *beyond_ascii)
{
    for (; *at != '"' && *at != '\\' && (unsigned char)*at >= 0x20; at++)
        if ((unsigned char)*at >= 0x80)
            *beyond_ascii = true;
    return at;
}

const char *pyro_json_scan_integer_scalar(const char *at, uint64_t *value)
{
    const char *begin = at;
    uint64_t total = 0;
    for (; pyro_json_is_digit(*at); at++) {
        if (at - begin == 18)
            return NULL;
        total = total * 10 + (uint64_t)(*at - '0');
    }
    *value = total;
    return at == begin ? NULL : at;
}

const char *pyro_json_scan_nested_scalar(pyro_json_nesting *nesting, const char *at,
                                         const char *end)
{
    for (; at < end && nesting->depth > 0; at++) {
        bool escaped = nesting->escaped;
        nesting->escaped = *at == '\\' && !escaped;
        if (*at == '"' && !escaped) {
            nesting->in_string = ~nesting->in_string;
        } else if (!nesting->in_string) {
            int step = (*at == '{' || *at == '[') - (*at == '}' || *at == ']');
            nesting->depth += step;
            nesting->curly_depth += *at & 0x20 ? step : 0;
        }
    }
    return at;
}

/* Baseline x86-64 has no population count instruction, and the compiler's helper is slower. */
static inline int64_t count_bits(uint64_t bits, bool native)
{
#if defined(__POPCNT__) || defined(__aarch64__)
    native = true;
#endif
    if (native)
        return __builtin_popcountll(bits);
    bits -= bits >> 1 & UINT64_C(0x5555555555555555);
    bits = (bits & UINT64_C(0x3333333333333333)) + (bits >> 2 & UINT64_C(0x3333333333333333));
    bits = (bits + (bits >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return (int64_t)(bits * UINT64_C(0x0101010101010101) >> 56);
}

/* Bit i of the result is the parity of the bits 0 to i: ones from a quote up to the next one. */
static inline uint64_t prefix_xor(uint64_t bits)
{
    for (int shift = 1; shift < 64; shift *= 2)
        bits ^= bits << shift;
    return bits;
}

/* Finds the bytes after an escaping backslash, one by one: they are rare. */
static uint64_t escaped_bytes(uint64_t backslash, uint64_t first_escaped)
{
    uint64_t escaped = first_escaped;
    backslash &= ~first_escaped;
    while (backslash) {
        uint64_t next = (backslash & -backslash) << 1;
        escaped |= next;
        backslash &= backslash - 1;
        backslash &= ~next;
    }
    return escaped;
}

/* Walks the brackets of a block in which the value may end; returns the index of its end or 64. */
static int find_last_bracket(pyro_json_nesting *nesting, uint64_t open, uint64_t close,
                             uint64_t curly)
{
    for (uint64_t brackets = open | close; brackets; brackets &= brackets - 1) {
        uint64_t bit = brackets & -brackets;
        int step = open & bit ? 1 : -1;
        nesting->depth += step;
        nesting->curly_depth += curly & bit ? step : 0;
        if (nesting->depth == 0)
            return __builtin_ctzll(bit);
    }
    return 64;
}

/* Finds the quotes in the first `size` bytes of a block that open or close strings. */
static inline uint64_t string_quotes(pyro_json_nesting *nesting, const pyro_json_block *block,
                                     size_t size)
{
    uint64_t valid = size == 64 ? ~UINT64_C(0) : (UINT64_C(1) << size) - 1;
    uint64_t backslash = block->backslash & valid;
    if (!(backslash | nesting->escaped))
        return block->quote & valid;
    uint64_t escaped = escaped_bytes(backslash, nesting->escaped);
    /* A full block has no bit left for the byte behind it. */
    if (size < 64)
        nesting->escaped = escaped >> size & 1;
    else
        nesting->escaped = (backslash & ~escaped) >> 63;
    return block->quote & valid & ~escaped;
}

/* Counts a block's brackets. Returns the index after the value, or 0 if the value continues. */
static inline size_t count_brackets(pyro_json_nesting *nesting, const pyro_json_block *block,
                                    uint64_t outside, bool native)
{
    uint64_t open = block->open & outside, close = block->close & outside;
    int64_t closed = count_bits(close, native);
    if (nesting->depth <= closed) {
        int last = find_last_bracket(nesting, open, close, block->curly);
        if (last < 64)
            return (size_t)last + 1;
    } else if (open | close) {
        nesting->depth += count_bits(open, native) - closed;
        nesting->curly_depth += count_bits(open & block->curly, native) -
                                count_bits(close & block->curly, native);
    }
    return 0;
}

/* One block of `size` bytes; `string` is what prefix_xor makes of its quotes. */
static inline size_t finish_block(pyro_json_nesting *nesting, const pyro_json_block *block,
                                  size_t size, uint64_t string, bool native)
{
    uint64_t valid = size == 64 ? ~UINT64_C(0) : (UINT64_C(1) << size) - 1;
    string ^= nesting->in_string;
    nesting->in_string = (uint64_t)((int64_t)string >> 63);
    return count_brackets(nesting, block, valid & ~string, native);
}

/* What a block is that holds neither brackets inside the value nor backslashes, as most args of events
 * do: it needs no look at what is in strings. */
typedef enum flat_end { NOT_FLAT, FLAT_GOES_ON, FLAT_ENDS } flat_end;

/* A full block of a value with one open bracket: its end, if it comes before anything else that
 * counts, is where the first closing bracket is. Sets *last to the index behind that. */
static inline flat_end find_flat_end(pyro_json_nesting *nesting, const pyro_json_block *block,
                                     size_t *last)
{
    uint64_t close = block->close;
    uint64_t until = close ^ (close - 1); /* the first closing bracket and what is before it */
    if (nesting->depth != 1 || nesting->escaped || (block->open | block->backslash) & until)
        return NOT_FLAT;
    bool ends_in_string = __builtin_parityll(block->quote & until) ^ (nesting->in_string & 1);
    if (!close) {
        nesting->in_string = ends_in_string ? ~UINT64_C(0) : 0;
        return FLAT_GOES_ON;
    }
    if (ends_in_string)
        return NOT_FLAT;
    int index = __builtin_ctzll(close);
    nesting->in_string = 0;
    nesting->depth = 0;
    nesting->curly_depth -= block->curly >> index & 1;
    *last = (size_t)index + 1;
    return FLAT_ENDS;
}

const char *pyro_json_scan_nested_baseline(pyro_json_nesting *nesting, const char *at,
                                           const char *end)
{
    while (at < end && nesting->depth > 0) {
        pyro_json_block block;
        pyro_json_classify(&block, at);
        size_t size = end - at < 64 ? (size_t)(end - at) : 64, last = 0;
        flat_end flat = size == 64 ? find_flat_end(nesting, &block, &last) : NOT_FLAT;
        if (flat == NOT_FLAT) {
            uint64_t string = prefix_xor(string_quotes(nesting, &block, size));
            last = finish_block(nesting, &block, size, string, false);
        }
        if (last)
            return at + last;
        at += size;
    }
    return at;
}

#if defined(PYRO_JSON_AVX2)

#define AVX2 __attribute__((target("avx2,pclmul,popcnt,bmi")))

AVX2 static inline uint64_t mask_equal(__m256i low, __m256i high, char c)
{
    __m256i wanted = _mm256_set1_epi8(c);
    uint32_t first = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, wanted));
    uint32_t second = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(high, wanted));
    return first | (uint64_t)second << 32;
}

AVX2 const char *pyro_json_scan_nested_avx2(pyro_json_nesting *nesting, const char *at,
                                            const char *end)
{
    const __m256i case_bit = _mm256_set1_epi8(0x20);
    while (at < end && nesting->depth > 0) {
        __m256i low = _mm256_loadu_si256((const __m256i *)at);
        __m256i high = _mm256_loadu_si256((const __m256i *)(at + 32));
        __m256i folded_low = _mm256_or_si256(low, case_bit);
        __m256i folded_high = _mm256_or_si256(high, case_bit);
        pyro_json_block block = {.quote = mask_equal(low, high, '"'),
                                 .backslash = mask_equal(low, high, '\\'),
                                 .open = mask_equal(folded_low, folded_high, '{'),
                                 .close = mask_equal(folded_low, folded_high, '}')};
        uint32_t curly_low = (uint32_t)_mm256_movemask_epi8(_mm256_slli_epi16(low, 2));
        uint32_t curly_high = (uint32_t)_mm256_movemask_epi8(_mm256_slli_epi16(high, 2));
        block.curly = curly_low | (uint64_t)curly_high << 32;
        size_t size = end - at < 64 ? (size_t)(end - at) : 64, last = 0;
        flat_end flat = size == 64 ? find_flat_end(nesting, &block, &last) : NOT_FLAT;
        if (flat == NOT_FLAT) {
            __m128i quotes = _mm_set_epi64x(0, (int64_t)string_quotes(nesting, &block, size));
            __m128i product = _mm_clmulepi64_si128(quotes, _mm_set1_epi8((char)0xff), 0);
            uint64_t string = (uint64_t)_mm_cvtsi128_si64(product);
            last = finish_block(nesting, &block, size, string, true);
        }
        if (last)
            return at + last;
        at += size;
    }
    return at;
}

#endif

const char *pyro_json_scan_nested(pyro_json_nesting *nesting, const char *at, const char *end)
{
#if defined(PYRO_JSON_AVX2)
    if (pyro_json_has_avx2())
        return pyro_json_scan_nested_avx2(nesting, at, end);
#endif
    return pyro_json_scan_nested_baseline(nesting, at, end);
}

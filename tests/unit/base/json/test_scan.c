/* Tests of base/json/scan.h and .c: each scan against its scalar version, on random bytes. */
#include "base/json/scan.h"
#include "unit.h"

#include <stdio.h>

#define SIZE 700

static char bytes[SIZE + PYRO_JSON_PADDING];

static uint32_t random_next(uint32_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 17;
    *seed ^= *seed << 5;
    return *seed;
}

/* Fills the buffer from an alphabet; NULL means all bytes. */
static void fill(uint32_t *seed, const char *alphabet)
{
    size_t count = alphabet ? strlen(alphabet) : 256;
    for (size_t i = 0; i < SIZE; i++) {
        uint32_t pick = random_next(seed) % (uint32_t)count;
        bytes[i] = alphabet ? alphabet[pick] : (char)pick;
    }
    memset(bytes + SIZE, 0, PYRO_JSON_PADDING);
}

static const char *const alphabets[] = {
    NULL,       " \t\r\n",        "      \n\n\n\t\r,", "abc\"\\\"",
    "{}[]\"\\", "{}[]aaaaaa\"\"", "\\\\\\\\\\\\\"a[]", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\xc3\"",
};

static void test_classify(void **state)
{
    (void)state;
    uint32_t seed = 1;
    for (size_t round = 0; round < 200; round++) {
        fill(&seed, alphabets[round % 8]);
        for (size_t at = 0; at < SIZE; at += 61) {
            pyro_json_block block, scalar;
            pyro_json_classify(&block, bytes + at);
            pyro_json_classify_scalar(&scalar, bytes + at);
            assert_true(block.quote == scalar.quote);
            assert_true(block.backslash == scalar.backslash);
            assert_true(block.open == scalar.open);
            assert_true(block.close == scalar.close);
            uint64_t brackets = block.open | block.close;
            assert_true((block.curly & brackets) == (scalar.curly & brackets));
        }
    }
}

static void test_space_and_strings(void **state)
{
    (void)state;
    uint32_t seed = 2;
    for (size_t round = 0; round < 100; round++) {
        fill(&seed, alphabets[round % 8]);
        for (size_t at = 0; at <= SIZE; at++) {
            bool beyond = false, beyond_scalar = false;
            assert_ptr_equal(pyro_json_scan_space(bytes + at),
                             pyro_json_scan_space_scalar(bytes + at));
            assert_ptr_equal(pyro_json_scan_string(bytes + at, &beyond),
                             pyro_json_scan_string_scalar(bytes + at, &beyond_scalar));
            assert_int_equal(beyond, beyond_scalar);
            beyond = true;
            pyro_json_scan_string(bytes + at, &beyond);
            assert_true(beyond);
        }
    }
}

typedef const char *(*nested_scan)(pyro_json_nesting *nesting, const char *at, const char *end);

static void check_nested(nested_scan scan, const pyro_json_nesting *begin, size_t at, size_t piece)
{
    pyro_json_nesting scalar = *begin, nesting = *begin;
    const char *end = bytes + SIZE;
    const char *expected = pyro_json_scan_nested_scalar(&scalar, bytes + at, end);
    const char *got = bytes + at;
    do {
        const char *stop = (size_t)(end - got) > piece ? got + piece : end;
        got = scan(&nesting, got, stop);
    } while (nesting.depth > 0 && got < end);
    assert_ptr_equal(got, expected);
    assert_int_equal(nesting.depth, scalar.depth);
    assert_int_equal(nesting.curly_depth, scalar.curly_depth);
    if (scalar.depth > 0) {
        assert_true(nesting.in_string == scalar.in_string);
        assert_true(nesting.escaped == scalar.escaped);
    }
}

static void test_nested(void **state)
{
    (void)state;
    uint32_t seed = 3;
    static const size_t pieces[] = {1, 2, 63, 64, 65, 100, 128, SIZE};
    for (size_t round = 0; round < 400; round++) {
        fill(&seed, alphabets[round % 8]);
        pyro_json_nesting begin = {
            /* A value with one open bracket has a path of its own. */
            .depth = round % 16 < 8 ? 1 : 1 + (int64_t)(random_next(&seed) % 40),
            .curly_depth = 1,
            .in_string = random_next(&seed) % 2 ? ~UINT64_C(0) : 0,
            .escaped = random_next(&seed) % 2,
        };
        for (size_t i = 0; i < 8; i++) {
            size_t at = random_next(&seed) % SIZE;
            check_nested(pyro_json_scan_nested, &begin, at, pieces[i]);
            check_nested(pyro_json_scan_nested_baseline, &begin, at, pieces[i]);
#if defined(PYRO_JSON_AVX2)
            if (pyro_json_has_avx2())
                check_nested(pyro_json_scan_nested_avx2, &begin, at, pieces[i]);
#endif
        }
    }
}

/* A flat value ends where the full scan says, and every value without brackets and backslashes in it
 * is flat. */
static void test_flat(void **state)
{
    (void)state;
    uint32_t seed = 5;
    size_t flat = 0;
    for (size_t round = 0; round < 400; round++) {
        fill(&seed, round % 2 ? "aaaaaaaaaaaaaaaaaaaaaaaaa\"\"\"\"}" : alphabets[round % 8]);
        for (size_t at = 0; at < SIZE; at += 7) {
            const char *end = bytes + at + random_next(&seed) % (SIZE - at);
            pyro_json_nesting nesting = {.depth = 1, .curly_depth = 1};
            const char *expected = pyro_json_scan_nested_scalar(&nesting, bytes + at, end);
            const char *got = pyro_json_scan_flat(bytes + at, end);
            bool ends = nesting.depth == 0 && nesting.curly_depth == 0;
            for (const char *in = bytes + at; ends && in < expected - 1; in++)
                ends = !strchr("{}[]\\|", *in) || !*in;
#if defined(PYRO_JSON_SIMD)
            assert_ptr_equal(got, ends ? expected : NULL);
#else
            assert_null(got);
#endif
            flat += got != NULL;
        }
    }
#if defined(PYRO_JSON_SIMD)
    assert_true(flat > 1000);
#endif
}

static void test_integers(void **state)
{
    (void)state;
    uint32_t seed = 4;
    for (size_t round = 0; round < 100; round++) {
        fill(&seed, round % 2 ? "0123456789" : NULL);
        for (size_t at = 0; at < SIZE; at++) {
            uint64_t value = 1, scalar = 1;
            char saved = bytes[at + 20 < SIZE ? at + 20 : SIZE];
            size_t stop = at + random_next(&seed) % 21;
            if (stop > SIZE)
                stop = SIZE;
            saved = bytes[stop];
            bytes[stop] = ":;/,. e\0\xb0"[random_next(&seed) % 9];
            assert_ptr_equal(pyro_json_scan_integer(bytes + at, &value),
                             pyro_json_scan_integer_scalar(bytes + at, &scalar));
            assert_int_equal(value, scalar);
            bytes[stop] = saved;
        }
    }
}

static void test_integer_values(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t value;
        int length;
    } cases[] = {
        {"0,", 0, 1},
        {"7", 7, 1},
        {"12345678", 12345678, 8},
        {"123456789]", 123456789, 9},
        {"1234567890123456 ", 1234567890123456, 16},
        {"999999999999999999", 999999999999999999, 18},
        {"000000000000000001", 1, 18},
        {"1000000000000000000", 0, -1},
        {"a", 0, -1},
        {"", 0, -1},
        {"/", 0, -1},
        {":", 0, -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[128] = {0};
        uint64_t value = 0;
        strcpy(text, cases[i].text);
        const char *end = pyro_json_scan_integer(text, &value);
        assert_int_equal(end ? end - text : -1, cases[i].length);
        if (end)
            assert_int_equal(value, cases[i].value);
    }
}

static int name_instructions(void **state)
{
    (void)state;
#if defined(PYRO_JSON_SIMD)
    printf("scanning with %s\n", PYRO_JSON_SIMD);
#endif
    return 0;
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_classify), cmocka_unit_test(test_space_and_strings),
    cmocka_unit_test(test_nested),   cmocka_unit_test(test_flat),
    cmocka_unit_test(test_integers), cmocka_unit_test(test_integer_values),
};

UNIT_TESTS(tests, name_instructions, NULL)

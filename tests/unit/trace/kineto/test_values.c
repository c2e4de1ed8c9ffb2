/* Tests of the values of events: numbers, texts, and values that make no sense for their keys. */
#include "read_kineto.h"

static void test_numbers(void **state)
{
    (void)state;
    char *text = read_name("good-9-unpadded-2024.json");
    expect(text, "kernel k 7005+1001 c1 ");
    expect(text, "kernel k 8450+1002 c2 ");
    expect(text, "kernel k 10045+1004 c4 ");
    expect(text, "kernel k 22009+1016 c16 ");
    free(text);
    text = read_name("good-10-numbers.json");
    expect(text, "kernel exponent 1500000+200 c4294967294 x4294967294 ");
    expect(text, "runtime quoted 1500250+3000 c4294967294 x4294967294 ");
    expect(text, "track c/7ffffffffffffffb ");
    expect(text, "kernel decimals 1600001+12346 c7 x0 ");
    expect(text, "kernel short 1700500+250 c0 x0 ");
    expect(text, "kernel whole 1800000+0 c0 x0 ");
    expect_not(text, "warning");
    free(text);
    text = read_name("good-11-escapes.json");
    expect(text, "op a\"b\\c/d\n\xc3\xa9\xf0\x9f\x98\x80 1000+1000");
    expect(text, "dims [[2, 3], []] types - concrete [\"a, b\", \"\\\"x\\\"\"] stack");
    expect(text, "op \xef\xbf\xbd 2000+1000 c0 x0 track 0 sequence -1 thread 0 dims [[4]] ");
    free(text);
}

static void test_decimals(void **state)
{
    (void)state;
    static const char bytes[] =
        "[{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"a\", \"ts\": 1, \"dur\": 2, \"args\": "
        "{\"blocks per SM\": 12.5, \"warps per SM\": 0.12345678, "
        "\"est. achieved occupancy %\": 40}},\n"
        "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"b\", \"ts\": 1, \"dur\": 2, \"args\": "
        "{\"blocks per SM\": 0.0, \"warps per SM\": 7.0000000009, "
        "\"est. achieved occupancy %\": 2.5e1}},\n"
        "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"c\", \"ts\": 1, \"dur\": 2, \"args\": "
        "{\"blocks per SM\": 3., \"warps per SM\": -1.25, "
        "\"est. achieved occupancy %\": 99.062500000}}]";
    char *text = read_usual(bytes, sizeof bytes - 1);
    expect(text, "kernel a 1000+2000 c0 x0 track 0 grid 0,0,0 block 0,0,0 registers 0 shared 0 "
                 "sm 12.5 0.123457 40 ");
    expect(text, " sm 0 7 25 ");
    expect(text, " sm 3 -1.25 99.0625 ");
    free(text);
}

/* A meaningless value, learned with its key, must not keep the previous event's value. */
static void test_values_without_meaning(void **state)
{
    (void)state;
    static const char bytes[] =
        "[{\"ph\": \"X\", \"cat\": \"kernel\", \"dur\": 2, \"pid\": 1, \"cat\": 100, "
        "\"ph\": 5, \"ts\": 1},\n"
        "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"dur\": 2, \"pid\": 1, \"cat\": 100, "
        "\"ph\": 5, \"ts\": 2},\n"
        "{\"ph\": \"i\", \"cat\": \"cpu_op\", \"dur\": 2, \"pid\": 1, \"cat\": 100, "
        "\"ph\": 5, \"ts\": 3}]";
    char *text = read_usual(bytes, sizeof bytes - 1);
    expect(text, "kernel - 1000+2000");
    expect(text, "op - 2000+2000");
    expect_not(text, "3000+2000");
    free(text);
}

/* A name is not cut at NUL, in any notation, and a warning is reported. */
static void test_nul_in_names(void **state)
{
    (void)state;
    static const char bytes[] =
        "[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\\u0000b\",\"ts\":1,\"dur\":2},\n"
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\\u0000c\",\"ts\":4,\"dur\":2},\n"
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"d\0e\",\"ts\":7,\"dur\":2}]";
    char *text = read_usual(bytes, sizeof bytes - 1);
    expect(text, "op a\xef\xbf\xbd"
                 "b 1000+2000");
    expect(text, "op a\xef\xbf\xbd"
                 "c 4000+2000");
    expect(text, "op d\xef\xbf\xbd"
                 "e 7000+2000");
    expect(text, "warning 3 events with NUL characters in texts (replaced)");
    free(text);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_numbers),
    cmocka_unit_test(test_decimals),
    cmocka_unit_test(test_values_without_meaning),
    cmocka_unit_test(test_nul_in_names),
};

UNIT_TESTS(tests, NULL, NULL)

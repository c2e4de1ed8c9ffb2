/* Tests of trace/kineto/key_order.c: both comparisons agree, and steps are found. */
#include "trace/kineto/key_order.h"
#include "unit.h"

static void test_same_bytes(void **state)
{
    (void)state;
    char a[160], b[160];
    for (size_t i = 0; i < sizeof a; i++)
        a[i] = b[i] = (char)(i * 7 + 1);
    for (size_t length = 1; length <= 128; length++)
        for (size_t other = 0; other < 144; other++) {
            b[other] ^= 0x40;
            bool expected = other >= length;
            assert_int_equal(pyro_same_bytes(a, b, length), expected);
            assert_int_equal(pyro_same_bytes_scalar(a, b, length), expected);
            b[other] ^= 0x40;
        }
}

/* A step stands where all of its bytes do, and a byte that may follow. */
static void test_stands(void **state)
{
    (void)state;
    static pyro_key_step step;
    char text[PYRO_KEY_STEP_BYTES + PYRO_JSON_PADDING];
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)(i * 7 + 1);
    memcpy(step.text, text, PYRO_KEY_STEP_BYTES);
    for (size_t length = 1; length <= PYRO_KEY_STEP_BYTES; length++) {
        step.length = (uint8_t)length;
        step.head = pyro_key_head(length);
        step.least = (uint8_t)text[length];
        assert_true(pyro_key_step_stands(&step, text));
        step.least = (uint8_t)(step.least + 1);
        assert_int_equal(pyro_key_step_stands(&step, text), step.least == 0);
        step.least = 0;
        for (size_t other = 0; other < length + 32; other++) {
            text[other] ^= 0x40;
            assert_int_equal(pyro_key_step_stands(&step, text), other >= length);
            text[other] ^= 0x40;
        }
    }
}

static void test_find(void **state)
{
    (void)state;
    static pyro_key_step first = {.text = ", \"pid\": ", .length = 9, .head = 0x1ff};
    static pyro_key_step second = {
        .text = ", \"tid\": ", .length = 9, .head = 0x1ff, .sibling = &first};
    pyro_key_steps steps = {&second, 2};
    char text[64] = ", \"pid\": 7";
    assert_ptr_equal(pyro_key_steps_find(&steps, text), &first);
    text[3] = 't';
    assert_ptr_equal(pyro_key_steps_find(&steps, text), &second);
    text[3] = 'x';
    assert_null(pyro_key_steps_find(&steps, text));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_same_bytes),
    cmocka_unit_test(test_stands),
    cmocka_unit_test(test_find),
};

UNIT_TESTS(tests, NULL, NULL)

/* Tests of base/text/printable.c: characters that reorder, hide or control text are escaped. */
#include "base/text/printable.h"
#include "base/json/write.h"
#include "base/text/utf8.h"
#include "unit.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static void expect(const char *text, const char *shown)
{
    pyro_buf buf = PYRO_BUF_INIT;
    char copy[200];

    pyro_buf_add_printable(&buf, text);
    assert_string_equal(buf.data, shown);
    pyro_buf_free(&buf);
    strcpy(copy, text);
    pyro_make_printable(copy);
    assert_string_equal(copy, shown);
}

static void test_what_is_replaced(void **state)
{
    (void)state;
    expect("plain text, \xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80",
           "plain text, \xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80");
    expect("e\xcc\x81", "e\xcc\x81"); /* a combining accent belongs to its letter */
    expect("a\x1b[31mb\x7f"
           "c\td\n",
           "a?[31mb?c?d?");
    expect("\xc2\x80\xc2\x9b\xc2\x9f\xc2\xa0", "???\xc2\xa0");
    expect("\xe2\x80\xae"
           "a\xe2\x81\xa6"
           "b\xe2\x80\x8f"
           "c\xd8\x9c",
           "?a?b?c?");
    expect("\xe2\x80\x8b\xe2\x80\x8d\xe2\x81\xa0\xef\xbb\xbf\xc2\xad", "?????");
    expect("\xf3\xa0\x81\x81\xef\xb8\x8f", "??");
    expect("\xff\xe2\x80"
           "x\xc0\x80",
           "???x??");
}

/* Every code point: escaped if in a range of hidden ones, and never a raw control. */
static void test_every_code_point(void **state)
{
    (void)state;
    size_t hidden = 0;
    for (uint32_t code = 1; code <= 0x10ffff; code++) {
        char text[5];
        bool printable;
        if (code >= 0xd800 && code < 0xe000)
            continue;
        size_t size = pyro_utf8_encode(text, code);
        assert_int_equal(pyro_next_character(text, text + size, &printable), size);
        assert_int_equal(pyro_code_point(text, size), code);
        hidden += !printable;
        if (code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x202a && code <= 0x202e) ||
            (code >= 0x2066 && code <= 0x2069) || (code >= 0x200b && code <= 0x200f))
            assert_false(printable);
    }
    assert_in_range(hidden, 4000, 4400);
}

/* JSON keeps them, but not raw. */
static void test_json_escapes_them(void **state)
{
    static const char text[] = "a\xe2\x80\xae\xc2\x9b\xf3\xa0\x81\x81\xe4\xb8\xad";
    (void)state;
    pyro_buf buf = PYRO_BUF_INIT;

    pyro_json_quote(&buf, text, sizeof text - 1);
    assert_string_equal(buf.data, "\"a\\u202e\\u009b\\udb40\\udc41\xe4\xb8\xad\"");
    pyro_buf_free(&buf);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_what_is_replaced),
    cmocka_unit_test(test_every_code_point),
    cmocka_unit_test(test_json_escapes_them),
};

UNIT_TESTS(tests, NULL, NULL)

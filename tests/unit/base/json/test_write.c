/* Tests of base/json/write.c and write_items.c. */
#include "base/json/write.h"

#include "base/json/json.h"
#include "fail_alloc.h"
#include "unit.h"
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void write_sample(pyro_json_writer *writer)
{
    pyro_json_begin_object(writer);
    pyro_json_key(writer, "name");
    pyro_json_string(writer, "a\"b");
    pyro_json_key(writer, "empty");
    pyro_json_begin_array(writer);
    pyro_json_end_array(writer);
    pyro_json_key(writer, "list");
    pyro_json_begin_array(writer);
    pyro_json_integer(writer, INT64_MIN);
    pyro_json_begin_object(writer);
    pyro_json_end_object(writer);
    pyro_json_end_array(writer);
    pyro_json_key(writer, "line");
    pyro_json_begin_object_inline(writer);
    pyro_json_key(writer, "dims");
    pyro_json_begin_array(writer);
    pyro_json_integer(writer, 1);
    pyro_json_integer(writer, 3);
    pyro_json_end_array(writer);
    pyro_json_key(writer, "x");
    pyro_json_number(writer, 0.5);
    pyro_json_end_object(writer);
    pyro_json_key(writer, "flags");
    pyro_json_begin_array_inline(writer);
    pyro_json_boolean(writer, true);
    pyro_json_boolean(writer, false);
    pyro_json_null(writer);
    pyro_json_string(writer, NULL);
    pyro_json_end_array(writer);
    pyro_json_end_object(writer);
}

static void test_one_line(void **state)
{
    (void)state;
    pyro_buf buf = PYRO_BUF_INIT;
    pyro_json_writer writer;
    pyro_json_writer_init(&writer, &buf, 0);
    write_sample(&writer);
    assert_string_equal(buf.data,
                        "{\"name\":\"a\\\"b\",\"empty\":[],\"list\":[-9223372036854775808,{}],"
                        "\"line\":{\"dims\":[1,3],\"x\":0.5},\"flags\":[true,false,null,null]}");
    pyro_buf_free(&buf);
}

static void test_indented(void **state)
{
    (void)state;
    pyro_buf buf = PYRO_BUF_INIT;
    pyro_json_writer writer;
    pyro_json_writer_init(&writer, &buf, 2);
    write_sample(&writer);
    assert_string_equal(buf.data, "{\n"
                                  "  \"name\": \"a\\\"b\",\n"
                                  "  \"empty\": [],\n"
                                  "  \"list\": [\n"
                                  "    -9223372036854775808,\n"
                                  "    {}\n"
                                  "  ],\n"
                                  "  \"line\": {\"dims\": [1, 3], \"x\": 0.5},\n"
                                  "  \"flags\": [true, false, null, null]\n"
                                  "}");
    pyro_buf_free(&buf);
}

static void expect_written(const char *text, size_t length, const char *expected)
{
    pyro_buf buf = PYRO_BUF_INIT;
    pyro_json_writer writer;
    pyro_json_writer_init(&writer, &buf, 0);
    pyro_json_string_n(&writer, text, length);
    assert_string_equal(buf.data, expected);
    pyro_buf_free(&buf);
}

static void test_strings(void **state)
{
    (void)state;
    expect_written("", 0, "\"\"");
    expect_written("a/b", 3, "\"a/b\"");
    expect_written("\b\f\n\r\t\"\\", 7, "\"\\b\\f\\n\\r\\t\\\"\\\\\"");
    expect_written("\0\x01\x1f\x7f", 4, "\"\\u0000\\u0001\\u001f\\u007f\"");
    expect_written("\xc3\xa9\xf0\x9f\x98\x80", 6, "\"\xc3\xa9\xf0\x9f\x98\x80\"");
    expect_written("a\xff\xc3", 3, "\"a\xef\xbf\xbd\xef\xbf\xbd\"");
    expect_written("\xed\xa0\x80", 3, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
}

static void test_repeated_numbers(void **state)
{
    (void)state;
    pyro_buf buf = PYRO_BUF_INIT;
    pyro_json_writer writer;
    pyro_json_writer_init(&writer, &buf, 0);
    pyro_json_begin_array(&writer);
    for (int round = 0; round < 2; round++)
        for (int i = -3; i < 4; i++) {
            pyro_json_number(&writer, i / 2.0);
            pyro_json_number(&writer, -0.0);
        }
    pyro_json_end_array(&writer);
    assert_string_equal(buf.data, "[-1.5,-0,-1,-0,-0.5,-0,0,-0,0.5,-0,1,-0,1.5,-0,"
                                  "-1.5,-0,-1,-0,-0.5,-0,0,-0,0.5,-0,1,-0,1.5,-0]");
    pyro_buf_free(&buf);
}

static void expect_number(double value, const char *expected)
{
    pyro_buf buf = PYRO_BUF_INIT;
    pyro_json_writer writer;
    pyro_json_writer_init(&writer, &buf, 0);
    pyro_json_number(&writer, value);
    assert_string_equal(buf.data, expected);
    pyro_buf_free(&buf);
}

/* Plain text is passed in words of eight: every place in a word, before and behind it. */
static void test_special_places(void **state)
{
    (void)state;
    static const struct {
        const char *raw, *written;
    } specials[] = {{"\"", "\\\""}, {"\\", "\\\\"}, {"\x1f", "\\u001f"}, {"\x7f", "\\u007f"}};
    for (size_t i = 0; i < sizeof specials / sizeof *specials; i++) {
        for (int place = 0; place < 20; place++) {
            char text[32], expected[48];
            pyro_buf buf = PYRO_BUF_INIT;
            pyro_json_writer writer;
            snprintf(text, sizeof text, "%.*s%s~ z", place, "abcdefgh !#[]^_klmn~p",
                     specials[i].raw);
            snprintf(expected, sizeof expected, "\"%.*s%s~ z\"", place, "abcdefgh !#[]^_klmn~p",
                     specials[i].written);
            pyro_json_writer_init(&writer, &buf, 0);
            pyro_json_string(&writer, text);
            assert_string_equal(buf.data, expected);
            pyro_buf_free(&buf);
        }
    }
}

static void test_numbers(void **state)
{
    (void)state;
    expect_number(0, "0");
    expect_number(-0.0, "-0");
    expect_number(0.1, "0.1");
    expect_number(1.0 / 3, "0.3333333333333333");
    expect_number(0.1 + 0.2, "0.30000000000000004");
    expect_number(1e300, "1e+300");
    expect_number(5e-324, "4.94065645841247e-324");
    expect_number(DBL_MAX, "1.7976931348623157e+308");
    expect_number(INFINITY, "null");
    expect_number(-INFINITY, "null");
    expect_number(NAN, "null");
    static const char *const commas[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "nl_NL.UTF-8"};
    for (size_t i = 0; i < 3 && !setlocale(LC_NUMERIC, commas[i]); i++)
        ;
    expect_number(1234.5, "1234.5");
    setlocale(LC_NUMERIC, "C");
}

/* The reader reads what the writer writes. */
static void test_round_trip(void **state)
{
    (void)state;
    pyro_buf buf = PYRO_BUF_INIT;
    pyro_json_writer writer;
    pyro_json_writer_init(&writer, &buf, 1);
    char text[256];
    for (int i = 0; i < 255; i++)
        text[i] = (char)(i & 0x7f);
    pyro_json_begin_array(&writer);
    pyro_json_string_n(&writer, text, 255);
    for (int i = 1; i < 100; i++)
        pyro_json_number(&writer, sqrt(i) * pow(10, i - 50));
    pyro_json_end_array(&writer);
    pyro_source *source;
    pyro_json *json;
    size_t length;
    assert_int_equal(pyro_source_open_memory(&source, buf.data, buf.length, NULL), PYRO_OK);
    assert_int_equal(pyro_json_open(&json, source, NULL, NULL), PYRO_OK);
    assert_int_equal(pyro_json_next(json), PYRO_JSON_ARRAY);
    assert_int_equal(pyro_json_next(json), PYRO_JSON_STRING);
    assert_memory_equal(pyro_json_text(json, &length), text, 255);
    assert_int_equal(length, 255);
    for (int i = 1; i < 100; i++) {
        double value;
        assert_int_equal(pyro_json_next(json), PYRO_JSON_NUMBER);
        assert_true(pyro_json_double(json, &value));
        assert_true(value == sqrt(i) * pow(10, i - 50));
    }
    assert_int_equal(pyro_json_next(json), PYRO_JSON_ARRAY_END);
    assert_int_equal(pyro_json_next(json), PYRO_JSON_END);
    pyro_json_close(json);
    pyro_source_close(source);
    pyro_buf_free(&buf);
}

/* An item of an array: an object with a member that depends on its index. */
static void write_item(pyro_json_writer *writer, const void *user, size_t index)
{
    pyro_json_begin_object_inline(writer);
    pyro_json_member_integer(writer, user, (int64_t)index);
    pyro_json_member_number(writer, "half", (double)index / 2);
    pyro_json_end_object(writer);
}

/* Pieces that threads write give the same text as one item after the other. */
static void test_items_on_threads(void **state)
{
    (void)state;
    static const size_t counts[] = {0, 1, 2048, 2049, 40001};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
        for (int had_item = 0; had_item < 2; had_item++) {
            pyro_buf one = PYRO_BUF_INIT, many = PYRO_BUF_INIT;
            pyro_json_writer writers[2];
            for (int w = 0; w < 2; w++) {
                pyro_json_writer_init(&writers[w], w ? &many : &one, 2);
                pyro_json_begin_array(&writers[w]);
                if (had_item)
                    pyro_json_null(&writers[w]);
            }
            for (size_t i = 0; i < counts[c]; i++)
                write_item(&writers[0], "index", i);
            pyro_json_items(&writers[1], counts[c], write_item, "index");
            pyro_json_null(&writers[0]);
            pyro_json_null(&writers[1]);
            pyro_json_end_array(&writers[0]);
            pyro_json_end_array(&writers[1]);
            assert_int_equal(one.length, many.length);
            assert_memory_equal(one.data, many.data, one.length);
            pyro_buf_free(&one);
            pyro_buf_free(&many);
        }
}

static void test_items_without_memory(void **state)
{
    (void)state;
    for (long allowed = 0; allowed < 40; allowed += 3) {
        pyro_buf buf = PYRO_BUF_INIT;
        pyro_json_writer writer;
        pyro_json_writer_init(&writer, &buf, 2);
        pyro_json_begin_array(&writer);
        fail_alloc_after(allowed);
        pyro_json_items(&writer, 40000, write_item, "index");
        pyro_json_end_array(&writer);
        bool failed = fail_alloc_failures() > 0;
        fail_alloc_after(-1);
        assert_true(failed || allowed > 0);
        assert_int_equal(buf.failed, failed);
        pyro_buf_free(&buf);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_items_on_threads), cmocka_unit_test(test_items_without_memory),
    cmocka_unit_test(test_one_line),         cmocka_unit_test(test_indented),
    cmocka_unit_test(test_strings),          cmocka_unit_test(test_special_places),
    cmocka_unit_test(test_repeated_numbers), cmocka_unit_test(test_numbers),
    cmocka_unit_test(test_round_trip),
};

UNIT_TESTS(tests, NULL, NULL)

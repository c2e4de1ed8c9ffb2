/* Tests of base/json/json.c: grammar, windows of every size, skipping, limits, failing sources. */
#include "base/json/json.h"

#include "base/containers/buf.h"
#include "fail_alloc.h"
#include "piece_source.h"
#include "unit.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* One line per token, to compare results with. */
static void trace_token(pyro_buf *out, pyro_json *json, pyro_json_kind kind)
{
    static const char letters[] = "?.{}[]ksntfz";
    size_t length;
    pyro_buf_addf(out, "%c@%lld", letters[kind], (long long)pyro_json_offset(json));
    if (kind == PYRO_JSON_KEY || kind == PYRO_JSON_STRING) {
        const char *text = pyro_json_text(json, &length);
        pyro_buf_addf(out, " %zu ", length);
        pyro_buf_add(out, text, length);
    } else if (kind == PYRO_JSON_NUMBER) {
        int64_t integer;
        double number;
        pyro_buf_addf(out, " %s", pyro_json_number_text(json, &length));
        if (pyro_json_int(json, &integer))
            pyro_buf_addf(out, " =%lld", (long long)integer);
        if (pyro_json_double(json, &number))
            pyro_buf_addf(out, " ~%.17g", number);
    }
    pyro_buf_addc(out, '\n');
}

static char *trace(const char *text, size_t size, size_t window, size_t piece,
                   const pyro_json_options *base, pyro_error *error)
{
    pyro_json_options options = base ? *base : (pyro_json_options){0};
    options.window_bytes = window;
    piece_source source = pieces_of(text, size, piece);
    pyro_json *json;
    pyro_error_clear(error);
    assert_int_equal(pyro_json_open(&json, &source.head, &options, error), PYRO_OK);
    pyro_buf out = PYRO_BUF_INIT;
    pyro_json_kind kind;
    do {
        kind = pyro_json_next(json);
        assert_int_equal(kind, pyro_json_current(json));
        trace_token(&out, json, kind);
    } while (kind != PYRO_JSON_ERROR && kind != PYRO_JSON_END);
    assert_int_equal(pyro_json_next(json), kind);
    assert_int_equal(pyro_json_status(json), error->code);
    assert_int_equal(kind == PYRO_JSON_ERROR, error->code != PYRO_OK);
    pyro_json_close(json);
    return pyro_buf_detach(&out, NULL);
}

static void expect_trace(const char *text, const char *expected)
{
    pyro_error error;
    char *got = trace(text, strlen(text), 0, SIZE_MAX, NULL, &error);
    assert_string_equal(got, expected);
    free(got);
}

static void expect_error_with(const pyro_json_options *options, const char *text, size_t size,
                              int code, long offset, const char *message)
{
    pyro_error error;
    free(trace(text, size, 0, SIZE_MAX, options, &error));
    assert_int_equal(error.code, code);
    assert_int_equal(error.offset, offset);
    assert_string_equal(error.message, message);
}

static void expect_error(const char *text, long offset, const char *message)
{
    expect_error_with(NULL, text, strlen(text), PYRO_ERROR_FORMAT, offset, message);
}

static void test_values(void **state)
{
    (void)state;
    expect_trace(" {\"a\" : [1, -2.5e1,true] ,\"b\":{} , \"c\" : [ ] }\n",
                 "{@1\nk@2 1 a\n[@8\nn@9 1 =1 ~1\nn@12 -2.5e1 ~-25\nt@19\n]@23\n"
                 "k@26 1 b\n{@30\n}@31\nk@35 1 c\n[@41\n]@43\n}@45\n.@47\n");
    expect_trace("null", "z@0\n.@4\n");
    expect_trace("[false,null,\"\"]", "[@0\nf@1\nz@7\ns@12 0 \n]@14\n.@15\n");
    expect_trace("0", "n@0 0 =0 ~0\n.@1\n");
    expect_trace("-0", "n@0 -0 =0 ~-0\n.@2\n");
}

static void test_strings(void **state)
{
    (void)state;
    expect_trace("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\"", "s@0 9 \"\\/\b\f\n\r\tA\n.@24\n");
    expect_trace("\"\\u00e9\\u20ac\\ud83d\\ude00\"",
                 "s@0 9 \xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\n.@26\n");
    expect_trace("\"\\ud83dx\\ude00\\ud83d\\ud83d\\ude00\"",
                 "s@0 14 \xef\xbf\xbdx\xef\xbf\xbd\xef\xbf\xbd\xf0\x9f\x98\x80\n.@33\n");
    expect_trace("\"caf\xc3\xa9 \xf0\x9f\x98\x80\"", "s@0 10 caf\xc3\xa9 \xf0\x9f\x98\x80\n.@12\n");
    expect_error("\"a\tb\"", 2, "unescaped control character in a string");
    expect_error("\"a\\xb\"", 2, "invalid escape in a string");
    expect_error("\"\\u12g4\"", 1, "invalid escape in a string");
    expect_error("\"\\u123\"", 1, "invalid escape in a string");
    expect_error("[\"ab\xff\"]", 4, "a string is not UTF-8");
    expect_error("\"\xc0\xaf\"", 1, "a string is not UTF-8");
    expect_error("\"\xed\xa0\x80\"", 1, "a string is not UTF-8");
    expect_error_with(NULL, "\"a\0b\"", 5, PYRO_ERROR_FORMAT, 2,
                      "unescaped control character in a string");
}

static void test_options(void **state)
{
    (void)state;
    pyro_error error;
    pyro_json_options options = {.any_utf8 = true, .nonfinite = true};
    const char *text = "[\"\xff\",NaN,Infinity,-Infinity]";
    char *got = trace(text, strlen(text), 0, SIZE_MAX, &options, &error);
    assert_string_equal(got, "[@0\ns@1 1 \xff\nn@5 NaN ~nan\nn@9 Infinity ~inf\n"
                             "n@18 -Infinity ~-inf\n]@27\n.@28\n");
    free(got);
    expect_error("NaN", 0, "expected a value, got 'N'");
    expect_error("-Infinity", 1, "expected a digit, got 'I'");
}

static void test_grammar_errors(void **state)
{
    (void)state;
    expect_error("", 0, "unexpected end of input: expected a value");
    expect_error("  ", 2, "unexpected end of input: expected a value");
    expect_error("[1,]", 3, "expected a value, got ']'");
    expect_error("[1 2]", 3, "expected ',' or ']', got '2'");
    expect_error("[1}", 2, "expected ',' or ']', got '}'");
    expect_error("{\"a\":1]", 6, "expected ',' or '}', got ']'");
    expect_error("{\"a\" 1}", 5, "expected ':', got '1'");
    expect_error("{\"a\":}", 5, "expected a value, got '}'");
    expect_error("{\"a\":1,}", 7, "expected a key, got '}'");
    expect_error("{,}", 1, "expected a key or '}', got ','");
    expect_error("{1:2}", 1, "expected a key or '}', got '1'");
    expect_error("[,1]", 1, "expected a value, got ','");
    expect_error("1 2", 2, "expected the end of the document, got '2'");
    expect_error("]", 0, "expected a value, got ']'");
    expect_error("[01]", 2, "expected ',' or ']', got '1'");
    expect_error("[1.]", 3, "expected a digit, got ']'");
    expect_error("[1.e3]", 3, "expected a digit, got 'e'");
    expect_error("[1e]", 3, "expected a digit, got ']'");
    expect_error("[1e+]", 4, "expected a digit, got ']'");
    expect_error("[-]", 2, "expected a digit, got ']'");
    expect_error("[+1]", 1, "expected a value, got '+'");
    expect_error("[.5]", 1, "expected a value, got '.'");
    expect_error("[tru]", 1, "expected a value, got 't'");
    expect_error("tru", 3, "unexpected end of input: expected true");
    expect_error("[truex]", 5, "expected ',' or ']', got 'x'");
    expect_error("-", 1, "unexpected end of input: expected a digit");
    expect_error("[1", 2, "unexpected end of input: expected ',' or ']'");
    expect_error("{\"a", 3, "unexpected end of input inside a string");
    expect_error("\"a\\", 3, "unexpected end of input inside a string");
    expect_error("\x01", 0, "expected a value, got byte 0x01");
    expect_error_with(NULL, "[1,\0 2]", 7, PYRO_ERROR_FORMAT, 3, "expected a value, got byte 0x00");
    expect_error_with(NULL, "1\0", 2, PYRO_ERROR_FORMAT, 1,
                      "expected the end of the document, got byte 0x00");
}

static void test_integers(void **state)
{
    (void)state;
    expect_trace("9223372036854775807", "n@0 9223372036854775807 =9223372036854775807 "
                                        "~9.2233720368547758e+18\n.@19\n");
    expect_trace("-9223372036854775808", "n@0 -9223372036854775808 =-9223372036854775808 "
                                         "~-9.2233720368547758e+18\n.@20\n");
    expect_trace("9223372036854775808", "n@0 9223372036854775808 ~9.2233720368547758e+18\n.@19\n");
    expect_trace("123456789012345678901234567890",
                 "n@0 123456789012345678901234567890 ~1.2345678901234568e+29\n.@30\n");
    expect_trace("1e400", "n@0 1e400\n.@5\n");
    expect_trace("[12345678,123456789]",
                 "[@0\nn@1 12345678 =12345678 ~12345678\nn@10 123456789 =123456789 ~123456789\n"
                 "]@19\n.@20\n");
}

static char *sample_document(void)
{
    pyro_buf buf = PYRO_BUF_INIT;
    pyro_buf_adds(&buf, "{\"events\" : [\n");
    for (int i = 0; i < 12; i++)
        pyro_buf_addf(&buf,
                      "%s  {\"name\": \"aten::conv%d \\\"x\\\" \\ud83d\\ude00 \xc3\xa9\", \"ts\": "
                      "%d.%03d,\t\"args\": [true, false, null, -%d, [], {}], \"long\": \"%0*d\"}",
                      i ? ",\n" : "", i, i * 123456789, i * 7, i, i * 23, 5);
    pyro_buf_adds(&buf, "\n], \"tail\": 1234567890123456789}  \n");
    return pyro_buf_detach(&buf, NULL);
}

static void test_every_window(void **state)
{
    (void)state;
    pyro_error error;
    char *text = sample_document();
    size_t size = strlen(text);
    char *expected = trace(text, size, 0, SIZE_MAX, NULL, &error);
    assert_int_equal(error.code, PYRO_OK);
    for (size_t window = 64; window < size + 70; window += window < 400 ? 1 : 37) {
        size_t piece = window % 3 == 0 ? 1 : window % 3 == 1 ? 13 : SIZE_MAX;
        char *got = trace(text, size, window, piece, NULL, &error);
        assert_string_equal(got, expected);
        free(got);
    }
    free(expected);
    free(text);
}

static void test_truncation_at_every_byte(void **state)
{
    (void)state;
    pyro_error error;
    char *text = sample_document();
    size_t size = strlen(text) - 3; /* the white space at the end may be missing */
    for (size_t cut = 0; cut < size; cut++) {
        free(trace(text, cut, 64, SIZE_MAX, NULL, &error));
        assert_int_equal(error.code, PYRO_ERROR_FORMAT);
        assert_int_equal(error.offset, cut);
        assert_non_null(strstr(error.message, "unexpected end of input"));
    }
    free(text);
}

static void test_limits(void **state)
{
    (void)state;
    pyro_json_options shallow = {.max_depth = 3};
    expect_error_with(&shallow, "[[[[1]]]]", 9, PYRO_ERROR_LIMIT, 3, "nested deeper than 3");
    pyro_error error;
    free(trace("[[[1]]]", 7, 0, SIZE_MAX, &shallow, &error));
    assert_int_equal(error.code, PYRO_OK);
    pyro_json_options brief = {.max_token_bytes = 100};
    char text[400];
    for (int digits = 0; digits < 2; digits++) {
        memset(text, digits ? '1' : 'a', sizeof text);
        text[0] = text[sizeof text - 1] = digits ? '1' : '"';
        for (size_t window = 64; window < 500; window += 31) {
            free(trace(text, sizeof text, window, 7, &brief, &error));
            assert_int_equal(error.code, PYRO_ERROR_LIMIT);
            assert_int_equal(error.offset, 0);
            assert_string_equal(error.message, "a string or number is longer than 100 bytes");
        }
        /* The longest allowed token, in every window. */
        size_t longest = digits ? 100 : 102;
        text[longest - 1] = digits ? '1' : '"';
        for (size_t window = 64; window < 500; window += 31) {
            free(trace(text, longest, window, 7, &brief, &error));
            assert_int_equal(error.code, PYRO_OK);
        }
    }
}

static void test_skip(void **state)
{
    (void)state;
    char *text = sample_document();
    for (size_t window = 64; window < 600; window++) {
        pyro_json_options options = {.window_bytes = window};
        piece_source source = pieces_of(text, strlen(text), window % 2 ? 17 : SIZE_MAX);
        pyro_json *json;
        pyro_error error;
        int64_t tail = 0;
        pyro_error_clear(&error);
        assert_int_equal(pyro_json_open(&json, &source.head, &options, &error), PYRO_OK);
        assert_int_equal(pyro_json_next(json), PYRO_JSON_OBJECT);
        assert_int_equal(pyro_json_next(json), PYRO_JSON_KEY);
        assert_true(PYRO_JSON_IS(json, "events"));
        assert_true(pyro_json_skip(json));
        assert_int_equal(pyro_json_current(json), PYRO_JSON_ARRAY_END);
        assert_int_equal(text[pyro_json_offset(json)], ']');
        assert_int_equal(pyro_json_next(json), PYRO_JSON_KEY);
        assert_true(PYRO_JSON_IS(json, "tail"));
        assert_int_equal(pyro_json_next(json), PYRO_JSON_NUMBER);
        assert_true(pyro_json_int(json, &tail));
        assert_int_equal(tail, 1234567890123456789);
        assert_int_equal(pyro_json_next(json), PYRO_JSON_OBJECT_END);
        assert_int_equal(pyro_json_next(json), PYRO_JSON_END);
        pyro_json_close(json);
    }
    free(text);
}

static pyro_json *open_text(piece_source *source, const char *text,
                            const pyro_json_options *options, pyro_error *error)
{
    pyro_json *json;
    *source = pieces_of(text, strlen(text), 3);
    pyro_error_clear(error);
    assert_int_equal(pyro_json_open(&json, &source->head, options, error), PYRO_OK);
    return json;
}

static void test_skip_kinds(void **state)
{
    (void)state;
    piece_source source;
    pyro_error error;
    pyro_json *json = open_text(&source, "{\"a\":{\"b\":[1,\"]\"]},\"c\":\"x\",\"d\":7}", NULL,
                                &error);
    assert_int_equal(pyro_json_next(json), PYRO_JSON_OBJECT);
    assert_int_equal(pyro_json_next(json), PYRO_JSON_KEY);
    assert_int_equal(pyro_json_next(json), PYRO_JSON_OBJECT);
    assert_true(pyro_json_skip(json)); /* the rest of the open object */
    assert_int_equal(pyro_json_depth(json), 1);
    assert_true(pyro_json_skip(json)); /* key "c" with its value */
    assert_int_equal(pyro_json_current(json), PYRO_JSON_STRING);
    assert_string_equal(pyro_json_text(json, NULL), "");
    assert_int_equal(pyro_json_next(json), PYRO_JSON_KEY);
    assert_true(pyro_json_skip(json)); /* a scalar */
    assert_int_equal(pyro_json_current(json), PYRO_JSON_NUMBER);
    assert_true(pyro_json_skip(json)); /* the end */
    assert_int_equal(pyro_json_current(json), PYRO_JSON_OBJECT_END);
    assert_true(pyro_json_skip(json));
    assert_int_equal(pyro_json_current(json), PYRO_JSON_END);
    assert_int_equal(pyro_json_next(json), PYRO_JSON_END);
    pyro_json_close(json);

    json = open_text(&source, " [1,[2,{\"a\":3}]] ", NULL, &error);
    assert_true(pyro_json_skip(json)); /* the whole document */
    assert_int_equal(pyro_json_next(json), PYRO_JSON_END);
    pyro_json_close(json);
}

static void expect_skip_error(const char *text, long offset, const char *message)
{
    piece_source source;
    pyro_error error;
    pyro_json *json = open_text(&source, text, NULL, &error);
    assert_false(pyro_json_skip(json));
    assert_int_equal(pyro_json_current(json), PYRO_JSON_ERROR);
    assert_int_equal(pyro_json_next(json), PYRO_JSON_ERROR);
    assert_false(pyro_json_skip(json));
    assert_int_equal(error.code, PYRO_ERROR_FORMAT);
    assert_int_equal(error.offset, offset);
    assert_string_equal(error.message, message);
    pyro_json_close(json);
}

static void test_skip_errors(void **state)
{
    (void)state;
    expect_skip_error("[1,[2]", 6, "unexpected end of input inside an object or array");
    expect_skip_error("[\"]", 3, "unexpected end of input inside an object or array");
    expect_skip_error("[\"\\\"]", 5, "unexpected end of input inside an object or array");
    expect_skip_error("\"abc", 4, "unexpected end of input inside a string");
    expect_skip_error("[1}", 2, "mismatched brackets");
    expect_skip_error("[{]}", 3, "mismatched brackets");
    expect_skip_error("", 0, "unexpected end of input: expected a value");
}

static void test_skipped_string_needs_no_room(void **state)
{
    (void)state;
    size_t size = 100000;
    char *text = malloc(size + 1);
    memset(text, 'a', size);
    text[0] = text[size - 1] = '"';
    text[777] = '\\';
    text[size] = '\0';
    pyro_json_options options = {.max_token_bytes = 100, .window_bytes = 64};
    piece_source source;
    pyro_error error;
    pyro_json *json = open_text(&source, text, &options, &error);
    assert_true(pyro_json_skip(json));
    assert_int_equal(pyro_json_next(json), PYRO_JSON_END);
    pyro_json_close(json);
    free(text);
}

static void test_source_failure_wins(void **state)
{
    (void)state;
    static const char *const texts[] = {"[1, 2", "[1, 2}", "\"abc", "{\"a\": [", "12", "tru", ""};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        piece_source source;
        pyro_error error;
        pyro_json *json = open_text(&source, texts[i], NULL, &error);
        source.failure = PYRO_ERROR_IO;
        source.head.checked = true;
        while (pyro_json_next(json) != PYRO_JSON_ERROR)
            assert_int_not_equal(pyro_json_current(json), PYRO_JSON_END);
        assert_int_equal(error.code, PYRO_ERROR_IO);
        assert_string_equal(error.message, "the source failed");
        assert_int_equal(pyro_json_status(json), PYRO_ERROR_IO);
        assert_int_equal(pyro_json_fail(json, "expected a thing"), PYRO_ERROR_IO);
        pyro_json_close(json);
    }
}

/* Reads an array of objects by the shortcuts, else token by token; `taken` counts the shortcuts. */
static char *trace_taken(const char *text, size_t window, const pyro_json_options *base,
                         size_t *taken)
{
    pyro_json_options options = base ? *base : (pyro_json_options){0};
    options.window_bytes = window;
    piece_source source = pieces_of(text, strlen(text), 7);
    pyro_json *json;
    pyro_buf out = PYRO_BUF_INIT;
    assert_int_equal(pyro_json_open(&json, &source.head, &options, NULL), PYRO_OK);
    *taken = 0;
    for (pyro_json_kind kind; (kind = pyro_json_next(json)) > PYRO_JSON_END;) {
        const char *name;
        size_t length;
        int64_t integer;
        if (pyro_json_take_text(json, "\"a\": {\"b\": \"", "\"}}", &name, &length)) {
            assert_int_equal(pyro_json_current(json), PYRO_JSON_OBJECT_END);
            pyro_buf_addf(&out, "%.*s %zu\n", (int)length, name, pyro_json_depth(json));
            ++*taken;
        } else if (pyro_json_take_integer(json, "\"n\": ", "}", &integer)) {
            pyro_buf_addf(&out, "%lld %zu\n", (long long)integer, pyro_json_depth(json));
            ++*taken;
        } else if (kind == PYRO_JSON_STRING) {
            name = pyro_json_text(json, &length);
            pyro_buf_addf(&out, "%.*s %zu\n", (int)length, name, pyro_json_depth(json) - 2);
        } else if (kind == PYRO_JSON_NUMBER) {
            assert_true(pyro_json_int(json, &integer));
            pyro_buf_addf(&out, "%lld %zu\n", (long long)integer, pyro_json_depth(json) - 1);
        }
    }
    pyro_buf_addf(&out, "%d", pyro_json_status(json));
    pyro_json_close(json);
    return pyro_buf_detach(&out, NULL);
}

/* The shortcuts give what the tokens give, wherever the window ends, and leave errors to those. */
static void test_shortcuts(void **state)
{
    (void)state;
    static const char text[] = "[{\"a\": {\"b\": \"one\"}}, {\"n\": 120}, {\"a\":{\"b\":\"two\"}},"
                               "{\"n\":  3}, {\"a\": {\"b\": \"t\\u0068ree\"}}, {\"n\": 0},"
                               " {\"n\": -4}, {\"n\": 1234567890123456789}]";
    static const char expected[] = "one 1\n120 1\ntwo 1\n3 1\nthree 1\n0 1\n-4 1\n"
                                   "1234567890123456789 1\n0";
    size_t taken;
    for (size_t window = 64; window < 200; window++) {
        char *got = trace_taken(text, window, NULL, &taken);
        assert_string_equal(got, expected);
        free(got);
    }
    char *whole = trace_taken(text, 4096, NULL, &taken);
    free(whole);
    static const char *const bad[] = {
        "[{\"n\": 01}]",
        "[{\"n\": 1.5e}]",
        "[{\"a\": {\"b\": \"x\"}]",
        "[{\"a\": {\"b\": \"x}}",
        "[{\"a\": {\"b\": \"\xff\"}}]",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char *got = trace_taken(bad[i], 4096, NULL, &taken);
        assert_int_equal(taken, 0);
        assert_string_equal(strrchr(got, '\n') ? strrchr(got, '\n') + 1 : got, "-3");
        free(got);
    }
    pyro_json_options flat = {.max_depth = 2};
    char *deep = trace_taken("[{\"a\": {\"b\": \"x\"}}]", 4096, &flat, &taken);
    assert_int_equal(taken, 0);
    free(deep);
}

/* The texts and numbers of a document, two texts at once where the shortcut finds them. */
static char *trace_two_texts(const char *text, size_t piece, size_t window, size_t max_depth,
                             size_t *taken)
{
    pyro_json_options options = {.window_bytes = window, .max_depth = max_depth};
    piece_source source = pieces_of(text, strlen(text), piece);
    pyro_json *json;
    pyro_buf out = PYRO_BUF_INIT;
    assert_int_equal(pyro_json_open(&json, &source.head, &options, NULL), PYRO_OK);
    *taken = 0;
    for (pyro_json_kind kind; (kind = pyro_json_next(json)) > PYRO_JSON_END;) {
        const char *texts[2];
        size_t lengths[2], depth = pyro_json_depth(json);
        if (pyro_json_take_texts(json, "\"name\": \"", "\", \"arg\": {\"t\": {\"name\": \"", "\"}}",
                                 texts, lengths)) {
            assert_int_equal(pyro_json_current(json), PYRO_JSON_OBJECT_END);
            assert_int_equal(pyro_json_depth(json), depth);
            assert_int_equal(text[pyro_json_offset(json)], '}');
            pyro_buf_addf(&out, "%.*s %.*s ", (int)lengths[0], texts[0], (int)lengths[1], texts[1]);
            ++*taken;
        } else if (kind == PYRO_JSON_STRING || kind == PYRO_JSON_NUMBER) {
            const char *token = kind == PYRO_JSON_STRING ? pyro_json_text(json, &lengths[0])
                                                         : pyro_json_number_text(json, &lengths[0]);
            pyro_buf_addf(&out, "%.*s ", (int)lengths[0], token);
        }
    }
    pyro_buf_addf(&out, "%d", pyro_json_status(json));
    pyro_json_close(json);
    return pyro_buf_detach(&out, NULL);
}

static void test_two_texts(void **state)
{
    (void)state;
    static const char text[] =
        "[{\"name\": \"a\", \"arg\": {\"t\": {\"name\": \"x\"}}},"
        "{\"name\": \"b\", \"arg\": {\"t\": {\"name\": \"y\"}}, \"kind\": 1},"
        " {\"name\": \"c\", \"arg\": {\"t\": {\"name\": \"\\u007a\"}}},"
        " {\"name\": \"d\", \"arg\": {\"t\": {\"name\":\"v\"}}, \"kind\": 2},"
        " {\"name\": \"e\", \"arg\": {\"t\": {\"name\": \"u\"}, \"s\": 3}}]";
    size_t taken;
    for (size_t window = 64; window < 400; window++) {
        char *got = trace_two_texts(text, window % 2 ? 7 : 4096, window, 0, &taken);
        assert_string_equal(got, "a x b y 1 c z d v 2 e u 3 0");
        assert_true(window % 2 || window < 300 || taken == 2);
        free(got);
    }
    static const char *const bad[] = {
        "[{\"name\": \"a\", \"arg\": {\"t\": {\"name\": \"x\"}} \"kind\": 1}]",
        "[{\"name\": \"a\", \"arg\": {\"t\": {\"name\": \"x\"}}]",
        "[{\"name\": \"a\", \"arg\": {\"t\": {\"name\": \"\xff\"}}}]",
        "[{\"name\": \"a\", \"arg\": {\"t\": {\"name\": \"x\"}}",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char *got = trace_two_texts(bad[i], 4096, 4096, 0, &taken);
        assert_string_equal(strrchr(got, ' ') + 1, "-3");
        free(got);
    }
    char *deep = trace_two_texts("[{\"name\": \"a\", \"arg\": {\"t\": {\"name\": \"x\"}}}]", 4096,
                                 4096, 3, &taken);
    assert_int_equal(taken, 0);
    assert_string_not_equal(strrchr(deep, ' ') + 1, "0");
    free(deep);
}

static void test_fail(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"{}", "expected a name, got an object"},
        {"[]", "expected a name, got an array"},
        {"12.5", "expected a name, got 12.5"},
        {"true", "expected a name, got true"},
        {"\"ab\\ncd\"", "expected a name, got string \"ab?cd\""},
        {"\"1234567890123456789012345678901234567890x\"",
         "expected a name, got string \"1234567890123456789012345678901234567890...\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        piece_source source;
        pyro_error error;
        pyro_json *json = open_text(&source, cases[i].text, NULL, &error);
        pyro_json_next(json);
        assert_int_equal(pyro_json_fail(json, "expected a %s", "name"), PYRO_ERROR_FORMAT);
        assert_string_equal(error.message, cases[i].message);
        assert_int_equal(error.offset, 0);
        assert_int_equal(pyro_json_next(json), PYRO_JSON_ERROR);
        pyro_json_close(json);
    }
}

static void test_number_text_keeps_what_follows(void **state)
{
    (void)state;
    piece_source source;
    pyro_error error;
    pyro_json *json = open_text(&source, "[12]", NULL, &error);
    pyro_json_next(json);
    pyro_json_next(json);
    size_t length;
    assert_string_equal(pyro_json_number_text(json, &length), "12");
    assert_string_equal(pyro_json_number_text(json, &length), "12");
    assert_int_equal(length, 2);
    assert_true(pyro_json_skip(json));
    assert_int_equal(pyro_json_current(json), PYRO_JSON_ARRAY_END);
    pyro_json_close(json);
}

static void test_without_memory(void **state)
{
    (void)state;
    char text[300] = "[";
    memset(text + 1, '[', 40);
    text[41] = '"';
    memset(text + 42, 'a', 200);
    for (long n = 0;; n++) {
        pyro_json_options options = {.window_bytes = 64};
        piece_source source = pieces_of(text, strlen(text), SIZE_MAX);
        pyro_error error;
        pyro_json *json = NULL;
        pyro_error_clear(&error);
        fail_alloc_after(n);
        int status = pyro_json_open(&json, &source.head, &options, &error);
        while (status == PYRO_OK && pyro_json_next(json) != PYRO_JSON_ERROR)
            ;
        long failures = fail_alloc_failures();
        fail_alloc_after(-1);
        pyro_json_close(json);
        if (failures == 0) {
            assert_true(n > 4);
            assert_int_equal(error.code, PYRO_ERROR_FORMAT);
            break;
        }
        assert_int_equal(error.code, PYRO_ERROR_MEMORY);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_values),
    cmocka_unit_test(test_strings),
    cmocka_unit_test(test_options),
    cmocka_unit_test(test_grammar_errors),
    cmocka_unit_test(test_integers),
    cmocka_unit_test(test_every_window),
    cmocka_unit_test(test_truncation_at_every_byte),
    cmocka_unit_test(test_limits),
    cmocka_unit_test(test_skip),
    cmocka_unit_test(test_skip_kinds),
    cmocka_unit_test(test_skip_errors),
    cmocka_unit_test(test_skipped_string_needs_no_room),
    cmocka_unit_test(test_source_failure_wins),
    cmocka_unit_test(test_shortcuts),
    cmocka_unit_test(test_two_texts),
    cmocka_unit_test(test_fail),
    cmocka_unit_test(test_number_text_keeps_what_follows),
    cmocka_unit_test(test_without_memory),
};

UNIT_TESTS(tests, NULL, NULL)

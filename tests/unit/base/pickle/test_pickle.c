/* Tests of base/pickle/pickle.c: plain data becomes JSON, everything else is refused. */
#include "base/pickle/pickle.h"

#include "unit.h"

#include <stdio.h>
#include <string.h>

static int convert(const char *bytes, size_t size, char *json, size_t room)
{
    pyro_buf out = PYRO_BUF_INIT;
    pyro_error error;
    pyro_error_clear(&error);
    int status = pyro_pickle_to_json(&out, bytes, size, &error);
    snprintf(json, room, "%s", status ? error.message : out.length ? out.data : "");
    pyro_buf_free(&out);
    return status;
}

#define CONVERT(text, json) convert(text, sizeof text - 1, json, sizeof json)

/* pickle.dumps({7 << 32 | 1: [{"layer": "a.b", "n": (1, -2, 2.5, None, True)}]}, 4) */
static const char whole[] =
    "\x80\x04\x95\x37\x00\x00\x00\x00\x00\x00\x00}\x94\x8a\x05\x01\x00\x00\x00\x07]\x94}\x94("
    "\x8c\x05layer\x94\x8c\x03"
    "a.b\x94\x8c\x01n\x94(K\x01J\xfe\xff\xff\xffG@\x04\x00\x00\x00\x00\x00\x00N\x88t\x94u"
    "as.";

static void plain_data(void **state)
{
    (void)state;
    char json[256];
    assert_true(pyro_is_pickle(whole, sizeof whole - 1));
    assert_int_equal(CONVERT(whole, json), PYRO_OK);
    assert_string_equal(json, "{\"30064771073\":[{\"layer\":\"a.b\",\"n\":[1,-2,2.5,null,true]}]}");
    assert_int_equal(CONVERT("\x80\x02X\x03\x00\x00\x00\"\\\nq\x00.", json), PYRO_OK);
    assert_string_equal(json, "\"\\\"\\\\\\u000a\"");
    /* A value that is used twice. */
    assert_int_equal(CONVERT("\x80\x04]\x94(\x8c\x01x\x94h\x01K\x02K\x03\x86h\x01"
                             "e.",
                             json),
                     PYRO_OK);
    assert_string_equal(json, "[\"x\",\"x\",[2,3],\"x\"]");
}

/* Opcodes that import, call or build are refused, wherever they stand. */
static void code_is_refused(void **state)
{
    (void)state;
    char json[256];
    assert_int_equal(
        CONVERT("\x80\x04\x8c\x05posix\x94\x8c\x06system\x94\x93\x94\x8c\x02id\x85R.", json),
        PYRO_ERROR_UNSUPPORTED);
    assert_non_null(strstr(json, "nothing in a pickle is executed"));
    assert_int_equal(CONVERT("\x80\x02"
                             "cposix\nsystem\n.",
                             json),
                     PYRO_ERROR_UNSUPPORTED);
    assert_int_equal(CONVERT("\x80\x02}}b.", json), PYRO_ERROR_UNSUPPORTED);
}

/* Imports and calls become data. */
static void objects_are_described(void **state)
{
    (void)state;
    static const char call[] = "\x80\x02"
                               "cposix\nsystem\nX\x02\x00\x00\x00id\x85R}X\x01\x00\x00\x00kK\x01"
                               "sb.";
    static const char storage[] = "\x80\x02K\x07Q.";
    pyro_buf out = PYRO_BUF_INIT;
    pyro_error error;
    pyro_error_clear(&error);
    assert_int_equal(pyro_pickle_describe(&out, call, sizeof call - 1, &error), PYRO_OK);
    assert_string_equal(out.data, "{\"call\":\"posix.system\",\"arguments\":[\"id\"],"
                                  "\"items\":{},\"state\":{\"items\":{\"k\":1}}}");
    for (size_t size = 0; size < sizeof call - 1; size++)
        assert_int_not_equal(pyro_pickle_describe(&out, call, size, &error), PYRO_OK);
    out.length = 0;
    assert_int_equal(pyro_pickle_describe(&out, storage, sizeof storage - 1, &error), PYRO_OK);
    assert_string_equal(out.data, "{\"call\":null,\"arguments\":7,\"items\":{}}");
    pyro_buf_free(&out);
}

static void damage_is_an_error(void **state)
{
    (void)state;
    static const char *const texts[] = {"\x80\x04",
                                        "\x80\x04u.",
                                        "\x80\x04(.",
                                        "\x80\x04K\x01K\x02.",
                                        "\x80\x04h\x05.",
                                        "\x80\x04K\x01"
                                        "a.",
                                        "\x80\x04\x86.",
                                        "\x80\x04\x8a\x0c.",
                                        "\x80\x04X\xff\xff\xff\x7f."};
    char json[256];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_int_not_equal(convert(texts[i], strlen(texts[i]), json, sizeof json), PYRO_OK);
    for (size_t size = 0; size < sizeof whole - 1; size++)
        assert_int_not_equal(convert(whole, size, json, sizeof json), PYRO_OK);
    /* A list that contains itself has no end. */
    assert_int_equal(CONVERT("\x80\x04]\x94h\x00"
                             "a.",
                             json),
                     PYRO_ERROR_LIMIT);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(plain_data),
    cmocka_unit_test(code_is_refused),
    cmocka_unit_test(objects_are_described),
    cmocka_unit_test(damage_is_an_error),
};

UNIT_TESTS(tests, NULL, NULL)

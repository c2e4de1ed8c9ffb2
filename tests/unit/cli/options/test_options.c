/* Tests of cli/options/options.c: valid command lines, and the errors of invalid ones. */
#include "cli/options/options.h"
#include "unit.h"

#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

typedef struct inner_values {
    bool verbose, quiet;
    const char *output;
} inner_values;

typedef struct values {
    int64_t top;
    double ridge;
    int format;
    pyro_words inputs;
    inner_values inner; /* of the second group */
} values;

static const char *const formats[] = {"text", "json", "csv", NULL};

static const pyro_option own_options[] = {
    {.long_name = "top",
     .short_name = 'n',
     .kind = PYRO_OPTION_INTEGER,
     .offset = offsetof(values, top),
     .metavar = "N",
     .minimum = 0,
     .maximum = 1000},
    {.long_name = "ridge",
     .kind = PYRO_OPTION_NUMBER,
     .offset = offsetof(values, ridge),
     .metavar = "N",
     .minimum = 0.5,
     .maximum = 1e6},
    {.long_name = "format",
     .kind = PYRO_OPTION_CHOICE,
     .offset = offsetof(values, format),
     .metavar = "FORMAT",
     .choices = formats},
    {.long_name = "input",
     .short_name = 'i',
     .kind = PYRO_OPTION_LIST,
     .offset = offsetof(values, inputs),
     .metavar = "NAME=N"},
    {.long_name = NULL},
};

static const pyro_option inner_options[] = {
    {.long_name = "verbose",
     .short_name = 'v',
     .kind = PYRO_OPTION_FLAG,
     .offset = offsetof(inner_values, verbose)},
    {.long_name = "quiet",
     .short_name = 'q',
     .kind = PYRO_OPTION_FLAG,
     .offset = offsetof(inner_values, quiet)},
    {.long_name = "output",
     .short_name = 'o',
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(inner_values, output),
     .metavar = "FILE"},
    {.long_name = NULL},
};

static const pyro_option_group groups[] = {
    {"Own:", own_options, 0},
    {"Inner:", inner_options, offsetof(values, inner)},
    {NULL, NULL, 0},
};

/* The result of one parse. */
typedef struct parsed {
    values values;
    pyro_words operands;
    pyro_error error;
    int status;
} parsed;

static parsed parse_words(int count, char **words)
{
    parsed result = {.values = {.top = -1, .ridge = 50, .format = -1}};

    pyro_error_clear(&result.error);
    result.status = pyro_options_parse(groups, &result.values, count, words, &result.operands,
                                       &result.error);
    return result;
}

#define PARSE(...) parse_words((int)COUNT(((char *[]){__VA_ARGS__})), (char *[]){__VA_ARGS__})

static void drop(parsed *result)
{
    pyro_options_free(groups, &result->values);
    pyro_words_free(&result->operands);
}

static void test_long_options(void **state)
{
    (void)state;
    parsed result = PARSE("--top", "5", "--ridge=12.5", "--format", "csv", "--verbose",
                          "--output=a=b");

    assert_int_equal(result.status, PYRO_OK);
    assert_int_equal(result.values.top, 5);
    assert_true(result.values.ridge == 12.5);
    assert_int_equal(result.values.format, 2);
    assert_true(result.values.inner.verbose);
    assert_false(result.values.inner.quiet);
    assert_string_equal(result.values.inner.output, "a=b");
    assert_int_equal(result.operands.count, 0);
    drop(&result);
}

static void test_nothing_given_keeps_defaults(void **state)
{
    (void)state;
    char *none[] = {NULL};
    parsed result = parse_words(0, none);

    assert_int_equal(result.status, PYRO_OK);
    assert_int_equal(result.values.top, -1);
    assert_true(result.values.ridge == 50);
    assert_null(result.values.inner.output);
    drop(&result);
}

static void test_short_clusters(void **state)
{
    (void)state;
    parsed result = PARSE("-qvofile", "-n7");

    assert_int_equal(result.status, PYRO_OK);
    assert_true(result.values.inner.quiet && result.values.inner.verbose);
    assert_string_equal(result.values.inner.output, "file");
    assert_int_equal(result.values.top, 7);
    drop(&result);

    result = PARSE("-vo", "file", "x");
    assert_int_equal(result.status, PYRO_OK);
    assert_string_equal(result.values.inner.output, "file");
    assert_int_equal(result.operands.count, 1);
    drop(&result);
}

static void test_operands_anywhere(void **state)
{
    (void)state;
    parsed result = PARSE("a", "-v", "-", "--top", "1", "b", "--", "--top", "-q");

    assert_int_equal(result.status, PYRO_OK);
    assert_int_equal(result.operands.count, 5);
    assert_string_equal(result.operands.items[0], "a");
    assert_string_equal(result.operands.items[1], "-");
    assert_string_equal(result.operands.items[2], "b");
    assert_string_equal(result.operands.items[3], "--top");
    assert_string_equal(result.operands.items[4], "-q");
    assert_false(result.values.inner.quiet);
    drop(&result);
}

static void test_lists_and_repeats(void **state)
{
    (void)state;
    parsed result = PARSE("--input", "a=1", "-ib=2", "--input=c=3", "--top", "1", "--top", "2");

    assert_int_equal(result.status, PYRO_OK);
    assert_int_equal(result.values.inputs.count, 3);
    assert_string_equal(result.values.inputs.items[0], "a=1");
    assert_string_equal(result.values.inputs.items[1], "b=2");
    assert_string_equal(result.values.inputs.items[2], "c=3");
    assert_int_equal(result.values.top, 2);
    drop(&result);
}

static void test_values_with_a_dash(void **state)
{
    (void)state;
    parsed result = PARSE("--output", "-");

    assert_int_equal(result.status, PYRO_OK);
    assert_string_equal(result.values.inner.output, "-");
    drop(&result);

    result = PARSE("--output=-v");
    assert_int_equal(result.status, PYRO_OK);
    assert_string_equal(result.values.inner.output, "-v");
    drop(&result);

    result = PARSE("--output=");
    assert_int_equal(result.status, PYRO_OK);
    assert_string_equal(result.values.inner.output, "");
    drop(&result);
}

typedef struct mistake {
    const char *words[3];
    const char *message;
} mistake;

static const mistake mistakes[] = {
    {{"--tpo", "1"}, "unknown option --tpo; did you mean --top?"},
    {{"--form=csv"}, "unknown option --form; did you mean --format?"},
    {{"--zzzzzz"}, "unknown option --zzzzzz"},
    {{"--=3"}, "unknown option --"},
    {{"-x"}, "unknown option -x"},
    {{"-vx"}, "unknown option -x"},
    {{"--top"}, "--top needs a value: --top N"},
    {{"-n"}, "--top needs a value: --top N"},
    {{"--output", "--verbose"},
     "--output needs a value, not --verbose (write --output=--verbose if it is meant)"},
    {{"--verbose=1"}, "--verbose takes no value"},
    {{"--top", "1x"}, "--top: \"1x\" is not a whole number"},
    {{"--top="}, "--top: \"\" is not a whole number"},
    {{"--top= 1"}, "--top: \" 1\" is not a whole number"},
    {{"--top", "0x10"}, "--top: \"0x10\" is not a whole number"},
    {{"--top", "9223372036854775808"}, "--top: \"9223372036854775808\" is not a whole number"},
    {{"--top", "-1"}, "--top: -1 is too small (at least 0)"},
    {{"--top", "1001"}, "--top: 1001 is too large (at most 1000)"},
    {{"--ridge", "inf"}, "--ridge: \"inf\" is not a number"},
    {{"--ridge", "1e999"}, "--ridge: \"1e999\" is not a number"},
    {{"--ridge", "0.4"}, "--ridge: 0.4 is too small (at least 0.5)"},
    {{"--format", "jsom"},
     "--format: unknown value \"jsom\"; did you mean json? (one of: text, json, csv)"},
    {{"--format="}, "--format: unknown value \"\" (one of: text, json, csv)"},
};

static void test_mistakes(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(mistakes); i++) {
        int count = mistakes[i].words[1] ? 2 : 1;
        parsed result = parse_words(count, (char **)mistakes[i].words);

        assert_int_equal(result.status, PYRO_ERROR_ARGUMENT);
        assert_string_equal(result.error.message, mistakes[i].message);
        drop(&result);
    }
}

static void test_long_garbage_is_cut(void **state)
{
    (void)state;
    char word[4096];

    memset(word, 'a', sizeof word);
    memcpy(word, "--", 2);
    word[sizeof word - 1] = '\0';
    parsed result = PARSE(word);
    assert_int_equal(result.status, PYRO_ERROR_ARGUMENT);
    assert_true(strlen(result.error.message) < 200);
    drop(&result);

    memcpy(word, "--format=", 9);
    result = PARSE(word);
    assert_int_equal(result.status, PYRO_ERROR_ARGUMENT);
    assert_non_null(strstr(result.error.message, "one of: text, json, csv"));
    drop(&result);
}

static void test_numbers(void **state)
{
    (void)state;
    int64_t integer;
    double number;

    assert_true(pyro_parse_integer("-9223372036854775808", &integer) && integer == INT64_MIN);
    assert_false(pyro_parse_integer("+1", &integer));
    assert_false(pyro_parse_integer("", &integer));
    assert_false(pyro_parse_integer("-", &integer));
    assert_true(pyro_parse_number("-.5e1", &number) && number == -5);
    assert_false(pyro_parse_number("nan", &number));
    assert_false(pyro_parse_number(".", &number));
    assert_false(pyro_parse_number("1 ", &number));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_long_options),      cmocka_unit_test(test_nothing_given_keeps_defaults),
    cmocka_unit_test(test_short_clusters),    cmocka_unit_test(test_operands_anywhere),
    cmocka_unit_test(test_lists_and_repeats), cmocka_unit_test(test_values_with_a_dash),
    cmocka_unit_test(test_mistakes),          cmocka_unit_test(test_long_garbage_is_cut),
    cmocka_unit_test(test_numbers),
};

UNIT_TESTS(tests, NULL, NULL)

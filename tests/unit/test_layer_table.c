/* Tests of src/report/layer_table.c: rows in order, shapes of inputs, sums. */
#include <pyrometer/report.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define LAYER(path, start, length) \
    "{\"ph\":\"X\",\"cat\":\"layer\",\"name\":\"nn.Module: L_1\",\"pid\":9,\"tid\":9,\"ts\":" start \
    ",\"dur\":" length ",\"args\":{\"Module path\":\"" path "\"}},"
#define OP(name, start, length, dims) \
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"" name "\",\"pid\":9,\"tid\":9,\"ts\":" start \
    ",\"dur\":" length ",\"args\":{\"Input Dims\":" dims ",\"Input type\":[\"float\",\"float\"]}}"

static const char pass[] = "{\"traceEvents\":[" LAYER("", "0", "10000") LAYER("fc", "100", "3000")
    OP("aten::linear", "200", "2500", "[[32,100],[50,100]]") "," OP(
        "aten::addmm", "300", "2000", "[[50],[32,100],[100,50]]") "," /* inside: not timed again */
    LAYER("act", "4000", "1000")
        OP("aten::relu", "4100", "500", "[[32]]") "," LAYER("act", "6000", "1000")
            OP("aten::relu", "6100", "700", "[[64]]") "]}";

static char *write(bool with_flops)
{
    pyro_trace *trace = NULL;
    pyro_error error;
    char *text = NULL;
    size_t size;

    pyro_error_clear(&error);
    assert_int_equal(pyro_trace_open_memory(&trace, pass, strlen(pass), "pass", NULL, &error), 0);
    assert_int_equal(pyro_report_layer_table(&text, &size, trace, "Net", with_flops, &error), 0);
    assert_int_equal(size, strlen(text));
    pyro_trace_close(trace);
    return text;
}

static void test_rows(void **state)
{
    char *text = write(false);

    (void)state;
    assert_non_null(strstr(text, "Layer Analysis for Net\n"));
    assert_non_null(strstr(
        text, "fc                        1       2.500             2.500           (32, 100)\n"));
    assert_non_null(strstr(
        text,
        "act                       2       1.200             0.600           (32,), (64,)\n"));
    assert_non_null(strstr(text, "TOTAL                     3       3.700             1.233\n"));
    assert_true(strstr(text, "fc ") < strstr(text, "act "));
    assert_null(strstr(text, "Device Time"));
    pyro_free(text);
}

static void test_flops(void **state)
{
    char *text = write(true);

    (void)state;
    assert_non_null(strstr(text, "FLOPs"));
    assert_non_null(strstr(text, "320.0 k")); /* 2 x 32 x 100 x 50 */
    pyro_free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_flops),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Tests of analyze/host/key_averages.c: totals, self times, memory, ops merged with a callee. */
#include "unit.h"
#include <pyrometer/trace.h>

#include <stddef.h>
#include <string.h>

#define OP(name, start, length, stack) \
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"" name "\",\"pid\":9,\"tid\":9,\"ts\":" start \
    ",\"dur\":" length ",\"args\":{\"Input Dims\":[[4]],\"Call stack\":\"" stack "\"}}"
#define MEMORY(start, bytes) \
    "{\"ph\":\"i\",\"s\":\"t\",\"cat\":\"cpu_instant_event\",\"name\":\"[memory]\",\"pid\":9," \
    "\"tid\":9,\"ts\":" start ",\"args\":{\"Device Type\":0,\"Device Id\":-1,\"Addr\":64," \
    "\"Bytes\":" bytes ",\"Total Allocated\":0,\"Total Reserved\":0}}"

static const char text[] = "{\"traceEvents\":[" OP("a", "0", "100", "x.py(1): f;y.py(2): g") "," OP(
    "b", "10", "40",
    "") "," MEMORY("20",
                   "64") "," OP("a", "200", "50",
                                "x.py(1): f;z.py(3): h") "," OP("a", "210", "30",
                                                                "") "," /* all that its parent does */
    MEMORY("300", "-64") "]}";

static pyro_trace *trace;

static const pyro_average_row *find(const pyro_averages *averages, const char *name, size_t skip)
{
    for (size_t i = 0; i < averages->count; i++)
        if (strcmp(averages->rows[i].name, name) == 0 && skip-- == 0)
            return &averages->rows[i];
    return NULL;
}

static void test_by_name(void **state)
{
    pyro_averages *averages = NULL;

    (void)state;
    assert_int_equal(pyro_trace_averages(&averages, trace, false, 0, NULL), PYRO_OK);
    assert_int_equal(averages->count, 3);
    const pyro_average_row *a = find(averages, "a", 0), *b = find(averages, "b", 0);
    assert_int_equal(a->calls, 2);
    assert_int_equal(a->host_total_ns, 150000);
    assert_int_equal(a->host_self_ns, 110000);
    assert_int_equal(a->host_bytes_total, 64);
    assert_int_equal(a->host_bytes_self, 0);
    assert_int_equal(b->host_self_ns, 40000);
    assert_int_equal(b->host_bytes_self, 64);
    assert_int_equal(find(averages, "[memory]", 0)->host_bytes_self, -64);
    pyro_averages_free(averages);
}

static void test_by_stack(void **state)
{
    pyro_averages *averages = NULL;

    (void)state;
    assert_int_equal(pyro_trace_averages(&averages, trace, true, 2, NULL), PYRO_OK);
    assert_string_equal(find(averages, "a", 0)->stack, "x.py(1): f;y.py(2): g");
    assert_string_equal(find(averages, "a", 1)->stack, "x.py(1): f;z.py(3): h");
    assert_string_equal(find(averages, "a", 0)->shapes, "[[4]]");
    pyro_averages_free(averages);
    assert_int_equal(pyro_trace_averages(&averages, trace, false, 1, NULL), PYRO_OK);
    assert_string_equal(find(averages, "a", 0)->stack, "x.py(1): f");
    assert_null(find(averages, "a", 1));
    pyro_averages_free(averages);
}

static int open_trace(void **state)
{
    (void)state;
    return pyro_trace_open_memory(&trace, text, strlen(text), "text", NULL, NULL);
}

static int close_trace(void **state)
{
    (void)state;
    pyro_trace_close(trace);
    return 0;
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_by_name),
    cmocka_unit_test(test_by_stack),
};

UNIT_TESTS(tests, open_trace, close_trace)

/* Tests of trace/joins/compiled_match.c: what ran against the calls of compiled graphs. */
#include "trace/joins/compiled.h"

#include "unit.h"

#include <stdio.h>
#include <string.h>

static void add_graph(pyro_provenance *all, const char *key, const char *calls)
{
    assert_true(pyro_provenance_add_graph(all, key, false));
    for (const char *at = calls; *at; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        assert_true(pyro_provenance_add_call(all, at, length));
        at += length;
    }
}

/* Matches kernels ("ops" with :: in their names are ops) and writes the calls, "0 1 - 2+3 ". */
static const char *match(pyro_provenance *all, const char *key, const char *names)
{
    static char text[512];
    pyro_compiled_matcher matcher;
    pyro_compiled_unit units[64];
    pyro_compiled_match matches[64];
    size_t count = 0, length = 0;
    assert_true(pyro_compiled_matcher_init(&matcher, all));
    for (const char *at = names; *at; at += strspn(at, " ")) {
        char name[128];
        size_t size = strcspn(at, " ");
        snprintf(name, sizeof name, "%.*s", (int)size, at);
        at += size;
        units[count++] = (pyro_compiled_unit){.name = pyro_compiled_name(&matcher, name),
                                              .is_generated = pyro_is_generated_kernel(name),
                                              .has_op = strstr(name, "::") != NULL,
                                              .is_helper = !strcmp(name, "splitKreduce")};
    }
    uint32_t id = key ? pyro_intern_find(&all->texts, key, strlen(key)) : PYRO_NO_TEXT;
    pyro_compiled_match_units(&matcher, key != NULL, id, units, count, matches);
    text[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        if (!matches[i].count)
            length += (size_t)snprintf(text + length, sizeof text - length, "- ");
        else
            length += (size_t)snprintf(
                text + length, sizeof text - length, matches[i].count > 1 ? "%zu+%zu " : "%zu ",
                matches[i].first_call, matches[i].first_call + matches[i].count - 1);
    }
    pyro_compiled_matcher_free(&matcher);
    return text;
}

#define CALLS "triton_a extern_kernels.addmm triton_b extern_kernels.mm extern_kernels.mm triton_a"

static void by_key(void **state)
{
    (void)state;
    pyro_provenance all;
    pyro_provenance_init(&all);
    add_graph(&all, "k", CALLS);
    assert_string_equal(
        match(&all, "k", "triton_a aten::addmm triton_b aten::mm aten::mm triton_a"),
        "0 1 2 3 4 5 ");
    /* Replays have no ops; a helper belongs to the kernel before it. */
    assert_string_equal(match(&all, "k", "triton_a gemm splitKreduce triton_b gemm gemm triton_a"),
                        "0 1 1 2 3 4 5 ");
    /* More kernels than calls: either of them. */
    assert_string_equal(match(&all, "k", "triton_a gemm triton_b gemm gemm gemm triton_a"),
                        "0 1 2 3+4 3+4 3+4 5 ");
    /* The second part of a graph, whose kernels have names of the first part too. */
    assert_string_equal(match(&all, "k", "gemm gemm triton_a"), "3 4 5 ");
    /* The first run times a kernel's configurations, and clears the cache between them. */
    assert_string_equal(match(&all, "k",
                              "triton_a aten::fill_ triton_a aten::fill_ triton_a aten::addmm "
                              "triton_b triton_b aten::mm aten::mm triton_a"),
                        "0 - 0 - 0 1 2 2 3 4 5 ");
    /* One kernel is missing in the trace. */
    assert_string_equal(match(&all, "k", "triton_a aten::addmm aten::mm aten::mm triton_a"),
                        "0 1 3 4 5 ");
    pyro_provenance_free(&all);
}

static void by_names(void **state)
{
    (void)state;
    pyro_provenance all;
    pyro_provenance_init(&all);
    add_graph(&all, NULL, "triton_a triton_b triton_c");
    add_graph(&all, NULL, "triton_a triton_d");
    assert_string_equal(
        match(&all, NULL, "aten::add triton_a triton_d triton_a triton_b triton_c x"),
        "- 3 4 0 1 2 - ");
    /* Less than half of a graph is another one's kernel of the same name. */
    assert_string_equal(match(&all, NULL, "triton_b other"), "- - ");
    pyro_provenance_free(&all);
}

/* The trace names its graph: another graph with the same kernels is of another run. */
static void other_keys_do_not_match(void **state)
{
    (void)state;
    pyro_provenance all;
    pyro_provenance_init(&all);
    add_graph(&all, "other", CALLS);
    assert_string_equal(match(&all, "k", "triton_a aten::addmm triton_b"), "- - - ");
    add_graph(&all, NULL, "triton_a triton_b");
    assert_string_equal(match(&all, "k", "triton_a aten::addmm triton_b"), "6 - 7 ");
    pyro_provenance_free(&all);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(by_key),
    cmocka_unit_test(by_names),
    cmocka_unit_test(other_keys_do_not_match),
};

UNIT_TESTS(tests, NULL, NULL)

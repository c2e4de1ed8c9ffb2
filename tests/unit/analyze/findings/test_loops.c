/* Loops over elements: what they cost, and what of it can be saved. */
#include "analyze_maker.h"
#include "unit.h"

#define US INT64_C(1000)

enum { TURNS = 40, PITCH_US = 100 };

static void add_op(maker *maker, const char *name, int64_t start_us, int64_t duration_us, int index)
{
    char args[200];
    snprintf(args, sizeof args,
             "\"Input Dims\":[[64,512]],\"Input type\":[\"float\"],\"Concrete Inputs\":[\"%d\"]",
             index);
    maker_event(maker, "cpu_op", name, 100, 1, start_us * US, duration_us * US, args);
}

/* Every turn takes a row or a number, and computes on it. */
static void add_loop(maker *maker, const char *op)
{
    for (int i = 0; i < TURNS; i++) {
        add_op(maker, op, 10 + i * PITCH_US, 10, i);
        add_op(maker, "aten::mm", 30 + i * PITCH_US, 60, i);
    }
}

static const pyro_finding *find(const pyro_analysis *analysis, const char *id)
{
    for (size_t i = 0; i < analysis->finding_count; i++)
        if (!strcmp(analysis->findings[i].id, id))
            return &analysis->findings[i];
    fail_msg("no %s", id);
    return NULL;
}

/* What recording an op took is no part of a gain. */
static int64_t gain_of(const char *id, const char *op)
{
    maker maker;
    maker_begin(&maker);
    maker_step(&maker, 1, 0, (TURNS + 1) * PITCH_US * US);
    add_loop(&maker, op);
    const pyro_analysis *analysis = maker_analyze(&maker, NULL);
    int64_t gain_ns = find(analysis, id)->gain_ns;
    maker_end(&maker);
    return gain_ns;
}

/* The rest of the loop stays: ten microseconds of indexing, and ten until the next op. */
static void test_indexing_alone_is_saved(void **state)
{
    (void)state;
    int64_t gain_ns = gain_of("repeated-selects", "aten::select");
    assert_in_range(gain_ns, TURNS * 17 * US, TURNS * 20 * US);
}

static void test_loop_of_numbers_is_saved(void **state)
{
    (void)state;
    int64_t gain_ns = gain_of("items-in-loops", "aten::item");
    assert_in_range(gain_ns, (TURNS - 1) * (PITCH_US - 10) * US, TURNS * PITCH_US * US);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_indexing_alone_is_saved),
    cmocka_unit_test(test_loop_of_numbers_is_saved),
};

UNIT_TESTS(tests, NULL, NULL)

/* Tests of cuts: what crosses them, what parts need, and the best split against all splits. */
#include "dataflow/blocks.h"
#include "flow_maker.h"
#include "unit.h"

/* A chain of layers with a skip from the first to the last; each has a weight. */
static pyro_program *chain(size_t count, const int64_t *flops, const int64_t *bytes)
{
    static const char *const paths[] = {"l0", "l1", "l2", "l3", "l4", "l5", "l6", "l7"};
    pyro_program *program = make_program();
    uint32_t value = make_input(program, "x", 8), first = value;
    for (size_t i = 0; i < count; i++) {
        uint32_t weight = make_weight(program, paths[i], bytes[i] * 4);
        value = make_step(program, make_call(program, 0, paths[i], "Linear"), "aten::linear",
                          bytes[i], flops[i], value, weight, i + 1 == count ? first : NO_MORE,
                          NO_MORE);
        if (i == 0)
            first = value;
    }
    return program;
}

static void test_what_crosses(void **state)
{
    (void)state;
    const int64_t flops[] = {1, 2, 3, 4}, bytes[] = {10, 20, 30, 40};
    pyro_program *program = chain(4, flops, bytes);
    pyro_dataflow *graph = make_graph(program, PYRO_GRANULARITY_LAYER);
    pyro_cuts cuts;
    assert_int_equal(pyro_cuts_find(&cuts, graph, 2, 0, NULL), PYRO_OK);
    assert_false(cuts.timed);
    assert_int_equal(cuts.cut_count, 3);
    const int64_t crossing[] = {10, 10 + 20, 10 + 30}, before[] = {1, 3, 6};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(cuts.cuts[i].bytes, crossing[i]);
        assert_int_equal(cuts.cuts[i].tensors, i ? 2 : 1);
        assert_int_equal(cuts.cuts[i].before, before[i]);
        assert_int_equal(cuts.cuts[i].behind, 10 - before[i]);
    }
    pyro_cuts_free(&cuts);
    pyro_dataflow_free(graph);
    pyro_program_free(program);
}

static void test_what_a_part_needs(void **state)
{
    (void)state;
    const int64_t flops[] = {1, 1, 1, 1}, bytes[] = {10, 20, 30, 40};
    pyro_program *program = chain(4, flops, bytes);
    pyro_dataflow *graph = make_graph(program, PYRO_GRANULARITY_LAYER);
    pyro_blocks blocks;
    pyro_part part;
    assert_int_equal(pyro_blocks_find(&blocks, graph, NULL), PYRO_OK);
    pyro_blocks_measure(&blocks, 0, 3, &part);
    assert_int_equal(part.parameters, 100);
    assert_int_equal(part.parameter_bytes, 400);
    /* At the end the skip, what came before, and the result. */
    assert_int_equal(part.memory_bytes, 400 + 10 + 30 + 40);
    assert_int_equal(part.received_bytes, 0);
    pyro_blocks_measure(&blocks, 1, 2, &part);
    assert_int_equal(part.received_bytes, 10);
    assert_int_equal(part.memory_bytes, 200 + 20 + 30);
    pyro_blocks_measure(&blocks, 3, 3, &part);
    assert_int_equal(part.received_bytes, 10 + 30);
    pyro_blocks_free(&blocks);
    pyro_dataflow_free(graph);
    pyro_program_free(program);
}

/* Criteria for splits: the slowest part, how uneven parts are, and the bytes over cuts. */
typedef struct quality {
    int64_t slowest, squares, crossing;
} quality;

static void add_part(quality *sum, int64_t amount)
{
    sum->slowest = amount > sum->slowest ? amount : sum->slowest;
    sum->squares += amount * amount;
}

static bool is_better(const quality *a, const quality *b)
{
    if (a->slowest != b->slowest)
        return a->slowest < b->slowest;
    return a->squares != b->squares ? a->squares < b->squares : a->crossing < b->crossing;
}

/* The criteria of a split, given as the bits of its cuts; false if a part does not fit. */
static bool try_split(pyro_blocks *blocks, unsigned cuts, int64_t limit, quality *found)
{
    size_t begin = 0;
    *found = (quality){0};
    for (size_t i = 0; i < blocks->count; i++) {
        bool ends = i + 1 == blocks->count || cuts >> i & 1;
        pyro_part part;
        if (!ends)
            continue;
        pyro_blocks_measure(blocks, begin, i, &part);
        if (limit && part.memory_bytes > limit)
            return false;
        add_part(found, part.amount);
        found->crossing += i + 1 < blocks->count ? blocks->cut_bytes[i] : 0;
        begin = i + 1;
    }
    return true;
}

/* Tries every split of a small chain; false if none fits. */
static bool try_all(const pyro_dataflow *graph, int parts, int64_t limit, quality *best)
{
    pyro_blocks blocks;
    bool found = false;
    assert_int_equal(pyro_blocks_find(&blocks, graph, NULL), PYRO_OK);
    for (unsigned cuts = 0; cuts < 1u << (blocks.count - 1); cuts++) {
        quality one;
        if (__builtin_popcount(cuts) + 1 != parts || !try_split(&blocks, cuts, limit, &one))
            continue;
        if (!found || is_better(&one, best))
            *best = one;
        found = true;
    }
    pyro_blocks_free(&blocks);
    return found;
}

static unsigned next_random(unsigned *seed)
{
    *seed = *seed * 1103515245u + 12345u;
    return *seed >> 16;
}

static void check_split(const pyro_dataflow *graph, int parts, int64_t limit)
{
    quality best, ours = {0};
    pyro_cuts cuts;
    pyro_error error;
    pyro_error_clear(&error);
    bool can = try_all(graph, parts, limit, &best);
    int status = pyro_cuts_find(&cuts, graph, parts, limit, &error);
    assert_int_equal(status, can ? PYRO_OK : PYRO_ERROR_ARGUMENT);
    if (!can) {
        assert_non_null(strstr(error.message, "no split"));
        return;
    }
    for (size_t i = 0; i < cuts.part_count; i++) {
        add_part(&ours, cuts.parts[i].amount);
        assert_true(!limit || cuts.parts[i].memory_bytes <= limit);
        for (size_t c = 0; c < cuts.cut_count && i + 1 < cuts.part_count; c++)
            ours.crossing += cuts.cuts[c].after == cuts.parts[i].last ? cuts.cuts[c].bytes : 0;
    }
    assert_int_equal(ours.slowest, best.slowest);
    assert_int_equal(ours.squares, best.squares);
    assert_int_equal(ours.crossing, best.crossing);
    pyro_cuts_free(&cuts);
}

static void test_the_best_split(void **state)
{
    (void)state;
    unsigned seed = 7;
    for (int round = 0; round < 300; round++) {
        int64_t flops[8], bytes[8];
        size_t count = 2 + next_random(&seed) % 7;
        for (size_t i = 0; i < count; i++) {
            flops[i] = next_random(&seed) % 20;
            bytes[i] = 1 + next_random(&seed) % 30;
        }
        pyro_program *program = chain(count, flops, bytes);
        pyro_dataflow *graph = make_graph(program, PYRO_GRANULARITY_LAYER);
        int parts = 1 + (int)(next_random(&seed) % count);
        check_split(graph, parts, 0);
        check_split(graph, parts, 50 + next_random(&seed) % 300);
        pyro_dataflow_free(graph);
        pyro_program_free(program);
    }
}

/* One slow layer is the maximum of every split; the others are still distributed. */
static void test_parts_beside_the_slowest_are_even(void **state)
{
    (void)state;
    const int64_t flops[] = {1, 1, 1, 1, 1, 1, 10}, bytes[] = {1, 2, 9, 9, 9, 9, 9};
    pyro_program *program = chain(7, flops, bytes);
    pyro_dataflow *graph = make_graph(program, PYRO_GRANULARITY_LAYER);
    pyro_cuts cuts;
    assert_int_equal(pyro_cuts_find(&cuts, graph, 4, 0, NULL), PYRO_OK);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(cuts.parts[i].amount, 2);
    assert_int_equal(cuts.parts[3].amount, 10);
    assert_int_equal(cuts.warning[0], 0); /* nothing was timed */
    pyro_cuts_free(&cuts);
    pyro_dataflow_free(graph);
    pyro_program_free(program);
}

static void test_cold_times_are_warned_of(void **state)
{
    (void)state;
    const int64_t flops[] = {1, 1, 1}, bytes[] = {1, 1, 1};
    for (int passes = 1; passes <= PYRO_PASSES_FOR_CUTS; passes++) {
        pyro_program *program = chain(3, flops, bytes);
        pyro_cuts cuts;
        program->passes = passes;
        for (size_t i = 0; i < program->call_count; i++)
            for (int pass = 0; pass < passes; pass++)
                assert_true(pyro_samples_add(&program->calls[i].time, 100));
        pyro_dataflow *graph = make_graph(program, PYRO_GRANULARITY_LAYER);
        assert_int_equal(pyro_cuts_find(&cuts, graph, 2, 0, NULL), PYRO_OK);
        assert_true(cuts.timed);
        assert_int_equal(cuts.warning[0] != 0, passes < PYRO_PASSES_FOR_CUTS);
        if (passes == 1)
            assert_non_null(strstr(cuts.warning, "of 1 pass,"));
        pyro_cuts_free(&cuts);
        pyro_dataflow_free(graph);
        pyro_program_free(program);
    }
}

static void test_what_cannot_be_split(void **state)
{
    (void)state;
    const int64_t flops[] = {1, 1}, bytes[] = {10, 20};
    pyro_program *program = chain(2, flops, bytes);
    pyro_dataflow *graph = make_graph(program, PYRO_GRANULARITY_LAYER);
    pyro_cuts cuts;
    pyro_error error;
    pyro_error_clear(&error);
    assert_int_equal(pyro_cuts_find(&cuts, graph, 3, 0, &error), PYRO_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "2 blocks, too few for 3 parts"));
    assert_int_equal(pyro_cuts_find(&cuts, graph, 0, 0, NULL), PYRO_ERROR_ARGUMENT);
    assert_int_equal(pyro_cuts_find(&cuts, graph, INT64_MAX, 0, NULL), PYRO_ERROR_ARGUMENT);
    assert_int_equal(pyro_cuts_find(&cuts, graph, 1, -1, NULL), PYRO_ERROR_ARGUMENT);
    pyro_dataflow_free(graph);
    pyro_program_free(program);
    program = make_program();
    graph = make_graph(program, PYRO_GRANULARITY_OP);
    assert_int_equal(pyro_cuts_find(&cuts, graph, 1, 0, NULL), PYRO_ERROR_ARGUMENT);
    pyro_dataflow_free(graph);
    pyro_program_free(program);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_what_crosses),
    cmocka_unit_test(test_what_a_part_needs),
    cmocka_unit_test(test_the_best_split),
    cmocka_unit_test(test_parts_beside_the_slowest_are_even),
    cmocka_unit_test(test_cold_times_are_warned_of),
    cmocka_unit_test(test_what_cannot_be_split),
};

UNIT_TESTS(tests, NULL, NULL)

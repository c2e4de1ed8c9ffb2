/* Tests of analyze/memory/blocks.c: lifetimes, owners, addresses that are given out again. */
#include "analyze/memory/blocks.h"

#include "analyze_maker.h"
#include "unit.h"

static void make(pyro_memory_blocks *blocks, pyro_joins *joins, maker *maker, size_t most)
{
    maker_analyze(maker, NULL);
    assert_int_equal(pyro_joins_make(joins, maker->trace, NULL, NULL), PYRO_OK);
    assert_int_equal(pyro_memory_blocks_make(blocks, maker->trace, joins, most, NULL), PYRO_OK);
}

static void test_lifetimes_and_owners(void **state)
{
    (void)state;
    maker maker;
    pyro_joins joins;
    pyro_memory_blocks blocks;

    maker_begin(&maker);
    maker_host(&maker, "cpu_op", "aten::conv2d", 1, 100, 100);
    maker_memory(&maker, 1, 130, 0x1000, 400, 1400);
    maker_memory(&maker, 1, 150, 0x2000, 300, 1700);
    maker_memory(&maker, 1, 160, 0x2000, -300, 1400);
    maker_memory(&maker, 1, 170, 0x2000, 500, 1900); /* a reused address */
    maker_memory(&maker, 1, 300, 0x1000, -400, 1500);
    maker_memory(&maker, 1, 310, 0x9000, -700, 800); /* allocated before the trace: no block */
    make(&blocks, &joins, &maker, 100);
    assert_int_equal(blocks.count, 3);
    assert_int_equal(blocks.blocks[0].start_ns, MAKER_BASE_NS + 130);
    assert_int_equal(blocks.blocks[0].end_ns, MAKER_BASE_NS + 300);
    assert_int_equal(blocks.blocks[1].end_ns, MAKER_BASE_NS + 160);
    assert_int_equal(blocks.blocks[2].bytes, 500);
    assert_int_equal(blocks.blocks[2].end_ns, INT64_MAX);
    assert_string_equal(pyro_trace_text(maker.trace, blocks.blocks[2].op), "aten::conv2d");
    assert_string_equal(blocks.blocks[2].layer, "");
    assert_int_equal(blocks.left_out, 0);
    pyro_memory_blocks_free(&blocks);
    pyro_joins_free(&joins);
    maker_end(&maker);
}

/* The largest are kept, and what is left out is counted. */
static void test_limit(void **state)
{
    (void)state;
    maker maker;
    pyro_joins joins;
    pyro_memory_blocks blocks;

    maker_begin(&maker);
    maker_host(&maker, "cpu_op", "aten::empty", 1, 100, 1000);
    for (int i = 0; i < 20; i++)
        maker_memory(&maker, 1, 110 + i, 0x1000 + 0x1000 * i, i < 4 ? 1 << 20 : 64, 0);
    make(&blocks, &joins, &maker, 10);
    assert_int_equal(blocks.count, 4);
    assert_int_equal(blocks.left_out, 16);
    assert_true(blocks.least_bytes > 64 && blocks.least_bytes <= 1 << 20);
    pyro_memory_blocks_free(&blocks);
    pyro_joins_free(&joins);
    maker_end(&maker);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_lifetimes_and_owners),
    cmocka_unit_test(test_limit),
};

UNIT_TESTS(tests, NULL, NULL)

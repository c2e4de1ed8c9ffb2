/* Which rank is the straggler, and why: synthetic runs with a known truth, and near misses. */
#include "rank_maker.h"
#include "unit.h"

static void make_run(made_rank *made, int count, int steps, int slow_rank, bool on_device)
{
    for (int i = 0; i < count; i++)
        made[i] = (made_rank){.rank = i,
                              .world = count,
                              .steps = steps,
                              .slow_us = i == slow_rank ? 50000 : 0,
                              .slowest_us = slow_rank < 0 ? 0 : 50000,
                              .on_device = on_device};
}

static void expect_straggler(const pyro_ranks *ranks, int rank, int steps)
{
    assert_int_equal(ranks->straggler_count, 1);
    const pyro_straggler_row *row = &ranks->stragglers[0];
    assert_int_equal(row->rank, rank);
    assert_int_equal(row->steps, steps);
    assert_int_equal(row->late_steps, steps);
    assert_in_range(row->late_ns, 49000000, 51000000);
    assert_string_equal(row->layer, "Net_0.Mlp_1");
    assert_string_equal(row->class_name, "Mlp");
    assert_int_equal(row->phase, PYRO_PHASE_FORWARD);
    assert_string_equal(row->op, "aten::topk");
    assert_string_equal(row->where, "host");
    assert_in_range(row->excess_ns, 49000000, 51000000);
    for (size_t i = 0; i < ranks->rank_count; i++)
        assert_int_equal(ranks->ranks[i].straggler, (int)i == rank);
}

static void test_named(void **state)
{
    (void)state;
    for (int on_device = 0; on_device < 2; on_device++) {
        for (int count = 2; count <= 5; count++) {
            made_rank made[5];
            make_run(made, count, 4, count - 1, on_device);
            pyro_ranks *ranks = made_answer(made, (size_t)count);
            expect_straggler(ranks, count - 1, 4);
            assert_int_equal(ranks->matched_collectives, 4);
            assert_int_equal(ranks->on_device, on_device);
            /* All ranks wait for the last one, which does not wait. */
            assert_in_range(ranks->ranks[0].wait_ns, 49000000, 51000000);
            assert_int_equal(ranks->ranks[count - 1].wait_ns, 0);
            assert_int_equal(ranks->ranks[count - 1].late_collectives, 4);
            pyro_ranks_free(ranks);
        }
    }
}

/* Clock offsets larger than the lateness do not change the straggler. */
static void test_clocks_off(void **state)
{
    (void)state;
    made_rank made[4];
    make_run(made, 4, 6, 1, false);
    made[0].offset_us = 0;
    made[1].offset_us = -90000;
    made[2].offset_us = 3600000000;
    made[3].offset_us = 77;
    pyro_ranks *ranks = made_answer(made, 4);
    expect_straggler(ranks, 1, 6);
    assert_in_range(ranks->ranks[1].clock_offset_ns, 89900000, 90100000);
    assert_int_equal(ranks->ranks[2].clock_offset_ns, -3600000000000);
    assert_in_range(ranks->clock_residual_ns, 0, 1000);
    assert_true(made_note(ranks, "off by more than a minute"));
    pyro_ranks_free(ranks);
}

static void test_clock_drifts(void **state)
{
    (void)state;
    made_rank made[3];
    make_run(made, 3, 40, 2, false);
    made[1].drift = 0.001;
    pyro_ranks *ranks = made_answer(made, 3);
    expect_straggler(ranks, 2, 40);
    assert_float_equal(ranks->ranks[1].clock_drift_ppm, -1000, 20);
    assert_float_equal(ranks->ranks[2].clock_drift_ppm, 0, 1);
    assert_in_range(ranks->clock_residual_ns, 0, 100000);
    pyro_ranks_free(ranks);
}

/* Near misses: no rank is slow; all are, equally; each had one pause of the machine. */
static void test_nobody(void **state)
{
    (void)state;
    made_rank made[4];
    make_run(made, 4, 4, -1, false);
    pyro_ranks *ranks = made_answer(made, 4);
    assert_int_equal(ranks->straggler_count, 0);
    assert_int_equal(ranks->matched_collectives, 4);
    pyro_ranks_free(ranks);

    for (int i = 0; i < 4; i++) {
        made[i].slow_us = 50000;
        made[i].slowest_us = 50000;
    }
    ranks = made_answer(made, 4);
    assert_int_equal(ranks->straggler_count, 0);
    pyro_ranks_free(ranks);

    for (int i = 0; i < 4; i++) {
        made[i].slow_us = 0;
        made[i].slowest_us = 60000;
        made[i].pause_step = i + 1;
    }
    ranks = made_answer(made, 4);
    assert_int_equal(ranks->straggler_count, 0);
    assert_int_equal(ranks->steps[2].last_rank, 2);
    assert_in_range(ranks->steps[2].late_ns, 59000000, 61000000);
    pyro_ranks_free(ranks);
}

/* A pause in another layer does not hide the slow one. */
static void test_pause_beside(void **state)
{
    (void)state;
    made_rank made[2];
    make_run(made, 2, 5, 1, false);
    made[1].pause_step = 3;
    made[0].slowest_us = made[1].slowest_us = 110000;
    pyro_ranks *ranks = made_answer(made, 2);
    assert_int_equal(ranks->straggler_count, 1);
    assert_string_equal(ranks->stragglers[0].layer, "Net_0.Mlp_1");
    pyro_ranks_free(ranks);
}

static void test_two_stragglers(void **state)
{
    (void)state;
    made_rank made[6];
    make_run(made, 6, 4, 5, false);
    made[4].slow_us = 50000;
    pyro_ranks *ranks = made_answer(made, 6);
    assert_int_equal(ranks->straggler_count, 2);
    assert_int_equal(ranks->stragglers[0].rank + ranks->stragglers[1].rank, 9);
    pyro_ranks_free(ranks);
}

static void test_one_rank(void **state)
{
    (void)state;
    made_rank made = {.rank = 0, .world = 1, .steps = 3};
    pyro_ranks *ranks = made_answer(&made, 1);
    assert_int_equal(ranks->rank_count, 1);
    assert_int_equal(ranks->straggler_count, 0);
    assert_int_equal(ranks->matched_collectives, 0);
    assert_true(made_note(ranks, "only one rank"));
    pyro_ranks_free(ranks);
}

static void test_gaps_and_duplicates(void **state)
{
    (void)state;
    made_rank made[4] = {{.rank = 1, .world = 8, .steps = 3},
                         {.rank = 2, .world = 8, .steps = 3},
                         {.rank = 2, .world = 8, .steps = 3, .offset_us = 5000},
                         {.rank = 6, .world = 8, .steps = 3}};
    pyro_ranks *ranks = made_answer(made, 4);
    assert_int_equal(ranks->rank_count, 3);
    assert_int_equal(ranks->world_size, 8);
    assert_int_equal(ranks->missing, 5);
    assert_true(made_note(ranks, "(0, 3-5, 7)"));
    assert_true(made_note(ranks, "1 file is skipped: an earlier file has the same rank"));
    assert_int_equal(ranks->ranks[1].clock_offset_ns, 0);
    pyro_ranks_free(ranks);
}

/* Without distributedInfo the rank comes from the file name. */
static void test_rank_of_name(void **state)
{
    (void)state;
    made_rank made[2];
    make_run(made, 2, 4, 1, false);
    made[0].without_info = made[1].without_info = true;
    pyro_ranks *ranks = made_answer(made, 2);
    expect_straggler(ranks, 1, 4);
    assert_int_equal(ranks->world_size, -1);
    pyro_ranks_free(ranks);
}

/* Extra steps of one rank do not affect the others. */
static void test_uneven_steps(void **state)
{
    (void)state;
    made_rank made[3];
    make_run(made, 3, 4, 1, false);
    made[2].steps = 6;
    pyro_ranks *ranks = made_answer(made, 3);
    expect_straggler(ranks, 1, 4);
    assert_int_equal(ranks->step_count, 6);
    assert_int_equal(ranks->steps[5].ranks, 1);
    assert_int_equal(ranks->note_count, 0);
    assert_int_equal(ranks->cell_count, 4 + 4 + 6);
    for (size_t i = 0; i < ranks->cell_count; i++) {
        const pyro_rank_cell_row *cell = &ranks->cells[i];
        assert_int_equal(cell->rank, i < 8 ? i / 4 : 2);
        assert_true(cell->step_ns > 0);
        assert_true(cell->rank != 1 || cell->late_ns > 0);
    }
    pyro_ranks_free(ranks);
}

static void test_groups(void **state)
{
    (void)state;
    made_rank made[2];
    make_run(made, 2, 4, 1, false);
    pyro_ranks *ranks = made_answer(made, 2);
    assert_int_equal(ranks->group_count, 1);
    const pyro_rank_group_row *row = &ranks->groups[0];
    assert_string_equal(row->kind, "allreduce");
    assert_int_equal(row->ranks, 2);
    assert_int_equal(row->calls, 8);
    assert_int_equal(row->matched, 4);
    assert_int_equal(row->last_rank, 1);
    assert_float_equal(row->last_share, 1, 1e-9);
    assert_in_range(row->arrival_skew_ns, 49900000, 50100000);
    /* Rank 0 spends 52 ms in it, rank 1 spends 2 ms, and no op runs then. */
    assert_in_range(row->time_ns, 26900000, 27100000);
    assert_float_equal(row->exposed_share, 1, 1e-9);
    assert_in_range(row->wait_ns, 24900000, 25100000);
    pyro_ranks_free(ranks);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_named),        cmocka_unit_test(test_clocks_off),
    cmocka_unit_test(test_clock_drifts), cmocka_unit_test(test_nobody),
    cmocka_unit_test(test_pause_beside), cmocka_unit_test(test_two_stragglers),
    cmocka_unit_test(test_one_rank),     cmocka_unit_test(test_gaps_and_duplicates),
    cmocka_unit_test(test_rank_of_name), cmocka_unit_test(test_uneven_steps),
    cmocka_unit_test(test_groups),
};

UNIT_TESTS(tests, NULL, NULL)

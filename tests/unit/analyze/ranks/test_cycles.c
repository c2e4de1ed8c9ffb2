/* Tests of analyze/ranks/cycles.c: several files of one rank. */
#include "rank_maker.h"

/* Two ranks, each with two files of three steps; `gap_us` after the first the second begins. */
static pyro_ranks *answer_cycles(int64_t gap_us)
{
    made_rank made[4];
    for (int i = 0; i < 4; i++)
        made[i] = (made_rank){.rank = i % 2,
                              .world = 2,
                              .steps = 3,
                              .on_device = true,
                              .step_shift = i < 2 ? 0 : 10,
                              .offset_us = i < 2 ? 0 : gap_us};
    return made_answer(made, 4);
}

static void cycles_are_taken_together(void **state)
{
    (void)state;
    pyro_ranks *ranks = answer_cycles(10000000);
    assert_int_equal(ranks->rank_count, 2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(ranks->ranks[i].files, 2);
        assert_int_equal(ranks->ranks[i].steps, 6);
        assert_int_equal(ranks->ranks[i].collectives, 6);
    }
    assert_int_equal(ranks->step_count, 6);
    assert_int_equal(ranks->matched_collectives, 6);
    assert_int_equal(ranks->note_count, 0);
    pyro_ranks_free(ranks);
}

/* Near miss: files of the same time are two runs, or copies. */
static void files_of_the_same_time_are_skipped(void **state)
{
    (void)state;
    pyro_ranks *ranks = answer_cycles(5000);
    assert_int_equal(ranks->rank_count, 2);
    assert_int_equal(ranks->ranks[0].files, 1);
    assert_int_equal(ranks->ranks[0].steps, 3);
    assert_true(
        made_note(ranks, "2 files are skipped: an earlier file has the same rank and time"));
    pyro_ranks_free(ranks);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(cycles_are_taken_together),
    cmocka_unit_test(files_of_the_same_time_are_skipped),
};

UNIT_TESTS(tests, NULL, NULL)

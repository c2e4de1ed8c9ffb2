/* Tests of analyze/ranks/match_exact.c: collectives matched by the numbers that torch gives. */
#include "rank_maker.h"

static void make_ranks(made_rank *made, int count, int steps)
{
    for (int i = 0; i < count; i++)
        made[i] = (made_rank){.rank = i, .world = count, .steps = steps, .on_device = true};
}

/* Ranks count their steps from different numbers: only the numbers of collectives agree. */
static void numbers_match_across_steps(void **state)
{
    (void)state;
    for (int with_id = 0; with_id < 2; with_id++) {
        made_rank made[2];
        make_ranks(made, 2, 4);
        made[1].step_shift = 10;
        for (int i = 0; i < 2; i++) {
            made[i].number_from = 100;
            made[i].comms_id_from = with_id ? 1000 : 0;
        }
        pyro_ranks *ranks = made_answer(made, 2);
        assert_int_equal(ranks->matched_collectives, 4);
        assert_int_equal(ranks->exact_collectives, 4);
        pyro_ranks_free(ranks);
    }
}

/* Near miss: without numbers on one of the ranks they are matched by step and order. */
static void missing_numbers_match_by_order(void **state)
{
    (void)state;
    made_rank made[2];
    make_ranks(made, 2, 4);
    made[0].number_from = 100;
    pyro_ranks *ranks = made_answer(made, 2);
    assert_int_equal(ranks->exact_collectives, 0);
    pyro_ranks_free(ranks);
}

/* A collective that one rank lacks does not shift those that follow. */
static void a_missing_collective_shifts_nothing(void **state)
{
    (void)state;
    made_rank made[2];
    make_ranks(made, 2, 4);
    made[0].number_from = 100;
    made[1].number_from = 101; /* its file begins one collective later */
    pyro_ranks *ranks = made_answer(made, 2);
    assert_int_equal(ranks->matched_collectives, 3);
    pyro_ranks_free(ranks);
}

/* Two groups of one name: their ids keep them apart. */
static void subgroups_of_one_name_are_apart(void **state)
{
    (void)state;
    made_rank made[4];
    make_ranks(made, 4, 5);
    for (int i = 0; i < 4; i++)
        made[i].comms_id_from = i < 2 ? 1000 : 2000;
    pyro_ranks *ranks = made_answer(made, 4);
    assert_int_equal(ranks->matched_collectives, 10);
    assert_false(made_note(ranks, "more ranks have a collective"));
    assert_true(made_note(ranks, "2 parts that share no collective"));
    pyro_ranks_free(ranks);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(numbers_match_across_steps),
    cmocka_unit_test(missing_numbers_match_by_order),
    cmocka_unit_test(a_missing_collective_shifts_nothing),
    cmocka_unit_test(subgroups_of_one_name_are_apart),
};

UNIT_TESTS(tests, NULL, NULL)

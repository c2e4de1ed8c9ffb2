/* Tests of analyze/ranks/clock.c: ranks of one host read one clock. */
#include "rank_maker.h"

static pyro_ranks *answer_on(const char *const *hosts, int64_t offset_us, int slow_us)
{
    made_rank made[4];
    for (int i = 0; i < 4; i++)
        made[i] = (made_rank){.rank = i,
                              .world = 4,
                              .steps = 6,
                              .on_device = true,
                              .host = hosts[i],
                              .slow_us = i == 3 ? slow_us : 0,
                              .slowest_us = slow_us,
                              .offset_us = i == 1 ? offset_us : 0};
    return made_answer(made, 4);
}

/* The ends of rank 1 are 700 us late, which is no clock: its kernel ends later. */
static void one_host_is_not_shifted(void **state)
{
    (void)state;
    static const char *const one[] = {"node1", "node1", "node1", "node1"};
    pyro_ranks *ranks = answer_on(one, 700, 0);
    assert_int_equal(ranks->host_count, 1);
    for (int i = 0; i < 4; i++)
        assert_int_equal(ranks->ranks[i].clock_offset_ns, 0);
    assert_in_range(ranks->ranks[1].clock_residual_ns, 690000, 710000);
    pyro_ranks_free(ranks);
}

/* Near misses: other hosts, unknown hosts, and a clock that contradicts causality. */
static void other_clocks_are_shifted(void **state)
{
    (void)state;
    static const char *const two[] = {"node1", "node2", "node1", "node2"};
    static const char *const none[] = {NULL, NULL, NULL, NULL};
    static const char *const local[] = {"localhost", "localhost", "localhost", "localhost"};
    static const char *const one[] = {"node1", "node1", "node1", "node1"};
    const struct {
        const char *const *hosts;
        int64_t offset_us;
    } cases[] = {{two, 700}, {none, 700}, {local, 700}, {one, 90000}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pyro_ranks *ranks = answer_on(cases[i].hosts, cases[i].offset_us, 0);
        assert_int_equal(ranks->ranks[1].clock_offset_ns, -cases[i].offset_us * 1000);
        assert_int_equal(ranks->host_count, cases[i].hosts == two ? 2 : -1);
        pyro_ranks_free(ranks);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(one_host_is_not_shifted),
    cmocka_unit_test(other_clocks_are_shifted),
};

UNIT_TESTS(tests, NULL, NULL)

/* Tests of base/parallel.c: every task runs once and in its stage, and parts cover everything. */
#include "base/parallel.h"
#include "unit.h"

#include <signal.h>
#include <stdint.h>
#include <string.h>

static void mark(void *data, unsigned part)
{
    int *marks = data;
    marks[part]++;
}

enum { STAGES = 40, STAGE_TASKS = 5 };

/* Tasks of a stage run in any order; the next stage starts when all are done. */
typedef struct staged {
    int runs[STAGES][STAGE_TASKS], order[STAGES][STAGE_TASKS];
    int stage, next, done, total;
    int *task[PYRO_MOST_WORKERS];
    bool worker_took[PYRO_MOST_WORKERS], is_signal_blocked[PYRO_MOST_WORKERS];
    bool is_other_task[PYRO_MOST_WORKERS];
} staged;

static void *take_staged(void *data, unsigned worker)
{
    staged *job = data;
    if (job->next == STAGE_TASKS)
        return NULL;
    job->task[worker] = &job->order[job->stage][job->next];
    job->runs[job->stage][job->next++]++;
    job->worker_took[worker] = true;
    return job->task[worker];
}

static void run_staged(void *data, void *task, unsigned worker)
{
    staged *job = data;
    sigset_t blocked;
    if (task != job->task[worker])
        job->is_other_task[worker] = true; /* an assertion works on the main thread only */
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    job->is_signal_blocked[worker] = sigismember(&blocked, SIGINT) == 1;
}

static bool finish_staged(void *data, void *task, unsigned worker)
{
    staged *job = data;
    (void)worker;
    *(int *)task = ++job->total;
    if (++job->done < STAGE_TASKS)
        return false;
    job->stage++;
    job->next = job->done = 0;
    if (job->stage == STAGES)
        job->next = STAGE_TASKS;
    return true;
}

static bool is_staged_over(const void *data, unsigned worker)
{
    (void)worker;
    return ((const staged *)data)->stage == STAGES;
}

static void test_tasks_wait_for_others(void **state)
{
    (void)state;
    static const pyro_job functions = {take_staged, run_staged, finish_staged, is_staged_over};
    for (unsigned workers = 1; workers <= PYRO_MOST_WORKERS; workers++) {
        staged job;
        memset(&job, 0, sizeof job);
        pyro_pool_run(&functions, &job, workers);
        assert_int_equal(job.total, STAGES * STAGE_TASKS);
        for (int stage = 0; stage < STAGES; stage++) {
            for (int i = 0; i < STAGE_TASKS; i++) {
                assert_int_equal(job.runs[stage][i], 1);
                assert_in_range(job.order[stage][i], stage * STAGE_TASKS + 1,
                                (stage + 1) * STAGE_TASKS);
            }
        }
        for (unsigned i = 0; i < PYRO_MOST_WORKERS; i++) {
            assert_int_equal(job.is_signal_blocked[i], i > 0 && job.worker_took[i]);
            assert_false(job.is_other_task[i]);
        }
    }
}

static void test_run(void **state)
{
    (void)state;
    for (unsigned parts = 1; parts <= PYRO_MOST_WORKERS; parts++) {
        int marks[PYRO_MOST_WORKERS] = {0};
        pyro_run_parts(mark, marks, parts);
        for (unsigned i = 0; i < PYRO_MOST_WORKERS; i++)
            assert_int_equal(marks[i], i < parts);
    }
}

static void test_count(void **state)
{
    (void)state;
    assert_int_equal(pyro_count_parts(4, 1000, 100), 4);
    assert_int_equal(pyro_count_parts(4, 399, 100), 3);
    assert_int_equal(pyro_count_parts(4, 99, 100), 1);
    assert_int_equal(pyro_count_parts(4, 0, 0), 1);
    assert_int_equal(pyro_count_parts(1000, 1000000, 1), PYRO_MOST_WORKERS);
    assert_true(pyro_count_parts(0, 1000000, 1) >= 1);
}

static void test_borders(void **state)
{
    (void)state;
    static const size_t counts[] = {0, 1, 2, 15, 16, 17, 1000003, SIZE_MAX / 4};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        for (unsigned parts = 1; parts <= PYRO_MOST_WORKERS; parts++) {
            assert_int_equal(pyro_part_begin(counts[i], 0, parts), 0);
            assert_int_equal(pyro_part_begin(counts[i], parts, parts), counts[i]);
            for (unsigned part = 0; part < parts; part++)
                assert_true(pyro_part_begin(counts[i], part, parts) <=
                            pyro_part_begin(counts[i], part + 1, parts));
        }
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_run),
    cmocka_unit_test(test_tasks_wait_for_others),
    cmocka_unit_test(test_count),
    cmocka_unit_test(test_borders),
};

UNIT_TESTS(tests, NULL, NULL)

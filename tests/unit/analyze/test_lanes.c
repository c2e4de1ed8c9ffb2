/* Tests of analyze/lanes.c: every lane sees all events once, runs after the lane it depends on, and
 * each item is processed once, on whichever thread. */
#include "analyze/lanes.h"
#include "base/error.h"
#include "unit.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

enum { EVENTS = 6 * PYRO_EVENTS_PER_THREAD, ITEMS = 300, BAD_ITEM = 200 };

/* What the analyses of one run saw. */
static struct {
    atomic_bool slow_has_begun;
    bool was_early;
    atomic_int items, concluded, cleared;
    size_t told[PYRO_LANES];
    bool fails;
} seen;

typedef struct counter {
    size_t events;
    uint32_t last;
} counter;

static int begin_slowly(void *state, pyro_analysis_context *context)
{
    (void)state, (void)context;
    nanosleep(&(struct timespec){.tv_nsec = 20 * 1000 * 1000}, NULL);
    atomic_store(&seen.slow_has_begun, true);
    return PYRO_OK;
}

static int begin_after(void *state, pyro_analysis_context *context)
{
    (void)state, (void)context;
    seen.was_early = !atomic_load(&seen.slow_has_begun);
    return PYRO_OK;
}

static int count_event(void *data, pyro_analysis_context *context, uint32_t event)
{
    counter *counter = data;
    (void)context;
    assert_true(counter->events == 0 || event == counter->last + 1);
    counter->last = event;
    counter->events++;
    return PYRO_OK;
}

static int finish_first(void *data, pyro_analysis_context *context)
{
    (void)context;
    seen.told[0] = ((counter *)data)->events;
    return PYRO_OK;
}

static int finish_last(void *data, pyro_analysis_context *context)
{
    seen.told[3] = ((counter *)data)->events;
    return pyro_context_note(context, "done");
}

static size_t count_items(void *state)
{
    (void)state;
    return ITEMS;
}

static int do_item(void *state, pyro_analysis_context *context, size_t item)
{
    (void)state;
    atomic_fetch_add(&seen.items, 1);
    return seen.fails && item == BAD_ITEM ? pyro_fail_memory(context->error) : PYRO_OK;
}

static int conclude(void *state, pyro_analysis_context *context)
{
    (void)state, (void)context;
    assert_true(seen.fails || atomic_load(&seen.items) == ITEMS);
    atomic_fetch_add(&seen.concluded, 1);
    return PYRO_OK;
}

static void clear(void *state)
{
    (void)state;
    atomic_fetch_add(&seen.cleared, 1);
}

static const pyro_analyzer with_items = {.state_size = sizeof(counter),
                                         .event = count_event,
                                         .finish = finish_first,
                                         .count_items = count_items,
                                         .do_item = do_item,
                                         .conclude = conclude,
                                         .clear = clear};
static const pyro_analyzer slow = {
    .state_size = 1, .init = begin_slowly, .categories = PYRO_NO_CATEGORIES, .clear = clear};
static const pyro_analyzer waiting = {
    .state_size = 1, .init = begin_after, .categories = PYRO_NO_CATEGORIES, .clear = clear};
static const pyro_analyzer counting = {
    .state_size = sizeof(counter), .event = count_event, .finish = finish_last, .clear = clear};

static int run(int threads, size_t *notes)
{
    static const pyro_lane_row rows[] = {
        {&with_items, 0, 0}, {&slow, 1, 1}, {&waiting, 2, 1}, {&counting, 3, 3}};
    static uint32_t by_time[EVENTS];
    static uint8_t category[EVENTS];
    for (uint32_t i = 0; i < EVENTS; i++)
        by_time[i] = i;
    pyro_trace trace = {.count = EVENTS, .category = category};
    pyro_joins joins = {.by_time = by_time};
    pyro_analysis result = {0};
    pyro_analysis_options options = {.step = -1, .threads = threads};
    pyro_arena scratch, arena, arenas[PYRO_LANE_ARENAS];
    pyro_error error;
    pyro_analysis_context context = {.trace = &trace,
                                     .joins = &joins,
                                     .options = &options,
                                     .arena = &arena,
                                     .scratch = &scratch,
                                     .result = &result,
                                     .error = &error};
    pyro_error_clear(&error);
    pyro_arena_init(&scratch);
    pyro_arena_init(&arena);
    for (int i = 0; i < PYRO_LANE_ARENAS; i++)
        pyro_arena_init(&arenas[i]);
    int status = pyro_run_analyses(&context, rows, sizeof rows / sizeof *rows, arenas);
    *notes = context.note_count;
    assert_int_equal(status, error.code);
    for (int i = 0; i < PYRO_LANE_ARENAS; i++)
        pyro_arena_free(&arenas[i]);
    pyro_arena_free(&arena);
    pyro_arena_free(&scratch);
    return status;
}

static void forget(bool fails)
{
    atomic_store(&seen.slow_has_begun, false);
    atomic_store(&seen.items, 0);
    atomic_store(&seen.concluded, 0);
    atomic_store(&seen.cleared, 0);
    seen.was_early = false;
    seen.told[0] = seen.told[3] = 0;
    seen.fails = fails;
}

static void test_any_number_of_threads(void **state)
{
    size_t notes;
    (void)state;
    for (int threads = 1; threads <= 6; threads++) {
        forget(false);
        assert_int_equal(run(threads, &notes), PYRO_OK);
        assert_false(seen.was_early);
        assert_int_equal(seen.told[0], EVENTS);
        assert_int_equal(seen.told[3], EVENTS);
        assert_int_equal(atomic_load(&seen.concluded), 1);
        assert_int_equal(atomic_load(&seen.cleared), 4);
        assert_int_equal(notes, 1);
    }
}

static void test_an_item_fails(void **state)
{
    size_t notes;
    (void)state;
    for (int threads = 1; threads <= 6; threads++) {
        forget(true);
        int status = run(threads, &notes);
        assert_int_equal(status, PYRO_ERROR_MEMORY);
        assert_int_equal(atomic_load(&seen.cleared), 4);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_any_number_of_threads),
    cmocka_unit_test(test_an_item_fails),
};

UNIT_TESTS(tests, NULL, NULL)

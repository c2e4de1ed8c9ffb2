/*
 * Runs lanes of analyses, each with a separate context, on a thread pool. Workers advance lanes
 * over the events in stretches. No lane belongs to a worker: a free worker continues the lane that
 * is furthest behind, so that a slow processor or a long analysis delays no other.
 */
#include "analyze/lanes.h"
#include "analyze/intervals.h"
#include "base/error.h"
#include "base/parallel.h"

#include <string.h>

#define MOST_ANALYZERS 32
/* Events per stretch: enough to make the cost of changing threads negligible. */
#define STRETCH 16384
/* A thread stays with its lane until that is this share of all events ahead of another. */
#define LEAD_SHARE 16

/* Sums and union of the device work that is looked at. */
typedef struct device_totals {
    int64_t until_ns;
    bool begun;
} device_totals;

/* What a lane does next. Items are for all workers; the rest is for one at a time. */
typedef enum lane_stage {
    LANE_BEGIN,
    LANE_PASS,
    LANE_FINISH,
    LANE_ITEMS,
    LANE_CONCLUDE,
    LANE_DONE
} lane_stage;

/* Which analyses want the events of a category, as bits of their indices in the lane. */
typedef struct subscribers {
    uint32_t all;      /* they want all events */
    uint32_t by_trait; /* they want those with one of their traits */
    uint16_t traits;   /* that any of the latter wants */
    bool is_device_work; /* whose time this lane adds up */
} subscribers;

/* Each analysis gets a batch of events at once: its code and its data stay in the caches, and processors
 * predict its jumps. */
enum { BATCH = 256 };

typedef struct lane {
    pyro_analysis_context context;
    lane_stage stage;
    unsigned after; /* index of the lane that must have begun before this one */
    bool is_taken; /* by a worker, which alone uses what is not shared */
    const pyro_analyzer *analyzers[MOST_ANALYZERS];
    void *states[MOST_ANALYZERS];
    size_t count;
    size_t next_event; /* in order of time */
    bool sums_device_time; /* one lane does it for all */
    device_totals totals;
    subscribers subscribers[PYRO_EVENT_CATEGORY_COUNT];
    uint32_t categories; /* bits of those that have subscribers */
    uint32_t on_whole_trace; /* bits of analyses that look beyond the requested step and phase */
    uint32_t batches[MOST_ANALYZERS][BATCH];
    size_t batch_counts[MOST_ANALYZERS]; /* events in each of the batches */
    size_t batch_count; /* events that are in any of them */
    /* Shared under the pool's lock: items of one of the analyses. */
    const pyro_analyzer *item_analyzer;
    void *item_state;
    size_t item_count, next_item, items_done;
    pyro_arena scratch;
    pyro_intern texts;
    pyro_error error;
    int status;
} lane;

/* A worker of the pool: what it does items with, and its present task. */
typedef struct worker {
    pyro_analysis_context context;
    pyro_arena scratch;
    pyro_intern texts;
    pyro_error error;
    int status;
    lane *last; /* that it took forward */
    lane_stage next_stage;
    bool has_item;
    size_t item;
} worker;

typedef struct analysis_job {
    lane *lanes;
    unsigned lane_count;
    worker *workers;
} analysis_job;

static void add_to_totals(device_totals *totals, pyro_analysis_context *context, uint32_t event)
{
    pyro_analysis *result = context->result;
    int64_t start = context->trace->start_ns[event];
    int64_t duration = context->trace->duration_ns[event], end = start + duration;
    result->device_total_ns = pyro_add_ns(result->device_total_ns, duration);
    result->kernel_count += context->trace->category[event] == PYRO_EVENT_KERNEL;
    if (totals->begun && start < totals->until_ns)
        start = totals->until_ns;
    if (end > start)
        result->device_busy_ns += end - start;
    if (!totals->begun || end > totals->until_ns)
        totals->until_ns = end;
    totals->begun = true;
}

/* Whether an analysis wants all events of a category. */
static bool wants_category(const pyro_analyzer *analyzer, uint32_t bit, bool on_host)
{
    if (!analyzer->event)
        return false;
    return !analyzer->categories || analyzer->categories & bit ||
           (on_host && analyzer->categories_on_host & bit);
}

static void subscribe_all(lane *lane)
{
    bool on_host = lane->context.category_count[PYRO_EVENT_KERNEL] == 0;
    for (unsigned category = 0; category < PYRO_EVENT_CATEGORY_COUNT; category++) {
        subscribers *list = &lane->subscribers[category];
        uint32_t bit = 1u << category;
        for (size_t i = 0; i < lane->count; i++) {
            const pyro_analyzer *analyzer = lane->analyzers[i];
            if (wants_category(analyzer, bit, on_host)) {
                list->all |= 1u << i;
            } else if (analyzer->event && analyzer->categories_by_trait & bit) {
                list->by_trait |= 1u << i;
                list->traits |= analyzer->traits;
            }
        }
        list->is_device_work = lane->sums_device_time &&
                               pyro_event_is_device_work((uint8_t)category);
        if (list->all | list->by_trait)
            lane->categories |= bit;
    }
    for (size_t i = 0; i < lane->count; i++)
        lane->on_whole_trace |= lane->analyzers[i]->whole_trace ? 1u << i : 0;
}

/* Passes its batch to each analysis, one analysis after the other. */
static int deliver_batches(lane *lane)
{
    lane->batch_count = 0;
    for (size_t i = 0; i < lane->count; i++) {
        const uint32_t *events = lane->batches[i], *end = events + lane->batch_counts[i];
        int (*take)(void *, pyro_analysis_context *, uint32_t) = lane->analyzers[i]->event;
        void *state = lane->states[i];
        lane->batch_counts[i] = 0;
        for (; events < end; events++) {
            int status = take(state, &lane->context, *events);
            if (status != PYRO_OK)
                return status;
        }
    }
    return PYRO_OK;
}

static uint32_t takers_by_trait(const lane *lane, const subscribers *list, uint16_t traits)
{
    uint32_t takers = 0;
    for (size_t i = 0; i < lane->count; i++)
        if (list->by_trait >> i & 1 && lane->analyzers[i]->traits & traits)
            takers |= 1u << i;
    return takers;
}

/* Adds an event to the batches of the analyses that want it: those that want its category, and those
 * that want one of its traits. */
static inline void put_into_batches(lane *lane, const subscribers *list, uint32_t event,
                                    bool wants_all)
{
    pyro_analysis_context *context = &lane->context;
    uint32_t takers = list->all;
    if (list->traits) {
        uint16_t traits = pyro_context_traits(context, event) & list->traits;
        if (traits)
            takers |= takers_by_trait(lane, list, traits);
    }
    if (!takers)
        return;
    bool is_wanted = wants_all || pyro_context_wants(context, event);
    if (list->is_device_work && is_wanted)
        add_to_totals(&lane->totals, context, event);
    if (!is_wanted)
        takers &= lane->on_whole_trace;
    for (; takers; takers &= takers - 1) {
        unsigned taker = (unsigned)__builtin_ctz(takers);
        lane->batches[taker][lane->batch_counts[taker]++] = event;
    }
    lane->batch_count++;
}

/* Whether it is over; the lane has its status. */
static bool pass_over_stretch(lane *lane)
{
    const uint32_t *by_time = lane->context.joins->by_time;
    const uint8_t *category = lane->context.trace->category;
    size_t count = lane->context.trace->count, left = count - lane->next_event;
    size_t end = lane->next_event + (left < STRETCH ? left : STRETCH);
    bool wants_all = pyro_context_wants_all(&lane->context);
    uint32_t wanted = lane->categories;
    int status = PYRO_OK;
    for (size_t i = lane->next_event; i < end && status == PYRO_OK; i++) {
        uint32_t event = by_time[i];
        if (wanted >> category[event] & 1)
            put_into_batches(lane, &lane->subscribers[category[event]], event, wants_all);
        if (lane->batch_count == BATCH)
            status = deliver_batches(lane);
    }
    if (status == PYRO_OK)
        status = deliver_batches(lane);
    lane->next_event = end;
    lane->status = status;
    return end == count;
}

static uint16_t *make_traits(const pyro_trace *trace, pyro_arena *arena)
{
    return pyro_arena_array(arena, trace->names.count ? trace->names.count : 1, sizeof(uint16_t));
}

static int begin_lane(lane *lane)
{
    pyro_analysis_context *context = &lane->context;
    int status = PYRO_OK;
    context->name_traits = make_traits(context->trace, &lane->scratch);
    if (!context->name_traits)
        return pyro_fail_memory(context->error);
    for (size_t i = 0; i < lane->count && status == PYRO_OK; i++) {
        const pyro_analyzer *analyzer = lane->analyzers[i];
        lane->states[i] = pyro_arena_alloc(&lane->scratch, analyzer->state_size);
        if (!lane->states[i])
            status = pyro_fail_memory(context->error);
        else if (analyzer->init)
            status = analyzer->init(lane->states[i], context);
    }
    subscribe_all(lane);
    return status;
}

/* At most one analysis of a lane has items. */
static int finish_lane(lane *lane)
{
    int status = PYRO_OK;
    for (size_t i = 0; i < lane->count && status == PYRO_OK; i++) {
        const pyro_analyzer *analyzer = lane->analyzers[i];
        if (analyzer->finish)
            status = analyzer->finish(lane->states[i], &lane->context);
        if (analyzer->count_items && status == PYRO_OK) {
            lane->item_analyzer = analyzer;
            lane->item_state = lane->states[i];
            lane->item_count = analyzer->count_items(lane->states[i]);
        }
    }
    return status;
}

static void clear_lane(lane *lane)
{
    for (size_t i = 0; i < lane->count; i++) {
        if (lane->states[i] && lane->analyzers[i]->clear)
            lane->analyzers[i]->clear(lane->states[i]);
    }
    pyro_intern_free(&lane->texts);
    pyro_arena_free(&lane->scratch);
}

/* Does what is next for a lane that was taken; gives the stage that follows. */
static lane_stage advance_lane(lane *lane)
{
    lane_stage next = LANE_DONE;
    switch (lane->stage) {
    case LANE_BEGIN:
        lane->status = begin_lane(lane);
        next = LANE_PASS;
        break;
    case LANE_PASS:
        next = pass_over_stretch(lane) ? LANE_FINISH : LANE_PASS;
        break;
    case LANE_FINISH:
        lane->status = finish_lane(lane);
        next = lane->item_count ? LANE_ITEMS : LANE_CONCLUDE;
        break;
    default:
        if (lane->item_analyzer && lane->status == PYRO_OK)
            lane->status = lane->item_analyzer->conclude(lane->item_state, &lane->context);
        break;
    }
    if (lane->status != PYRO_OK)
        next = LANE_DONE;
    if (next == LANE_DONE)
        clear_lane(lane);
    return next;
}

/* Whether there is something to do for one worker now. */
static bool is_ready(const analysis_job *job, const lane *lane)
{
    if (lane->is_taken || lane->stage == LANE_ITEMS || lane->stage == LANE_DONE)
        return false;
    const struct lane *before = &job->lanes[lane->after];
    return lane->stage != LANE_BEGIN || before == lane || before->stage != LANE_BEGIN;
}

/* How far a lane is, in events; what follows the pass is most urgent, for it may have items. */
static size_t progress(const lane *lane)
{
    return lane->stage == LANE_PASS ? lane->next_event : 0;
}

/* The lane to continue: the worker's last one, unless another is far behind it; NULL: none. */
static lane *choose_lane(const analysis_job *job, lane *last)
{
    lane *best = NULL;
    for (unsigned i = 0; i < job->lane_count; i++) {
        lane *lane = &job->lanes[i];
        if (!is_ready(job, lane))
            continue;
        if (!best || progress(lane) < progress(best))
            best = lane;
    }
    if (!best || !last || last->is_taken || last->stage != LANE_PASS)
        return best;
    size_t lead = last->context.trace->count / LEAD_SHARE;
    return progress(last) > progress(best) + lead ? best : last;
}

static lane *find_items(const analysis_job *job)
{
    for (unsigned i = 0; i < job->lane_count; i++) {
        lane *lane = &job->lanes[i];
        if (lane->stage == LANE_ITEMS && lane->next_item < lane->item_count)
            return lane;
    }
    return NULL;
}

static bool are_lanes_done(const void *data, unsigned index)
{
    const analysis_job *job = data;
    (void)index;
    for (unsigned i = 0; i < job->lane_count; i++) {
        if (job->lanes[i].stage != LANE_DONE)
            return false;
    }
    return true;
}

/* The task is a lane: one of its items, or its next stage. Items come first. */
static void *take_task(void *data, unsigned index)
{
    analysis_job *job = data;
    worker *worker = &job->workers[index];
    lane *lane = find_items(job);
    worker->has_item = lane != NULL;
    if (lane) {
        worker->item = lane->next_item++;
        return lane;
    }
    lane = choose_lane(job, worker->last);
    if (lane) {
        lane->is_taken = true;
        worker->last = lane;
    }
    return lane;
}

static void run_task(void *data, void *task, unsigned index)
{
    worker *worker = &((analysis_job *)data)->workers[index];
    lane *lane = task;
    if (!worker->has_item)
        worker->next_stage = advance_lane(lane);
    else if (worker->status == PYRO_OK)
        worker->status = lane->item_analyzer->do_item(lane->item_state, &worker->context,
                                                      worker->item);
}

static bool finish_task(void *data, void *task, unsigned index)
{
    const worker *worker = &((analysis_job *)data)->workers[index];
    lane *lane = task;
    if (!worker->has_item) {
        lane->stage = worker->next_stage;
        lane->is_taken = false;
        return true;
    }
    if (++lane->items_done < lane->item_count)
        return false;
    lane->stage = LANE_CONCLUDE;
    return true;
}

/* A separate context, with the arena for its part of the result. */
static void open_context(pyro_analysis_context *context, const pyro_analysis_context *shared,
                         pyro_arena *arena, pyro_arena *scratch, pyro_intern *texts,
                         pyro_error *error)
{
    pyro_arena_init(scratch);
    pyro_intern_init(texts, arena);
    pyro_error_clear(error);
    *context = *shared;
    context->arena = arena;
    context->scratch = scratch;
    context->texts = texts;
    context->error = error;
    context->notes = NULL;
    context->note_count = 0;
}

static void open_lane(lane *lane, const pyro_analysis_context *context, pyro_arena *arena)
{
    memset(lane, 0, sizeof *lane);
    open_context(&lane->context, context, arena, &lane->scratch, &lane->texts, &lane->error);
}

static void open_worker(worker *worker, const pyro_analysis_context *context, pyro_arena *arena)
{
    memset(worker, 0, sizeof *worker);
    open_context(&worker->context, context, arena, &worker->scratch, &worker->texts,
                 &worker->error);
    worker->context.name_traits = make_traits(context->trace, &worker->scratch);
    if (!worker->context.name_traits)
        worker->status = pyro_fail_memory(&worker->error);
}

static void close_worker(worker *worker)
{
    pyro_intern_free(&worker->texts);
    pyro_arena_free(&worker->scratch);
}

/* Collects the notes and errors of a separate context. */
static int merge_context(pyro_analysis_context *context, const pyro_analysis_context *own,
                         int status)
{
    if (status != PYRO_OK && context->error && context->error->code == PYRO_OK)
        *context->error = *own->error;
    for (size_t i = 0; i < own->note_count && status == PYRO_OK; i++)
        status = pyro_context_note(context, "%s", own->notes[i]);
    return status;
}

int pyro_run_analyses(pyro_analysis_context *context, const pyro_lane_row *rows, size_t count,
                      pyro_arena arenas[PYRO_LANE_ARENAS])
{
    static const pyro_job functions = {take_task, run_task, finish_task, are_lanes_done};
    unsigned workers = pyro_count_parts(context->options->threads, context->trace->count,
                                        PYRO_EVENTS_PER_THREAD);
    workers = workers < PYRO_LANES ? workers : PYRO_LANES;
    analysis_job job = {.lane_count = workers > 1 ? PYRO_LANES : 1};
    int status = PYRO_OK;
    job.lanes = pyro_arena_array(context->scratch, job.lane_count, sizeof *job.lanes);
    job.workers = pyro_arena_array(context->scratch, workers, sizeof *job.workers);
    if (!job.lanes || !job.workers || count > MOST_ANALYZERS)
        return pyro_fail_memory(context->error);
    for (unsigned i = 0; i < job.lane_count; i++)
        open_lane(&job.lanes[i], context, &arenas[i]);
    for (unsigned i = 0; i < workers; i++)
        open_worker(&job.workers[i], context, &arenas[PYRO_LANES + i]);
    job.lanes[0].sums_device_time = true;
    for (size_t i = 0; i < count; i++) {
        lane *lane = &job.lanes[rows[i].lane % job.lane_count];
        lane->analyzers[lane->count++] = rows[i].analyzer;
        lane->after = rows[i].after % job.lane_count;
    }
    pyro_pool_run(&functions, &job, workers);
    for (unsigned i = 0; i < job.lane_count; i++) {
        int lane_status = merge_context(context, &job.lanes[i].context, job.lanes[i].status);
        status = status == PYRO_OK ? lane_status : status;
    }
    for (unsigned i = 0; i < workers; i++) {
        int worker_status = merge_context(context, &job.workers[i].context, job.workers[i].status);
        status = status == PYRO_OK ? worker_status : status;
        close_worker(&job.workers[i]);
    }
    return status;
}

/* Lanes of analyses, each with a context of its own, and the pass of each over the events. */
#include "analyze/pass.h"
#include "analyze/intervals.h"
#include "base/error.h"
#include "base/parallel.h"

#include <pthread.h>
#include <string.h>

#define MOST_ANALYZERS 32

/* Sums and union of the device work that is looked at. */
typedef struct device_totals {
    int64_t until_ns;
    bool begun;
} device_totals;

/* Which analyses want the events of a category: all of them, or those with one of the traits. */
typedef struct audience {
    const pyro_analyzer *members[MOST_ANALYZERS];
    void *states[MOST_ANALYZERS];
    size_t count;       /* those that want all come first */
    size_t total_count; /* with those that look at traits */
    uint8_t traits;     /* that any of the latter wants */
} audience;

/* What lanes know of each other. */
typedef struct crew {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct lane *lanes;
    unsigned lane_count;
} crew;

/* Items of one analysis, which all lanes work off; guarded by the crew's mutex. */
typedef struct shared_work {
    const pyro_analyzer *analyzer;
    void *state;
    size_t count, next, done;
} shared_work;

typedef struct lane {
    pyro_analysis_context context;
    crew *crew;
    shared_work work;
    bool has_begun, has_shared; /* guarded by the crew's mutex */
    const pyro_analyzer *analyzers[MOST_ANALYZERS];
    void *states[MOST_ANALYZERS];
    size_t count;
    bool sums_device_time; /* one lane does it for all */
    audience audiences[PYRO_EVENT_CATEGORY_COUNT];
    pyro_arena scratch;
    pyro_intern texts;
    pyro_error error;
    int status;
} lane;

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

static void seat(lane *lane, unsigned category, size_t i)
{
    audience *seats = &lane->audiences[category];
    seats->members[seats->total_count] = lane->analyzers[i];
    seats->states[seats->total_count++] = lane->states[i];
}

static void seat_audience(lane *lane)
{
    for (unsigned category = 0; category < PYRO_EVENT_CATEGORY_COUNT; category++) {
        audience *seats = &lane->audiences[category];
        uint32_t bit = 1u << category;
        for (size_t i = 0; i < lane->count; i++) {
            const pyro_analyzer *analyzer = lane->analyzers[i];
            if (analyzer->event && (!analyzer->categories || analyzer->categories & bit))
                seat(lane, category, i);
        }
        seats->count = seats->total_count;
        for (size_t i = 0; i < lane->count; i++) {
            const pyro_analyzer *analyzer = lane->analyzers[i];
            if (!analyzer->event || !(analyzer->categories_by_trait & bit))
                continue;
            seat(lane, category, i);
            seats->traits |= analyzer->traits;
        }
    }
}

static int tell(lane *lane, const audience *seats, size_t member, uint32_t event, bool is_wanted)
{
    const pyro_analyzer *analyzer = seats->members[member];
    if (!is_wanted && !analyzer->whole_trace)
        return PYRO_OK;
    return analyzer->event(seats->states[member], &lane->context, event);
}

static int pass_over_events(lane *lane)
{
    pyro_analysis_context *context = &lane->context;
    const pyro_trace *trace = context->trace;
    device_totals totals = {0};
    int status = PYRO_OK;
    for (size_t i = 0; i < trace->count && status == PYRO_OK; i++) {
        uint32_t event = context->joins->by_time[i];
        uint8_t category = trace->category[event], traits = 0;
        const audience *seats = &lane->audiences[category];
        if (!seats->total_count)
            continue;
        if (seats->traits)
            traits = pyro_context_traits(context, event) & seats->traits;
        if (!seats->count && !traits)
            continue;
        bool is_wanted = pyro_context_wants(context, event);
        if (lane->sums_device_time && is_wanted && pyro_event_is_device_work(category))
            add_to_totals(&totals, context, event);
        for (size_t member = 0; member < seats->count && status == PYRO_OK; member++)
            status = tell(lane, seats, member, event, is_wanted);
        for (size_t member = seats->count; traits && member < seats->total_count; member++) {
            if (status == PYRO_OK && seats->members[member]->traits & traits)
                status = tell(lane, seats, member, event, is_wanted);
        }
    }
    return status;
}

/* Some lane with an item that nobody has taken, or NULL. */
static lane *find_work(const crew *crew)
{
    for (unsigned i = 0; i < crew->lane_count; i++) {
        lane *lane = &crew->lanes[i];
        if (lane->work.next < lane->work.count)
            return lane;
    }
    return NULL;
}

/* Whether some lane is on its way to items. One that has not begun may have no thread: it is not
 * waited for. */
static bool expects_work(const crew *crew)
{
    for (unsigned i = 0; i < crew->lane_count; i++) {
        if (crew->lanes[i].has_begun && !crew->lanes[i].has_shared)
            return true;
    }
    return false;
}

static void tell_crew(crew *crew, bool *flag)
{
    pthread_mutex_lock(&crew->mutex);
    *flag = true;
    pthread_cond_broadcast(&crew->changed);
    pthread_mutex_unlock(&crew->mutex);
}

/* Does items of whichever lane has some, until there are none left and its own are done. */
static int do_items(lane *lane)
{
    crew *crew = lane->crew;
    int status = PYRO_OK;
    pthread_mutex_lock(&crew->mutex);
    for (;;) {
        struct lane *other = find_work(crew);
        if (other) {
            shared_work *work = &other->work;
            size_t item = work->next++;
            pthread_mutex_unlock(&crew->mutex);
            if (status == PYRO_OK)
                status = work->analyzer->do_item(work->state, &lane->context, item);
            pthread_mutex_lock(&crew->mutex);
            if (++work->done == work->count)
                pthread_cond_broadcast(&crew->changed);
        } else if (expects_work(crew) || lane->work.done < lane->work.count) {
            pthread_cond_wait(&crew->changed, &crew->mutex);
        } else {
            break;
        }
    }
    pthread_mutex_unlock(&crew->mutex);
    return status;
}

/* At most one analysis of a lane has items. */
static int share_work(lane *lane, int status)
{
    shared_work *work = &lane->work, found = {0};
    for (size_t i = 0; i < lane->count && status == PYRO_OK; i++) {
        const pyro_analyzer *analyzer = lane->analyzers[i];
        if (!analyzer->count_items)
            continue;
        found = (shared_work){.analyzer = analyzer, .state = lane->states[i]};
    }
    found.count = found.analyzer ? found.analyzer->count_items(found.state) : 0;
    pthread_mutex_lock(&lane->crew->mutex); /* other lanes look for work there already */
    *work = found;
    pthread_mutex_unlock(&lane->crew->mutex);
    tell_crew(lane->crew, &lane->has_shared);
    int item_status = do_items(lane);
    if (status == PYRO_OK)
        status = item_status;
    return status == PYRO_OK && work->analyzer
               ? work->analyzer->conclude(work->state, &lane->context)
               : status;
}

static int run_analyzers(lane *lane)
{
    pyro_analysis_context *context = &lane->context;
    int status = PYRO_OK;
    for (size_t i = 0; i < lane->count && status == PYRO_OK; i++) {
        const pyro_analyzer *analyzer = lane->analyzers[i];
        lane->states[i] = pyro_arena_alloc(&lane->scratch, analyzer->state_size);
        if (!lane->states[i])
            status = pyro_fail_memory(context->error);
        else if (analyzer->init)
            status = analyzer->init(lane->states[i], context);
    }
    seat_audience(lane);
    if (status == PYRO_OK)
        status = pass_over_events(lane);
    for (size_t i = 0; i < lane->count && status == PYRO_OK; i++) {
        if (lane->analyzers[i]->finish)
            status = lane->analyzers[i]->finish(lane->states[i], context);
    }
    status = share_work(lane, status);
    for (size_t i = 0; i < lane->count; i++) {
        if (lane->states[i] && lane->analyzers[i]->clear)
            lane->analyzers[i]->clear(lane->states[i]);
    }
    return status;
}

static void run_lane(void *data, unsigned index)
{
    lane *lane = (struct lane *)data + index;
    size_t names = lane->context.trace->names.count;
    tell_crew(lane->crew, &lane->has_begun);
    lane->context.name_traits = pyro_arena_array(&lane->scratch, names ? names : 1, 1);
    if (lane->context.name_traits) {
        lane->status = run_analyzers(lane);
    } else {
        lane->status = pyro_fail_memory(&lane->error);
        tell_crew(lane->crew, &lane->has_shared);
    }
    pyro_intern_free(&lane->texts);
    pyro_arena_free(&lane->scratch);
}

static void open_lane(lane *lane, crew *crew, const pyro_analysis_context *context,
                      pyro_arena *arena)
{
    memset(lane, 0, sizeof *lane);
    lane->crew = crew;
    pyro_arena_init(&lane->scratch);
    pyro_intern_init(&lane->texts, arena);
    pyro_error_clear(&lane->error);
    lane->context = *context;
    lane->context.arena = arena;
    lane->context.scratch = &lane->scratch;
    lane->context.texts = &lane->texts;
    lane->context.error = &lane->error;
    lane->context.notes = NULL;
    lane->context.note_count = 0;
}

static unsigned count_lanes(const pyro_analysis_context *context)
{
    unsigned parts = pyro_count_parts(context->options->threads, context->trace->count,
                                      PYRO_EVENTS_PER_THREAD);
    return parts < PYRO_LANES ? parts : PYRO_LANES;
}

/* Takes over what a lane has to say beside its part of the result. */
static int close_lane(lane *lane, pyro_analysis_context *context)
{
    int status = lane->status;
    if (lane->context.op_flops) {
        context->op_flops = lane->context.op_flops;
        context->op_torch_flops = lane->context.op_torch_flops;
        context->op_bytes = lane->context.op_bytes;
        context->op_macs = lane->context.op_macs;
        context->op_dtype = lane->context.op_dtype;
    }
    for (size_t i = 0; i < lane->context.note_count && status == PYRO_OK; i++)
        status = pyro_context_note(context, "%s", lane->context.notes[i]);
    if (lane->status != PYRO_OK && context->error && context->error->code == PYRO_OK)
        *context->error = lane->error;
    return status;
}

int pyro_run_analyses(pyro_analysis_context *context, const pyro_lane_row *rows, size_t count,
                      pyro_arena arenas[PYRO_LANES])
{
    unsigned lane_count = count_lanes(context);
    lane *lanes = pyro_arena_array(context->scratch, lane_count, sizeof *lanes);
    crew crew = {.lanes = lanes, .lane_count = lane_count};
    int status = PYRO_OK;
    if (!lanes || count > MOST_ANALYZERS)
        return pyro_fail_memory(context->error);
    pthread_mutex_init(&crew.mutex, NULL);
    pthread_cond_init(&crew.changed, NULL);
    for (unsigned i = 0; i < lane_count; i++)
        open_lane(&lanes[i], &crew, context, &arenas[i]);
    lanes[0].sums_device_time = true;
    for (size_t i = 0; i < count; i++) {
        lane *lane = &lanes[rows[i].lane % lane_count];
        lane->analyzers[lane->count++] = rows[i].analyzer;
    }
    pyro_run_parts(run_lane, lanes, lane_count);
    pthread_mutex_destroy(&crew.mutex);
    pthread_cond_destroy(&crew.changed);
    for (unsigned i = 0; i < lane_count; i++) {
        int lane_status = close_lane(&lanes[i], context);
        status = status == PYRO_OK ? lane_status : status;
    }
    return status;
}

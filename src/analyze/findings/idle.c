/* Detects findings about idle devices, from the account of lost time; at last those that follow a
 * wait of the host for the device. */
#include "analyze/findings/findings.h"

#include <inttypes.h>
#include <string.h>

static double share(int64_t part, int64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : 0;
}

#define CAUSE(name) (1u << PYRO_CAUSE_##name)
#define LATE PYRO_LATE_CAUSES

/* Lost time at one line, layer or op. */
typedef struct best_place {
    const char *text;
    int64_t time_ns;
    const pyro_cause_place *longest; /* the row with the most of it; NULL: none */
} best_place;

/* What a place is named by, the most telling first: a line of torch says less than a layer. */
enum { OWN_LINE, LAYER, OP, ANY_LINE, NAMES };

static const char *text_of(const pyro_cause_place *place, int which)
{
    const char *texts[NAMES] = {place->line, place->layer, place->op, place->line};
    return texts[which];
}

/* Adds up the places of the causes that share a name (`which`). The rows are few, and the longest come
 * first, so that only the first rows can lead. */
static best_place find_best(const pyro_analysis *result, unsigned causes, int which)
{
    enum { FIRST_ROWS = 64 };
    best_place best = {"", 0, NULL};
    int tried = 0;
    for (size_t i = 0; i < result->cause_place_count && tried < FIRST_ROWS; i++) {
        const pyro_cause_place *place = &result->cause_places[i];
        const char *text = text_of(place, which);
        int64_t time_ns = 0;
        if (!(causes >> place->cause & 1) || !text[0] ||
            (which == OWN_LINE && !pyro_is_own_line(text)))
            continue;
        tried++;
        for (size_t k = i; k < result->cause_place_count; k++)
            if (causes >> result->cause_places[k].cause & 1 &&
                text_of(&result->cause_places[k], which) == text)
                time_ns += pyro_place_lost_ns(&result->cause_places[k]);
        if (time_ns > best.time_ns)
            best = (best_place){text, time_ns, place};
    }
    return best;
}

/* The line with the most time of these causes, else the layer, else the op; "" unknown. A place that
 * has only a little of the time would mislead, and an op is called at many places. */
static best_place place_of(const pyro_finder *finder, unsigned causes)
{
    static const int least_parts[NAMES] = {20, 20, 5, 20};
    int64_t all_ns = pyro_finder_causes_ns(finder, causes);
    for (int which = 0; which < NAMES; which++) {
        best_place best = find_best(finder->result, causes, which);
        if (best.time_ns > 0 && best.time_ns >= all_ns / least_parts[which])
            return best;
    }
    return (best_place){"", 0, NULL};
}

const char *pyro_finder_cause_place(const pyro_finder *finder, pyro_cause cause)
{
    return place_of(finder, 1u << cause).text;
}

static void add_cause(pyro_finder *finder, pyro_evidence *evidence, pyro_cause cause,
                      const char *title)
{
    pyro_evidence_add_part(evidence, pyro_cause_name(cause), title,
                           place_of(finder, 1u << cause).text,
                           pyro_finder_late_ns(finder, 1u << cause));
}

/* In recordings whose stacks belong to ops, Python code of the loader is where the next op is: the
 * longest time without an op inside a loader's range. */
static const char *place_in_loader(pyro_finder *finder)
{
    pyro_analysis_context *context = finder->context;
    const pyro_trace *trace = context->trace;
    uint32_t slowest = PYRO_NO_EVENT;
    int64_t until_ns = INT64_MIN, busy_ns = 0, longest_ns = 0;
    uint16_t track = 0;
    for (size_t i = 0; i < trace->count; i++) {
        uint32_t event = context->joins->by_time[i];
        int64_t start_ns = trace->start_ns[event], end_ns = pyro_event_end_ns(trace, event);
        if (!pyro_event_is_host(trace->category[event]))
            continue;
        if (start_ns >= until_ns && pyro_context_traits(context, event) & PYRO_TRAIT_LOADER) {
            track = trace->track[event];
            until_ns = end_ns;
            busy_ns = start_ns;
        } else if (start_ns < until_ns && trace->track[event] == track) {
            if (start_ns - busy_ns > longest_ns) {
                longest_ns = start_ns - busy_ns;
                slowest = event;
            }
            busy_ns = end_ns > busy_ns ? end_ns : busy_ns;
        }
    }
    return pyro_finder_place(finder, slowest);
}

DETECTOR(data_loading)
{
    int64_t lost = finder->cause_ns[PYRO_CAUSE_DATA_LOADING];
    const pyro_data_loading *loading = &finder->result->data_loading;
    if (!loading->calls)
        return false;
    evidence->value = share(lost, finder->span_ns);
    evidence->gain_ns = lost;
    evidence->gain_basis = "time in data loading while no device worked";
    evidence->place = find_best(finder->result, CAUSE(DATA_LOADING), ANY_LINE).text;
    if (finder->result->is_captured)
        evidence->place = pyro_first_text(place_in_loader(finder), evidence->place, "");
    pyro_evidence_say(evidence, "%.1f%% of %s (%s in %" PRId64 " load%s) is data loading%s%s",
                      evidence->value * 100, pyro_finder_whole(finder),
                      pyro_evidence_time(evidence, lost), loading->calls,
                      PYRO_PLURAL(loading->calls),
                      finder->has_device_work ? " while no device worked" : "",
                      pyro_finder_besides_profiler(finder, evidence, CAUSE(DATA_LOADING)));
    if (!finder->has_device_work)
        evidence->gain_basis = "time in data loading";
    return true;
}

/* The rest of the host's lateness, which no more specific finding explains. */
DETECTOR(host_bound)
{
    int64_t late = pyro_finder_late_ns(finder, LATE);
    if (!finder->has_device_work || late <= 0)
        return false;
    evidence->value = share(late, finder->span_ns);
    evidence->gain_ns = late;
    evidence->gain_basis = "idle time before launches and until they took effect";
    evidence->place = place_of(finder, LATE).text;
    pyro_evidence_say(
        evidence,
        "the device waited %.1f%% of %s (%s) for the host%s; %" PRId64
        " kernel%s launched after all earlier ones had finished",
        evidence->value * 100, pyro_finder_whole(finder), pyro_evidence_time(evidence, late),
        pyro_finder_besides_profiler(finder, evidence, LATE), finder->result->launch.late_kernels,
        finder->result->launch.late_kernels == 1 ? " was" : "s were");
    add_cause(finder, evidence, PYRO_CAUSE_PYTHON, "Python code outside of ops");
    add_cause(finder, evidence, PYRO_CAUSE_OPS, "ops and calls of the runtime");
    add_cause(finder, evidence, PYRO_CAUSE_LAUNCH_LATENCY, "until a launch took effect");
    return true;
}

/* Time of a cause whose place is known. */
static int64_t named_ns(const pyro_finder *finder, pyro_cause cause)
{
    int64_t sum = 0;
    for (size_t i = 0; i < finder->result->cause_place_count; i++) {
        const pyro_cause_place *place = &finder->result->cause_places[i];
        if (place->cause == cause && (place->line[0] || place->layer[0] || place->op[0]))
            sum += pyro_place_lost_ns(place);
    }
    return sum;
}

static bool tell_place(pyro_finder *finder, pyro_evidence *evidence, pyro_cause cause,
                       const char *what)
{
    int64_t lost = finder->cause_ns[cause];
    best_place best = place_of(finder, 1u << cause);
    bool is_known = best.time_ns * 4 >= lost;
    const char *where = "; the file does not show what ran for most of that time";
    if (is_known)
        where = pyro_evidence_text(evidence, ", %s of it there",
                                   pyro_evidence_time(evidence, best.time_ns));
    else if (named_ns(finder, cause) * 2 >= lost)
        where = "; many places share that time (--by cause lists them)";
    evidence->value = share(lost, finder->span_ns);
    evidence->place = is_known ? best.text : "";
    pyro_evidence_say(evidence, "%s %.1f%% of %s (%s%s)%s", what, evidence->value * 100,
                      pyro_finder_whole(finder), pyro_evidence_time(evidence, lost),
                      pyro_finder_besides_profiler(finder, evidence, 1u << cause), where);
    return lost > 0;
}

/* What to do about the time before the first kernel, by what the host did then; NULL: what the tables
 * say. */
static const char *advice_before_first(const pyro_finder *finder)
{
    best_place best = place_of(finder, CAUSE(BEFORE_FIRST));
    bool is_known = best.longest && best.time_ns * 4 >= finder->cause_ns[PYRO_CAUSE_BEFORE_FIRST];
    if (!is_known || finder->in_use & PYRO_USE_FIRST_CALLS)
        return NULL;
    if (best.longest->layer[0])
        return "this is the model's own work on the host before its first kernel: record several passes "
               "in a row, in which the host prepares a pass while the device works on the one before";
    if (best.longest->op[0])
        return "record after some warm-up steps: the first call of an op sets up its library and "
               "allocates memory";
    return NULL;
}

DETECTOR(before_first)
{
    evidence->advice = advice_before_first(finder);
    evidence->gain_ns = finder->cause_ns[PYRO_CAUSE_BEFORE_FIRST];
    evidence->gain_basis = "idle time before the first launch in the file";
    return tell_place(finder, evidence, PYRO_CAUSE_BEFORE_FIRST,
                      "before the first launch the host took");
}

DETECTOR(after_last)
{
    evidence->gain_ns = finder->cause_ns[PYRO_CAUSE_AFTER_LAST];
    evidence->gain_basis = "idle time after the last device work in the file";
    return tell_place(finder, evidence, PYRO_CAUSE_AFTER_LAST,
                      "after the last kernel the host took");
}

/* Nothing is lost here: the device worked, and the file does not show it. */
DETECTOR(unrecorded)
{
    evidence->rank_ns = finder->cause_ns[PYRO_CAUSE_UNRECORDED];
    return tell_place(finder, evidence, PYRO_CAUSE_UNRECORDED,
                      "the file has no device work while the host was blocked or the first work "
                      "waited,");
}

DETECTOR(kernel_gaps)
{
    enum { LONG_GAP_US = 30 };
    const pyro_analysis *result = finder->result;
    int64_t total = 0, count = 0, queued = finder->cause_ns[PYRO_CAUSE_QUEUED];
    for (size_t i = 0; i < result->gap_count; i++) {
        const pyro_gap_row *gap = &result->gaps[i];
        if (finder->context->windows_are_steps && gap->step < 0)
            continue;
        if (gap->kind != PYRO_GAP_KERNEL_WAIT || gap->duration_ns <= LONG_GAP_US * 1000)
            continue;
        total += gap->duration_ns;
        count++;
    }
    /* A part of these gaps can be waits for work that is not in the file. */
    total = total < queued ? total : queued;
    if (!count)
        return false;
    evidence->value = share(total, finder->span_ns);
    evidence->gain_ns = total;
    evidence->gain_basis = "idle time in which the next kernel was queued";
    evidence->place = place_of(finder, CAUSE(QUEUED)).text;
    pyro_evidence_say(evidence,
                      "%" PRId64
                      " gap%s over %d us although the next kernel was queued, %.1f%% of %s (%s)",
                      count, PYRO_PLURAL(count), LONG_GAP_US, evidence->value * 100,
                      pyro_finder_whole(finder), pyro_evidence_time(evidence, total));
    return true;
}

/* Where the host waited; where it was late after that, if threads without frames waited. */
static const char *wait_place(pyro_finder *finder, const pyro_cause_place *place)
{
    const char *waited = pyro_finder_place(finder, place->sync_event);
    return waited[0] ? waited : pyro_first_text(place->line, place->layer, place->op);
}

/* Idle time that began while the host waited; the longest of it whose place is known. */
static int64_t sum_after_waits(pyro_finder *finder, const pyro_cause_place **worst)
{
    const pyro_analysis *result = finder->result;
    int64_t lost = 0;
    for (size_t i = 0; i < result->cause_place_count; i++) {
        const pyro_cause_place *place = &result->cause_places[i];
        if (!place->sync[0] || !(LATE >> place->cause & 1))
            continue;
        lost += pyro_place_lost_ns(place);
        if (!*worst && wait_place(finder, place)[0])
            *worst = place;
    }
    return lost;
}

/* Calls of the steps in which the host waits for a device. */
static int64_t count_waits(const pyro_finder *finder)
{
    const pyro_trace *trace = finder->context->trace;
    int64_t calls = 0;
    for (size_t i = pyro_trace_next_call(trace, 0); i < trace->count;
         i = pyro_trace_next_call(trace, i + 1))
        calls += pyro_context_traits(finder->context, (uint32_t)i) & PYRO_TRAIT_SYNC &&
                 pyro_finder_wants(finder, (uint32_t)i);
    return calls;
}

/* What to do, by the op that waits; NULL: what the table says. */
static const char *advice_on(const char *op)
{
    static const char *const sizes[] = {"aten::nonzero",       "aten::masked_select",
                                        "aten::_unique2",      "aten::unique_consecutive",
                                        "aten::unique_dim",    "aten::repeat_interleave",
                                        "aten::nonzero_numpy", "aten::argwhere"};
    static const char *const copies[] = {"aten::copy_", "aten::_to_copy", "aten::to"};
    if (pyro_is_communication(op))
        return "use the backend of the device (nccl): gloo copies tensors to the host and back";
    if (IS_ONE_OF(op, sizes))
        return "the size of this op's result depends on values, so that the host waits for them: use "
               "torch.where or a mask of fixed size instead of boolean indexing and nonzero";
    if (IS_ONE_OF(op, copies))
        return "copy to the device from pinned memory with non_blocking=True; of copies to the host "
               "(.cpu(), .item(), print), fetch values every few steps at once";
    return NULL;
}

DETECTOR(synchronizations)
{
    const pyro_cause_place *worst = NULL;
    int64_t lost = sum_after_waits(finder, &worst), calls = lost ? count_waits(finder) : 0;
    if (!calls)
        return false;
    evidence->value = share(lost, finder->span_ns);
    evidence->gain_ns = lost;
    evidence->gain_basis = "idle time that began while the host waited for the device";
    if (worst) {
        const char *op = pyro_context_op(finder->context, worst->sync_event);
        evidence->place = wait_place(finder, worst);
        evidence->advice = advice_on(op[0] ? op : worst->op);
    }
    pyro_evidence_say(
        evidence,
        "the device idled %s, %.1f%% of %s, after the host had waited for it; %" PRId64
        " wait%s%s%s%s",
        pyro_evidence_time(evidence, lost), evidence->value * 100, pyro_finder_whole(finder), calls,
        PYRO_PLURAL(calls),
        finder->context->windows_are_steps
            ? pyro_evidence_text(evidence, ", %.1f per step", (double)calls / (double)finder->steps)
            : "",
        worst ? ", most of this after " : "", worst ? worst->sync : "");
    return true;
}

/*
 * Mutates traces at random (events dropped, repeated, moved, with other durations, streams,
 * correlations and steps; parts of files) and checks that the account of lost time adds up in each:
 *     mutate_traces [--seed N] [--count N] [--events N] [--write FILE] TRACE...
 * The same arguments give the same mutations. --events limits a mutation to that many events in a
 * row; --write keeps the first mutation that fails.
 */
#include "base/containers/buf.h"
#include "base/source/source.h"

#include <inttypes.h>
#include <pyrometer/trace.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An event of the file, as text. */
typedef struct event_text {
    size_t start, length;
} event_text;

typedef struct trace_text {
    const char *path;
    pyro_buf text;
    event_text *events;
    size_t count, capacity;
} trace_text;

typedef enum edit_kind {
    EDIT_DROP,
    EDIT_REPEAT,
    EDIT_MOVE,
    EDIT_DURATION,
    EDIT_STREAM,
    EDIT_CORRELATION,
    EDIT_LAUNCH, /* drops calls of the runtime, changes nothing else */
    EDIT_STEP, /* moves, stretches or drops ranges of steps, changes nothing else */
    EDIT_COUNT
} edit_kind;

/* splitmix64 */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static uint64_t below(uint64_t *state, uint64_t limit)
{
    return limit ? next_random(state) % limit : 0;
}

/* From 1 ns to some seconds, each order of magnitude as often, of both signs. */
static int64_t random_ns(uint64_t *state)
{
    int64_t size = (int64_t)(next_random(state) >> (30 + below(state, 33)));
    return below(state, 2) ? size : -size;
}

/* The end of the object that starts at `at`; 0 when it does not end. */
static size_t skip_object(const char *text, size_t length, size_t at)
{
    int depth = 0;
    bool in_string = false;
    for (; at < length; at++) {
        char c = text[at];
        if (in_string && c == '\\')
            at++;
        else if (c == '"')
            in_string = !in_string;
        else if (!in_string && (c == '{' || c == '['))
            depth++;
        else if (!in_string && (c == '}' || c == ']') && --depth == 0)
            return at + 1;
    }
    return 0;
}

static bool find_events(trace_text *trace)
{
    const char *text = trace->text.data, *list = strstr(text, "\"traceEvents\"");
    list = strchr(list ? list : text, '[');
    for (size_t at = list ? (size_t)(list - text) + 1 : 0; at && at < trace->text.length;) {
        at += strspn(text + at, ", \t\r\n");
        size_t end = text[at] == '{' ? skip_object(text, trace->text.length, at) : 0;
        if (!end)
            break;
        if (!pyro_grow(&trace->events, &trace->capacity, trace->count + 1, sizeof *trace->events))
            return false;
        trace->events[trace->count++] = (event_text){at, end - at};
        at = end;
    }
    return trace->count > 0;
}

static bool read_trace(trace_text *trace, const char *path)
{
    enum { BLOCK = 1 << 20 };
    pyro_source *file = NULL, *content = NULL;
    pyro_error error = {0};
    int64_t size = 0;
    trace->path = path;
    if (pyro_source_open_file(&file, path, &error) != PYRO_OK ||
        pyro_source_open_content(&content, file, &error) != PYRO_OK) {
        fprintf(stderr, "mutate_traces: %s: %s\n", path, error.message);
        return false;
    }
    do {
        char *block = pyro_buf_reserve(&trace->text, BLOCK);
        size = block ? pyro_source_read(content, block, BLOCK, &error) : -1;
        trace->text.length += size > 0 ? (size_t)size : 0;
    } while (size > 0);
    pyro_source_close(content);
    pyro_buf_addc(&trace->text, '\0');
    return size == 0 && !trace->text.failed && find_events(trace);
}

/* A number of the event, in thousandths: where its text is and how long. */
typedef struct number_text {
    const char *start;
    size_t length;
    int64_t thousandths;
} number_text;

static bool find_number(number_text *number, const char *text, size_t length, const char *key)
{
    const char *at = memmem(text, length, key, strlen(key));
    if (!at)
        return false;
    at += strlen(key);
    at += strspn(at, " :\"");
    char *end;
    long long whole = strtoll(at, &end, 10);
    if (end == at)
        return false;
    int64_t part = 0;
    if (*end == '.')
        for (int i = 0; i < 3; i++)
            part = part * 10 + (end[1 + i] >= '0' && end[1 + i] <= '9' ? end[1 + i] - '0' : 0);
    *number = (number_text){at, strspn(at, "-+.eE0123456789"), 0};
    number->thousandths = whole > INT64_MAX / 2000 || whole < INT64_MIN / 2000
                              ? 0
                              : (int64_t)whole * 1000 + (*at == '-' ? -part : part);
    return true;
}

static void add_with_number(pyro_buf *out, const char *text, size_t length,
                            const number_text *number, int64_t thousandths)
{
    size_t before = (size_t)(number->start - text);
    pyro_buf_add(out, text, before);
    pyro_buf_addf(out, "%s%" PRId64 ".%03d", thousandths < 0 ? "-" : "",
                  thousandths < 0 ? -(thousandths / 1000) : thousandths / 1000,
                  abs((int)(thousandths % 1000)));
    pyro_buf_add(out, number->start + number->length, length - before - number->length);
}

static void add_with_integer(pyro_buf *out, const char *text, size_t length,
                             const number_text *number, int64_t value)
{
    size_t before = (size_t)(number->start - text);
    pyro_buf_add(out, text, before);
    pyro_buf_add_integer(out, value);
    pyro_buf_add(out, number->start + number->length, length - before - number->length);
}

static bool has_text(const char *text, size_t length, const char *part)
{
    return memmem(text, length, part, strlen(part)) != NULL;
}

/* Which of the edits an event allows; the others leave it as it is. */
static edit_kind edit_for(const char *text, size_t length, edit_kind kind, uint64_t *state)
{
    static const edit_kind of_steps[] = {EDIT_DROP, EDIT_MOVE, EDIT_DURATION};
    bool is_launch = has_text(text, length, "_runtime\"") || has_text(text, length, "_driver\"");
    bool is_step = has_text(text, length, "ProfilerStep") ||
                   has_text(text, length, "user_annotation");
    if (kind == EDIT_LAUNCH)
        return is_launch ? EDIT_DROP : EDIT_COUNT;
    if (kind == EDIT_STEP)
        return is_step ? of_steps[below(state, 3)] : EDIT_COUNT;
    return kind;
}

/* Writes an event with an edit. */
static void add_edited(pyro_buf *out, const trace_text *trace, size_t index, edit_kind kind,
                       uint64_t *state)
{
    const char *text = trace->text.data + trace->events[index].start;
    size_t length = trace->events[index].length;
    const event_text *other = &trace->events[below(state, trace->count)];
    number_text number, found;
    switch (edit_for(text, length, kind, state)) {
    case EDIT_DROP:
        return;
    case EDIT_REPEAT:
        pyro_buf_add(out, text, length);
        pyro_buf_adds(out, ",\n");
        break;
    case EDIT_MOVE:
        if (find_number(&number, text, length, "\"ts\"")) {
            add_with_number(out, text, length, &number, number.thousandths + random_ns(state));
            pyro_buf_adds(out, ",\n");
            return;
        }
        break;
    case EDIT_DURATION:
        if (find_number(&number, text, length, "\"dur\"")) {
            int64_t change = below(state, 4) ? random_ns(state) : -number.thousandths;
            add_with_number(out, text, length, &number, number.thousandths + change);
            pyro_buf_adds(out, ",\n");
            return;
        }
        break;
    case EDIT_STREAM:
        if (find_number(&number, text, length, "\"tid\"")) {
            add_with_integer(out, text, length, &number, (int64_t)below(state, 9));
            pyro_buf_adds(out, ",\n");
            return;
        }
        break;
    case EDIT_CORRELATION:
        if (find_number(&number, text, length, "\"correlation\"") &&
            find_number(&found, trace->text.data + other->start, other->length,
                        "\"correlation\"")) {
            add_with_integer(out, text, length, &number, found.thousandths / 1000);
            pyro_buf_adds(out, ",\n");
            return;
        }
        break;
    default:
        break;
    }
    pyro_buf_add(out, text, length);
    pyro_buf_adds(out, ",\n");
}

/* Writes a mutation: some of the events in a row, a part of them edited. */
static void mutate(pyro_buf *out, const trace_text *trace, size_t most_events, uint64_t *state)
{
    static const unsigned one_in[] = {2, 5, 20, 100};
    size_t count = trace->count < most_events ? trace->count : most_events;
    size_t first = below(state, trace->count - count + 1);
    unsigned rate = one_in[below(state, sizeof one_in / sizeof *one_in)];
    /* Half of the mutations have one kind of edit. */
    edit_kind only = (edit_kind)below(state, 2 * EDIT_COUNT);
    size_t head = trace->events[0].start;
    pyro_buf_reset(out);
    pyro_buf_add(out, trace->text.data, head);
    for (size_t i = 0; i < count; i++) {
        edit_kind kind = only < EDIT_COUNT ? only : (edit_kind)below(state, EDIT_COUNT);
        if (below(state, rate) && !(kind == EDIT_STEP && below(state, 2)))
            kind = EDIT_COUNT;
        add_edited(out, trace, first + i, kind, state);
    }
    while (out->length && strchr(",\n", out->data[out->length - 1]))
        out->length--;
    const char *text = trace->text.data;
    const event_text *last = &trace->events[trace->count - 1];
    pyro_buf_adds(out, text + last->start + last->length);
}

static const char *failure(char *text, size_t size, const char *what, int64_t left, int64_t right)
{
    snprintf(text, size, "%s: %" PRId64 " and %" PRId64 " ns", what, left, right);
    return text;
}

/* The causes of the steps with a number add up to their spans. */
static const char *check_causes(const pyro_analysis *analysis, char *text, size_t size)
{
    for (size_t i = 0; i < analysis->cause_count; i++) {
        const pyro_cause_row *row = &analysis->causes[i];
        if (row->time_ns < 0)
            return failure(text, size, "a negative time", row->step, row->time_ns);
        if (row->profiler_ns < 0 || row->profiler_ns > row->time_ns)
            return failure(text, size, "recording took more than the time", row->time_ns,
                           row->profiler_ns);
    }
    for (size_t i = 0; i < analysis->step_count; i++) {
        int64_t number = analysis->steps[i].number, span_ns = 0, causes_ns = 0;
        for (size_t k = 0; k < analysis->step_count; k++)
            span_ns += analysis->steps[k].number == number ? analysis->steps[k].span_ns : 0;
        for (size_t k = 0; k < analysis->cause_count; k++)
            causes_ns += analysis->causes[k].step == number ? analysis->causes[k].time_ns : 0;
        if (span_ns != causes_ns)
            return failure(text, size, "step and causes differ", span_ns, causes_ns);
        const pyro_step_row *step = &analysis->steps[i];
        int64_t parts_ns = step->compute_ns + step->communication_exposed_ns +
                           step->copy_exposed_ns + step->idle_ns;
        if (parts_ns != step->span_ns)
            return failure(text, size, "step and parts differ", step->span_ns, parts_ns);
    }
    return NULL;
}

/* Places of a cause divide its time where steps do not overlap. */
static const char *check_places(const pyro_analysis *analysis, char *text, size_t size)
{
    int64_t causes_ns[PYRO_CAUSE_COUNT] = {0}, places_ns[PYRO_CAUSE_COUNT] = {0};
    for (size_t i = 0; i < analysis->cause_count; i++)
        causes_ns[analysis->causes[i].cause] += analysis->causes[i].time_ns;
    for (size_t i = 0; i < analysis->cause_place_count; i++)
        places_ns[analysis->cause_places[i].cause] += analysis->cause_places[i].time_ns;
    for (int cause = 0; cause < PYRO_CAUSE_COUNT; cause++)
        if (places_ns[cause] > causes_ns[cause])
            return failure(text, size, pyro_cause_name((pyro_cause)cause), causes_ns[cause],
                           places_ns[cause]);
    return NULL;
}

/* A share in a text; the largest one. */
static double largest_percent(const char *text)
{
    double largest = 0;
    for (const char *mark = text; (mark = strchr(mark, '%')); mark++) {
        const char *start = mark;
        while (start > text && strchr("0123456789.", start[-1]))
            start--;
        double value = strtod(start, NULL);
        largest = value > largest ? value : largest;
    }
    return largest;
}

/* Gains do not overlap: those of findings fit into the steps, those of parts into the finding. */
static const char *check_gains(const pyro_analysis *analysis, char *text, size_t size)
{
    int64_t span_ns = 0, gain_ns = 0;
    for (size_t i = 0; i < analysis->step_count; i++)
        span_ns += analysis->steps[i].span_ns;
    for (size_t i = 0; i < analysis->finding_count; i++) {
        const pyro_finding *finding = &analysis->findings[i];
        gain_ns += finding->gain_ns > 0 ? finding->gain_ns : 0;
        if (finding->gain_ns < -1)
            return failure(text, size, finding->id, span_ns, finding->gain_ns);
        if (largest_percent(finding->evidence) > 100.05)
            return failure(text, size, finding->evidence, 0, 0);
    }
    if (gain_ns > span_ns - analysis->profiler_cost.time_ns)
        return failure(text, size, "gains exceed the steps", span_ns, gain_ns);
    for (size_t i = 0; i < analysis->finding_part_count; i++) {
        const pyro_finding_part *part = &analysis->finding_parts[i];
        for (size_t k = 0; k < analysis->finding_count; k++)
            if (!strcmp(part->finding, analysis->findings[k].id) &&
                part->gain_ns > analysis->findings[k].gain_ns && part->gain_ns > 0)
                return failure(text, size, part->id, analysis->findings[k].gain_ns, part->gain_ns);
        if (largest_percent(part->evidence) > 100.05)
            return failure(text, size, part->evidence, 0, 0);
    }
    return NULL;
}

/* False when the account of a trace does not add up; a text that is no trace any more is right. */
static bool check_text(const pyro_buf *json, const char *label, bool must_open)
{
    char text[1024];
    pyro_trace_options options = {.threads = 1};
    pyro_analysis_options analyse = {.step = -1, .threads = 1, .without_stacks = true};
    pyro_trace *trace = NULL;
    pyro_analysis *analysis = NULL;
    pyro_error error = {0};
    const char *wrong = NULL;
    int status = pyro_trace_open_memory(&trace, json->data, json->length, label, &options, &error);
    if (status != PYRO_OK)
        wrong = must_open || status != PYRO_ERROR_FORMAT ? error.message : NULL;
    else if (pyro_trace_analyze(&analysis, trace, &analyse, &error) != PYRO_OK)
        wrong = error.message;
    if (analysis && !wrong)
        wrong = check_causes(analysis, text, sizeof text);
    if (analysis && !wrong)
        wrong = check_places(analysis, text, sizeof text);
    if (analysis && !wrong)
        wrong = check_gains(analysis, text, sizeof text);
    if (wrong)
        fprintf(stderr, "mutate_traces: %s: %s\n", label, wrong);
    pyro_analysis_free(analysis);
    pyro_trace_close(trace);
    return !wrong;
}

static bool keep(const char *path, const pyro_buf *json)
{
    FILE *file = path ? fopen(path, "wb") : NULL;
    bool is_written = file && fwrite(json->data, 1, json->length, file) == json->length;
    return file && fclose(file) == 0 && is_written;
}

typedef struct settings {
    uint64_t seed, count, most_events;
    const char *kept;
} settings;

static size_t mutate_all(const trace_text *traces, size_t trace_count, const settings *settings)
{
    pyro_buf json = PYRO_BUF_INIT;
    size_t failures = 0;
    for (uint64_t i = 0; i < settings->count && trace_count; i++) {
        const trace_text *trace = &traces[i % trace_count];
        uint64_t state = settings->seed * UINT64_C(1000003) + i;
        char label[512];
        snprintf(label, sizeof label, "%.400s, mutation %" PRIu64, trace->path, i);
        mutate(&json, trace, settings->most_events, &state);
        if (json.failed || !check_text(&json, label, false))
            if (!failures++ && !keep(settings->kept, &json) && settings->kept)
                fprintf(stderr, "mutate_traces: %s cannot be written\n", settings->kept);
    }
    pyro_buf_free(&json);
    return failures;
}

static bool take_option(settings *settings, const char *name, const char *value)
{
    if (!strcmp(name, "--seed"))
        settings->seed = strtoull(value, NULL, 10);
    else if (!strcmp(name, "--count"))
        settings->count = strtoull(value, NULL, 10);
    else if (!strcmp(name, "--events"))
        settings->most_events = strtoull(value, NULL, 10);
    else if (!strcmp(name, "--write"))
        settings->kept = value;
    else
        return false;
    return true;
}

int main(int argc, char **argv)
{
    settings settings = {.seed = 1, .count = 1000, .most_events = 2000};
    trace_text *traces = calloc((size_t)argc, sizeof *traces);
    size_t trace_count = 0, wrong = 0, failures = 0;
    for (int i = 1; traces && i < argc; i++) {
        if (!strncmp(argv[i], "--", 2)) {
            if (i + 1 >= argc || !take_option(&settings, argv[i], argv[i + 1]))
                failures++;
            i++;
            continue;
        }
        if (!read_trace(&traces[trace_count], argv[i])) {
            fprintf(stderr, "mutate_traces: %s: no events\n", argv[i]);
            failures++;
        }
        trace_count++;
    }
    for (size_t i = 0; i < trace_count && !failures; i++)
        wrong += !check_text(&traces[i].text, traces[i].path, true);
    if (!failures)
        failures = wrong + mutate_all(traces, trace_count, &settings);
    printf("%" PRIu64 " mutations of %zu traces, %zu failures\n", settings.count, trace_count,
           failures);
    for (size_t i = 0; i < trace_count; i++) {
        pyro_buf_free(&traces[i].text);
        free(traces[i].events);
    }
    free(traces);
    return failures || !trace_count;
}

/*
 * Finds the steps that a trace marks: the events that steps_from names, else the annotations of
 * serving engines, else the profiler's steps. If several threads repeat a step, the first to start
 * counts.
 */
#include "trace/joins/internal.h"

#include "base/containers/buf.h"
#include "base/error.h"
#include <ctype.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

/* Longer names are not matched: regular expressions are slow on long texts. */
#define LONGEST_NAME 4096

static bool parse_number(const char *name, int64_t *number)
{
    const char *digits = name + strlen("ProfilerStep#");
    char *end;
    long long value = strtoll(digits, &end, 10);
    *number = value;
    return end != digits && value >= 0;
}

/* Whether an earlier step with that number covers the start; looks back a few steps only. */
static bool is_repeated(const pyro_joins *joins, int64_t number, int64_t start_ns)
{
    size_t last = joins->step_count > 64 ? joins->step_count - 64 : 0;
    for (size_t i = joins->step_count; i-- > last;)
        if (joins->steps[i].number == number && start_ns < joins->steps[i].end_ns)
            return true;
    return false;
}

static int add_marked(pyro_join_state *state, uint32_t event, int64_t number)
{
    const pyro_trace *trace = state->trace;
    return pyro_add_step(state, (pyro_step){.event = event,
                                            .name = pyro_event_name(trace, event),
                                            .number = number,
                                            .start_ns = trace->start_ns[event],
                                            .end_ns = pyro_join_end_ns(trace, event)});
}

static int join_profiler_steps(pyro_join_state *state)
{
    const pyro_trace *trace = state->trace;
    pyro_joins *joins = state->joins;
    int status = PYRO_OK;
    for (size_t i = 0; i < trace->count && !status; i++) {
        uint32_t event = joins->by_time[i];
        uint8_t category = trace->category[event];
        int64_t number;
        if ((category != PYRO_EVENT_ANNOTATION && category != PYRO_EVENT_OP) ||
            pyro_join_name_class(state, event) != PYRO_NAME_STEP ||
            !parse_number(pyro_event_name(trace, event), &number) ||
            is_repeated(joins, number, trace->start_ns[event]))
            continue;
        joins->step_source = PYRO_STEPS_MARKED;
        status = add_marked(state, event, number);
    }
    return status;
}

/* What steps_from matches in one category: by name, the number in its first group. */
typedef struct chosen_names {
    regex_t expression;
    pyro_map number_of; /* by id of a name: its place in `numbers` */
    int64_t *numbers; /* -1: no group, or no digits in it */
    size_t count, capacity;
} chosen_names;

static int64_t number_in_group(const char *text, const regmatch_t *group)
{
    enum { MOST_DIGITS = 18 };
    int64_t number = 0;
    if (group->rm_so < 0 || group->rm_so == group->rm_eo ||
        group->rm_eo - group->rm_so > MOST_DIGITS)
        return -1;
    for (regoff_t i = group->rm_so; i < group->rm_eo; i++) {
        if (!isdigit((unsigned char)text[i]))
            return -1;
        number = number * 10 + (text[i] - '0');
    }
    return number;
}

static int match_name(pyro_join_state *state, chosen_names *names, uint32_t name)
{
    const char *text = pyro_intern_text(&state->trace->names, name);
    regmatch_t groups[2];
    int code = strlen(text) > LONGEST_NAME ? REG_NOMATCH
                                           : regexec(&names->expression, text, 2, groups, 0);
    if (code == REG_NOMATCH)
        return PYRO_OK;
    if (code ||
        !pyro_grow(&names->numbers, &names->capacity, names->count + 1, sizeof *names->numbers) ||
        !pyro_map_put(&names->number_of, name, (uint32_t)names->count))
        return pyro_fail_memory(state->error);
    names->numbers[names->count++] = number_in_group(text, &groups[1]);
    return PYRO_OK;
}

static int match_category(pyro_join_state *state, chosen_names *names, uint8_t category)
{
    const pyro_trace *trace = state->trace;
    bool *seen = calloc(trace->names.count + 1, sizeof *seen);
    int status = seen ? PYRO_OK : pyro_fail_memory(state->error);
    for (size_t i = 0; i < trace->count && !status; i++) {
        uint32_t name = trace->name[i];
        if (trace->category[i] != category || name >= trace->names.count || seen[name])
            continue;
        seen[name] = true;
        status = match_name(state, names, name);
    }
    free(seen);
    return status;
}

/* Steps are the outermost matches: those that start when no other on any thread is open. */
static int add_chosen(pyro_join_state *state, const chosen_names *names, uint8_t category)
{
    const pyro_trace *trace = state->trace;
    pyro_joins *joins = state->joins;
    int64_t until_ns = INT64_MIN, next = 0;
    for (size_t i = 0; i < trace->count; i++) {
        uint32_t event = joins->by_time[i];
        uint32_t found = trace->category[event] == category
                             ? pyro_map_get(&names->number_of, trace->name[event])
                             : PYRO_MAP_NONE;
        if (found == PYRO_MAP_NONE || trace->start_ns[event] < until_ns)
            continue;
        int64_t number = names->numbers[found] >= 0 ? names->numbers[found] : next;
        int status = add_marked(state, event, number);
        if (status)
            return status;
        until_ns = pyro_join_end_ns(trace, event);
        next = number + 1;
        joins->step_source = PYRO_STEPS_CHOSEN;
    }
    return PYRO_OK;
}

static int join_chosen_steps(pyro_join_state *state, const char *text)
{
    static const uint8_t categories[] = {PYRO_EVENT_ANNOTATION, PYRO_EVENT_OP, PYRO_EVENT_PYTHON};
    chosen_names names = {.number_of = PYRO_MAP_INIT};
    int code = regcomp(&names.expression, text, REG_EXTENDED), status = PYRO_OK;
    if (code == REG_ESPACE)
        return pyro_fail_memory(state->error);
    if (code) {
        char reason[128];
        regerror(code, &names.expression, reason, sizeof reason);
        return pyro_fail(state->error, PYRO_ERROR_ARGUMENT, "invalid steps_from '%.200s': %s", text,
                         reason);
    }
    for (size_t i = 0; i < sizeof categories && !status && !names.count; i++) {
        status = match_category(state, &names, categories[i]);
        if (!status)
            status = add_chosen(state, &names, categories[i]);
    }
    regfree(&names.expression);
    pyro_map_free(&names.number_of);
    free(names.numbers);
    return status;
}

int pyro_join_steps(pyro_join_state *state)
{
    const char *text = state->options ? state->options->steps_from : NULL;
    state->joins->step_mark = "";
    int status = text ? join_chosen_steps(state, text) : PYRO_OK;
    if (!status && !state->joins->step_count)
        status = pyro_join_serving_steps(state);
    return status || state->joins->step_count ? status : join_profiler_steps(state);
}

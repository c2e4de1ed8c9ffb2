/* Analyses copies and memsets by kind and direction, with their bandwidth. */
#include "analyze/analyze.h"
#include "analyze/intervals.h"
#include "base/containers/buf.h"
#include "base/error.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct copy_total {
    pyro_copy_row row;
    int64_t measured_calls, measured_ns; /* whose bytes are known */
} copy_total;

typedef struct copies_state {
    pyro_map by_name, by_kind; /* rows, by ids of the trace's names and of context->texts */
    copy_total *rows;
    size_t count, capacity;
} copies_state;

/* "HtoD" out of "Memcpy HtoD (Pageable -> Device)", "CopyHostToDevice", "Memcpy M2D". */
static bool find_direction(const char *name, char direction[5])
{
    static const struct {
        const char *text, *direction;
    } words[] = {{"HostToDevice", "HtoD"},
                 {"DeviceToHost", "DtoH"},
                 {"DeviceToDevice", "DtoD"},
                 {"HostToHost", "HtoH"}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strstr(name, words[i].text)) {
            memcpy(direction, words[i].direction, 5);
            return true;
        }
    }
    for (const char *p = name; *p; p++) {
        const char *to = isupper((unsigned char)p[0]) ? p + 1 : "";
        size_t length = *to == '2' ? 1 : strncmp(to, "to", 2) == 0 ? 2 : 0;
        bool begins = p == name || !isalnum((unsigned char)p[-1]);
        if (!length || !begins || !isupper((unsigned char)to[length]) ||
            isalnum((unsigned char)to[length + 1]))
            continue;
        snprintf(direction, 5, "%cto%c", p[0], to[length]);
        return true;
    }
    return false;
}

/* What a copy is called in the table; `text` has room for it. */
static const char *name_kind(const char *name, uint8_t category, char *text, size_t size)
{
    char direction[5];
    if (category == PYRO_EVENT_MEMSET)
        return "memset";
    if (!find_direction(name, direction))
        return name;
    const char *memory = "";
    if (strstr(name, "Pageable"))
        memory = " pageable";
    else if (strstr(name, "Pinned"))
        memory = " pinned";
    snprintf(text, size, "%s%s", direction, memory);
    return text;
}

static copy_total *add_row(copies_state *state, pyro_analysis_context *context, const char *kind)
{
    uint32_t id = pyro_intern_add(context->texts, kind, strlen(kind));
    uint32_t index = id == PYRO_INTERN_NONE ? PYRO_MAP_NONE : pyro_map_get(&state->by_kind, id);
    if (id == PYRO_INTERN_NONE)
        return NULL;
    if (index != PYRO_MAP_NONE)
        return &state->rows[index];
    index = (uint32_t)state->count;
    if (!pyro_grow(&state->rows, &state->capacity, state->count + 1, sizeof *state->rows) ||
        !pyro_map_put(&state->by_kind, id, index))
        return NULL;
    state->rows[index] = (copy_total){.row.kind = pyro_intern_text(context->texts, id)};
    state->count++;
    return &state->rows[index];
}

/* Different names can have one kind, so names map to rows. */
static copy_total *find_row(copies_state *state, pyro_analysis_context *context, uint32_t event)
{
    const pyro_trace *trace = context->trace;
    uint32_t index = pyro_map_get(&state->by_name, trace->name[event]);
    char text[32];
    if (index != PYRO_MAP_NONE)
        return &state->rows[index];
    copy_total *row = add_row(
        state, context,
        name_kind(pyro_event_name(trace, event), trace->category[event], text, sizeof text));
    if (row && !pyro_map_put(&state->by_name, trace->name[event], (uint32_t)(row - state->rows)))
        return NULL;
    return row;
}

static int add_event(void *data, pyro_analysis_context *context, uint32_t event)
{
    const pyro_trace *trace = context->trace;
    copy_total *total = find_row(data, context, event);
    if (!total)
        return pyro_fail_memory(context->error);
    uint32_t detail = trace->detail[event];
    int64_t bytes = detail == PYRO_NO_ID ? -1 : trace->transfer_bytes[detail];
    total->row.calls++;
    total->row.total_ns = pyro_add_ns(total->row.total_ns, trace->duration_ns[event]);
    if (bytes >= 0) {
        total->row.bytes = pyro_add_ns(total->row.bytes, bytes);
        total->measured_calls++;
        total->measured_ns = pyro_add_ns(total->measured_ns, trace->duration_ns[event]);
    }
    return PYRO_OK;
}

static int compare_rows(const void *a, const void *b)
{
    const pyro_copy_row *left = a, *right = b;
    if (left->total_ns != right->total_ns)
        return left->total_ns < right->total_ns ? 1 : -1;
    return strcmp(left->kind, right->kind);
}

static int finish_copies(void *data, pyro_analysis_context *context)
{
    copies_state *state = data;
    pyro_copy_row *rows = pyro_arena_array(context->arena, state->count, sizeof *rows);
    size_t shown = 0;
    if (!rows)
        return pyro_fail_memory(context->error);
    for (size_t i = 0; i < state->count; i++) {
        const copy_total *total = &state->rows[i];
        if (!pyro_context_shows(context, total->row.kind))
            continue;
        rows[shown] = total->row;
        if (!total->measured_calls)
            rows[shown].bytes = -1;
        /* bytes per nanosecond are gigabytes per second */
        rows[shown].gb_per_s = total->measured_ns
                                   ? (double)total->row.bytes / (double)total->measured_ns
                                   : -1;
        shown++;
    }
    qsort(rows, shown, sizeof *rows, compare_rows);
    context->result->copies = rows;
    context->result->copy_count = shown;
    return PYRO_OK;
}

static void clear_copies(void *data)
{
    copies_state *state = data;
    pyro_map_free(&state->by_name);
    pyro_map_free(&state->by_kind);
    free(state->rows);
}

const pyro_analyzer pyro_analyze_copies = {
    .name = "copies",
    .state_size = sizeof(copies_state),
    .event = add_event,
    .finish = finish_copies,
    .clear = clear_copies,
    .categories = 1u << PYRO_EVENT_MEMCPY | 1u << PYRO_EVENT_MEMSET,
};

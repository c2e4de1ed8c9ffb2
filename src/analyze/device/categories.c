/* Analyses device work by category (kernels.def) and phase. */
#include "analyze/analyze.h"
#include "analyze/device/kernel_category.h"
#include "analyze/device/kernel_names.h"
#include "base/containers/buf.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>

typedef struct category_sum {
    int64_t calls, total_ns;
    int64_t by_phase[PYRO_PHASE_COUNT];
} category_sum;

/* Time of one name in one category, for the name with the most. */
typedef struct name_sum {
    uint32_t name;
    pyro_kernel_category category;
    int64_t total_ns;
} name_sum;

typedef struct categories_state {
    pyro_kernel_sorter sorter;
    category_sum sums[PYRO_KERNEL_CATEGORY_COUNT];
    pyro_map by_name; /* (category, name) -> index */
    name_sum *names;
    size_t count, capacity;
} categories_state;

static int init_categories(void *data, pyro_analysis_context *context)
{
    categories_state *state = data;
    return pyro_kernel_sorter_init(&state->sorter, context) ? PYRO_OK
                                                            : pyro_fail_memory(context->error);
}

static bool add_name(categories_state *state, pyro_kernel_category category, uint32_t name,
                     int64_t ns)
{
    uint64_t key = (uint64_t)category << 32 | name;
    uint32_t at = pyro_map_get(&state->by_name, key);
    if (at == PYRO_MAP_NONE) {
        at = (uint32_t)state->count;
        if (!pyro_grow(&state->names, &state->capacity, state->count + 1, sizeof *state->names) ||
            !pyro_map_put(&state->by_name, key, at))
            return false;
        state->names[state->count++] = (name_sum){.name = name, .category = category};
    }
    state->names[at].total_ns += ns;
    return true;
}

static int add_event(void *data, pyro_analysis_context *context, uint32_t event)
{
    categories_state *state = data;
    const pyro_trace *trace = context->trace;
    pyro_kernel_category category = pyro_kernel_sorter_find(&state->sorter, event);
    category_sum *sum = &state->sums[category];
    int64_t duration = trace->duration_ns[event];
    sum->calls++;
    sum->total_ns += duration;
    sum->by_phase[context->joins->phase[event]] += duration;
    return add_name(state, category, trace->name[event], duration)
               ? PYRO_OK
               : pyro_fail_memory(context->error);
}

static int compare_rows(const void *a, const void *b)
{
    const pyro_category_row *left = a, *right = b;
    if (left->total_ns != right->total_ns)
        return left->total_ns < right->total_ns ? 1 : -1;
    return strcmp(left->category, right->category);
}

/* Short name of the work with the most time in a category; NULL when memory is out. */
static const char *longest_name(const categories_state *state, pyro_analysis_context *context,
                                pyro_kernel_category category)
{
    char short_name[PYRO_KERNEL_SHORT_NAME];
    uint32_t name = PYRO_NO_ID;
    int64_t longest = -1;
    for (size_t i = 0; i < state->count; i++)
        if (state->names[i].category == category && state->names[i].total_ns > longest) {
            longest = state->names[i].total_ns;
            name = state->names[i].name;
        }
    const char *text = pyro_trace_text(context->trace, name);
    size_t length = strlen(text);
    if (!strncmp(text, "Mem", 3)) { /* "Memcpy HtoD (Pinned -> Device)" and "Memset " */
        while (length && text[length - 1] == ' ')
            length--;
        return pyro_arena_text(context->arena, text, length);
    }
    pyro_kernel_short_name(text, short_name);
    return pyro_arena_text(context->arena, short_name, strlen(short_name));
}

static int finish_categories(void *data, pyro_analysis_context *context)
{
    categories_state *state = data;
    pyro_category_row *rows = pyro_arena_array(context->arena, PYRO_KERNEL_CATEGORY_COUNT,
                                               sizeof *rows);
    size_t count = 0;
    int64_t whole_ns = 0;
    if (!rows)
        return pyro_fail_memory(context->error);
    for (int c = 0; c < PYRO_KERNEL_CATEGORY_COUNT; c++)
        whole_ns += state->sums[c].total_ns;
    for (int c = 0; c < PYRO_KERNEL_CATEGORY_COUNT; c++) {
        const category_sum *sum = &state->sums[c];
        const char *name = pyro_kernel_category_name((pyro_kernel_category)c);
        if (!sum->calls || !pyro_context_shows(context, name))
            continue;
        const char *kernel = longest_name(state, context, (pyro_kernel_category)c);
        if (!kernel)
            return pyro_fail_memory(context->error);
        rows[count++] = (pyro_category_row){
            .category = name,
            .calls = sum->calls,
            .total_ns = sum->total_ns,
            .share = whole_ns > 0 ? (double)sum->total_ns / (double)whole_ns : 0,
            .forward_ns = sum->by_phase[PYRO_PHASE_FORWARD],
            .backward_ns = sum->by_phase[PYRO_PHASE_BACKWARD],
            .optimizer_ns = sum->by_phase[PYRO_PHASE_OPTIMIZER],
            .other_ns = sum->by_phase[PYRO_PHASE_OTHER],
            .kernel = kernel,
        };
    }
    qsort(rows, count, sizeof *rows, compare_rows);
    context->result->categories = rows;
    context->result->category_count = count;
    return PYRO_OK;
}

static void clear_categories(void *data)
{
    categories_state *state = data;
    pyro_kernel_sorter_free(&state->sorter);
    pyro_map_free(&state->by_name);
    free(state->names);
}

const pyro_analyzer pyro_analyze_categories = {
    .name = "categories",
    .state_size = sizeof(categories_state),
    .init = init_categories,
    .event = add_event,
    .finish = finish_categories,
    .clear = clear_categories,
    .categories = 1u << PYRO_EVENT_KERNEL | 1u << PYRO_EVENT_MEMCPY | 1u << PYRO_EVENT_MEMSET,
};

/* Checks a trace for known defects (defects.def): what is wrong, how it shows, why it happens. */
#include "analyze/defects/rules.h"
#include "base/error.h"

#include <stdlib.h>

static const struct {
    pyro_defect_row row;
    pyro_defect_rule *rule;
} defects[] = {
#define DEFECT(id, rule, severity, title, cause, advice) \
    {{id, PYRO_SEVERITY_##severity, title, "", cause, advice, 0}, pyro_defect_##rule},
#include "analyze/defects/defects.def"
#undef DEFECT
};
#define DEFECT_COUNT (sizeof defects / sizeof *defects)

static int begin(void *state, pyro_analysis_context *context)
{
    return pyro_defects_begin(state, context) ? PYRO_OK : pyro_fail_memory(context->error);
}

static int add(void *state, pyro_analysis_context *context, uint32_t event)
{
    return pyro_defects_add(state, context, event) ? PYRO_OK : pyro_fail_memory(context->error);
}

static int by_severity(const void *left, const void *right)
{
    const pyro_defect_row *a = left, *b = right;
    if (a->severity != b->severity)
        return a->severity > b->severity ? -1 : 1;
    return (a->count < b->count) - (a->count > b->count);
}

static int finish(void *state, pyro_analysis_context *context)
{
    pyro_defect_row *rows = pyro_arena_array(context->arena, DEFECT_COUNT, sizeof *rows);
    pyro_buf evidence = PYRO_BUF_INIT;
    size_t count = 0;
    bool ok = rows != NULL;
    for (size_t i = 0; ok && i < DEFECT_COUNT; i++) {
        pyro_buf_reset(&evidence);
        int64_t found = defects[i].rule(state, context, &evidence);
        if (found <= 0)
            continue;
        rows[count] = defects[i].row;
        rows[count].count = found;
        rows[count].evidence = pyro_arena_text(context->arena, evidence.data ? evidence.data : "",
                                               evidence.length);
        ok = !evidence.failed && rows[count++].evidence;
    }
    pyro_buf_free(&evidence);
    if (!ok)
        return pyro_fail_memory(context->error);
    qsort(rows, count, sizeof *rows, by_severity);
    context->result->defects = rows;
    context->result->defect_count = count;
    return PYRO_OK;
}

static void clear(void *state)
{
    pyro_defects_free(state);
}

const pyro_analyzer pyro_analyze_defects = {
    .name = "defects",
    .state_size = sizeof(pyro_defect_facts),
    .init = begin,
    .event = add,
    .finish = finish,
    .clear = clear,
    .whole_trace = true,
    .categories = 1u << PYRO_EVENT_OP | 1u << PYRO_EVENT_RUNTIME | 1u << PYRO_EVENT_DRIVER |
                  1u << PYRO_EVENT_KERNEL | 1u << PYRO_EVENT_MEMCPY | 1u << PYRO_EVENT_MEMSET |
                  1u << PYRO_EVENT_SYNC,
};

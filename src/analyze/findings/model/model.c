/* Recommends: runs every rule of model.def, then adds the findings that no rule covers. */
#include "analyze/findings/model/model.h"

#include "base/error.h"
#include "graph/op_groups.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *id;
    pyro_model_detector detect;
    int rank;
    double threshold;
    const char *subject, *advice, *covers;
} rules[] = {
#define RECOMMENDATION(id, detector, rank, threshold, subject, advice, covers) \
    {id, pyro_advise_##detector, rank, threshold, subject, advice, covers},
#include "analyze/findings/model/model.def"
#undef RECOMMENDATION
};

enum { RULE_COUNT = sizeof rules / sizeof *rules };

struct pyro_recommendations_store {
    pyro_recommendations made;
    pyro_arena arena;
};

void pyro_model_evidence_init(pyro_model_evidence *evidence)
{
    *evidence = (pyro_model_evidence){.kind = "module",
                                      .precision = "fp32",
                                      .batch_size = 1,
                                      .threads = 1,
                                      .usable_cpus = 1,
                                      .zero_share = NAN,
                                      .fragmentation = NAN,
                                      .cpu_percent = NAN,
                                      .waiting_share = NAN,
                                      .gpu_percent = NAN,
                                      .end_to_end_ms = NAN,
                                      .preprocess_ms = NAN,
                                      .postprocess_ms = NAN,
                                      .first_token_ms = NAN,
                                      .token_ms = NAN,
                                      .uses_cache = -1};
}

bool pyro_recommendation_rule_at(pyro_recommendation_rule *out, size_t index)
{
    if (index >= RULE_COUNT)
        return false;
    *out = (pyro_recommendation_rule){rules[index].id, rules[index].subject,
                                      rules[index].threshold};
    return true;
}

/* False when memory is out. */
static bool find_groups(pyro_model_view *view, pyro_arena *arena)
{
    const pyro_model_evidence *known = view->known;
    unsigned *groups = pyro_arena_array(arena, known->op_count + 1, sizeof *groups);
    pyro_op_index index;
    bool is_good = pyro_op_index_init(&index) && groups;
    for (size_t i = 0; is_good && i < known->op_count; i++)
        groups[i] = pyro_op_groups(pyro_op_find_recorded(&index, known->ops[i].name));
    pyro_op_index_free(&index);
    view->groups = groups;
    return is_good;
}

static int compare_ranks(const void *a, const void *b)
{
    return rules[*(const size_t *)a].rank - rules[*(const size_t *)b].rank;
}

/* False when the evidence does not reach the rule's threshold. */
static bool ask_rule(pyro_recommendation *row, const pyro_model_view *view, size_t rule,
                     pyro_arena *arena, bool *memory_out)
{
    pyro_advice advice = {.seen = pyro_evidence_begin(arena, rules[rule].threshold),
                          .gain = "",
                          .variant = "",
                          .advice = ""};
    bool holds = rules[rule].detect(view, &advice) && advice.seen.value >= rules[rule].threshold;
    *memory_out |= advice.seen.memory_out;
    *row = (pyro_recommendation){.id = rules[rule].id,
                                 .subject = rules[rule].subject,
                                 .advice = advice.advice[0] ? advice.advice : rules[rule].advice,
                                 .evidence = advice.seen.text,
                                 .gain = advice.gain,
                                 .variant = advice.variant};
    return holds;
}

static const char *copy_text(pyro_arena *arena, const char *text, bool *memory_out)
{
    const char *copy = pyro_arena_text(arena, text ? text : "", text ? strlen(text) : 0);
    *memory_out |= !copy;
    return copy;
}

static pyro_recommendation from_finding(const pyro_finding *finding, pyro_arena *arena,
                                        bool *memory_out)
{
    const char *gain = "not estimated";
    if (finding->gain_ns >= 0)
        gain = pyro_arena_format(arena, "%.3g ms (estimate)", (double)finding->gain_ns / 1e6);
    *memory_out |= !gain;
    return (pyro_recommendation){.id = copy_text(arena, finding->id, memory_out),
                                 .subject = copy_text(arena, finding->title, memory_out),
                                 .advice = copy_text(arena, finding->advice, memory_out),
                                 .evidence = copy_text(arena, finding->evidence, memory_out),
                                 .gain = gain,
                                 .variant = ""};
}

/* The number of rows; *memory_out says whether they are whole. */
static size_t fill_rows(pyro_recommendation *rows, const pyro_model_view *view, pyro_arena *arena,
                        bool *memory_out)
{
    size_t order[RULE_COUNT], count = 0;
    bool holds[RULE_COUNT];
    for (size_t i = 0; i < RULE_COUNT; i++)
        order[i] = i;
    qsort(order, RULE_COUNT, sizeof *order, compare_ranks);
    for (size_t i = 0; i < RULE_COUNT; i++) {
        size_t rule = order[i];
        holds[rule] = ask_rule(&rows[count], view, rule, arena, memory_out);
        count += holds[rule];
    }
    for (size_t i = 0; i < view->known->finding_count; i++) {
        bool is_covered = false;
        for (size_t rule = 0; rule < RULE_COUNT; rule++)
            is_covered |= holds[rule] &&
                          pyro_list_has(rules[rule].covers, view->known->findings[i].id);
        if (!is_covered)
            rows[count++] = from_finding(&view->known->findings[i], arena, memory_out);
    }
    return count;
}

int pyro_recommend(pyro_recommendations **out, const pyro_model_evidence *evidence,
                   pyro_error *error)
{
    pyro_model_view view = {.known = evidence};
    struct pyro_recommendations_store *store = calloc(1, sizeof *store);
    *out = NULL;
    if (!store)
        return pyro_fail_memory(error);
    pyro_arena_init(&store->arena);
    store->made.store = store;
    size_t most = RULE_COUNT + evidence->finding_count;
    pyro_recommendation *rows = pyro_arena_array(&store->arena, most, sizeof *rows);
    bool memory_out = !rows || !find_groups(&view, &store->arena);
    if (!memory_out)
        store->made.count = fill_rows(rows, &view, &store->arena, &memory_out);
    if (memory_out) {
        pyro_recommendations_free(&store->made);
        return pyro_fail_memory(error);
    }
    store->made.rows = rows;
    *out = &store->made;
    return PYRO_OK;
}

void pyro_recommendations_free(pyro_recommendations *recommendations)
{
    if (!recommendations)
        return;
    struct pyro_recommendations_store *store = recommendations->store;
    pyro_arena_free(&store->arena);
    free(store);
}

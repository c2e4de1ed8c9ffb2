/* Matches the layers of two models by name and computes what changed. */
#ifndef PYRO_GRAPH_COST_CHANGES_H
#define PYRO_GRAPH_COST_CHANGES_H

#include <pyrometer/cost.h>

/* A layer of either model; `before` or `after` is NULL if that model lacks the layer. */
typedef struct pyro_layer_change {
    const pyro_cost_row *before, *after;
    size_t position; /* in the graph, for changes of equal size */
} pyro_layer_change;

typedef struct pyro_layer_changes {
    pyro_layer_change *items; /* largest change of FLOPs first, then of memory */
    size_t count;
    size_t added, removed, changed; /* these sum to count */
    size_t identical;
} pyro_layer_changes;

/* The rows must outlive the changes, which point to them. */
int pyro_match_layers(pyro_layer_changes *out, const pyro_cost_row *before, size_t before_count,
                      const pyro_cost_row *after, size_t after_count, pyro_error *error);
void pyro_layer_changes_free(pyro_layer_changes *changes);

/* "added", "removed" or "changed". */
const char *pyro_change_kind(const pyro_layer_change *change);
const char *pyro_change_name(const pyro_layer_change *change);

/* after - before, with 0 for a missing layer; clamped to int64. */
int64_t pyro_change_i64(int64_t before, int64_t after);

#endif

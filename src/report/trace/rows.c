/* Ranks and names the rows of an analysis for the writers. */
#include "report/trace/rows.h"

#include <stdlib.h>

const char *pyro_layer_label(const pyro_layer_row *row)
{
    return row->path[0] != '\0' ? row->path : "(model)";
}

/* The sort key. It is computed once, because a comparison cannot know which clock counts. */
typedef struct ranked_layer {
    int64_t self_ns;
    const pyro_layer_row *row;
} ranked_layer;

static int by_self_time(const void *left, const void *right)
{
    const ranked_layer *a = left, *b = right;

    if (a->self_ns != b->self_ns)
        return a->self_ns < b->self_ns ? 1 : -1;
    return a->row < b->row ? -1 : (a->row > b->row ? 1 : 0);
}

const pyro_layer_row **pyro_layers_sorted(const pyro_analysis *analysis, size_t *count)
{
    bool on_host = pyro_trace_on_host(analysis);
    size_t kept = 0, all = analysis->layer_count;
    ranked_layer *ranked = all > 0 ? calloc(all, sizeof *ranked) : NULL;
    const pyro_layer_row **sorted = all > 0 ? calloc(all, sizeof *sorted) : NULL;

    *count = 0;
    if (!ranked || !sorted) {
        free(ranked);
        free(sorted);
        return NULL;
    }
    for (size_t i = 0; i < all; i++) {
        int64_t self_ns = pyro_layer_self_ns(&analysis->layers[i], on_host);

        if (self_ns > 0)
            ranked[kept++] = (ranked_layer){self_ns, &analysis->layers[i]};
    }
    qsort(ranked, kept, sizeof *ranked, by_self_time);
    for (size_t i = 0; i < kept; i++)
        sorted[i] = ranked[i].row;
    *count = kept;
    free(ranked);
    return sorted;
}

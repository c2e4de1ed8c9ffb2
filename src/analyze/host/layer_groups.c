/* Finds layers by common names, sums groups of layers, and ranks layers by their own time. */
#include <pyrometer/recommend.h>

#include "trace/trace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS_MAX = 5 };

/* Common names of the parts of a transformer, and what models call them. */
static const struct alias {
    const char *name, *parts[PARTS_MAX + 1];
} aliases[] = {
    {"attention", {"attention", "attn"}},
    {"mlp", {"mlp", "ffn", "feed_forward", "feedforward", "intermediate"}},
    {"embedding", {"embed", "wte", "wpe"}},
    {"norm", {"norm", "ln_"}},
};

static bool has_part(const pyro_layer_row *layer, const char *part)
{
    return strcasestr(layer->path, part) || strcasestr(layer->class_name, part);
}

static bool has_name(const pyro_layer_row *layer, const char *name)
{
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++) {
        if (strcasecmp(aliases[i].name, name) != 0)
            continue;
        for (const char *const *part = aliases[i].parts; *part; part++)
            if (has_part(layer, *part))
                return true;
        return false;
    }
    return has_part(layer, name);
}

size_t pyro_analysis_layers_named(const pyro_analysis *analysis, const char *name, size_t *out)
{
    size_t count = 0;

    for (size_t i = 0; i < analysis->layer_count; i++)
        if (has_name(&analysis->layers[i], name))
            out[count++] = i;
    return count;
}

static int64_t forward_ns(const pyro_analysis *analysis, size_t layer)
{
    return analysis->device_total_ns > 0 ? analysis->layers[layer].forward_device_ns
                                         : analysis->layers[layer].forward_host_ns;
}

static int compare_indices(const void *a, const void *b)
{
    const size_t *left = a, *right = b;

    return (*left > *right) - (*left < *right);
}

static bool has_ancestor(const pyro_analysis *analysis, size_t layer, const size_t *sorted,
                         size_t count)
{
    uint32_t parent = analysis->layers[layer].parent;

    while (parent != PYRO_NO_EVENT) {
        size_t index = parent;

        if (bsearch(&index, sorted, count, sizeof *sorted, compare_indices))
            return true;
        parent = analysis->layers[parent].parent;
    }
    return false;
}

pyro_layer_sum pyro_analysis_sum_layers(const pyro_analysis *analysis, const size_t *sorted,
                                        size_t count)
{
    pyro_layer_sum sum = {.on_device = analysis->device_total_ns > 0, .share = NAN};
    int64_t whole_ns = 0;

    for (size_t i = 0; i < analysis->layer_count; i++)
        if (analysis->layers[i].parent == PYRO_NO_EVENT)
            whole_ns += forward_ns(analysis, i);
    for (size_t i = 0; i < count; i++) {
        if (has_ancestor(analysis, sorted[i], sorted, count))
            continue;
        sum.calls += analysis->layers[sorted[i]].calls;
        sum.forward_ns += forward_ns(analysis, sorted[i]);
    }
    if (whole_ns > 0)
        sum.share = (double)sum.forward_ns / (double)whole_ns;
    return sum;
}

static int compare_shares(const void *a, const void *b)
{
    const pyro_layer_share *left = a, *right = b;

    if (left->own_ns != right->own_ns)
        return left->own_ns < right->own_ns ? 1 : -1;
    return (left->layer > right->layer) - (left->layer < right->layer);
}

static bool is_parent(const pyro_analysis *analysis, size_t layer)
{
    for (size_t i = 0; i < analysis->layer_count; i++)
        if (analysis->layers[i].parent == layer)
            return true;
    return false;
}

size_t pyro_analysis_layer_shares(const pyro_analysis *analysis, pyro_layer_share *out)
{
    bool on_device = analysis->device_total_ns > 0;
    int64_t whole_ns = 0;
    size_t count = 0;

    for (size_t i = 0; i < analysis->layer_count; i++) {
        const pyro_layer_row *layer = &analysis->layers[i];
        int64_t own_ns = on_device ? layer->forward_device_self_ns : layer->forward_host_self_ns;

        whole_ns += own_ns;
        if (own_ns > 0 || !is_parent(analysis, i))
            out[count++] = (pyro_layer_share){.layer = i, .own_ns = own_ns};
    }
    for (size_t i = 0; i < count && whole_ns > 0; i++)
        out[i].share = (double)out[i].own_ns / (double)whole_ns;
    qsort(out, count, sizeof *out, compare_shares);
    return count;
}

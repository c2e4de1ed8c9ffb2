/*
 * Finds attention that is written out: a product, pointwise work on the scores, softmax, again
 * pointwise work, and a second product. As one kernel the scores are never written.
 */
#include "fuse/groups.h"

#define MOST_STEPS 16

/* The kernel whose result the scores come from, or PYRO_NO_KERNEL: the only one of their size. */
static uint32_t source_of_scores(const pyro_groups *g, uint32_t kernel, int64_t elements)
{
    const pyro_kernel *reader = &g->kernels->items[kernel];
    uint32_t found = PYRO_NO_KERNEL;
    for (uint32_t i = 0; i < reader->use_count; i++) {
        const pyro_kernel_use *use = &g->kernels->uses[reader->first_use + i];
        if (use->source == PYRO_NO_KERNEL || use->elements != elements)
            continue;
        if (found != PYRO_NO_KERNEL && found != use->source)
            return PYRO_NO_KERNEL;
        found = use->source;
    }
    return found;
}

/* Whether only one kernel reads a value that is no result. */
static bool has_one_reader(const pyro_groups *g, uint32_t kernel)
{
    return g->kernels->items[kernel].reader_count == 1 && !g->kernels->items[kernel].escapes;
}

static bool is_pointwise(const pyro_groups *g, uint32_t kernel)
{
    return g->kernels->items[kernel].kind == PYRO_KERNEL_POINTWISE;
}

/* From the softmax up to the first product; the number of kernels, or 0. */
static size_t climb(const pyro_groups *g, uint32_t softmax, uint32_t chain[MOST_STEPS])
{
    int64_t elements = g->kernels->items[softmax].elements;
    uint32_t at = softmax;
    for (size_t count = 0; count < MOST_STEPS;) {
        at = source_of_scores(g, at, elements);
        if (at == PYRO_NO_KERNEL || !has_one_reader(g, at))
            return 0;
        chain[count++] = at;
        if (g->kernels->items[at].kind == PYRO_KERNEL_PRODUCT)
            return count;
        if (!is_pointwise(g, at))
            return 0;
    }
    return 0;
}

/* From the softmax down to the second product; returns the new length of the chain, or 0. */
static size_t descend(const pyro_groups *g, uint32_t softmax, uint32_t chain[], size_t count)
{
    int64_t elements = g->kernels->items[softmax].elements;
    uint32_t at = softmax;
    for (int steps = 0; steps < MOST_STEPS; steps++) {
        if (!has_one_reader(g, at))
            return 0;
        at = g->kernels->readers[g->kernels->items[at].first_reader];
        chain[count++] = at;
        if (g->kernels->items[at].kind == PYRO_KERNEL_PRODUCT)
            return count;
        if (!is_pointwise(g, at) || g->kernels->items[at].elements != elements)
            return 0;
    }
    return 0;
}

void pyro_fuse_attention(pyro_groups *groups)
{
    for (uint32_t k = 0; k < groups->kernels->count; k++) {
        uint32_t chain[2 * MOST_STEPS + 2];
        if (groups->kernels->items[k].kind != PYRO_KERNEL_SOFTMAX ||
            groups->kernels->items[k].elements <= 0)
            continue;
        size_t count = climb(groups, k, chain);
        if (count)
            count = descend(groups, k, chain, count);
        bool can_join = count > 0;
        uint32_t group = pyro_groups_of(groups, k);
        for (size_t i = 0; i < count && can_join; i++)
            can_join = pyro_groups_of(groups, chain[i]) == chain[i];
        for (size_t i = 0; i < count && can_join; i++) {
            uint32_t other = pyro_groups_of(groups, chain[i]);
            can_join = pyro_groups_can_join(groups, group, other);
            if (can_join)
                group = pyro_groups_join(groups, group, other, group);
        }
        if (can_join)
            groups->groups[group].core = PYRO_CORE_ATTENTION;
    }
}

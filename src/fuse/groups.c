/* Joins groups of kernels, and decides whether they may be joined. */
#include "fuse/groups.h"

#include "base/error.h"

#include <stdlib.h>

/* A search that sees more kernels gives up, and the groups stay apart. */
#define MOST_SEEN 20000
/* Compilers bound the size of a kernel too (Inductor: max_fusion_size). */
#define MOST_MEMBERS 64

static pyro_group_core core_of(pyro_kernel_kind kind)
{
    switch (kind) {
    case PYRO_KERNEL_POINTWISE:
    case PYRO_KERNEL_SCALE:
        return PYRO_CORE_POINTWISE;
    case PYRO_KERNEL_SOFTMAX:
    case PYRO_KERNEL_NORM:
    case PYRO_KERNEL_REDUCTION:
        return PYRO_CORE_ROWS;
    case PYRO_KERNEL_CONVOLUTION:
    case PYRO_KERNEL_PRODUCT:
        return PYRO_CORE_CONTRACTION;
    case PYRO_KERNEL_WINDOW:
        return PYRO_CORE_WINDOW;
    case PYRO_KERNEL_ATTENTION:
        return PYRO_CORE_ATTENTION;
    default:
        return PYRO_CORE_OPAQUE;
    }
}

int pyro_groups_init(pyro_groups *out, const pyro_kernels *kernels, pyro_error *error)
{
    size_t count = kernels->count + 1;
    *out = (pyro_groups){.kernels = kernels,
                         .parent = calloc(count, sizeof *out->parent),
                         .next = calloc(count, sizeof *out->next),
                         .tail = calloc(count, sizeof *out->tail),
                         .groups = calloc(count, sizeof *out->groups),
                         .seen = calloc(count, sizeof *out->seen),
                         .stack = calloc(count, sizeof *out->stack)};
    if (!out->parent || !out->next || !out->tail || !out->groups || !out->seen || !out->stack) {
        pyro_groups_free(out);
        return pyro_fail_memory(error);
    }
    for (uint32_t k = 0; k < kernels->count; k++) {
        const pyro_kernel *kernel = &kernels->items[k];
        pyro_group_core core = core_of(kernel->kind);
        out->parent[k] = out->tail[k] = k;
        out->next[k] = PYRO_NO_KERNEL;
        out->groups[k] = (pyro_group){.core = core,
                                      .elements = kernel->elements,
                                      .rows = kernel->rows,
                                      .first = k,
                                      .last = k,
                                      .members = 1,
                                      .contractions = core == PYRO_CORE_CONTRACTION};
    }
    return PYRO_OK;
}

void pyro_groups_free(pyro_groups *groups)
{
    free(groups->parent);
    free(groups->next);
    free(groups->tail);
    free(groups->groups);
    free(groups->seen);
    free(groups->stack);
    *groups = (pyro_groups){0};
}

uint32_t pyro_groups_of(const pyro_groups *groups, uint32_t kernel)
{
    while (groups->parent[kernel] != kernel) {
        groups->parent[kernel] = groups->parent[groups->parent[kernel]];
        kernel = groups->parent[kernel];
    }
    return kernel;
}

bool pyro_groups_keep(const pyro_groups *groups, uint32_t kernel, uint32_t group)
{
    const pyro_kernel *made = &groups->kernels->items[kernel];
    for (uint32_t i = 0; i < made->reader_count; i++)
        if (pyro_groups_of(groups, groups->kernels->readers[made->first_reader + i]) != group)
            return false;
    return !made->escapes;
}

/* Adds the groups that `group` reads to the stack, except `skipped` and what ended before `from` */
static uint32_t push_sources(pyro_groups *g, uint32_t group, uint32_t skipped, uint32_t from,
                             uint32_t depth)
{
    for (uint32_t k = group; k != PYRO_NO_KERNEL; k = g->next[k]) {
        const pyro_kernel *kernel = &g->kernels->items[k];
        for (uint32_t i = 0; i < kernel->use_count; i++) {
            uint32_t source = g->kernels->uses[kernel->first_use + i].source;
            uint32_t made = source == PYRO_NO_KERNEL ? PYRO_NO_KERNEL : pyro_groups_of(g, source);
            if (made == PYRO_NO_KERNEL || made == skipped || made == group ||
                g->seen[made] == g->search || g->groups[made].last < from)
                continue;
            g->seen[made] = g->search;
            g->stack[depth++] = made;
        }
    }
    return depth;
}

/* Whether `group` depends on `target` by way of a third group; true if that cannot be decided. */
static bool depends_around(pyro_groups *g, uint32_t group, uint32_t target)
{
    uint32_t from = g->groups[target].first, count = 0;
    g->search++;
    uint32_t depth = push_sources(g, group, target, from, 0);
    while (depth > 0) {
        uint32_t at = g->stack[--depth];
        if (++count > MOST_SEEN)
            return true;
        for (uint32_t k = at; k != PYRO_NO_KERNEL; k = g->next[k]) {
            const pyro_kernel *kernel = &g->kernels->items[k];
            for (uint32_t i = 0; i < kernel->use_count; i++) {
                uint32_t source = g->kernels->uses[kernel->first_use + i].source;
                if (source != PYRO_NO_KERNEL && pyro_groups_of(g, source) == target)
                    return true;
            }
        }
        depth = push_sources(g, at, target, from, depth);
    }
    return false;
}

bool pyro_groups_can_join(pyro_groups *groups, uint32_t a, uint32_t b)
{
    return a != b && groups->groups[a].members + groups->groups[b].members <= MOST_MEMBERS &&
           !depends_around(groups, a, b) && !depends_around(groups, b, a);
}

uint32_t pyro_groups_join(pyro_groups *groups, uint32_t a, uint32_t b, uint32_t core_of)
{
    pyro_group joined = groups->groups[core_of];
    const pyro_group *left = &groups->groups[a], *right = &groups->groups[b];
    joined.first = left->first < right->first ? left->first : right->first;
    joined.last = left->last > right->last ? left->last : right->last;
    joined.members = left->members + right->members;
    joined.contractions = left->contractions + right->contractions;
    joined.is_projections = left->is_projections || right->is_projections;
    joined.is_parallel = left->is_parallel || right->is_parallel;
    /* The list of members begins at the representative. */
    groups->next[groups->tail[a]] = b;
    groups->tail[a] = groups->tail[b];
    groups->parent[b] = a;
    groups->groups[a] = joined;
    return a;
}

/* Runs the passes of a strategy, and sums up what the groups read and write. */
#include "fuse/groups.h"

#include "base/containers/buf.h"
#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pyro_fusion_store {
    pyro_arena arena;
};

static const char *const strategy_names[] = {"none", "vertical", "horizontal", "max"};
static const char *const kind_names[] = {"single",      "convolution", "product", "attention",
                                         "projections", "parallel",    "norm",    "elementwise"};

const char *pyro_fuse_strategy_name(pyro_fuse_strategy strategy)
{
    return strategy_names[strategy];
}

int pyro_fuse_strategy_parse(pyro_fuse_strategy *out, const char *name, pyro_error *error)
{
    for (int i = PYRO_FUSE_NONE; i <= PYRO_FUSE_MAX; i++)
        if (strcmp(strategy_names[i], name) == 0) {
            *out = (pyro_fuse_strategy)i;
            return PYRO_OK;
        }
    return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                     "unknown strategy \"%.40s\" (one of: none, vertical, horizontal, max)", name);
}

const char *pyro_fused_kind_name(pyro_fused_kind kind)
{
    return kind_names[kind];
}

static pyro_fused_kind kind_of(const pyro_groups *g, uint32_t group)
{
    const pyro_group *one = &g->groups[group];
    if (g->next[group] == PYRO_NO_KERNEL)
        return PYRO_FUSED_SINGLE;
    switch (one->core) {
    case PYRO_CORE_ATTENTION:
        return PYRO_FUSED_ATTENTION;
    case PYRO_CORE_CONTRACTION:
        if (one->contractions > 1)
            return one->is_parallel ? PYRO_FUSED_PARALLEL : PYRO_FUSED_PROJECTIONS;
        for (uint32_t k = group; k != PYRO_NO_KERNEL; k = g->next[k])
            if (g->kernels->items[k].kind == PYRO_KERNEL_CONVOLUTION)
                return PYRO_FUSED_CONVOLUTION;
        return PYRO_FUSED_PRODUCT;
    case PYRO_CORE_ROWS:
        return PYRO_FUSED_NORM;
    default:
        return PYRO_FUSED_ELEMENTWISE;
    }
}

/* Whether a member before this one has read the same value from outside. */
static bool was_read(const pyro_groups *g, uint32_t group, uint32_t kernel,
                     const pyro_kernel_use *use)
{
    for (uint32_t k = group; k != kernel; k = g->next[k]) {
        const pyro_kernel *one = &g->kernels->items[k];
        for (uint32_t i = 0; i < one->use_count; i++) {
            const pyro_kernel_use *other = &g->kernels->uses[one->first_use + i];
            if (other->value == use->value ||
                (other->origin == use->origin && other->elements == use->elements &&
                 other->is_in_place && use->is_in_place))
                return true;
        }
    }
    return false;
}

/* Bytes that a member does not read: values from inside, and those that another one has read. */
static int64_t spared_reads(const pyro_groups *g, uint32_t group, uint32_t kernel)
{
    const pyro_kernel *one = &g->kernels->items[kernel];
    int64_t spared = 0;
    for (uint32_t i = 0; i < one->use_count; i++) {
        const pyro_kernel_use *use = &g->kernels->uses[one->first_use + i];
        bool is_inside = use->source != PYRO_NO_KERNEL && pyro_groups_of(g, use->source) == group;
        if (is_inside || was_read(g, group, kernel, use))
            spared += use->bytes;
    }
    return spared < one->read_bytes ? spared : one->read_bytes;
}

/* The longest path of modules that begins all of the members' layers. */
static const char *common_layer(pyro_arena *arena, const pyro_cost *cost, const pyro_fused_group *g)
{
    const char *first = cost->nodes[g->members[0]].layer;
    size_t length = strlen(first);
    for (size_t i = 1; i < g->member_count; i++) {
        const char *other = cost->nodes[g->members[i]].layer;
        size_t same = 0;
        while (same < length && first[same] == other[same])
            same++;
        bool ends = (first[same] == '\0' || first[same] == '.') &&
                    (other[same] == '\0' || other[same] == '.');
        while (!ends && same > 0 && first[--same] != '.')
            ;
        length = same;
    }
    return pyro_arena_text(arena, first, length);
}

static int by_number(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

static bool fill_group(pyro_fusion *out, pyro_fused_group *to, const pyro_groups *g, uint32_t group)
{
    size_t count = 0;
    for (uint32_t k = group; k != PYRO_NO_KERNEL; k = g->next[k])
        count += g->kernels->items[k].cost_node_count;
    uint32_t *members = pyro_arena_array(&out->store->arena, count, sizeof *members);
    *to = (pyro_fused_group){.kind = kind_of(g, group), .members = members};
    for (uint32_t k = group; members && k != PYRO_NO_KERNEL; k = g->next[k]) {
        const pyro_kernel *kernel = &g->kernels->items[k];
        int64_t before = kernel->read_bytes + kernel->written_bytes;
        int64_t written = pyro_groups_keep(g, k, group) ? 0 : kernel->written_bytes;
        for (uint32_t i = 0; i < kernel->cost_node_count; i++)
            members[to->member_count++] = kernel->cost_node + i;
        to->flops += kernel->flops;
        to->bytes_before += before;
        to->bytes_after += kernel->read_bytes - spared_reads(g, group, k) + written;
        to->times = kernel->times;
    }
    if (!members)
        return false;
    qsort(members, to->member_count, sizeof *members, by_number);
    to->layer = common_layer(&out->store->arena, out->cost, to);
    return to->layer != NULL;
}

static int by_first(const void *left, const void *right)
{
    const pyro_fused_group *a = left, *b = right;
    return by_number(&a->members[0], &b->members[0]);
}

static void finish_totals(pyro_fuse_totals *totals)
{
    totals->arithmetic_intensity = totals->bytes > 0 ? (double)totals->flops / (double)totals->bytes
                                                     : 0;
}

static int collect(pyro_fusion *out, const pyro_groups *g, pyro_error *error)
{
    const pyro_kernels *kernels = g->kernels;
    size_t count = 0;
    for (uint32_t k = 0; k < kernels->count; k++)
        count += pyro_groups_of(g, k) == k;
    out->groups = pyro_arena_array(&out->store->arena, count + 1, sizeof *out->groups);
    for (uint32_t k = 0; out->groups && k < kernels->count; k++) {
        if (pyro_groups_of(g, k) != k)
            continue;
        pyro_fused_group *group = &out->groups[out->group_count++];
        if (!fill_group(out, group, g, k))
            return pyro_fail_memory(error);
        out->before.flops += group->flops;
        out->before.bytes += group->bytes_before;
        out->after.bytes += group->bytes_after;
    }
    if (!out->groups)
        return pyro_fail_memory(error);
    qsort(out->groups, out->group_count, sizeof *out->groups, by_first);
    out->after.flops = out->before.flops;
    out->before.kernels = (int64_t)kernels->count + kernels->body_kernels;
    out->after.kernels = (int64_t)out->group_count + kernels->body_kernels;
    finish_totals(&out->before);
    finish_totals(&out->after);
    return PYRO_OK;
}

static void run_passes(pyro_groups *groups, const pyro_cost *cost, pyro_fuse_strategy strategy)
{
    bool is_vertical = strategy == PYRO_FUSE_VERTICAL || strategy == PYRO_FUSE_MAX;
    if (is_vertical)
        pyro_fuse_attention(groups);
    if (is_vertical)
        pyro_fuse_vertical(groups, strategy == PYRO_FUSE_MAX);
    if (strategy == PYRO_FUSE_HORIZONTAL || strategy == PYRO_FUSE_MAX)
        pyro_fuse_horizontal(groups, cost);
}

int pyro_fuse(pyro_fusion **out, const pyro_cost *cost, pyro_fuse_strategy strategy,
              pyro_error *error)
{
    pyro_kernels kernels = {0};
    pyro_groups groups = {0};
    pyro_fusion *fusion = calloc(1, sizeof *fusion);
    struct pyro_fusion_store *store = calloc(1, sizeof *store);
    *out = NULL;
    if (!fusion || !store) {
        free(fusion);
        free(store);
        return pyro_fail_memory(error);
    }
    pyro_arena_init(&store->arena);
    *fusion = (pyro_fusion){.cost = cost, .strategy = strategy, .store = store};
    int status = pyro_kernels_find(&kernels, cost, error);
    if (status == PYRO_OK)
        status = pyro_groups_init(&groups, &kernels, error);
    if (status == PYRO_OK) {
        run_passes(&groups, cost, strategy);
        status = collect(fusion, &groups, error);
    }
    pyro_groups_free(&groups);
    pyro_kernels_free(&kernels);
    if (status == PYRO_OK)
        *out = fusion;
    else
        pyro_fusion_free(fusion);
    return status;
}

void pyro_fusion_free(pyro_fusion *fusion)
{
    if (!fusion)
        return;
    pyro_arena_free(&fusion->store->arena);
    free(fusion->store);
    free(fusion);
}

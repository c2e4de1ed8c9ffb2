/* Derives hardware advice from the distribution of the work. Each sentence has its share. */
#include "base/error.h"
#include "graph/cost/cost.h"
#include <string.h>

enum { MAX_ADVICE = 8, CONVOLUTION_PERCENT = 70, MATMUL_PERCENT = 50, MOST_PERCENT = 50 };

static double share_of(const pyro_cost *cost, const char *const *categories, size_t count)
{
    double part = 0, whole = (double)cost->total.work.flops;
    for (size_t n = 0; n < cost->node_count; n++)
        for (size_t c = 0; c < count; c++)
            if (!strcmp(cost->nodes[n].category, categories[c]))
                part += (double)cost->nodes[n].work.flops;
    return whole > 0 ? 100 * part / whole : 0;
}

static bool advise(pyro_cost *cost, const char *text)
{
    if (text)
        cost->advice[cost->advice_count++] = text;
    return text != NULL;
}

/* Says what moves the bytes of a memory-bound model, and how to move fewer. */
static const char *memory_text(pyro_cost *cost)
{
    double moved = (double)cost->total.memory_bytes;
    double weights = moved > 0 ? 100 * (double)cost->total.work.weight_read_bytes / moved : 0;
    bool narrow = pyro_dtype_bytes(pyro_dtype_from_name(cost->dtype)) <= 1;
    pyro_decode decode;
    double cache = pyro_cost_decode(cost, &decode) && moved > 0
                       ? 100 * (double)decode.cache_read_bytes / moved
                       : 0;
    const char *remedy = weights > MOST_PERCENT ? "; a larger batch shares them among more samples"
                         : cache > weights
                             ? "; a larger batch does not share the cache among its sequences"
                             : "";
    return pyro_arena_format(&cost->arena,
                             "memory-bound as a whole (%.1f FLOPs per byte, ridge %.0f): bandwidth "
                             "matters more than FLOP/s%s; weights are %.0f%% of the traffic%s",
                             cost->total.arithmetic_intensity, cost->options.ridge,
                             narrow ? "" : ", and a smaller element type moves fewer bytes",
                             weights, remedy);
}

static const char *compute_text(pyro_cost *cost)
{
    bool wide = pyro_dtype_bytes(pyro_dtype_from_name(cost->dtype)) > 2;
    return pyro_arena_format(&cost->arena,
                             "compute-bound as a whole (%.1f FLOPs per byte, ridge %.0f): FLOP/s "
                             "matter more than bandwidth%s",
                             cost->total.arithmetic_intensity, cost->options.ridge,
                             wide ? ", and most hardware has more of them for 16-bit types" : "");
}

/* Says what most FLOPs are. The bound of the whole model decides the advice on hardware, below. */
static bool advise_by_kind(pyro_cost *cost)
{
    static const char *const convolutions[] = {"convolution"};
    static const char *const products[] = {"matmul", "attention", "recurrent"};
    static const char *const attention[] = {"attention"};
    double convolution = share_of(cost, convolutions, 1);
    double product = share_of(cost, products, 3);
    bool good = true;
    if (convolution > CONVOLUTION_PERCENT)
        good = advise(cost, pyro_arena_format(
                                &cost->arena,
                                "convolution-heavy (%.1f%% of the FLOPs, more than %d%%): the "
                                "elementwise work around convolutions can be fused into them, and "
                                "they lose little accuracy in int8",
                                convolution, CONVOLUTION_PERCENT));
    if (good && product > MATMUL_PERCENT)
        good = advise(cost, pyro_arena_format(
                                &cost->arena,
                                "transformer-like (matrix products are %.1f%% of the FLOPs, more "
                                "than %d%%; fused attention %.1f%%)",
                                product, MATMUL_PERCENT, share_of(cost, attention, 1)));
    return good;
}

int pyro_cost_advise(pyro_cost *cost, pyro_error *error)
{
    bool good = (cost->advice = pyro_arena_array(&cost->arena, MAX_ADVICE, sizeof *cost->advice));
    good = good && advise_by_kind(cost);
    if (good && cost->total.bound == PYRO_BOUND_MEMORY)
        good = advise(cost, memory_text(cost));
    else if (good && cost->total.bound == PYRO_BOUND_COMPUTE)
        good = advise(cost, compute_text(cost));
    return good ? PYRO_OK : pyro_fail_memory(error);
}

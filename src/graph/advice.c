/* What the distribution of the work suggests about hardware, each with the share that led to it. */
#include "base/error.h"
#include "graph/cost.h"
#include <string.h>

enum { MAX_ADVICE = 8, CONVOLUTION_PERCENT = 70, MATMUL_PERCENT = 50 };

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

static const char *memory_text(pyro_cost *cost)
{
    double weights = (double)cost->total.work.weight_read_bytes;
    double share = cost->total.memory_bytes ? 100 * weights / (double)cost->total.memory_bytes : 0;
    return pyro_arena_format(
        &cost->arena,
        "memory-bound as a whole (%.1f FLOPs a byte, ridge %.0f): bandwidth matters most, and a "
        "smaller element type moves fewer bytes; weights are %.0f%% of the traffic%s",
        cost->total.arithmetic_intensity, cost->options.ridge, share,
        share > 50 ? ", so a larger batch shares them among more samples" : "");
}

int pyro_cost_advise(pyro_cost *cost, pyro_error *error)
{
    static const char *const convolutions[] = {"convolution"};
    static const char *const products[] = {"matmul", "attention", "recurrent"};
    static const char *const attention[] = {"attention"};
    double convolution = share_of(cost, convolutions, 1);
    double product = share_of(cost, products, 3);
    bool good = (cost->advice = pyro_arena_array(&cost->arena, MAX_ADVICE, sizeof *cost->advice));
    if (good && convolution > CONVOLUTION_PERCENT)
        good = advise(cost, pyro_arena_format(
                                &cost->arena,
                                "convolution-heavy (%.1f%% of the FLOPs, more than %d%%): hardware "
                                "with many FLOP/s pays, int8 works well, and the elementwise work "
                                "around convolutions can be fused into them",
                                convolution, CONVOLUTION_PERCENT));
    if (good && product > MATMUL_PERCENT)
        good = advise(
            cost, pyro_arena_format(&cost->arena,
                                    "transformer-like (matrix products are %.1f%% of the FLOPs, "
                                    "more than %d%%; fused attention %.1f%%): high bandwidth "
                                    "pays at small batches, batching is critical",
                                    product, MATMUL_PERCENT, share_of(cost, attention, 1)));
    if (good && cost->total.bound == PYRO_BOUND_MEMORY)
        good = advise(cost, memory_text(cost));
    return good ? PYRO_OK : pyro_fail_memory(error);
}

/* Applies the conventions: how the cost of a call becomes FLOPs. */
#include "base/checked.h"
#include "base/error.h"
#include "graph/cost/cost.h"
#include <string.h>

static const struct {
    const char *name, *summary;
} conventions[PYRO_CONVENTION_COUNT] = {
    {"full", "FLOPs = 2 x MACs + elementwise, norm, pooling and activation work"},
    {"torch", "FLOPs = 2 x MACs, of the operators that torch.utils.flop_counter counts"},
    {"fvcore", "FLOPs as fvcore counts: MACs plus its own rules for norms, no fused attention"},
    {"torchvision", "FLOPs as torchvision publishes: MACs of convolutions and matrix products"},
};

const char *pyro_convention_name(pyro_convention convention)
{
    return conventions[convention].name;
}

const char *pyro_convention_summary(pyro_convention convention)
{
    return conventions[convention].summary;
}

int pyro_convention_parse(pyro_convention *out, const char *name, pyro_error *error)
{
    for (int i = 0; i < PYRO_CONVENTION_COUNT; i++)
        if (!strcmp(conventions[i].name, name)) {
            *out = (pyro_convention)i;
            return PYRO_OK;
        }
    return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                     "unknown convention '%s'; choose full, torch, fvcore or torchvision", name);
}

bool pyro_convention_flops(pyro_convention convention, const pyro_price *price, int64_t *flops)
{
    switch (convention) {
    case PYRO_CONVENTION_TORCH:
        return pyro_mul_i64(price->torch_macs, 2, flops);
    case PYRO_CONVENTION_FVCORE:
        *flops = price->fvcore_flops;
        return true;
    case PYRO_CONVENTION_TORCHVISION:
        *flops = price->torch_macs;
        return true;
    default:
        return pyro_mul_i64(price->macs, 2, flops) &&
               pyro_add_i64(*flops, price->other_flops, flops);
    }
}

const char *pyro_bound_name(pyro_bound bound)
{
    static const char *const names[] = {"none", "memory-bound", "compute-bound"};
    return names[bound];
}

const char *pyro_band_name(double arithmetic_intensity)
{
    if (arithmetic_intensity < 10)
        return "memory-bound";
    if (arithmetic_intensity < 50)
        return "balanced";
    return arithmetic_intensity <= 100 ? "compute-bound" : "strongly compute-bound";
}

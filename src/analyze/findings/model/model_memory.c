/* Detects recommendations about memory: weights, activations, caches, allocators. */
#include "analyze/findings/model/model.h"
#include "graph/op_groups.h"

#include <inttypes.h>
#include <math.h>

static double mib(int64_t bytes)
{
    return pyro_mebibytes((double)bytes);
}

MODEL_DETECTOR(quantisation)
{
    const double saved_share = 0.75; /* 8 bits in place of 32 */
    const pyro_model_evidence *known = view->known;
    if (!pyro_model_is_precision(known, "fp32") || known->on_gpu ||
        !pyro_model_is_kind(known, "module huggingface"))
        return false;
    double share = pyro_model_share(view, PYRO_GROUP_PRODUCT).share;
    advice->seen.value = share;
    advice->gain = pyro_evidence_text(&advice->seen,
                                      "up to %.1f MiB of memory (estimate); check the accuracy",
                                      pyro_mebibytes((double)known->weight_bytes * saved_share));
    advice->variant = "precision=int8";
    pyro_evidence_say(&advice->seen,
                      "%.0f%% of the operators' time is in linear layers; weights are %.1f MiB",
                      share * 100, mib(known->weight_bytes));
    return true;
}

MODEL_DETECTOR(weight_memory)
{
    const pyro_model_evidence *known = view->known;
    if (known->weight_bytes <= 0 || known->device_bytes <= 0 ||
        pyro_model_is_precision(known, "int8"))
        return false;
    double saved_share = pyro_model_is_precision(known, "fp32") ? 0.75 : 0.5;
    advice->seen.value = (double)known->weight_bytes / (double)known->device_bytes;
    advice->gain = pyro_evidence_text(&advice->seen, "%.1f MiB (estimate); check the accuracy",
                                      pyro_mebibytes((double)known->weight_bytes * saved_share));
    pyro_evidence_say(&advice->seen, "weights %.1f MiB of %.1f MiB, activations %.1f MiB",
                      mib(known->weight_bytes), mib(known->device_bytes),
                      mib(known->activation_bytes));
    return true;
}

MODEL_DETECTOR(pruning)
{
    const pyro_model_evidence *known = view->known;
    if (isnan(known->zero_share))
        return false;
    advice->seen.value = known->zero_share;
    advice->gain = pyro_evidence_text(
        &advice->seen, "up to %.1f MiB and %.0f%% of the products (estimate)",
        pyro_mebibytes((double)known->weight_bytes * known->zero_share), known->zero_share * 100);
    pyro_evidence_say(&advice->seen, "%.0f%% of the weights are 0 and are still multiplied",
                      known->zero_share * 100);
    return true;
}

MODEL_DETECTOR(cache_size)
{
    const pyro_model_evidence *known = view->known;
    if (known->cache_bytes <= 0 || known->weight_bytes <= 0)
        return false;
    advice->seen.value = (double)known->cache_bytes / (double)known->weight_bytes;
    advice->gain = pyro_evidence_text(&advice->seen, "%.1f MiB with 8 bits (estimate)",
                                      pyro_mebibytes((double)known->cache_bytes / 2));
    pyro_evidence_say(&advice->seen,
                      "the keys and values of the tokens take %.1f MiB, weights %.1f MiB",
                      mib(known->cache_bytes), mib(known->weight_bytes));
    return true;
}

MODEL_DETECTOR(gradient_checkpointing)
{
    const pyro_model_evidence *known = view->known;
    if (known->weight_bytes <= 0 || known->activation_bytes <= 0)
        return false;
    advice->seen.value = (double)known->activation_bytes / (double)known->weight_bytes;
    advice->gain =
        "most activations kept for the backward pass, at the cost of a second forward (estimate)";
    pyro_evidence_say(&advice->seen, "activations %.1f MiB, weights %.1f MiB",
                      mib(known->activation_bytes), mib(known->weight_bytes));
    return true;
}

MODEL_DETECTOR(model_sharding)
{
    const pyro_model_evidence *known = view->known;
    if (known->weight_bytes <= 0 || known->device_bytes <= 0)
        return false;
    double held = (double)known->weight_bytes + (double)known->activation_bytes;
    advice->seen.value = held / (double)known->device_bytes;
    advice->gain = "fits (estimate)";
    pyro_evidence_say(&advice->seen, "weights %.1f MiB and activations %.1f MiB, of %.1f MiB",
                      mib(known->weight_bytes), mib(known->activation_bytes),
                      mib(known->device_bytes));
    return true;
}

/* Total allocated bytes per byte of peak: how often the same memory is allocated again. */
MODEL_DETECTOR(memory_pooling)
{
    enum { FEWEST_ALLOCATIONS = 100 };
    const pyro_model_evidence *known = view->known;
    if (known->activation_bytes <= 0 || known->allocations < FEWEST_ALLOCATIONS)
        return false;
    advice->seen.value = (double)known->allocated_bytes / (double)known->activation_bytes;
    advice->gain = "not estimated";
    advice->advice = known->on_gpu ? "use CUDA graphs, which keep their memory, or torch.compile"
                                   : "use an allocator that keeps blocks (preload jemalloc or "
                                     "tcmalloc), or torch.compile";
    pyro_evidence_say(&advice->seen,
                      "%" PRId64 " allocations per call, in total %.0f times the peak",
                      known->allocations, advice->seen.value);
    return true;
}

/* On a GPU the peak counts allocated memory, on the CPU all resident memory. */
static double unused_bytes(const pyro_model_evidence *known)
{
    double share = known->fragmentation, peak = (double)known->peak_bytes;

    if (isnan(share) || share >= 1)
        return 0;
    return known->on_gpu ? peak / (1 - share) * share : peak * share;
}

MODEL_DETECTOR(unused_memory)
{
    enum { FEWEST_BYTES = 64 << 20 };
    const pyro_model_evidence *known = view->known;
    double unused = unused_bytes(known);
    if (unused < FEWEST_BYTES)
        return false;
    advice->seen.value = known->fragmentation;
    advice->gain = pyro_evidence_text(&advice->seen, "%.1f MiB (estimate)", mib(unused));
    advice->advice =
        known->on_gpu
            ? "set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, and keep "
              "sizes the same"
            : "preload jemalloc or tcmalloc (LD_PRELOAD), or set MALLOC_TRIM_THRESHOLD_=131072";
    pyro_evidence_say(&advice->seen, "%.1f MiB are held but unused, %.0f%%", mib(unused),
                      known->fragmentation * 100);
    return true;
}

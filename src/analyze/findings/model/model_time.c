/* Detects recommendations about time: batches, precision, operators, threads, stages around the
 * model. */
#include "analyze/findings/model/batches.h"
#include "analyze/findings/model/model.h"
#include "graph/op_groups.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double percent(double share)
{
    return share * 100;
}

static int compare_batches(const void *a, const void *b)
{
    int64_t left = ((const pyro_batch_time *)a)->batch_size;
    int64_t right = ((const pyro_batch_time *)b)->batch_size;
    return (left > right) - (left < right);
}

/* "batch 1: 10 ms, batch 2: 18 ms". */
static const char *tell_batches(pyro_advice *advice, const pyro_model_evidence *known)
{
    pyro_arena *arena = advice->seen.arena;
    pyro_batch_time *sorted = pyro_arena_array(arena, known->batch_count, sizeof *sorted);
    const char *text = "";
    advice->seen.memory_out |= !sorted;
    if (!sorted)
        return text;
    memcpy(sorted, known->batches, known->batch_count * sizeof *sorted);
    qsort(sorted, known->batch_count, sizeof *sorted, compare_batches);
    for (size_t i = 0; i < known->batch_count; i++)
        if (sorted[i].call_ms > 0)
            text = pyro_evidence_text(&advice->seen, "%s%sbatch %" PRId64 ": %.3g ms", text,
                                      text[0] ? ", " : "", sorted[i].batch_size, sorted[i].call_ms);
    return text;
}

static bool see_best_batch(const pyro_model_view *view, pyro_advice *advice, pyro_best_batch *best)
{
    const pyro_model_evidence *known = view->known;
    if (!pyro_find_best_batch(best, known->batches, known->batch_count, known->batch_size))
        return false;
    advice->seen.value = best->gain;
    pyro_evidence_say(&advice->seen, "%s%s", tell_batches(advice, known),
                      best->is_largest ? "; larger ones were not measured" : "");
    return true;
}

MODEL_DETECTOR(batch_size)
{
    pyro_best_batch best;
    if (!see_best_batch(view, advice, &best))
        return false;
    advice->gain = pyro_evidence_text(&advice->seen, "%.0f%% throughput (measured)",
                                      percent(best.gain));
    advice->variant = pyro_evidence_text(&advice->seen, "batch=%" PRId64, best.batch_size);
    advice->advice = pyro_evidence_text(&advice->seen,
                                        "increase the batch size from %" PRId64 " to %" PRId64
                                        "; benchmark() finds the knee",
                                        view->known->batch_size, best.batch_size);
    return true;
}

MODEL_DETECTOR(dynamic_batching)
{
    enum { FEW_REQUESTS = 4 };
    pyro_best_batch best;
    if (view->known->batch_size > FEW_REQUESTS || !see_best_batch(view, advice, &best))
        return false;
    advice->gain = pyro_evidence_text(
        &advice->seen, "%.0f%% throughput with %" PRId64 " requests at once (measured)",
        percent(best.gain), best.batch_size);
    return true;
}

/* "up to 30% of the time (estimate)". */
static const char *tell_gain(pyro_advice *advice, double share)
{
    return pyro_evidence_text(&advice->seen, "up to %.0f%% of the time (estimate)", percent(share));
}

MODEL_DETECTOR(gpu_use)
{
    enum { BUSY_HOST_PERCENT = 90, IDLE_GPU_PERCENT = 10 };
    const pyro_model_evidence *known = view->known;
    if (!known->on_gpu || isnan(known->gpu_percent))
        return false;
    advice->seen.value = 1 - known->gpu_percent / 100;
    advice->gain = tell_gain(advice, advice->seen.value);
    pyro_evidence_say(&advice->seen, "the GPU is busy %.0f%% of the time", known->gpu_percent);
    if (isnan(known->cpu_percent))
        return true;
    pyro_evidence_say(&advice->seen, "%s, processors %.0f%%", advice->seen.text,
                      known->cpu_percent);
    if (known->cpu_percent >= BUSY_HOST_PERCENT && known->gpu_percent < IDLE_GPU_PERCENT)
        advice->advice = "the host delays the GPU: move work to the GPU, or use CUDA graphs or "
                         "torch.compile";
    return true;
}

MODEL_DETECTOR(precision)
{
    const pyro_model_evidence *known = view->known;
    if (!pyro_model_is_precision(known, "fp32") || pyro_model_is_kind(known, "onnx callable") ||
        !known->half_type)
        return false;
    pyro_group_share products = pyro_model_share(view, PYRO_GROUP_CONTRACTION);
    advice->seen.value = products.share;
    advice->gain = tell_gain(advice, products.share / 2);
    advice->variant = pyro_evidence_text(&advice->seen, "precision=%s", known->half_type);
    advice->advice = pyro_evidence_text(&advice->seen, "use precision=\"%s\"", known->half_type);
    pyro_evidence_say(&advice->seen,
                      "%.0f%% of the operators' time is in %" PRId64
                      " products and convolutions; %s",
                      percent(products.share), products.calls,
                      known->half_type_reason ? known->half_type_reason : "");
    return true;
}

MODEL_DETECTOR(operator_fusion)
{
    enum { FEWEST_CALLS = 5 };
    pyro_group_share fusible = pyro_model_share(view, PYRO_GROUP_FUSIBLE);
    if (fusible.calls < FEWEST_CALLS)
        return false;
    advice->seen.value = fusible.share;
    advice->gain = tell_gain(advice, fusible.share / 2);
    advice->variant = "compile";
    pyro_evidence_say(&advice->seen,
                      "%.0f%% of the operators' time is in %" PRId64 " elementwise and norm calls",
                      percent(fusible.share), fusible.calls);
    return true;
}

/* On a GPU, the findings about launches cover this. */
MODEL_DETECTOR(dispatch)
{
    const pyro_model_evidence *known = view->known;
    if (known->on_gpu || !pyro_model_is_kind(known, "module huggingface"))
        return false;
    /* A model that waits is not small. */
    double share = fmax(0, known->outside_share - pyro_model_waiting_share(known));
    advice->seen.value = share;
    advice->gain = tell_gain(advice, share);
    advice->variant = "compile";
    pyro_evidence_say(&advice->seen,
                      "%.0f%% of a call is spent outside operators, in Python and dispatch",
                      percent(share));
    return true;
}

MODEL_DETECTOR(waiting)
{
    double share = pyro_model_waiting_share(view->known);
    advice->seen.value = share;
    advice->gain = tell_gain(advice, share);
    pyro_evidence_say(&advice->seen, "no thread of this process computes during %.0f%% of a call",
                      percent(share));
    return true;
}

/* True when the class of a layer begins with the prefix. */
static bool has_layer(const pyro_model_evidence *known, const char *prefix)
{
    for (size_t i = 0; i < known->layer_class_count; i++)
        if (!strncmp(known->layer_classes[i], prefix, strlen(prefix)))
            return true;
    return false;
}

static bool has_class(const pyro_model_evidence *known, const char *name)
{
    for (size_t i = 0; i < known->layer_class_count; i++)
        if (!strcmp(known->layer_classes[i], name))
            return true;
    return false;
}

MODEL_DETECTOR(norm_folding)
{
    if (!pyro_model_is_kind(view->known, "module") || !has_layer(view->known, "Conv"))
        return false;
    pyro_group_share norms = pyro_model_share(view, PYRO_GROUP_BATCH_NORM);
    advice->seen.value = norms.share;
    advice->gain = tell_gain(advice, norms.share);
    advice->variant = "fold";
    pyro_evidence_say(&advice->seen, "%.0f%% of the operators' time is in %" PRId64 " batch norms",
                      percent(norms.share), norms.calls);
    return true;
}

MODEL_DETECTOR(memory_layout)
{
    const pyro_model_evidence *known = view->known;
    if (!has_class(known, "Conv2d") || known->channels_last ||
        !pyro_model_is_kind(known, "module huggingface"))
        return false;
    pyro_group_share convolutions = pyro_model_share(view, PYRO_GROUP_CONVOLUTION);
    advice->seen.value = convolutions.share;
    advice->gain = "not estimated";
    advice->variant = "channels_last";
    pyro_evidence_say(&advice->seen, "%.0f%% of the operators' time is in %" PRId64 " convolutions",
                      percent(convolutions.share), convolutions.calls);
    return true;
}

MODEL_DETECTOR(attention)
{
    if (!view->known->attention || strcmp(view->known->attention, "eager") != 0)
        return false;
    pyro_group_share scores = pyro_model_share(view, PYRO_GROUP_SCORES);
    advice->seen.value = scores.share;
    advice->gain = pyro_evidence_text(&advice->seen,
                                      "up to %.0f%% of the time, and the score matrix (estimate)",
                                      percent(scores.share / 2));
    advice->variant = "attention=sdpa";
    pyro_evidence_say(&advice->seen,
                      "attention is not fused: %.0f%% of the operators' time is in "
                      "%" PRId64 " products and softmaxes",
                      percent(scores.share), scores.calls);
    return true;
}

MODEL_DETECTOR(cache_off)
{
    const pyro_model_evidence *known = view->known;
    if (known->uses_cache != 0 || !(known->first_token_ms > 0) || !(known->token_ms > 0))
        return false;
    advice->seen.value = 1 - known->token_ms / known->first_token_ms;
    advice->gain = pyro_evidence_text(&advice->seen, "%.0f%% of the time per token (measured)",
                                      percent(advice->seen.value));
    pyro_evidence_say(&advice->seen,
                      "config.use_cache is off: a token takes %.3g ms without the cache and %.3g "
                      "ms with it",
                      known->first_token_ms, known->token_ms);
    return true;
}

/* Shared by both rows about the number of threads. `ratio` is the larger of threads and processors
 * over the other. */
static bool tell_threads(const pyro_model_view *view, pyro_advice *advice, double ratio,
                         const char *verb)
{
    const pyro_model_evidence *known = view->known;
    if (known->on_gpu)
        return false;
    advice->seen.value = ratio;
    advice->gain = "not estimated";
    advice->variant = pyro_evidence_text(&advice->seen, "threads=%" PRId64, known->usable_cpus);
    advice->advice = pyro_evidence_text(&advice->seen, "%s torch.set_num_threads() to %" PRId64,
                                        verb, known->usable_cpus);
    pyro_evidence_say(&advice->seen, "%" PRId64 " threads on %" PRId64 " usable processors",
                      known->threads, known->usable_cpus);
    return true;
}

MODEL_DETECTOR(more_threads)
{
    double threads = (double)view->known->threads, usable = (double)view->known->usable_cpus;
    return tell_threads(view, advice, usable / fmax(threads, 1), "raise");
}

MODEL_DETECTOR(fewer_threads)
{
    double threads = (double)view->known->threads, usable = (double)view->known->usable_cpus;
    return tell_threads(view, advice, threads / fmax(usable, 1), "lower");
}

/* Threads of a call that waits are idle, however many they are. */
MODEL_DETECTOR(idle_threads)
{
    const pyro_model_evidence *known = view->known;
    if (known->on_gpu || isnan(known->cpu_percent) || known->threads <= 1 ||
        known->threads > known->usable_cpus ||
        pyro_model_waiting_share(known) >= pyro_threshold_of_waiting())
        return false;
    double used = known->cpu_percent / 100;
    int64_t fewer = (int64_t)fmax(1, rint(used));
    advice->seen.value = 1 - known->cpu_percent / (100 * (double)known->threads);
    advice->gain = "processors freed for other copies of the model (estimate)";
    advice->variant = pyro_evidence_text(&advice->seen, "threads=%" PRId64, fewer);
    advice->advice = pyro_evidence_text(&advice->seen,
                                        "torch.set_num_threads(%" PRId64
                                        "), and one copy of the model per free processor, or a "
                                        "larger batch",
                                        fewer);
    pyro_evidence_say(&advice->seen, "%" PRId64 " threads use %.1f processors", known->threads,
                      used);
    return true;
}

/* On a GPU the bandwidth is known, and a finding covers this. */
MODEL_DETECTOR(low_intensity)
{
    const pyro_model_evidence *known = view->known;
    if (known->on_gpu || known->flops <= 0 || known->moved_bytes <= 0)
        return false;
    double intensity = (double)known->flops / (double)known->moved_bytes;
    advice->seen.value = 1 / intensity;
    advice->gain = "half of the bytes with 16-bit types (estimate)";
    pyro_evidence_say(&advice->seen, "%.2g FLOPs per byte moved; %.1f MiB per call", intensity,
                      pyro_mebibytes((double)known->moved_bytes));
    return true;
}

MODEL_DETECTOR(high_intensity)
{
    const double least_share = 0.8;
    const pyro_model_evidence *known = view->known;
    pyro_group_share products = pyro_model_share(view, PYRO_GROUP_CONTRACTION);
    if (known->flops <= 0 || known->moved_bytes <= 0 || products.share < least_share ||
        known->batch_size < 1)
        return false;
    double rate = known->call_ms > 0 ? (double)known->flops / (known->call_ms / 1e3) : 0;
    advice->seen.value = (double)known->flops / (double)known->moved_bytes;
    advice->gain = "as much time as the removed FLOPs take (estimate)";
    pyro_evidence_say(&advice->seen,
                      "%.0f FLOPs per byte, %.0f%% of the time is in products; reaches %.3g "
                      "GFLOP/s",
                      advice->seen.value, percent(products.share), rate / 1e9);
    return true;
}

static bool tell_stage(const pyro_model_view *view, pyro_advice *advice, double part_ms)
{
    double whole_ms = view->known->end_to_end_ms;
    if (!(whole_ms > 0) || isnan(part_ms))
        return false;
    advice->seen.value = fmin(part_ms / whole_ms, 1);
    advice->gain = tell_gain(advice, advice->seen.value);
    pyro_evidence_say(&advice->seen, "%.3g of %.3g ms end to end", part_ms, whole_ms);
    return true;
}

MODEL_DETECTOR(preprocessing)
{
    return tell_stage(view, advice, view->known->preprocess_ms);
}

MODEL_DETECTOR(postprocessing)
{
    return tell_stage(view, advice, view->known->postprocess_ms);
}

MODEL_DETECTOR(disk_reads)
{
    const pyro_model_evidence *known = view->known;
    advice->seen.value = (double)known->disk_read_bytes / fmax((double)known->timed_calls, 1);
    advice->gain = "not estimated";
    pyro_evidence_say(&advice->seen, "%.1f MiB were read from disk in %" PRId64 " calls",
                      pyro_mebibytes((double)known->disk_read_bytes), known->timed_calls);
    return true;
}

/*
 * Learns from a trace. The outermost op with work owns the time of everything below it, as the nodes
 * of a graph do. An op with given shapes is one sample, its median time, so that a loop of a thousand
 * steps counts no more than one step.
 */
#include "predict/samples.h"

#include "analyze/analyze.h"
#include "analyze/prices.h"
#include "analyze/signature.h"
#include "base/error.h"
#include "graph/op_groups.h"
#include "graph/shapes/shapes.h"
#include "hardware/hardware.h"
#include "predict/chip_of_trace.h"
#include "predict/describe.h"
#include "predict/owned_times.h"
#include "predict/peaks.h"

#include <stdlib.h>
#include <string.h>

/* A shorter time than the peak rate allows by more than this is an error of the trace. */
#define TOLERANCE 1.05

typedef struct learner {
    const pyro_trace *trace;
    const pyro_joins *joins;
    pyro_analysis_context context;
    const pyro_chip *chip; /* NULL: a processor */
    bool on_device;
    pyro_owned_times times;
    pyro_op_index index;
    pyro_signature *signature;
    pyro_efficiency_table *table;
    pyro_learnt *learnt;
    pyro_error *error;
} learner;

static bool describe_kind(learner *l, const pyro_op_kind *kind, struct pyro_op_work *work)
{
    const pyro_trace *trace = l->trace;
    pyro_call *call = &l->signature->call;
    pyro_output output;
    pyro_price price;
    const pyro_op *op = kind->dims == PYRO_NO_ID
                            ? NULL
                            : pyro_op_find_recorded(&l->index, pyro_trace_text(trace, kind->name));
    return op &&
           pyro_signature_read(l->signature, op, pyro_trace_text(trace, kind->dims),
                               pyro_trace_text(trace, kind->types),
                               pyro_trace_text(trace, kind->concrete)) &&
           l->signature->dtypes_known && pyro_infer_output(call, &output) &&
           pyro_op_price(call, &price) && !call->overflow && pyro_work_describe(work, call, &price);
}

static bool is_impossible(const learner *l, const struct pyro_op_work *work, int64_t time_ns)
{
    double peak = l->chip ? pyro_peak_of_type(l->chip, pyro_efficiency_dtype(work->dtype)) : 0;
    return peak > 0 && (double)work->flops / peak * 1e9 > (double)time_ns * TOLERANCE;
}

/* Calls of one kind, that used tensor cores or did not: one sample. */
static int add_sample(learner *l, const pyro_op_kind *kind, bool tensor_cores, int64_t *times,
                      size_t count)
{
    struct pyro_op_work work;
    if (!count || !describe_kind(l, kind, &work))
        return PYRO_OK;
    if (tensor_cores && strcmp(work.dtype, "float32") == 0)
        work.dtype = pyro_efficiency_dtype_name(PYRO_DTYPE_TF32);
    int64_t median_ns = pyro_median_ns(times, count);
    if (is_impossible(l, &work, median_ns)) {
        l->learnt->impossible++;
        return PYRO_OK;
    }
    l->learnt->samples++;
    l->learnt->calls += (int64_t)count;
    for (size_t i = 0; i < count; i++)
        l->learnt->time_ns += times[i];
    return pyro_efficiency_add(l->table, &work, l->learnt->chip, l->learnt->library, median_ns,
                               l->error);
}

/* Sorts the owners by kind, and adds a sample per kind. */
static int add_samples(learner *l)
{
    const pyro_trace *trace = l->trace;
    size_t groups = 2 * l->context.op_kind_count, total = 0;
    size_t *first = calloc(groups + 2, sizeof *first);
    int64_t *times = calloc(trace->count + 1, sizeof *times);
    int status = first && times ? PYRO_OK : pyro_fail_memory(l->error);

    /* Two passes: counts by kind, then times. */
    for (int pass = 0; pass < 2 && status == PYRO_OK; pass++) {
        for (size_t i = 0; i < trace->count; i++) {
            if (trace->category[i] != PYRO_EVENT_OP || l->times.owner[i] != i ||
                l->times.time_ns[i] <= 0 || l->times.seen[i] & PYRO_SEEN_OTHER_MEMORY)
                continue;
            size_t kind = l->context.kind_of_op[trace->detail[i]] & ~PYRO_KIND_INSIDE;
            size_t group = 2 * kind + (l->times.seen[i] & PYRO_SEEN_TENSOR_CORES);
            if (pass == 0)
                first[group + 2]++;
            else
                times[first[group + 1]++] = l->times.time_ns[i];
        }
        for (size_t g = 0; pass == 0 && g < groups; g++)
            first[g + 2] += first[g + 1];
    }
    for (size_t g = 0; status == PYRO_OK && g < groups; g++) {
        status = add_sample(l, &l->context.op_kinds[g / 2], g % 2, times + total,
                            first[g + 1] - total);
        total = first[g + 1];
    }
    free(first);
    free(times);
    return status;
}

static int learn(learner *l)
{
    l->signature = malloc(sizeof *l->signature);
    if (!l->signature ||
        !pyro_own_times(&l->times, &l->context, l->on_device, pyro_wants_prediction) ||
        !pyro_op_index_init(&l->index))
        return pyro_fail_memory(l->error);
    l->learnt->all_ns = l->times.all_ns;
    int status = add_samples(l);
    if (status == PYRO_OK && !l->learnt->samples)
        status = pyro_fail(l->error, PYRO_ERROR_UNSUPPORTED,
                           l->learnt->impossible
                               ? "every op is faster than the chip can be: work is missing"
                               : "no op has known work and time");
    pyro_op_index_free(&l->index);
    return status;
}

static int name_chip(learner *l, const char *chip)
{
    char *name = l->learnt->chip;
    int status = PYRO_OK;
    if (chip && strlen(chip) >= PYRO_EFFICIENCY_TEXT)
        return pyro_fail(l->error, PYRO_ERROR_ARGUMENT, "the name of the chip is too long");
    if (chip)
        strcpy(name, chip);
    else
        status = pyro_chip_of_trace(name, l->trace, l->on_device, l->error);
    for (size_t i = 0; status == PYRO_OK && i < pyro_chip_count; i++)
        if (strcmp(pyro_chips[i].name, name) == 0)
            l->chip = &pyro_chips[i];
    pyro_library_of_trace(l->learnt->library, l->trace);
    return status;
}

int pyro_efficiency_learn(pyro_efficiency_table *table, pyro_trace *trace, const char *chip,
                          pyro_learnt *out, pyro_error *error)
{
    pyro_analysis_options options = {.step = -1};
    pyro_joins joins;
    pyro_arena arena;
    learner l = {.trace = trace, .joins = &joins, .table = table, .learnt = out, .error = error};

    *out = (pyro_learnt){.on_device = pyro_trace_has_kernels(trace)};
    l.on_device = out->on_device;
    if (!trace->has_shapes)
        return pyro_fail(error, PYRO_ERROR_UNSUPPORTED,
                         "the trace has no shapes; record it with record_shapes=True");
    int status = name_chip(&l, chip);
    if (status != PYRO_OK)
        return status;
    pyro_arena_init(&arena);
    l.context = (pyro_analysis_context){
        .trace = trace, .joins = &joins, .options = &options, .arena = &arena, .error = error};
    status = pyro_joins_make(&joins, trace, &options, error);
    if (status == PYRO_OK) {
        status = pyro_price_kinds(&l.context);
        if (status == PYRO_OK)
            status = learn(&l);
        pyro_owned_times_free(&l.times);
        free(l.signature);
    }
    pyro_joins_free(&joins);
    pyro_arena_free(&arena);
    return status;
}

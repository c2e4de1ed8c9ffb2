/* The work of a recorded run: what its outermost ops with work computed, and how long that took. */
#include "map/internal.h"

#include "analyze/analyze.h"
#include "analyze/prices.h"
#include "analyze/signature.h"
#include "base/error.h"
#include "graph/op_groups.h"
#include "graph/shapes/shapes.h"
#include "predict/chip_of_trace.h"
#include "predict/owned_times.h"

#include <stdlib.h>
#include <string.h>

typedef struct run_reader {
    pyro_map_work *out;
    pyro_trace *trace;
    pyro_joins joins;
    pyro_analysis_context context;
    pyro_owned_times times;
    pyro_op_index index;
    pyro_signature *signature;
    struct pyro_op_work *works; /* by kind of op */
    uint8_t *states; /* by kind: 0 not yet described, 1 has work, 2 has none */
    bool on_device;
} run_reader;

static bool describe(run_reader *r, const pyro_op_kind *kind, struct pyro_op_work *work)
{
    const pyro_trace *trace = r->trace;
    pyro_call *call = &r->signature->call;
    pyro_output output;
    pyro_price price;
    const pyro_op *op = kind->dims == PYRO_NO_ID
                            ? NULL
                            : pyro_op_find_recorded(&r->index, pyro_trace_text(trace, kind->name));
    return op &&
           pyro_signature_read(r->signature, op, pyro_trace_text(trace, kind->dims),
                               pyro_trace_text(trace, kind->types),
                               pyro_trace_text(trace, kind->concrete)) &&
           r->signature->dtypes_known && pyro_infer_output(call, &output) &&
           pyro_op_price(call, &price) && !call->overflow && pyro_work_describe(work, call, &price);
}

static bool add_op(run_reader *r, size_t event)
{
    size_t kind = r->context.kind_of_op[r->trace->detail[event]] & ~PYRO_KIND_INSIDE;
    if (!r->states[kind])
        r->states[kind] = describe(r, &r->context.op_kinds[kind], &r->works[kind]) ? 1 : 2;
    if (r->states[kind] != 1 || r->times.seen[event] & PYRO_SEEN_OTHER_MEMORY) {
        r->out->unpriced_ns += (double)r->times.time_ns[event];
        return true;
    }
    uint32_t call = r->joins.call[event];
    pyro_map_item item = {.work = r->works[kind],
                          .layer = call == PYRO_NO_LAYER ? 0 : r->joins.calls[call].layer + 1,
                          .times = 1,
                          .kernels = 1,
                          .measured_ns = (double)r->times.time_ns[event]};
    if (r->times.seen[event] & PYRO_SEEN_TENSOR_CORES && strcmp(item.work.dtype, "float32") == 0)
        item.work.dtype = pyro_efficiency_dtype_name(PYRO_DTYPE_TF32);
    return pyro_map_work_add(r->out, &item);
}

static int name_layers(run_reader *r, pyro_error *error)
{
    pyro_map_work *out = r->out;
    out->layer_count = r->joins.layer_count + 1;
    out->layers = pyro_arena_array(&out->arena, out->layer_count, sizeof *out->layers);
    if (!out->layers)
        return pyro_fail_memory(error);
    out->layers[0] = "(outside of layers)";
    for (size_t i = 0; i < r->joins.layer_count; i++) {
        const char *path = r->joins.layers[i].path;
        out->layers[i + 1] = path[0] ? pyro_arena_text(&out->arena, path, strlen(path)) : "(model)";
        if (!out->layers[i + 1])
            return pyro_fail_memory(error);
    }
    return PYRO_OK;
}

static int read_ops(run_reader *r, pyro_error *error)
{
    size_t kinds = r->context.op_kind_count + 1;
    int status = PYRO_OK;

    r->signature = malloc(sizeof *r->signature);
    r->works = calloc(kinds, sizeof *r->works);
    r->states = calloc(kinds, 1);
    bool has_index = pyro_op_index_init(&r->index);
    if (!r->signature || !r->works || !r->states || !has_index ||
        !pyro_own_times(&r->times, &r->context, r->on_device, pyro_wants_prediction))
        status = pyro_fail_memory(error);
    for (size_t i = 0; status == PYRO_OK && i < r->trace->count; i++)
        if (r->trace->category[i] == PYRO_EVENT_OP && r->times.owner[i] == i &&
            r->times.time_ns[i] > 0 && !add_op(r, i))
            status = pyro_fail_memory(error);
    if (status == PYRO_OK && !r->out->count)
        status = pyro_fail(error, PYRO_ERROR_UNSUPPORTED, "no op has known work and time");
    if (has_index)
        pyro_op_index_free(&r->index);
    pyro_owned_times_free(&r->times);
    free(r->signature);
    free(r->works);
    free(r->states);
    return status;
}

int pyro_map_work_of_trace(pyro_map_work *out, pyro_trace *trace, char chip[PYRO_EFFICIENCY_TEXT],
                           pyro_error *error)
{
    pyro_analysis_options options = {.step = -1};
    run_reader r = {.out = out, .trace = trace, .on_device = pyro_trace_has_kernels(trace)};
    pyro_error unknown;
    pyro_arena arena;

    *out = (pyro_map_work){.dtype = ""};
    if (!trace->has_shapes)
        return pyro_fail(error, PYRO_ERROR_UNSUPPORTED,
                         "the trace has no shapes; record it with record_shapes=True");
    pyro_error_clear(&unknown);
    if (pyro_chip_of_trace(chip, trace, r.on_device, &unknown) != PYRO_OK)
        chip[0] = '\0';
    pyro_arena_init(&arena);
    pyro_arena_init(&out->arena);
    r.context = (pyro_analysis_context){
        .trace = trace, .joins = &r.joins, .options = &options, .arena = &arena, .error = error};
    int status = pyro_joins_make(&r.joins, trace, &options, error);
    if (status == PYRO_OK)
        status = pyro_price_kinds(&r.context);
    if (status == PYRO_OK)
        status = name_layers(&r, error);
    if (status == PYRO_OK)
        status = read_ops(&r, error);
    pyro_joins_free(&r.joins);
    pyro_arena_free(&arena);
    if (status != PYRO_OK)
        pyro_map_work_free(out);
    return status;
}

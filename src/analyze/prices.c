/* Prices ops: reads and prices each kind (distinct name, dims, types, values) once. */
#include "analyze/prices.h"

#include "analyze/host/own_work.h"
#include "analyze/signature.h"
#include "base/containers/buf.h"
#include "base/checked.h"
#include "base/error.h"
#include "graph/cost/cost.h"
#include "graph/op_groups.h"
#include "graph/shapes/shapes.h"
#include <stdlib.h>
#include <string.h>

typedef struct pricer {
    const pyro_trace *trace;
    pyro_op_index index;
    pyro_signature *signature;
    pyro_map by_key;
    pyro_op_kind *kinds;
    uint32_t *likely; /* by kind: the one that came after it last time; 0 none */
    size_t count, capacity, likely_capacity;
    uint32_t last; /* kind that was found */
} pricer;

/* Of the first tensor: both operands of a contraction are of one type. */
static uint8_t first_dtype(const pyro_call *call)
{
    for (size_t i = 0; i < call->arg_count; i++) {
        const pyro_call_arg *arg = &call->args[i];
        if (arg->kind == PYRO_ARG_TENSOR && arg->tensors[0].dims)
            return (uint8_t)arg->tensors[0].dtype;
    }
    return PYRO_DTYPE_UNKNOWN;
}

void pyro_price_call(pyro_op_kind *kind, const pyro_op_index *index, pyro_signature *signature,
                     const pyro_call_texts *texts)
{
    const pyro_op *op = pyro_op_find_recorded(index, texts->name);
    pyro_price price;
    pyro_output output;
    pyro_call *call = &signature->call;
    if (!op || !pyro_signature_read(signature, op, texts->dims, texts->types, texts->concrete) ||
        !pyro_infer_output(call, &output) || !pyro_op_price(call, &price) || call->overflow)
        return;
    int64_t flops, torch_flops, bytes;
    if (!pyro_convention_flops(PYRO_CONVENTION_FULL, &price, &flops) || flops < 0 ||
        !pyro_convention_flops(PYRO_CONVENTION_TORCH, &price, &torch_flops))
        return;
    kind->flops = flops;
    kind->torch_flops = torch_flops;
    kind->macs = price.macs;
    kind->dtype = first_dtype(call);
    bool dtypes_known = signature->dtypes_known &&
                        (!call->output_count || output.tensor.dtype != PYRO_DTYPE_UNKNOWN);
    if ((dtypes_known || price.is_free) &&
        pyro_add_i64(price.activation_read_bytes, price.weight_read_bytes, &bytes) &&
        pyro_add_i64(bytes, price.written_bytes, &bytes) && bytes >= 0)
        kind->bytes = bytes;
}

static void price_kind(pricer *p, pyro_op_kind *kind)
{
    if (kind->dims == PYRO_NO_ID)
        return;
    pyro_call_texts texts = {
        pyro_trace_text(p->trace, kind->name), pyro_trace_text(p->trace, kind->dims),
        pyro_trace_text(p->trace, kind->types), pyro_trace_text(p->trace, kind->concrete)};
    pyro_price_call(kind, &p->index, p->signature, &texts);
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

/* Kind 0 is for unknown ops. */
static bool add_kind(pricer *p, pyro_op_kind kind)
{
    if (!pyro_grow(&p->kinds, &p->capacity, p->count + 1, sizeof *p->kinds) ||
        !pyro_grow(&p->likely, &p->likely_capacity, p->count + 1, sizeof *p->likely))
        return false;
    p->likely[p->count] = 0;
    kind.flops = kind.bytes = kind.macs = kind.torch_flops = -1;
    kind.dtype = PYRO_DTYPE_UNKNOWN;
    if (p->count && kind.types != PYRO_NO_ID)
        kind.dtype = (uint8_t)pyro_dtype_of_types(pyro_trace_text(p->trace, kind.types));
    if (p->count)
        price_kind(p, &kind);
    p->kinds[p->count++] = kind;
    return true;
}

static bool is_kind(const pyro_op_kind *kind, uint32_t name, const pyro_op_detail *detail)
{
    return kind->name == name && kind->dims == detail->dims && kind->types == detail->types &&
           kind->concrete == detail->concrete;
}

/* 0 when memory is out. */
static uint32_t find_kind(pricer *p, uint32_t name, const pyro_op_detail *detail)
{
    uint64_t key = mix(mix(mix(mix(0, name), detail->dims), detail->types), detail->concrete);
    for (;; key++) {
        uint32_t at = pyro_map_get(&p->by_key, key);
        if (at == PYRO_MAP_NONE)
            break;
        if (is_kind(&p->kinds[at], name, detail))
            return at;
    }
    uint32_t kind = (uint32_t)p->count;
    pyro_op_kind made = {
        .name = name, .dims = detail->dims, .types = detail->types, .concrete = detail->concrete};
    return pyro_map_put(&p->by_key, key, kind) && add_kind(p, made) ? kind : 0;
}

/* Programs repeat what they do, so that the kind after the last one is most often the same again. */
static uint32_t find_next_kind(pricer *p, uint32_t name, const pyro_op_detail *detail)
{
    uint32_t kind = p->likely[p->last];
    if (!kind || !is_kind(&p->kinds[kind], name, detail)) {
        kind = find_kind(p, name, detail);
        p->likely[p->last] = kind;
    }
    return p->last = kind;
}

static bool find_kinds(pricer *p, uint32_t *kind_of_op)
{
    const pyro_trace *trace = p->trace;
    for (size_t event = pyro_trace_next_op(trace, 0); event < trace->count;
         event = pyro_trace_next_op(trace, event + 1)) {
        uint32_t detail = trace->detail[event];
        if (detail == PYRO_NO_ID)
            continue;
        kind_of_op[detail] = find_next_kind(p, trace->name[event], &trace->ops[detail]);
        if (!kind_of_op[detail])
            return false;
    }
    return true;
}

int pyro_price_kinds(pyro_analysis_context *context)
{
    const pyro_trace *trace = context->trace;
    if (trace->op_count >= PYRO_KIND_INSIDE)
        return pyro_fail(context->error, PYRO_ERROR_LIMIT, "more than %u ops", PYRO_KIND_INSIDE);
    pricer p = {.trace = trace, .signature = malloc(sizeof *p.signature)};
    bool has_index = pyro_op_index_init(&p.index);
    context->kind_of_op = pyro_arena_array(context->arena, trace->op_count + 1,
                                           sizeof *context->kind_of_op);
    bool is_made = has_index && p.signature && context->kind_of_op &&
                   add_kind(&p, (pyro_op_kind){0}) && find_kinds(&p, context->kind_of_op);
    pyro_op_kind *kinds = is_made ? pyro_arena_array(context->arena, p.count, sizeof *kinds) : NULL;
    if (kinds)
        memcpy(kinds, p.kinds, p.count * sizeof *kinds);
    context->op_kinds = kinds;
    context->op_kind_count = p.count;
    pyro_op_index_free(&p.index);
    pyro_map_free(&p.by_key);
    free(p.kinds);
    free(p.likely);
    free(p.signature);
    return kinds ? PYRO_OK : pyro_fail_memory(context->error);
}

/* Enclosing events come first in order of time, so that an op is settled before those
 * in it. */
int pyro_price_ops(pyro_analysis_context *context)
{
    const pyro_trace *trace = context->trace;
    const pyro_joins *joins = context->joins;
    uint8_t *inside = calloc(trace->count ? trace->count : 1, 1);
    if (!inside)
        return pyro_fail_memory(context->error);
    for (size_t i = 0; i < trace->count; i++) {
        uint32_t event = joins->by_time[i];
        if (trace->category[event] != PYRO_EVENT_OP)
            continue;
        uint32_t parent = joins->parent[event];
        uint32_t around = parent == PYRO_NO_EVENT ? PYRO_NO_EVENT : joins->op[parent];
        inside[event] = around != PYRO_NO_EVENT && inside[around];
        if (!inside[event])
            inside[event] = pyro_has_work(context, event);
        else if (trace->detail[event] != PYRO_NO_ID)
            context->kind_of_op[trace->detail[event]] |= PYRO_KIND_INSIDE;
    }
    free(inside);
    return PYRO_OK;
}

static int init_prices(void *state, pyro_analysis_context *context)
{
    (void)state;
    return pyro_price_ops(context);
}

const pyro_analyzer pyro_analyze_prices = {
    .name = "prices", .state_size = 1, .init = init_prices, .categories = PYRO_NO_CATEGORIES};

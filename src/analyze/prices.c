/* Pricing of ops: each distinct signature (name, dims, types, values) is read and priced once. */
#include "analyze/prices.h"

#include "analyze/signature.h"
#include "base/buf.h"
#include "base/checked.h"
#include "base/error.h"
#include "graph/cost.h"
#include "graph/shapes.h"
#include <stdlib.h>
#include <string.h>

typedef struct priced {
    uint32_t name, dims, types, concrete;
    int64_t flops, bytes, macs, torch_flops;
    uint8_t dtype; /* pyro_dtype of its first tensor */
} priced;

typedef struct pricer {
    const pyro_trace *trace;
    pyro_op_index index;
    pyro_signature *signature;
    pyro_map op_of_name; /* interned name -> index of its row + 1; 0: none */
    pyro_map by_key;
    priced *items;
    size_t count, capacity;
} pricer;

/* "aten::conv2d" is "aten.conv2d" in the table. */
static const pyro_op *find_op(pricer *p, uint32_t name)
{
    uint32_t known = pyro_map_get(&p->op_of_name, name);
    if (known != PYRO_MAP_NONE)
        return known ? &pyro_ops[known - 1] : NULL;
    const char *text = pyro_trace_text(p->trace, name), *colons = strstr(text, "::");
    char target[128];
    const pyro_op *op = NULL;
    size_t space = colons ? (size_t)(colons - text) : 0;
    /* torch:: and prim:: are autograd's and the interpreter's own, not operators on sizes. */
    if (colons && strlen(text) < sizeof target && strncmp(text, "torch::", 7) &&
        strncmp(text, "prim::", 6) && strncmp(text, "math::", 6)) {
        memcpy(target, text, space);
        target[space] = '.';
        strcpy(target + space + 1, colons + 2);
        op = pyro_op_find(&p->index, target);
    }
    pyro_map_put(&p->op_of_name, name, op ? (uint32_t)(op - pyro_ops) + 1 : 0);
    return op;
}

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

/* -1 where the price is not known. */
static void price_call(pricer *p, const pyro_op *op, priced *item)
{
    pyro_price price;
    pyro_output output;
    pyro_call *call = &p->signature->call;
    item->flops = item->bytes = item->macs = item->torch_flops = -1;
    item->dtype = PYRO_DTYPE_UNKNOWN;
    if (!pyro_signature_read(p->signature, op, pyro_trace_text(p->trace, item->dims),
                             pyro_trace_text(p->trace, item->types),
                             pyro_trace_text(p->trace, item->concrete)) ||
        !pyro_infer_output(call, &output) || !pyro_op_price(call, &price) || call->overflow)
        return;
    int64_t flops, torch_flops, bytes;
    if (!pyro_convention_flops(PYRO_CONVENTION_FULL, &price, &flops) || flops < 0 ||
        !pyro_convention_flops(PYRO_CONVENTION_TORCH, &price, &torch_flops))
        return;
    item->flops = flops;
    item->torch_flops = torch_flops;
    item->macs = price.macs;
    item->dtype = first_dtype(call);
    bool dtypes_known = p->signature->dtypes_known &&
                        (!call->output_count || output.tensor.dtype != PYRO_DTYPE_UNKNOWN);
    if ((dtypes_known || price.is_free) &&
        pyro_add_i64(price.activation_read_bytes, price.weight_read_bytes, &bytes) &&
        pyro_add_i64(bytes, price.written_bytes, &bytes) && bytes >= 0)
        item->bytes = bytes;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

/* The price of a signature; NULL when memory is out. */
static const priced *find_price(pricer *p, uint32_t name, const pyro_op_detail *detail,
                                const pyro_op *op)
{
    uint64_t key = mix(mix(mix(mix(0, name), detail->dims), detail->types), detail->concrete);
    for (;; key++) {
        uint32_t at = pyro_map_get(&p->by_key, key);
        if (at == PYRO_MAP_NONE)
            break;
        const priced *item = &p->items[at];
        if (item->name == name && item->dims == detail->dims && item->types == detail->types &&
            item->concrete == detail->concrete)
            return item;
    }
    if (!pyro_grow(&p->items, &p->capacity, p->count + 1, sizeof *p->items) ||
        !pyro_map_put(&p->by_key, key, (uint32_t)p->count))
        return NULL;
    priced *item = &p->items[p->count++];
    *item = (priced){
        .name = name, .dims = detail->dims, .types = detail->types, .concrete = detail->concrete};
    price_call(p, op, item);
    return item;
}

/* Prices one op event; *does says whether it does anything, so that ops in it do not count. */
static int price_event(pricer *p, pyro_analysis_context *context, uint32_t event, bool *does)
{
    const pyro_trace *trace = p->trace;
    uint32_t detail = trace->detail[event];
    *does = false;
    if (detail == PYRO_NO_ID || trace->ops[detail].dims == PYRO_NO_ID)
        return PYRO_OK;
    const pyro_op *op = find_op(p, trace->name[event]);
    if (!op)
        return PYRO_OK;
    const priced *item = find_price(p, trace->name[event], &trace->ops[detail], op);
    if (!item)
        return pyro_fail_memory(context->error);
    context->op_flops[detail] = item->flops;
    context->op_bytes[detail] = item->bytes;
    context->op_macs[detail] = item->macs;
    context->op_torch_flops[detail] = item->torch_flops;
    context->op_dtype[detail] = item->dtype;
    *does = item->flops > 0 || item->bytes > 0;
    return PYRO_OK;
}

/* Enclosing events come first in order of time, so that a parent is settled before its children. */
static int price_all(pricer *p, pyro_analysis_context *context, uint8_t *inside)
{
    const pyro_trace *trace = p->trace;
    for (size_t i = 0; i < trace->count; i++) {
        uint32_t event = context->joins->by_time[i], parent = context->joins->parent[event];
        if (!pyro_event_is_host(trace->category[event]))
            continue;
        inside[event] = parent != PYRO_NO_EVENT && inside[parent];
        if (trace->category[event] != PYRO_EVENT_OP || inside[event])
            continue;
        bool does;
        int status = price_event(p, context, event, &does);
        if (status < 0)
            return status;
        inside[event] = does;
    }
    return PYRO_OK;
}

int pyro_price_room(pyro_analysis_context *context)
{
    int64_t **columns[] = {&context->op_flops, &context->op_bytes, &context->op_macs,
                           &context->op_torch_flops};
    size_t count = context->trace->op_count, bytes = count * sizeof **columns[0];
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        *columns[i] = pyro_arena_alloc(context->arena, bytes ? bytes : 1);
        if (!*columns[i])
            return pyro_fail_memory(context->error);
        memset(*columns[i], 0xff, bytes); /* all -1 */
    }
    context->op_dtype = pyro_arena_alloc(context->arena, count + 1);
    if (!context->op_dtype)
        return pyro_fail_memory(context->error);
    memset(context->op_dtype, PYRO_DTYPE_UNKNOWN, count);
    return PYRO_OK;
}

int pyro_price_ops(pyro_analysis_context *context)
{
    const pyro_trace *trace = context->trace;
    pricer p = {.trace = trace, .signature = malloc(sizeof *p.signature)};
    uint8_t *inside = calloc(trace->count ? trace->count : 1, 1);
    bool has_index = pyro_op_index_init(&p.index);
    int status = has_index && p.signature && inside ? price_all(&p, context, inside)
                                                    : pyro_fail_memory(context->error);
    pyro_op_index_free(&p.index);
    pyro_map_free(&p.op_of_name);
    pyro_map_free(&p.by_key);
    free(p.items);
    free(p.signature);
    free(inside);
    return status;
}

static int init_prices(void *state, pyro_analysis_context *context)
{
    (void)state;
    return pyro_price_ops(context);
}

const pyro_analyzer pyro_analyze_prices = {
    .name = "prices", .state_size = 1, .init = init_prices, .categories = PYRO_NO_CATEGORIES};

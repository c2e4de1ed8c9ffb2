/* Finds ops that can be replayed, by the time of all their calls, and writes them into a script. */
#include "predict/replay.h"

#include "analyze/prices.h"
#include "analyze/signature.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/json/write.h"
#include "predict/owned_times.h"

#include <stdlib.h>
#include <string.h>

typedef struct whole_replay {
    pyro_replay result; /* comes first, so that a pointer to it points to the whole */
    pyro_arena arena;
} whole_replay;

/* "aten::mm": an operator; not a range of the profiler, nor a node of autograd. */
static bool wants_op(const pyro_analysis_context *context, uint32_t event)
{
    const char *name = pyro_event_name(context->trace, event);
    const char *colons = strstr(name, "::");
    return context->trace->detail[event] != PYRO_NO_ID && colons && colons != name &&
           !strpbrk(name, " .#") && strncmp(name, "autograd::", 10) != 0 &&
           strncmp(name, "torch::", 7) != 0;
}

/* Whether a text is a list that a JSON reader accepts. */
static bool is_list(const char *text)
{
    pyro_source *source = NULL;
    pyro_json *json = NULL;
    pyro_error error;
    bool sound = false;

    pyro_error_clear(&error);
    if (pyro_source_open_memory(&source, text, strlen(text), &error) == PYRO_OK &&
        pyro_json_open(&json, source, NULL, &error) == PYRO_OK &&
        pyro_json_next(json) == PYRO_JSON_ARRAY) {
        pyro_json_kind kind;
        do
            kind = pyro_json_next(json);
        while (kind != PYRO_JSON_ERROR && kind != PYRO_JSON_END);
        sound = kind == PYRO_JSON_END;
    }
    pyro_json_close(json);
    pyro_source_close(source);
    return sound;
}

/* An element type that a script cannot fill: of quantized tensors, or a new one. */
static bool has_unknown_type(const char *types)
{
    while ((types = strchr(types, '"'))) {
        size_t length = strcspn(++types, "\"");
        bool is_tensor = length > 5 && memcmp(types, "c10::", 5) == 0;
        bool is_quantized = is_tensor && (types[5] == 'q' || memcmp(types + 5, "bits", 4) == 0);
        if (is_quantized || (is_tensor && pyro_dtype_from_cpp(types, length) == PYRO_DTYPE_UNKNOWN))
            return true;
        types += length;
        types += *types == '"';
    }
    return false;
}

/* Whether every input is a tensor: then no scalar is missing. */
static bool has_only_tensors(const char *types)
{
    while ((types = strchr(types, '"'))) {
        size_t length = strcspn(++types, "\"");
        if (pyro_dtype_from_cpp(types, length) == PYRO_DTYPE_UNKNOWN)
            return false;
        types += length;
        types += *types == '"';
    }
    return true;
}

static const char *reason_of(const pyro_replay_op *op)
{
    if (strncmp(op->name, "aten::", 6) != 0)
        return "an op of another library than torch: its code is not in the trace";
    if (!op->dims[0])
        return "its shapes were not recorded";
    if (!op->types[0])
        return "the types of its inputs were not recorded";
    if (!op->concrete[0] && !has_only_tensors(op->types))
        return "its scalars were not recorded";
    if (has_unknown_type(op->types))
        return "elements of a type that a script cannot make";
    if (!is_list(op->dims) || !is_list(op->types) || (op->concrete[0] && !is_list(op->concrete)) ||
        (op->strides[0] && !is_list(op->strides)) || (op->outputs[0] && !is_list(op->outputs)))
        return "its inputs are damaged in the file";
    return "";
}

static int compare_ops(const void *a, const void *b)
{
    const pyro_replay_op *left = a, *right = b;
    if (left->total_ns != right->total_ns)
        return left->total_ns < right->total_ns ? 1 : -1;
    int order = strcmp(left->name, right->name);
    order = order ? order : strcmp(left->dims, right->dims);
    return order ? order : strcmp(left->strides, right->strides);
}

/* One call of an op. Calls of one kind, with the same strides, are one op of the result. */
typedef struct op_call {
    uint32_t kind, detail, strides;
    bool has_gradient; /* autograd recorded it: some ops then take another way */
    int64_t time_ns;
} op_call;

typedef struct gatherer {
    pyro_analysis_context context;
    pyro_owned_times times;
    whole_replay *whole;
    op_call *calls;
    size_t count;
} gatherer;

static int order_of(const op_call *left, const op_call *right)
{
    if (left->kind != right->kind)
        return left->kind < right->kind ? -1 : 1;
    if (left->strides != right->strides)
        return left->strides < right->strides ? -1 : 1;
    return left->has_gradient - right->has_gradient;
}

static int compare_calls(const void *a, const void *b)
{
    const op_call *left = a, *right = b;
    int order = order_of(left, right);
    if (order)
        return order;
    return left->detail < right->detail ? -1 : left->detail > right->detail;
}

static bool list_calls(gatherer *g)
{
    const pyro_trace *trace = g->context.trace;
    g->calls = malloc((trace->count + 1) * sizeof *g->calls);
    if (!g->calls)
        return false;
    for (size_t i = 0; i < trace->count; i++) {
        if (trace->category[i] != PYRO_EVENT_OP || g->times.owner[i] != i)
            continue;
        if (g->whole->result.on_device && g->times.time_ns[i] <= 0)
            continue; /* it launched nothing */
        const pyro_op_detail *detail = &trace->ops[trace->detail[i]];
        op_call call = {.kind = g->context.kind_of_op[trace->detail[i]] & ~PYRO_KIND_INSIDE,
                        .detail = trace->detail[i],
                        .strides = detail->strides,
                        .has_gradient = detail->sequence != PYRO_NO_SEQUENCE &&
                                        detail->forward_thread == 0,
                        /* Recording the ops inside may have taken as long as the op. */
                        .time_ns = g->times.time_ns[i] > 0 ? g->times.time_ns[i] : 0};
        if (call.kind > 0) /* kind 0 is for ops of which nothing is known */
            g->calls[g->count++] = call;
    }
    qsort(g->calls, g->count, sizeof *g->calls, compare_calls);
    return true;
}

static pyro_replay_op make_op(const gatherer *g, const op_call *calls, size_t count, int64_t *times)
{
    const pyro_trace *trace = g->context.trace;
    const pyro_op_kind *about = &g->context.op_kinds[calls->kind];
    const pyro_op_detail *detail = &trace->ops[calls->detail];
    pyro_replay_op op = {
        .name = pyro_trace_text(trace, about->name),
        .dims = pyro_trace_text(trace, about->dims),
        .types = pyro_trace_text(trace, about->types),
        .concrete = pyro_trace_text(trace, about->concrete),
        .strides = pyro_trace_text(trace, detail->strides),
        .outputs = pyro_trace_text(trace, pyro_trace_op_extra(trace, detail).outputs),
        .has_gradient = calls->has_gradient,
        .calls = (int64_t)count};
    for (size_t i = 0; i < count; i++) {
        times[i] = calls[i].time_ns;
        op.total_ns += times[i];
    }
    op.median_ns = pyro_median_ns(times, count);
    op.rejected = reason_of(&op);
    return op;
}

static size_t count_ops(const gatherer *g)
{
    size_t count = g->count > 0;
    for (size_t i = 1; i < g->count; i++)
        count += order_of(&g->calls[i - 1], &g->calls[i]) != 0;
    return count;
}

static int list_ops(gatherer *g)
{
    if (!list_calls(g))
        return pyro_fail_memory(g->context.error);
    size_t count = 0;
    pyro_replay_op *ops = pyro_arena_array(&g->whole->arena, count_ops(g) + 1, sizeof *ops);
    int64_t *times = malloc((g->count + 1) * sizeof *times);
    for (size_t i = 0, end; ops && times && i < g->count; i = end) {
        for (end = i + 1; end < g->count && !order_of(&g->calls[i], &g->calls[end]);)
            end++;
        ops[count++] = make_op(g, &g->calls[i], end - i, times);
    }
    free(times);
    if (!ops || !times)
        return pyro_fail_memory(g->context.error);
    if (count)
        qsort(ops, count, sizeof *ops, compare_ops);
    g->whole->result.ops = ops;
    g->whole->result.count = count;
    return PYRO_OK;
}

static int gather(gatherer *g)
{
    int status = pyro_price_kinds(&g->context);
    if (status == PYRO_OK)
        status = pyro_own_times(&g->times, &g->context, g->whole->result.on_device, wants_op)
                     ? list_ops(g)
                     : pyro_fail_memory(g->context.error);
    pyro_owned_times_free(&g->times);
    free(g->calls);
    return status;
}

int pyro_replay_gather(pyro_replay **out, pyro_trace *trace, pyro_error *error)
{
    pyro_analysis_options options = {.step = -1};
    pyro_joins joins;

    *out = NULL;
    if (!trace->has_shapes)
        return pyro_fail(error, PYRO_ERROR_UNSUPPORTED,
                         "the trace has no shapes; record it with record_shapes=True");
    whole_replay *whole = calloc(1, sizeof *whole);
    if (!whole)
        return pyro_fail_memory(error);
    pyro_arena_init(&whole->arena);
    whole->result.on_device = pyro_trace_has_kernels(trace);
    gatherer g = {.whole = whole,
                  .context = {.trace = trace,
                              .joins = &joins,
                              .options = &options,
                              .arena = &whole->arena,
                              .error = error}};
    int status = pyro_joins_make(&joins, trace, &options, error);
    if (status == PYRO_OK)
        status = gather(&g);
    pyro_joins_free(&joins);
    if (status == PYRO_OK)
        *out = &whole->result;
    else
        pyro_replay_free(&whole->result);
    return status;
}

void pyro_replay_free(pyro_replay *replay)
{
    whole_replay *whole = (whole_replay *)replay;
    if (!whole)
        return;
    pyro_arena_free(&whole->arena);
    free(whole);
}

static void write_list(pyro_json_writer *writer, const char *key, const char *list)
{
    pyro_json_key(writer, key);
    if (list[0])
        pyro_json_raw(writer, list);
    else
        pyro_json_null(writer);
}

static void write_ops(pyro_buf *text, const pyro_replay *replay, size_t first, size_t last)
{
    pyro_json_writer writer;
    pyro_json_writer_init(&writer, text, 0);
    pyro_json_begin_array(&writer);
    for (size_t i = first; i <= last && i < replay->count; i++) {
        const pyro_replay_op *op = &replay->ops[i];
        if (op->rejected[0])
            continue;
        pyro_json_begin_object(&writer);
        pyro_json_member_string(&writer, "name", op->name);
        pyro_json_member_string(&writer, "device", replay->on_device ? "cuda" : "cpu");
        pyro_json_member_integer(&writer, "calls", op->calls);
        pyro_json_member_integer(&writer, "recorded_ns", op->median_ns);
        pyro_json_member_boolean(&writer, "has_gradient", op->has_gradient);
        write_list(&writer, "dims", op->dims);
        write_list(&writer, "types", op->types);
        write_list(&writer, "strides", op->strides);
        write_list(&writer, "concrete", op->concrete);
        write_list(&writer, "outputs", op->outputs);
        pyro_json_end_object(&writer);
    }
    pyro_json_end_array(&writer);
}

/* The ops are a JSON text in a string: whatever a file holds, Python does not run it. */
void pyro_replay_write(pyro_buf *buf, const pyro_replay *replay, size_t first, size_t last)
{
    static const char mark[] = "\nOPS = []\n";
    const char *script = (const char *)pyro_replay_template;
    const char *at = memmem(script, pyro_replay_template_size, mark, sizeof mark - 1);
    pyro_buf ops = PYRO_BUF_INIT;

    if (!at) {
        buf->failed = true;
        return;
    }
    write_ops(&ops, replay, first, last);
    pyro_buf_add(buf, script, (size_t)(at - script));
    pyro_buf_adds(buf, "\nOPS = json.loads(\n    ");
    if (!ops.failed)
        pyro_json_quote(buf, ops.data, ops.length);
    pyro_buf_adds(buf, "\n)\n");
    at += sizeof mark - 1;
    pyro_buf_add(buf, at, pyro_replay_template_size - (size_t)(at - script));
    buf->failed = buf->failed || ops.failed;
    pyro_buf_free(&ops);
}

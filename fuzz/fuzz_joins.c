/*
 * Fuzzes the joins: builds well-formed traces with arbitrary content from the input and checks the
 * invariants of the result. Bytes after the header are events of ten bytes each.
 */
#include "base/containers/buf.h"
#include "graph/model.h"
#include "trace/joins/joins.h"
#include <stdlib.h>
#include <string.h>

#define EVENT_BYTES 10
#define MOST_EVENTS 4096

static const char *const names[] = {
    "nn.Module: Net_0",
    "nn.Module: Block_0",
    "nn.Module: Block_1",
    "nn.Module: Linear_0",
    "nn.Module: DistributedDataParallel_0",
    "nn.Module: ",
    "ProfilerStep#1",
    "ProfilerStep#99999999999999999999",
    "Optimizer.step#SGD.step",
    "aten::_foreach_add_",
    "DistributedDataParallel.forward",
    "autograd::engine::evaluate_function: AddmmBackward0",
    "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad",
    "AddmmBackward0",
    "MulBackward0",
    "aten::addmm",
    "aten::mul",
    "torch.distributed.ddp.reducer::copy_bucket_to_grad",
    "fwd|blocks.0.fc",
    "fwd|",
    "fwd|a.b.c",
    "ncclDevKernel_AllReduce",
    "gemm",
    "",
    "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
    "torch/optim/sgd.py(12): step",
    "cudaStreamBeginCapture",
    "cudaStreamEndCapture",
    "cudaGraphLaunch",
    "cudaStreamSynchronize",
    "Memcpy HtoD (Pinned -> Device)",
    "execute_context_1(8)_generation_2(2)",
    "execute_4_context_0(sq0sk0sqsq0sqsk0)_generation_4(sq4sk9sqsq4sqsk9)",
    "step[DECODE bs=4 g_sq=4]",
    "## Call CompiledFxGraph k ##",
    "Torch-Compiled Region: 0/0",
    "CompiledFunctionBackward",
    "triton_a",
    "triton_b",
};

/* A compiled graph: "gemm" is of no op, and one kernel is of two modules. */
static const char graph[] =
    "{\"graph\":\"k\",\"calls\":[{\"name\":\"triton_a\",\"layers\":[[\"blocks.0\",3],[\"fc\",8]]},"
    "{\"name\":\"extern_kernels.addmm\",\"source\":\"m.py:1\",\"layers\":[[\"blocks.0.fc\",1]]},"
    "{\"name\":\"triton_b\",\"layers\":[[\"\",1],[\"@m.py:2\"]]}]}";

typedef struct bytes {
    const uint8_t *data;
    size_t size;
} bytes;

static uint8_t take(bytes *from)
{
    if (!from->size)
        return 0;
    from->size--;
    return *from->data++;
}

static void *columns_of(size_t count, size_t size)
{
    void *column = calloc(count + 1, size);
    if (!column)
        abort();
    return column;
}

static void make_columns(pyro_trace *trace, size_t count)
{
    trace->start_ns = columns_of(count, sizeof *trace->start_ns);
    trace->duration_ns = columns_of(count, sizeof *trace->duration_ns);
    trace->name = columns_of(count, sizeof *trace->name);
    trace->correlation = columns_of(count, sizeof *trace->correlation);
    trace->external_id = columns_of(count, sizeof *trace->external_id);
    trace->detail = columns_of(count, sizeof *trace->detail);
    trace->track = columns_of(count, sizeof *trace->track);
    trace->category = columns_of(count, sizeof *trace->category);
    trace->ops = columns_of(count, sizeof *trace->ops);
    trace->kernels = columns_of(count, sizeof *trace->kernels);
    trace->flows = columns_of(count, sizeof *trace->flows);
}

static int64_t time_of(uint8_t coarse, uint8_t fine)
{
    if (coarse == 255)
        return INT64_MAX - fine;
    if (coarse == 254)
        return INT64_MIN + fine;
    return (int64_t)coarse * 256 + fine;
}

static void add_event(pyro_trace *trace, bytes *from)
{
    size_t at = trace->count++;
    uint8_t category = take(from) % PYRO_EVENT_CATEGORY_COUNT;
    trace->category[at] = category;
    trace->track[at] = (uint16_t)(take(from) % trace->track_count);
    trace->name[at] = take(from) % (uint32_t)trace->names.count;
    uint8_t coarse = take(from), fine = take(from);
    trace->start_ns[at] = time_of(coarse, fine);
    coarse = take(from);
    fine = take(from);
    trace->duration_ns[at] = time_of(coarse, fine);
    trace->correlation[at] = take(from) & 15;
    uint8_t sequence = take(from), thread = take(from);
    trace->detail[at] = PYRO_NO_ID;
    if (category == PYRO_EVENT_OP && sequence) {
        trace->detail[at] = (uint32_t)trace->op_count;
        trace->ops[trace->op_count++] = (pyro_op_detail){.sequence = sequence & 31,
                                                         .forward_thread = thread & 7};
    } else if (category == PYRO_EVENT_KERNEL && thread & 1) {
        trace->detail[at] = (uint32_t)trace->kernel_count;
        trace->kernels[trace->kernel_count++].collective = thread & 2 ? 0 : PYRO_NO_ID;
    } else if (category == PYRO_EVENT_OTHER) {
        trace->flows[trace->flow_count++] = (pyro_flow){sequence & 7, trace->track[at], thread & 1,
                                                        trace->start_ns[at]};
    }
}

static pyro_trace *make_trace(bytes *from)
{
    pyro_trace *trace = columns_of(1, sizeof *trace);
    pyro_arena_init(&trace->arena);
    pyro_intern_init(&trace->names, &trace->arena);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        pyro_intern_add(&trace->names, names[i], strlen(names[i]));
    trace->track_count = 1 + take(from) % 8;
    trace->tracks = columns_of(trace->track_count, sizeof *trace->tracks);
    for (size_t i = 0; i < trace->track_count; i++) {
        uint8_t track = take(from);
        trace->tracks[i] = (pyro_track){.pid = track & 3, .tid = i, .is_device = track & 4};
    }
    size_t count = from->size / EVENT_BYTES < MOST_EVENTS ? from->size / EVENT_BYTES : MOST_EVENTS;
    make_columns(trace, count);
    for (size_t i = 0; i < count; i++)
        add_event(trace, from);
    return trace;
}

static void free_trace(pyro_trace *trace)
{
    void *columns[] = {trace->start_ns,    trace->duration_ns, trace->name,  trace->correlation,
                       trace->external_id, trace->detail,      trace->track, trace->category,
                       trace->ops,         trace->kernels,     trace->flows, trace->tracks};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        free(columns[i]);
    pyro_intern_free(&trace->names);
    pyro_arena_free(&trace->arena);
    free(trace->notes);
    free(trace);
}

static void require(bool condition)
{
    if (!condition)
        abort();
}

static void check_layers(const pyro_joins *joins)
{
    for (size_t i = 0; i < joins->layer_count; i++) {
        const pyro_layer *layer = &joins->layers[i];
        require(layer->path && layer->class_name);
        require(layer->parent == PYRO_NO_LAYER || layer->parent < i);
    }
    for (size_t i = 0; i < joins->call_count; i++) {
        require(joins->calls[i].layer < joins->layer_count);
        require(joins->calls[i].parent == PYRO_NO_LAYER || joins->calls[i].parent < i);
    }
}

/* Shares of a kernel add up to its time. */
static void check_shares(const pyro_trace *trace, const pyro_joins *joins)
{
    for (uint32_t i = 0; i < trace->count; i++) {
        size_t count;
        const pyro_share *shares = pyro_joins_shares(joins, i, &count);
        int64_t rest = trace->duration_ns[i];
        for (size_t s = 0; s < count; s++) {
            require(shares[s].call < joins->call_count && shares[s].ns >= 0);
            rest -= shares[s].ns;
        }
        require(!count || rest == 0);
    }
}

static void check_steps(const pyro_joins *joins)
{
    require((joins->step_source == PYRO_STEPS_NONE) == (joins->step_count == 0));
    for (size_t i = 0; i < joins->step_count; i++) {
        require(joins->steps[i].name && joins->steps[i].end_ns >= joins->steps[i].start_ns);
        require(joins->step_source != PYRO_STEPS_SERVING || joins->serving);
    }
}

/* A parent's position in time order is before its child's, which rules out cycles. */
static void check(const pyro_trace *trace, const pyro_joins *joins)
{
    size_t *position = columns_of(trace->count, sizeof *position);
    for (size_t i = 0; i < trace->count; i++) {
        require(joins->by_time[i] < trace->count && !position[joins->by_time[i]]);
        position[joins->by_time[i]] = i + 1;
    }
    for (size_t i = 0; i < trace->count; i++) {
        uint32_t parent = joins->parent[i], launch = joins->launch[i], call = joins->call[i];
        require(parent == PYRO_NO_EVENT ||
                (position[parent] < position[i] && trace->track[parent] == trace->track[i]));
        require(launch == PYRO_NO_EVENT || trace->correlation[launch] == trace->correlation[i]);
        require(call == PYRO_NO_LAYER || call < joins->call_count);
        require(call == PYRO_NO_LAYER || joins->phase[i] == PYRO_PHASE_FORWARD ||
                joins->phase[i] == PYRO_PHASE_BACKWARD);
        require(joins->phase[i] < PYRO_PHASE_COUNT && joins->bucket[i] <= PYRO_BUCKET_COLLECTIVE);
        if (pyro_event_is_device_work(trace->category[i]) && joins->bucket[i] == PYRO_BUCKET_LAYER)
            require(call != PYRO_NO_LAYER);
    }
    check_layers(joins);
    check_shares(trace, joins);
    check_steps(joins);
    free(position);
}

static pyro_model *make_model(void)
{
    static const char *const paths[][2] = {
        {"", "Net"}, {"blocks.0", "Block"}, {"blocks.0.fc", "Linear"}, {"blocks.1", "Block"}};
    pyro_model *model = pyro_model_new();
    for (size_t i = 0; model && i < sizeof paths / sizeof *paths; i++) {
        uint32_t module = pyro_model_module(model, paths[i][0], strlen(paths[i][0]));
        model->modules[module].class_name = paths[i][1];
    }
    return model;
}

/* Several threads must give the same result as one. */
static void check_threads(pyro_trace *trace, const pyro_joins *alone,
                          const pyro_analysis_options *options)
{
    pyro_analysis_options with_threads = *options;
    pyro_joins joins;
    with_threads.threads = 3;
    if (pyro_joins_make_sized(&joins, trace, &with_threads, 1, NULL) != PYRO_OK)
        abort();
    size_t bytes = trace->count * sizeof *joins.by_time;
    require(!memcmp(joins.by_time, alone->by_time, bytes));
    require(!memcmp(joins.parent, alone->parent, bytes));
    require(!memcmp(joins.launch, alone->launch, bytes));
    require(!memcmp(joins.op, alone->op, bytes));
    require(!memcmp(joins.call, alone->call, bytes));
    require(!memcmp(joins.phase, alone->phase, trace->count));
    require(!memcmp(joins.bucket, alone->bucket, trace->count));
    require(joins.layer_count == alone->layer_count && joins.call_count == alone->call_count);
    pyro_joins_free(&joins);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bytes from = {data, size};
    uint8_t choice = take(&from);
    pyro_trace *trace = make_trace(&from);
    pyro_analysis_options options = {.step = -1};
    pyro_joins joins;
    if (choice & 1)
        options.model = make_model();
    if (choice & 2)
        options.layers_from = "^fwd[|](.*)$";
    if (choice & 8 && !pyro_trace_property(trace, "compiled_graph.0.0", graph))
        abort();
    options.threads = 1;
    if (pyro_joins_make(&joins, trace, &options, NULL) == PYRO_OK) {
        check(trace, &joins);
        if (choice & 4)
            check_threads(trace, &joins, &options);
        pyro_joins_free(&joins);
    }
    pyro_model_close(options.model);
    free_trace(trace);
    return 0;
}

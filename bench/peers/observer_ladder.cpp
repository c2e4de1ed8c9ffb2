/* Measures the cost of each step of observing ops, from empty callbacks to the full observer,
 * around the same few dozen ops. They are so short that some runs are undisturbed. */
#include "fast_path.hpp"

#include <ATen/ATen.h>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace
{

at::CallbackHandle handle;
volatile uint64_t last_time;
int64_t op_count;

std::unique_ptr<at::ObserverContext> begin_nothing(const at::RecordFunction &)
{
    return nullptr;
}

void end_nothing(const at::RecordFunction &, at::ObserverContext *)
{
}

std::unique_ptr<at::ObserverContext> begin_count(const at::RecordFunction &)
{
    op_count++;
    return nullptr;
}

std::unique_ptr<at::ObserverContext> begin_clock(const at::RecordFunction &)
{
    last_time = pyro_raw_time(api);
    return nullptr;
}

void end_clock(const at::RecordFunction &, at::ObserverContext *)
{
    last_time = pyro_raw_time(api);
}

enum Rung { bare, callbacks, inputs, outputs, clocks, records, shapes, memory };

void observe(at::RecordFunctionCallback callback, int rung)
{
    handle = at::addGlobalCallback(
        callback.needsInputs(rung >= inputs)
            .needsOutputs(rung >= outputs)
            .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION,
                     at::RecordScope::TORCHSCRIPT_FUNCTION, at::RecordScope::USER_SCOPE}));
}

// The ops of an encoder block, mostly views of small tensors.
struct Work {
    at::Tensor x = at::randn({1, 16, 64}), weight = at::randn({192, 64}), bias = at::randn({192}),
               norm = at::ones({64}), zero = at::zeros({64});

    void run()
    {
        at::Tensor normed = at::layer_norm(x, {64}, norm, zero);
        at::Tensor projected = at::linear(normed, weight, bias).unflatten(-1, {3, 64});
        at::Tensor parts = projected.unsqueeze(0).transpose(0, -2).squeeze(-2).contiguous();
        at::Tensor query = parts.select(0, 0).view({1, 16, 4, 16}).transpose(1, 2);
        at::Tensor key = parts.select(0, 1).view({1, 16, 4, 16}).transpose(1, 2);
        at::Tensor sum = (query + key).transpose(1, 2).reshape({1, 16, 64});
        at::relu_(sum.add_(x));
    }
};

} // namespace

EXPORT void ladder_set(pyro_recorder_api *to, int rung)
{
    if (handle)
        at::removeCallback(handle);
    handle = 0;
    unwatch_memory();
    prepare();
    api = to;
    uint32_t flags = rung >= records ? PYRO_RECORD_OPS : 0;
    flags |= rung >= shapes ? PYRO_RECORD_SHAPES | PYRO_RECORD_OUTPUTS : 0;
    flags |= rung >= memory ? PYRO_RECORD_MEMORY : 0;
    wanted.store(flags, std::memory_order_relaxed);
    if (rung >= memory)
        watch_memory();
    if (rung >= records)
        observe(callback_for(flags), rung);
    else if (rung >= clocks)
        observe(at::RecordFunctionCallback(&begin_clock, &end_clock), rung);
    else if (rung >= callbacks)
        observe(at::RecordFunctionCallback(&begin_nothing, &end_nothing), rung);
}

// Number of ops per run.
EXPORT int64_t ladder_count()
{
    c10::InferenceMode guard;
    Work work;
    work.run();
    op_count = 0;
    observe(at::RecordFunctionCallback(&begin_count, &end_nothing), callbacks);
    work.run();
    at::removeCallback(handle);
    handle = 0;
    return op_count;
}

// The shortest of some runs, in ns. Before each, reads as many bytes as a model has weights, so
// that the nearer caches are cold.
EXPORT double ladder_run(int runs, size_t weight_bytes)
{
    c10::InferenceMode guard;
    static Work work;
    static std::vector<char> weights;
    double best = 1e18;
    weights.resize(weight_bytes);
    for (int i = 0; i < runs; i++) {
        timespec start, end;
        uint64_t sum = 0;
        for (size_t at = 0; at < weight_bytes; at += 64)
            sum += weights[at];
        last_time = sum;
        clock_gettime(CLOCK_MONOTONIC, &start);
        work.run();
        clock_gettime(CLOCK_MONOTONIC, &end);
        double ns = (end.tv_sec - start.tv_sec) * 1e9 + (end.tv_nsec - start.tv_nsec);
        best = ns < best ? ns : best;
    }
    return best;
}

/* The recorder that the observer writes to, what is to be recorded, and the state of each thread. */
#ifndef PYROMETER_OBSERVER_RECORDER_HPP
#define PYROMETER_OBSERVER_RECORDER_HPP

#include <ATen/core/Tensor.h>
#include <ATen/record_function.h>
#include <c10/core/Allocator.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pthread.h>

#include <pyrometer/capture.h>

// What every op runs lies together, from the beginning of a line of the cache on; what few do is out
// of its way.
#define HOT __attribute__((hot, aligned(64)))
#define COLD __attribute__((noinline, cold))
#define INLINED __attribute__((always_inline)) inline

namespace
{

constexpr size_t most_sizes = 5; // that torch keeps within a tensor

// Read at every op, so side by side.
struct alignas(64) Settings {
    pyro_recorder_api *api;
    std::atomic<uint32_t> wanted; // PYRO_RECORD_*
    std::atomic<uint8_t> schema_index{
        1}; // of torch's variant; none once an address may be another's

    // For layout.hpp. Where in a word torch keeps what kind of tensor it is.
    uint64_t kind_mask;
    // Which bits of a value count: always its tag; of its own none, all, or those of a boolean.
    alignas(16) uint64_t value_masks[3][2] = {
        {0, UINT32_MAX}, {UINT64_MAX, UINT32_MAX}, {UINT8_MAX, UINT32_MAX}};
    // Which words count of a tensor with so many sizes: their number, and they.
#define X UINT64_MAX
    alignas(16) uint64_t size_masks[1 + most_sizes][1 + most_sizes] = {
        {X}, {X, X}, {X, X, X}, {X, X, X, X}, {X, X, X, X, X}, {X, X, X, X, X, X}};
#undef X
};

Settings settings;
pyro_recorder_api *&api = settings.api;
std::atomic<uint32_t> &wanted = settings.wanted;

struct OpPredictor;
struct PredictedOp;
extern PredictedOp no_op; // no op, and what none is expected to be

// Never a thread's.
pyro_recorder_thread *const no_thread = reinterpret_cast<pyro_recorder_thread *>(&settings);

// What belongs to this thread; finding it is no call. Not aligned to a cache line: glibc on AArch64
// refuses to load a library whose initial-exec variables are aligned beyond 16 bytes.
struct alignas(16) ThreadState {
    pyro_recorder_thread *thread; // what it writes with ...
    pyro_recorder_thread *const *place; // ... and where the recorder keeps that; gone at its end
    PredictedOp *last, *expected; // ops, as prediction.hpp has them
    OpPredictor *predictor; // NULL before the first op
    uint32_t generation; // of the session that all of this belongs to; 0 none
};

#define NO_THREAD_STATE {nullptr, &no_thread, &no_op, &no_op, nullptr, 0}

__thread ThreadState thread_state __attribute__((tls_model("initial-exec"))) = NO_THREAD_STATE;

// Once a function: the compiler would find it again and again.
inline ThreadState *find_thread_state()
{
    ThreadState *found = &thread_state;
    __asm__("" : "+r"(found));
    return found;
}

COLD pyro_recorder_thread *enter_first(ThreadState *state)
{
    pyro_recorder_thread *thread = pyro_is_recording(api) ? pyro_recorder_enter(api) : nullptr;
    if (!thread || state->thread != thread || state->generation != thread->generation)
        *state = NO_THREAD_STATE;
    if (!thread)
        return nullptr;
    state->thread = thread;
    state->generation = thread->generation;
    if (api->place && !api->needs_fence) // else it goes this way every time
        state->place = api->place();
    return thread;
}

// As pyro_recorder_enter where this thread has done that before, else NULL; `busy` is for leave_fast.
INLINED pyro_recorder_thread *enter_fast(const ThreadState *state, uint32_t *busy)
{
    pyro_recorder_thread *thread = state->thread;
    if (__builtin_expect(*state->place != thread, 0))
        return nullptr;
    *busy = thread->busy;
    __atomic_store_n(&thread->busy, *busy + 1, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (__builtin_expect(state->generation == api->generation, 1))
        return thread;
    __atomic_store_n(&thread->busy, *busy, __ATOMIC_RELEASE);
    return nullptr;
}

INLINED void leave_fast(pyro_recorder_thread *thread, uint32_t busy)
{
    __atomic_store_n(&thread->busy, busy, __ATOMIC_RELEASE);
}

// As pyro_recorder_enter.
inline pyro_recorder_thread *enter()
{
    uint32_t busy;
    ThreadState *state = find_thread_state();
    pyro_recorder_thread *thread = enter_fast(state, &busy);
    return __builtin_expect(thread != nullptr, 1) ? thread : enter_first(state);
}

// A line that will be written soon: it is fetched as the writer's own.
inline void prefetch_for_write(const void *line)
{
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0" : : "m"(*static_cast<const char *>(line)));
#else
    __builtin_prefetch(line, 1);
#endif
}

} // namespace

#endif

/* Connects the observer to the recorder. Owns the settings of a session and the state of each
 * thread. */
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

// Groups code that every op runs (HOT), aligned to cache lines, apart from rare code (COLD).
#define HOT __attribute__((hot, aligned(64)))
#define COLD __attribute__((noinline, cold))
#define INLINED __attribute__((always_inline)) inline

namespace
{

constexpr size_t most_sizes = PYRO_TENSOR_OWN_SIZES;

// Read by every op, so kept in adjacent cache lines.
struct alignas(64) Settings {
    pyro_recorder_api *api;
    std::atomic<uint32_t> wanted; // PYRO_RECORD_*
    // Index in torch's variant; invalid once a schema's address may have been reused.
    std::atomic<uint8_t> schema_index{1};

    // For layout.hpp: the bits of a word in which torch stores the kind of a tensor, and those of them
    // that are set if sizes or device must be asked for elsewhere.
    uint64_t kind_mask, odd_mask;
    // Bits of a value to compare: its tag, and none, all or the boolean's bits of its payload.
    alignas(16) uint64_t value_masks[3][2] = {
        {0, UINT32_MAX}, {UINT64_MAX, UINT32_MAX}, {UINT8_MAX, UINT32_MAX}};
    // Words to compare of a tensor with N sizes: the count and the sizes.
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
extern PredictedOp no_op; // matches no op

// Differs from every thread's pointer.
pyro_recorder_thread *const no_thread = reinterpret_cast<pyro_recorder_thread *>(&settings);

// State of this thread, reached without a function call. Not aligned to a cache line: glibc on
// AArch64 refuses to load a library whose initial-exec variables are aligned beyond 16 bytes.
struct alignas(16) ThreadState {
    pyro_recorder_thread *thread;       // the recorder's state of this thread
    pyro_recorder_thread *const *place; // the recorder's own pointer to it; reset when it ends
    PredictedOp *last, *expected;       // of prediction.hpp
    OpPredictor *predictor; // NULL before the first op
    uint32_t generation; // of the session that this state belongs to; 0: none
};

#define NO_THREAD_STATE {nullptr, &no_thread, &no_op, &no_op, nullptr, 0}

__thread ThreadState thread_state __attribute__((tls_model("initial-exec"))) = NO_THREAD_STATE;

// Call once per function: the compiler would recompute the address at every use.
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
    if (api->place && !api->needs_fence) // otherwise every call takes this path
        state->place = api->place();
    return thread;
}

// Like pyro_recorder_enter(), but NULL at a thread's first time.
INLINED pyro_recorder_thread *enter_fast(const ThreadState *state, uint32_t *busy)
{
    pyro_recorder_thread *thread = state->thread;
    if (__builtin_expect(*state->place != thread, 0))
        return nullptr;
    return pyro_recorder_enter_quickly(api, thread, state->generation, busy) ? thread : nullptr;
}

// Like pyro_recorder_enter().
inline pyro_recorder_thread *enter()
{
    uint32_t busy;
    ThreadState *state = find_thread_state();
    pyro_recorder_thread *thread = enter_fast(state, &busy);
    return __builtin_expect(thread != nullptr, 1) ? thread : enter_first(state);
}

// Prefetches a cache line for writing.
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

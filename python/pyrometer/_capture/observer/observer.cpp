/*
 * Records ops, their values and memory of a running torch, by a callback of at::RecordFunction and
 * a wrapper of the CPU allocator. It is C++ because torch offers neither to C, and is built on
 * first use against the user's torch (_capture/observer_build.py).
 */
#include "fast_path.hpp"
#include "device_wait.hpp"

#include <torch/version.h>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace
{

at::CallbackHandle handle;

at::RecordFunctionCallback make_callback(uint32_t flags)
{
    return callback_for(flags)
        .needsInputs(flags & (PYRO_RECORD_SHAPES | PYRO_RECORD_STORAGES))
        .needsOutputs(flags & (PYRO_RECORD_OUTPUTS | PYRO_RECORD_STORAGES))
        .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION,
                 at::RecordScope::TORCHSCRIPT_FUNCTION, at::RecordScope::USER_SCOPE});
}

} // namespace

EXPORT const char *pyro_observer_torch()
{
    return TORCH_VERSION;
}

EXPORT void pyro_observer_stop()
{
    if (handle)
        at::removeCallback(handle);
    handle = 0;
    stop_waiting();
    unwatch_memory();
    wanted.store(0, std::memory_order_relaxed);
    tensor_ids().clear();
}

// Ops after the next start synchronize these devices (one bit each); `wait` NULL: by torch.
EXPORT void pyro_observer_wait_for(uint64_t devices, void (*wait)(int32_t))
{
    waited_for = devices;
    wait_for = wait;
}

// Starts recording to `to` what the flags select. Returns NULL, or the reason why it did not start.
EXPORT const char *pyro_observer_start(pyro_recorder_api *to, uint32_t flags)
{
    const char *reason = nullptr;
    pyro_observer_stop();
    if (to->size != sizeof *to)
        return "the observer was built for another version of pyrometer";
    api = to;
    try {
        if ((reason = prepare()))
            return reason;
        if (flags & PYRO_RECORD_MEMORY && (reason = watch_memory()))
            return reason;
        wanted.store(flags, std::memory_order_relaxed);
        if (flags & PYRO_RECORD_OPS) {
            start_waiting();
            handle = at::addGlobalCallback(make_callback(flags));
        }
    } catch (const std::exception &) {
        pyro_observer_stop();
        reason = "torch rejected the observer's callback";
    }
    return reason;
}

// After pyro_observer_start(), for a session that does not record memory: reports allocations on the CPU
// that fail. Returns NULL, or the reason why it cannot.
EXPORT const char *pyro_observer_watch_failures()
{
    return watch_failures();
}

// Disables the op callback while the recorder rests; the allocator still tracks block sizes.
EXPORT void pyro_observer_rest(int rests)
{
    if (!handle)
        return;
    if (rests)
        at::disableCallback(handle);
    else
        at::reenableCallback(handle);
}

// Writes the ids of a tensor and its storage in a recording; 0 if it has no storage.
EXPORT int pyro_observer_numbers(c10::TensorImpl *tensor, uint64_t out[2])
{
    using Pointer = c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>;
    if (!tensor || !tensor->has_storage())
        return 0;
    TensorId ids = tensor_ids().see(at::Tensor(Pointer::unsafe_reclaim_from_nonowning(tensor)),
                                    false);
    out[0] = ids.tensor;
    out[1] = ids.storage;
    return 1;
}

// Writes a tensor's words as for a value of an op. Returns their number, 0 if sizes are not plain.
EXPORT HOT size_t pyro_observer_tensor(const c10::TensorImpl *tensor, uint64_t *words, size_t room)
{
    if (tensor == c10::UndefinedTensorImpl::singleton() ||
        (__builtin_expect(Peek::has_own_sizes(tensor) || !tensor->dtype().isScalarType(), 0) &&
         !has_plain_sizes(tensor)))
        return 0;
    const uint64_t *end = put_sizes(words, words + room, tensor);
    return end ? static_cast<size_t>(end - words) : 0;
}

// Where tensors store what pyro_observer_tensor() writes; NULL if that is unknown.
EXPORT const pyro_tensor_fields *pyro_observer_tensor_fields()
{
    static pyro_tensor_fields fields;
    if (!learn_layout())
        return nullptr;
    Peek::find_fields(&fields);
    fields.kind_mask = settings.kind_mask;
    fields.odd_mask = settings.odd_mask;
    return &fields;
}

// A self-test with a private recorder, before a session relies on this library. The caller runs ops
// on this thread between pyro_observer_try() and pyro_observer_tried(), which writes the records as
// text: lines "name|sequence|inputs|outputs|state" and "memory|bytes".
namespace
{

struct Trial {
    pyro_recorder_api api;
    pyro_recorder_thread thread;
    pyro_record records[256];
    pthread_t owner;
    char names[64][64];
    uint32_t name_count;
    uint64_t words[64][64];
    size_t word_counts[64];
    uint32_t signature_count;
};

Trial *trial;

pyro_recorder_thread *trial_thread()
{
    return pthread_equal(trial->owner, pthread_self()) ? &trial->thread : nullptr;
}

bool trial_refill(pyro_recorder_thread *)
{
    return false;
}

uint32_t trial_name(pyro_recorder_thread *, const char *text)
{
    if (trial->name_count == 64)
        return 0;
    std::snprintf(trial->names[trial->name_count], 64, "%s", text);
    return ++trial->name_count;
}

uint32_t trial_words(pyro_recorder_thread *, const uint64_t *words, size_t count)
{
    if (trial->signature_count == 64 || count > 64)
        return 0;
    std::memcpy(trial->words[trial->signature_count], words, count * sizeof *words);
    trial->word_counts[trial->signature_count] = count;
    return ++trial->signature_count;
}

size_t put_words(char *out, size_t room, uint32_t id)
{
    size_t used = 0;
    for (size_t i = 0; id && i < trial->word_counts[id - 1] && used + 24 < room; i++)
        used += std::snprintf(out + used, room - used, " %llx",
                              static_cast<unsigned long long>(trial->words[id - 1][i]));
    return used;
}

size_t put_record(char *out, size_t room, const pyro_record &record)
{
    if (record.kind == PYRO_RECORD_ALLOCATION) {
        const auto &memory = reinterpret_cast<const pyro_memory_record &>(record);
        return std::snprintf(out, room, "memory|%lld\n", static_cast<long long>(memory.bytes));
    }
    size_t used = std::snprintf(out, room, "%s|%lld|",
                                record.name ? trial->names[record.name - 1] : "",
                                static_cast<long long>(record.sequence));
    used += put_words(out + used, room - used, record.inputs);
    out[used++] = '|';
    used += put_words(out + used, room - used, record.outputs);
    used += std::snprintf(out + used, room - used, "|%s\n",
                          record.end_raw >= record.start_raw ? "ended" : "open");
    return used;
}

} // namespace

EXPORT const char *pyro_observer_try()
{
    if (!trial)
        trial = new Trial;
    std::memset(static_cast<void *>(trial), 0, sizeof *trial);
    trial->owner = pthread_self();
    trial->api.size = sizeof trial->api;
    trial->api.generation = trial->thread.generation = 1;
    trial->api.uses_clock = 1;
    trial->api.thread = trial_thread;
    trial->api.refill = trial_refill;
    trial->api.name = trial_name;
    trial->api.signature = trial->api.storages = trial_words;
    trial->thread.next = trial->records;
    trial->thread.end = trial->records + 256;
    trial->thread.chunk = 1;
    return pyro_observer_start(&trial->api, PYRO_RECORD_OPS | PYRO_RECORD_SHAPES |
                                                PYRO_RECORD_OUTPUTS | PYRO_RECORD_MEMORY);
}

EXPORT size_t pyro_observer_tried(char *out, size_t room)
{
    size_t used = 0;
    pyro_observer_stop();
    for (const pyro_record *record = trial->records;
         record < trial->thread.next && used + 2048 < room; record++)
        used += put_record(out + used, room - used, *record);
    out[used] = '\0';
    return used;
}

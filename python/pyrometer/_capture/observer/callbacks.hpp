/* Callbacks of at::RecordFunction: write one span per op to the recorder. */
#ifndef PYROMETER_OBSERVER_CALLBACKS_HPP
#define PYROMETER_OBSERVER_CALLBACKS_HPP

#include "allocator.hpp"
#include "prediction.hpp"
#include "storages.hpp"

namespace
{

// Open labels (record_function), which may end on another thread: address -> record.
class Labels
{
  public:
    struct Entry {
        const void *key;
        pyro_record *record;
        uint64_t chunk;
        uint32_t generation;
        pthread_t thread;
    };

    COLD void open(const void *key, pyro_recorder_thread *thread, pyro_record *record)
    {
        lock();
        Entry *free_entry = nullptr;
        for (Entry &entry : entries_) {
            if (!entry.key || entry.key == key || entry.generation != thread->generation) {
                free_entry = &entry;
                if (entry.key == key)
                    break;
            }
        }
        if (free_entry)
            *free_entry = {key, record, thread->chunk, thread->generation, pthread_self()};
        unlock();
    }

    // Removes the entry; false if this session has no such entry.
    bool close(const void *key, uint32_t generation, Entry *out)
    {
        bool found = false;
        lock();
        for (Entry &entry : entries_) {
            if (entry.key != key)
                continue;
            *out = entry;
            found = entry.generation == generation;
            entry.key = nullptr;
            break;
        }
        unlock();
        return found;
    }

  private:
    void lock()
    {
        while (busy_.exchange(true, std::memory_order_acquire)) {
        }
    }
    void unlock()
    {
        busy_.store(false, std::memory_order_release);
    }
    Entry entries_[256] = {};
    std::atomic<bool> busy_{false};
};

Labels labels;

bool is_intact(const pyro_record *record, uint64_t chunk)
{
    return __atomic_load_n(&record->tag, __ATOMIC_RELAXED) == static_cast<uint32_t>(chunk);
}

// Removes spans that ended on other threads from this thread's list, which would fill up otherwise.
COLD void prune_open(pyro_recorder_thread *thread)
{
    uint32_t kept = 0;
    if (thread->depth > PYRO_MOST_OPEN_SPANS)
        return;
    for (uint32_t i = 0; i < thread->depth; i++) {
        const pyro_open_span &span = thread->open[i];
        if (span.record && is_intact(span.record, span.chunk) && span.record->end_raw)
            continue;
        thread->open[kept++] = span;
    }
    __atomic_store_n(&thread->depth, kept, __ATOMIC_RELAXED);
}

COLD uint32_t storages_of(pyro_recorder_thread *thread, const c10::IValue *first, size_t number,
                          bool are_given_by_op, const c10::FunctionSchema *schema = nullptr)
{
    StorageWriter writer(are_given_by_op, schema);
    writer.values(first, number);
    return writer.count ? api->storages(thread, writer.words, writer.count) : 0;
}

// The engine runs a backward function inside a span that has no inputs and no sequence number. That
// span gets the number of the function, as in torch.profiler's traces.
__attribute__((noinline)) void number_evaluation(pyro_recorder_thread *thread,
                                                 const at::RecordFunction &function)
{
    if (!thread->depth || thread->depth > PYRO_MOST_OPEN_SPANS)
        return;
    const pyro_open_span &span = thread->open[thread->depth - 1];
    pyro_record *outer = span.record;
    if (!outer || !is_intact(outer, span.chunk) || outer->kind != PYRO_RECORD_OP ||
        outer->scope != static_cast<uint8_t>(at::RecordScope::FUNCTION) || outer->inputs ||
        outer->sequence != -1)
        return;
    outer->sequence = function.seqNr();
    outer->forward_thread = static_cast<uint32_t>(function.forwardThreadId());
}

// A nested op has the stack of the op around it, unless Python runs in between. The frames around
// an op cannot change while it runs, so comparing the innermost frame is enough.
inline uint32_t stack_of(pyro_recorder_thread *thread, const OpPredictor *predictor,
                         const void *frame)
{
    uint32_t depth = thread->depth;
    if (frame && depth && depth <= PYRO_MOST_OPEN_SPANS) {
        const pyro_open_span &around = thread->open[depth - 1];
        const OpenStack &known = predictor->open_stacks[depth - 1];
        if (known.frame == frame && known.record == around.record && known.chunk == around.chunk)
            return known.stack;
    }
    return api->stack(thread);
}

// Only for ops that the dispatcher runs: under spans that Python opens, frames may change.
inline void keep_stack(const pyro_recorder_thread *thread, OpPredictor *predictor,
                       const pyro_record *record, const at::RecordFunction &function,
                       const void *frame)
{
    uint32_t depth = thread->depth - 1;
    if (depth < PYRO_MOST_OPEN_SPANS)
        predictor->open_stacks[depth] = {record, thread->chunk,
                                         schema_of(function) ? frame : nullptr, record->stack};
}

// Fills in the record when an op begins and commits it, as the last step before the op runs. Free
// records are zeroed, so other fields stay 0.
INLINED void begin_record(pyro_recorder_thread *thread, pyro_record *record, const PredictedOp *op,
                          const at::RecordFunction &function, at::RecordScope scope, uint64_t now)
{
    record->start_raw = now;
    record->sequence = function.seqNr();
    record->name = op->name_id;
    record->inputs = op->inputs;
    record->forward_thread = static_cast<uint32_t>(function.forwardThreadId());
    record->torch_thread = static_cast<uint32_t>(function.threadId());
    pyro_record_is(record, PYRO_RECORD_OP, static_cast<uint32_t>(scope));
    pyro_record_commit(thread, record);
}

void begin_op(pyro_recorder_thread *thread, const at::RecordFunction &function)
{
    uint32_t flags = wanted.load(std::memory_order_relaxed);
    uint32_t input_storages = 0, stack = 0;
    at::RecordScope scope = function.scope();
    OpPredictor *predictor = predictor_of(&thread_state, thread);
    if (__builtin_expect(!predictor, 0))
        return;
    c10::ArrayRef<const c10::IValue> inputs;
    if (__builtin_expect(flags & PYRO_RECORD_SHAPES, 1))
        inputs = function.inputs();
    if (__builtin_expect(flags & PYRO_RECORD_STORAGES, 0) && !function.inputs().empty())
        input_storages = storages_of(thread, function.inputs().data(), function.inputs().size(),
                                     false,
                                     static_cast<const c10::FunctionSchema *>(schema_of(function)));
    const PredictedOp *op = recognize(thread, predictor, function, inputs);
    const void *frame = nullptr;
    if (flags & PYRO_RECORD_STACKS) {
        frame = api->frame();
        stack = stack_of(thread, predictor, frame);
    }
    if (__builtin_expect(scope == at::RecordScope::BACKWARD_FUNCTION, 0))
        number_evaluation(thread, function);
    pyro_record *record = pyro_record_room(api, thread);
    pyro_span_open(thread, record, &function);
    if (!record)
        return;
    if (__builtin_expect(scope == at::RecordScope::USER_SCOPE, 0))
        labels.open(&function, thread, record);
    record->stack = stack;
    record->input_storages = input_storages;
    if (flags & PYRO_RECORD_STACKS)
        keep_stack(thread, predictor, record, function, frame);
    begin_record(thread, record, op, function, scope, pyro_raw_time(api));
    prefetch_for_write(record + 2);
    prefetch(op->next[0]);
}

// Prepares for the first op. Returns NULL, or the reason why ops cannot be recorded.
const char *prepare()
{
    if (!learn_layout())
        return "this torch version has an unsupported memory layout of values";
    watch_registrations();
    return nullptr;
}

std::unique_ptr<at::ObserverContext> on_start(const at::RecordFunction &function)
{
    pyro_recorder_thread *thread = enter();
    if (!thread)
        return nullptr;
    if (__builtin_expect(thread->depth >= 64 && !(thread->depth & (thread->depth - 1)), 0))
        prune_open(thread);
    try {
        begin_op(thread, function);
    } catch (...) {
        // A tensor refused to report its sizes: the op runs, but is not recorded.
    }
    pyro_recorder_leave(thread);
    return nullptr;
}

INLINED void end_record(pyro_recorder_thread *thread, pyro_record *record,
                        const at::RecordFunction &function, uint64_t now)
{
    uint32_t flags = wanted.load(std::memory_order_relaxed);
    const std::vector<c10::IValue> &values = function.outputs();
    if (!values.empty()) {
        try {
            if (flags & PYRO_RECORD_OUTPUTS)
                record->outputs = recognize_outputs(thread, thread->depth, values);
            if (flags & PYRO_RECORD_STORAGES)
                record->output_storages = storages_of(thread, values.data(), values.size(), true);
        } catch (...) {
            // A tensor refused to report its sizes: the record lacks outputs or storages.
        }
    }
    __atomic_store_n(&record->end_raw, now, __ATOMIC_RELEASE);
}

COLD void end_label(pyro_recorder_thread *thread, const at::RecordFunction &function, uint64_t now)
{
    Labels::Entry entry;
    pyro_record *record = pyro_span_close(thread, &function);
    bool found = labels.close(&function, thread->generation, &entry);
    if (record)
        return is_intact(record, thread->open[thread->depth].chunk)
                   ? end_record(thread, record, function, now)
                   : void();
    if (!found || !is_intact(entry.record, entry.chunk) || entry.record->end_raw)
        return;
    if (!pthread_equal(entry.thread, pthread_self()))
        entry.record->notes |= PYRO_NOTE_ELSEWHERE;
    __atomic_store_n(&entry.record->end_raw, now, __ATOMIC_RELEASE);
}

void on_end(const at::RecordFunction &function, at::ObserverContext *)
{
    if (!pyro_is_recording(api))
        return;
    uint64_t now = pyro_raw_time(api);
    pyro_recorder_thread *thread = enter();
    if (!thread)
        return;
    if (__builtin_expect(function.scope() == at::RecordScope::USER_SCOPE, 0)) {
        end_label(thread, function, now);
    } else {
        pyro_record *record = pyro_span_close(thread, &function);
        if (record && is_intact(record, thread->open[thread->depth].chunk))
            end_record(thread, record, function, now);
    }
    pyro_recorder_leave(thread);
}

} // namespace

#endif

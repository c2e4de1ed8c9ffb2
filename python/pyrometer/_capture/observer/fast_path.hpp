/*
 * Callbacks for correctly predicted ops, which are nearly all. The code is small because the
 * program evicts it from the cache between two ops. Passes every other op to callbacks.hpp.
 */
#ifndef PYROMETER_OBSERVER_FAST_PATH_HPP
#define PYROMETER_OBSERVER_FAST_PATH_HPP

#include "callbacks.hpp"

namespace
{

// Requires the fast clock, and a capture without stacks and storages.
bool can_use_fast_path(uint32_t flags)
{
    return !api->uses_clock && !(flags & (PYRO_RECORD_STACKS | PYRO_RECORD_STORAGES));
}

constexpr uint32_t most_fast_depth = 64;

HOT std::unique_ptr<at::ObserverContext> on_start_fast(const at::RecordFunction &function)
{
    uint32_t busy;
    ThreadState *state = find_thread_state();
    pyro_recorder_thread *thread = enter_fast(state, &busy);
    if (__builtin_expect(!thread, 0))
        return on_start(function);
    PredictedOp *op = state->expected;
    pyro_record *record = thread->next;
    uint32_t depth = thread->depth;
    if (__builtin_expect(record == thread->end || depth >= most_fast_depth ||
                             op->schema != schema_of(function) ||
                             function.scope() != at::RecordScope::FUNCTION ||
                             !has_layout_inlined(op->input_layout(), {function.inputs().data(),
                                                                      function.inputs().size()}),
                         0)) {
        pyro_recorder_leave_quickly(thread, busy);
        return on_start(function);
    }
    PredictedOp *next = op->next[0];
    state->last = op;
    state->expected = next;
    thread->open[depth].op = op;
    pyro_span_open_at(thread, depth, record, &function);
    prefetch_for_write(record + 2);
    prefetch(next);
    begin_record(thread, record, op, function, at::RecordScope::FUNCTION, pyro_counter());
    pyro_recorder_leave_quickly(thread, busy);
    return nullptr;
}

// Whether the op of this span returned outputs of the expected layout; sets `id` to their id.
INLINED bool gave_expected(const pyro_open_span *span, const at::RecordFunction &function,
                           uint32_t *id)
{
    const std::vector<c10::IValue> &values = function.outputs();
    auto *op = static_cast<const PredictedOp *>(span->op);
    *id = 0;
    if (values.empty())
        return true;
    if (!op || !op->output_layout || !has_layout(op->output_layout, {values.data(), values.size()}))
        return false;
    *id = op->outputs;
    return true;
}

template <bool with_outputs>
HOT void on_end_fast(const at::RecordFunction &function, at::ObserverContext *context)
{
    uint32_t busy, outputs = 0;
    uint64_t now = pyro_counter();
    const ThreadState *state = find_thread_state();
    pyro_recorder_thread *thread = enter_fast(state, &busy);
    if (__builtin_expect(!thread, 0))
        return on_end(function, context);
    uint32_t depth = thread->depth - 1;
    pyro_open_span *span = &thread->open[depth];
    if (__builtin_expect(depth >= most_fast_depth || span->key != &function || !span->record ||
                             !is_intact(span->record, span->chunk) ||
                             function.scope() != at::RecordScope::FUNCTION ||
                             (with_outputs && !gave_expected(span, function, &outputs)),
                         0)) {
        pyro_recorder_leave_quickly(thread, busy);
        return on_end(function, context);
    }
    if (with_outputs)
        span->record->outputs = outputs;
    __atomic_store_n(&thread->depth, depth, __ATOMIC_RELEASE);
    __atomic_store_n(&span->record->end_raw, now, __ATOMIC_RELEASE);
    pyro_recorder_leave_quickly(thread, busy);
}

// The callback pair that records a session's ops.
at::RecordFunctionCallback callback_for(uint32_t flags)
{
    if (!can_use_fast_path(flags))
        return at::RecordFunctionCallback(&on_start, &on_end);
    return at::RecordFunctionCallback(
        &on_start_fast, flags & PYRO_RECORD_OUTPUTS ? &on_end_fast<true> : &on_end_fast<false>);
}

} // namespace

#endif

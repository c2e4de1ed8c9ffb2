/*
 * What most ops need and no more: those that are expected. It is small, because between two ops a
 * program runs so much else that this code is hardly at hand any more. All else goes the way of
 * callbacks.hpp, from the beginning.
 */
#ifndef PYROMETER_OBSERVER_QUICK_HPP
#define PYROMETER_OBSERVER_QUICK_HPP

#include "callbacks.hpp"

namespace
{

// Where torch shows its inside, with the fast clock, and neither stacks nor storages are wanted.
bool may_be_quick(uint32_t flags)
{
    return !door->uses_clock && !(flags & (PYRO_RECORD_STACKS | PYRO_RECORD_STORAGES));
}

constexpr uint32_t most_quick_depth = 64;

OFTEN std::unique_ptr<at::ObserverContext> on_start_quickly(const at::RecordFunction &function)
{
    uint32_t busy;
    Here *mine = find_here();
    pyro_recorder_thread *thread = enter_quickly(mine, &busy);
    if (__builtin_expect(!thread, 0))
        return on_start(function);
    Known *known = mine->expected;
    pyro_record *record = thread->next;
    uint32_t depth = thread->depth;
    if (__builtin_expect(record == thread->end || depth >= most_quick_depth ||
                             known->schema != schema_of(function) ||
                             function.scope() != at::RecordScope::FUNCTION ||
                             !has_form(known->input_form(),
                                       {function.inputs().data(), function.inputs().size()}),
                         0)) {
        leave_quickly(thread, busy);
        return on_start(function);
    }
    Known *next = known->next[0];
    mine->last = known;
    mine->expected = next;
    mine->order->open[depth] = known;
    pyro_span_open_at(thread, depth, record, &function);
    prefetch_for_write(record + 2);
    prefetch(next);
    begin_record(thread, record, known, function, at::RecordScope::FUNCTION, pyro_counter());
    leave_quickly(thread, busy);
    return nullptr;
}

// Whether the op that was open at a depth gave what was expected; then the id of that is `id`.
INLINED bool gave_expected(const Here *mine, uint32_t depth, const at::RecordFunction &function,
                           uint32_t *id)
{
    const std::vector<c10::IValue> &values = function.outputs();
    const Known *known = mine->order ? mine->order->open[depth] : nullptr;
    *id = 0;
    if (values.empty())
        return true;
    if (!known || !known->output_form ||
        !has_form(known->output_form, {values.data(), values.size()}))
        return false;
    *id = known->outputs;
    return true;
}

template <bool with_outputs>
OFTEN void on_end_quickly(const at::RecordFunction &function, at::ObserverContext *context)
{
    uint32_t busy, outputs = 0;
    uint64_t now = pyro_counter();
    const Here *mine = find_here();
    pyro_recorder_thread *thread = enter_quickly(mine, &busy);
    if (__builtin_expect(!thread, 0))
        return on_end(function, context);
    uint32_t depth = thread->depth - 1;
    pyro_open_span *span = &thread->open[depth];
    if (__builtin_expect(depth >= most_quick_depth || span->key != &function || !span->record ||
                             !is_intact(span->record, span->chunk) ||
                             function.scope() != at::RecordScope::FUNCTION ||
                             (with_outputs && !gave_expected(mine, depth, function, &outputs)),
                         0)) {
        leave_quickly(thread, busy);
        return on_end(function, context);
    }
    if (with_outputs)
        span->record->outputs = outputs;
    __atomic_store_n(&thread->depth, depth, __ATOMIC_RELEASE);
    __atomic_store_n(&span->record->end_raw, now, __ATOMIC_RELEASE);
    leave_quickly(thread, busy);
}

// What observes ops for a session.
at::RecordFunctionCallback callback_for(uint32_t flags)
{
    if (!may_be_quick(flags))
        return at::RecordFunctionCallback(&on_start, &on_end);
    return at::RecordFunctionCallback(&on_start_quickly, flags & PYRO_RECORD_OUTPUTS
                                                             ? &on_end_quickly<true>
                                                             : &on_end_quickly<false>);
}

} // namespace

#endif

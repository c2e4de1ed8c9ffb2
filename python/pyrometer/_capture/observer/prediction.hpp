/* Predicts the next op of a thread from the ops before it, so that a comparison replaces the lookup
 * of its name and values. Owns each thread's history of ops. */
#ifndef PYROMETER_OBSERVER_PREDICTION_HPP
#define PYROMETER_OBSERVER_PREDICTION_HPP

#include "layout.hpp"
#include "torch_private.hpp"
#include "varying.hpp"

namespace
{

// An op as it was last seen after the same history: its name, its values and their ids.
struct alignas(64) PredictedOp {
    PredictedOp *next[2]; // ops that followed it, the latest first
    const void *schema; // &by_name: identified by its name's text
    const char *name;   // a copy
    const ValueLayout *output_layout; // NULL: unknown
    uint64_t history; // the 16 ops before it, four bits each
    uint32_t name_id, inputs, outputs;

    const ValueLayout *input_layout() const
    {
        return reinterpret_cast<const ValueLayout *>(this + 1);
    }
};

static_assert(sizeof(PredictedOp) == 64, "the part that every op reads fits one cache line");

// Special values of PredictedOp::schema.
const char by_name = 0, by_nothing = 0;

PredictedOp no_op = {{&no_op, &no_op}, &by_nothing};

constexpr size_t longest_name = 256; // in bytes

inline uint32_t op_hash(uint32_t name_id, uint32_t inputs)
{
    return static_cast<uint32_t>(
        (uint64_t{name_id} << 32 | inputs) * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

// The stack of an open op. Record and chunk identify its span.
struct OpenStack {
    const pyro_record *record;
    uint64_t chunk;
    const void *frame; // the innermost; NULL if it may run on while the span is open
    uint32_t stack;
};

// A model runs the same ops in the same order, so the next op is most likely the one that followed
// last time. Comparing it with memory that is laid out in that order replaces all lookups. The
// comparison is complete, so nothing wrong is carried over from an earlier call.
struct OpPredictor {
    static constexpr size_t room_bytes = 8u << 20; // virtual; only used pages become resident
    static constexpr int index_bits = 14;
    PredictedOp *transient; // scratch for an op that is not stored
    size_t used;
    OpenStack open_stacks[PYRO_MOST_OPEN_SPANS];
    PredictedOp *index[1u << index_bits]; // by hash of history and op
    VaryingOps varying;
    alignas(64) char room[room_bytes];
};

COLD OpPredictor *renew_predictor(pyro_recorder_thread *thread)
{
    auto *predictor = static_cast<OpPredictor *>(thread->ops);
    if (!predictor) {
        thread->ops = predictor = static_cast<OpPredictor *>(
            std::aligned_alloc(64, sizeof *predictor));
        if (!predictor)
            return nullptr;
    }
    predictor->transient = reinterpret_cast<PredictedOp *>(predictor->room + sizeof(PredictedOp));
    predictor->used = 2 * sizeof(PredictedOp);
    std::memset(predictor->room, 0, predictor->used);
    for (pyro_open_span &span : thread->open)
        span.op = nullptr;
    std::memset(static_cast<void *>(predictor->open_stacks), 0, sizeof predictor->open_stacks);
    std::memset(predictor->index, 0, sizeof predictor->index);
    predictor->varying.clear();
    thread_state.predictor = predictor;
    thread_state.last = reinterpret_cast<PredictedOp *>(predictor->room); // before the first op
    thread_state.last->next[0] = thread_state.last->next[1] = thread_state.expected = &no_op;
    return predictor;
}

// NULL if memory ran out.
inline OpPredictor *predictor_of(const ThreadState *state, pyro_recorder_thread *thread)
{
    return __builtin_expect(state->predictor != nullptr, 1) ? state->predictor
                                                            : renew_predictor(thread);
}

COLD bool is_name(const PredictedOp *op, const char *name)
{
    return op->schema == &by_name && !std::strcmp(op->name, name);
}

INLINED bool is_op(const PredictedOp *op, const at::RecordFunction &function)
{
    const void *schema = schema_of(function);
    return __builtin_expect(schema != nullptr, 1) ? op->schema == schema
                                                  : is_name(op, function.name());
}

inline bool fits(const PredictedOp *op, const at::RecordFunction &function,
                 c10::ArrayRef<const c10::IValue> inputs)
{
    return is_op(op, function) && has_layout(op->input_layout(), {inputs.data(), inputs.size()});
}

// Allocates memory that stays valid until the next renewal; NULL if none is left.
void *take_room(OpPredictor *predictor, size_t bytes)
{
    size_t rounded = (bytes + alignof(PredictedOp) - 1) & ~(alignof(PredictedOp) - 1);
    if (predictor->used + rounded > OpPredictor::room_bytes)
        return nullptr;
    void *room = predictor->room + predictor->used;
    predictor->used += rounded;
    return room;
}

// Allocates an op with the layout of its inputs; NULL if its name is too long.
PredictedOp *append(pyro_recorder_thread *thread, OpPredictor *predictor, const char *name,
                    const LayoutWriter &inputs)
{
    size_t length = std::strlen(name);
    size_t bytes = sizeof(PredictedOp) + inputs.bytes() + length + 1;
    if (length >= longest_name)
        return nullptr;
    auto *op = static_cast<PredictedOp *>(take_room(predictor, bytes));
    if (!op)
        op = static_cast<PredictedOp *>(take_room(renew_predictor(thread), bytes));
    auto *copied_name = reinterpret_cast<char *>(op + 1) + inputs.bytes();
    op->next[0] = op->next[1] = &no_op;
    op->output_layout = nullptr;
    op->outputs = 0;
    op->name = std::strcpy(copied_name, name);
    inputs.copy(op + 1);
    return op;
}

// The op with these ids after the current history; NULL if it cannot be stored. `any_reals`: its
// real numbers change from call to call.
PredictedOp *find_or_append(pyro_recorder_thread *thread, OpPredictor *predictor,
                            const at::RecordFunction &function,
                            c10::ArrayRef<const c10::IValue> values, uint32_t name_id,
                            uint32_t inputs_id, bool any_reals)
{
    const PredictedOp *last = thread_state.last;
    uint64_t history = last->history << 4 | op_hash(last->name_id, last->inputs) >> 28;
    uint64_t hash = (history ^ op_hash(name_id, inputs_id)) * UINT64_C(0x9e3779b97f4a7c15);
    size_t slot = hash >> (64 - OpPredictor::index_bits);
    for (size_t way = 0; way < 2; way++) {
        PredictedOp *op = predictor->index[slot ^ way];
        if (op && op->history == history && fits(op, function, values))
            return op;
    }
    LayoutWriter layout;
    PredictedOp *op = layout.put(values.data(), values.size(), any_reals)
                          ? append(thread, predictor, function.name(), layout)
                          : nullptr;
    if (!op)
        return nullptr;
    op->schema = schema_of(function);
    if (!op->schema)
        op->schema = &by_name;
    op->name_id = name_id;
    op->inputs = inputs_id;
    op->history = history;
    predictor->index[slot ^ 1] = predictor->index[slot];
    return predictor->index[slot] = op;
}

// Looks up a mispredicted op and stores it as the successor of the last op.
PredictedOp *learn(pyro_recorder_thread *thread, OpPredictor *predictor,
                   const at::RecordFunction &function, c10::ArrayRef<const c10::IValue> values)
{
    Words inputs;
    PredictedOp *transient = predictor->transient, *op;
    transient->name_id = api->name(thread, function.name());
    if (!inputs.put(values.data(), values.size())) {
        CutWriter writer;
        writer.values(values.data(), values.size());
        if (predictor->varying.note(transient->name_id, writer.words, writer.count))
            writer.count = forget_reals(writer.words, writer.count);
        transient->inputs = api->signature(thread, writer.words, writer.count);
        return transient;
    }
    bool any_reals = predictor->varying.note(transient->name_id, inputs.words, inputs.count);
    if (any_reals)
        inputs.count = forget_reals(inputs.words, inputs.count);
    transient->inputs = inputs.count ? api->signature(thread, inputs.words, inputs.count) : 0;
    if (!transient->name_id || !(op = find_or_append(thread, predictor, function, values,
                                                     transient->name_id, transient->inputs,
                                                     any_reals)))
        return transient;
    thread_state.last->next[1] = thread_state.last->next[0];
    return thread_state.last->next[0] = op;
}

COLD PredictedOp *recognize_other(pyro_recorder_thread *thread, OpPredictor *predictor,
                                  const at::RecordFunction &function,
                                  c10::ArrayRef<const c10::IValue> inputs)
{
    PredictedOp **next = thread_state.last->next;
    if (!fits(next[1], function, inputs))
        return learn(thread, predictor, function, inputs);
    std::swap(next[0], next[1]);
    return next[0];
}

// Identifies the op that begins.
inline const PredictedOp *recognize(pyro_recorder_thread *thread, OpPredictor *predictor,
                                    const at::RecordFunction &function,
                                    c10::ArrayRef<const c10::IValue> inputs)
{
    PredictedOp *op = thread_state.expected, *kept = op;
    if (__builtin_expect(!fits(op, function, inputs), 0)) {
        op = recognize_other(thread, predictor, function, inputs);
        kept = op != predictor->transient ? op : nullptr;
    }
    if (__builtin_expect(kept != nullptr, 1)) {
        thread_state.last = kept;
        thread_state.expected = kept->next[0];
    }
    if (thread->depth < PYRO_MOST_OPEN_SPANS)
        thread->open[thread->depth].op = kept;
    return op;
}

// Prefetches the op that is expected next, which is compared after this op has run. A convolution has
// eight lines or more; behind a shorter op lies the one after it.
inline void prefetch(const PredictedOp *op)
{
    auto *line = reinterpret_cast<const char *>(op);
#pragma GCC unroll 8
    for (size_t i = 0; i < 8; i++)
        __builtin_prefetch(line + i * 64);
}

// Looks up the id of unexpected outputs and stores their layout.
COLD uint32_t learn_outputs(pyro_recorder_thread *thread, PredictedOp *op,
                            const std::vector<c10::IValue> &values)
{
    Words outputs;
    if (!outputs.put(values.data(), values.size())) {
        CutWriter writer;
        writer.values(values.data(), values.size());
        return api->signature(thread, writer.words, writer.count);
    }
    uint32_t id = outputs.count ? api->signature(thread, outputs.words, outputs.count) : 0;
    LayoutWriter layout;
    if (op && id && layout.put(values.data(), values.size())) {
        // Overwrites the old layout if it has the same size.
        bool fits = op->output_layout && op->output_layout->bytes == layout.bytes();
        void *room = fits ? const_cast<ValueLayout *>(op->output_layout)
                          : take_room(thread_state.predictor, layout.bytes());
        if (room) {
            layout.copy(room);
            op->output_layout = static_cast<ValueLayout *>(room);
            op->outputs = id;
        }
    }
    return id;
}

// Returns the id of the outputs of the op at `depth`.
inline uint32_t recognize_outputs(pyro_recorder_thread *thread, uint32_t depth,
                                  const std::vector<c10::IValue> &values)
{
    PredictedOp *op = nullptr;
    if (depth < PYRO_MOST_OPEN_SPANS)
        op = static_cast<PredictedOp *>(thread->open[depth].op);
    if (__builtin_expect(op && op->output_layout &&
                             has_layout(op->output_layout, {values.data(), values.size()}),
                         1))
        return op->outputs;
    return learn_outputs(thread, op, values);
}

} // namespace

#endif

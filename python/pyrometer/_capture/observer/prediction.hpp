/* Which op comes next: names and values of ops are compared with what followed last time. */
#ifndef PYROMETER_OBSERVER_ORDER_HPP
#define PYROMETER_OBSERVER_ORDER_HPP

#include "layout.hpp"
#include "torch_private.hpp"

namespace
{

// What an op was when it was last met after the same ops: its name and values, and their ids.
struct alignas(64) Known {
    Known *next[2]; // what followed it; the latest first
    const void *schema; // `by_name`: only the text of the name tells
    const char *name;   // a copy
    const Form *output_form; // NULL: none is known
    uint64_t trail; // the 16 ops before it, four bits each
    uint32_t name_id, inputs, outputs;

    const Form *input_form() const
    {
        return reinterpret_cast<const Form *>(this + 1);
    }
};

static_assert(sizeof(Known) == 64, "what every op looks at is one line of the cache");

// In the place of a schema.
const char by_name = 0, by_nothing = 0;

Known nothing = {{&nothing, &nothing}, &by_nothing};

constexpr size_t longest_name = 256; // in bytes

inline uint32_t op_hash(uint32_t name_id, uint32_t inputs)
{
    return static_cast<uint32_t>((uint64_t{name_id} << 32 | inputs) *
                                     UINT64_C(0x9e3779b97f4a7c15) >>
                                 32);
}

// The stack of an op that is open, by what tells its span from all others.
struct Seen {
    const pyro_record *record;
    uint64_t chunk;
    const void *frame; // that was innermost; NULL where it may go on while the span is open
    uint32_t stack;
};

// A model runs the same ops in the same order again and again, so the next one is most likely what
// followed last time: then comparing it, from memory that was laid out in that order, replaces all
// looking up. What is compared is everything, so nothing is taken from an earlier call.
struct Order {
    static constexpr size_t room_bytes = 8u << 20; // of which only what is used becomes memory
    static constexpr int index_bits = 14;
    Known *passing; // an op that is not kept
    size_t used;
    Known *open[PYRO_MOST_OPEN_SPANS]; // NULL: not kept
    Seen seen[PYRO_MOST_OPEN_SPANS];
    Known *index[1u << index_bits]; // by trails: the chain of what follows closes to rings
    alignas(64) char room[room_bytes];
};

RARELY Order *renew_order(pyro_recorder_thread *thread)
{
    auto *order = static_cast<Order *>(thread->ops);
    if (!order) {
        thread->ops = order = static_cast<Order *>(std::aligned_alloc(64, sizeof *order));
        if (!order)
            return nullptr;
    }
    order->passing = reinterpret_cast<Known *>(order->room + sizeof(Known));
    order->used = 2 * sizeof(Known);
    std::memset(order->room, 0, order->used);
    std::memset(order->open, 0, sizeof order->open);
    std::memset(static_cast<void *>(order->seen), 0, sizeof order->seen);
    std::memset(order->index, 0, sizeof order->index);
    here.order = order;
    here.last = reinterpret_cast<Known *>(order->room); // before the first op
    here.last->next[0] = here.last->next[1] = here.expected = &nothing;
    return order;
}

// NULL where there is no memory for it.
inline Order *order_of(const Here *mine, pyro_recorder_thread *thread)
{
    return __builtin_expect(mine->order != nullptr, 1) ? mine->order : renew_order(thread);
}

RARELY bool is_name(const Known *known, const char *name)
{
    return known->schema == &by_name && !std::strcmp(known->name, name);
}

INLINED bool is_op(const Known *known, const at::RecordFunction &function)
{
    const void *schema = schema_of(function);
    return __builtin_expect(schema != nullptr, 1) ? known->schema == schema
                                                  : is_name(known, function.name());
}

inline bool fits(const Known *known, const at::RecordFunction &function,
                 c10::ArrayRef<const c10::IValue> inputs)
{
    return is_op(known, function) &&
           has_form(known->input_form(), {inputs.data(), inputs.size()});
}

// Room that is there until the next renewal; NULL where it is used up.
void *take_room(Order *order, size_t bytes)
{
    size_t rounded = (bytes + alignof(Known) - 1) & ~(alignof(Known) - 1);
    if (order->used + rounded > Order::room_bytes)
        return nullptr;
    void *room = order->room + order->used;
    order->used += rounded;
    return room;
}

// Makes room for an op and what it was given; NULL where that is too long to be worth it.
Known *append(pyro_recorder_thread *thread, Order *order, const char *name,
              const FormWriter &inputs)
{
    size_t length = std::strlen(name);
    size_t bytes = sizeof(Known) + inputs.bytes() + length + 1;
    if (length >= longest_name)
        return nullptr;
    auto *known = static_cast<Known *>(take_room(order, bytes));
    if (!known)
        known = static_cast<Known *>(take_room(renew_order(thread), bytes));
    auto *copied_name = reinterpret_cast<char *>(known + 1) + inputs.bytes();
    known->next[0] = known->next[1] = &nothing;
    known->output_form = nullptr;
    known->outputs = 0;
    known->name = std::strcpy(copied_name, name);
    inputs.copy(known + 1);
    return known;
}

// The op with these ids after those that were last; NULL where it cannot be kept.
Known *find_or_append(pyro_recorder_thread *thread, Order *order,
                      const at::RecordFunction &function, c10::ArrayRef<const c10::IValue> values,
                      uint32_t name_id, uint32_t inputs_id)
{
    const Known *last = here.last;
    uint64_t trail = last->trail << 4 | op_hash(last->name_id, last->inputs) >> 28;
    uint64_t hash = (trail ^ op_hash(name_id, inputs_id)) * UINT64_C(0x9e3779b97f4a7c15);
    size_t slot = hash >> (64 - Order::index_bits);
    for (size_t way = 0; way < 2; way++) {
        Known *known = order->index[slot ^ way];
        if (known && known->trail == trail && fits(known, function, values))
            return known;
    }
    FormWriter form;
    Known *known = form.put(values.data(), values.size())
                       ? append(thread, order, function.name(), form)
                       : nullptr;
    if (!known)
        return nullptr;
    known->schema = schema_of(function);
    if (!known->schema)
        known->schema = &by_name;
    known->name_id = name_id;
    known->inputs = inputs_id;
    known->trail = trail;
    order->index[slot ^ 1] = order->index[slot];
    return order->index[slot] = known;
}

// Looks up what was not expected, and remembers it as what follows the last op.
Known *learn(pyro_recorder_thread *thread, Order *order, const at::RecordFunction &function,
             c10::ArrayRef<const c10::IValue> values)
{
    Words inputs;
    Known *passing = order->passing, *known;
    passing->name_id = door->name(thread, function.name());
    if (!inputs.put(values.data(), values.size())) {
        CutWriter writer;
        writer.values(values.data(), values.size());
        passing->inputs = door->signature(thread, writer.words, writer.count);
        return passing;
    }
    passing->inputs = inputs.count ? door->signature(thread, inputs.words, inputs.count) : 0;
    if (!passing->name_id || !(known = find_or_append(thread, order, function, values,
                                                      passing->name_id, passing->inputs)))
        return passing;
    here.last->next[1] = here.last->next[0];
    return here.last->next[0] = known;
}

RARELY Known *recognize_other(pyro_recorder_thread *thread, Order *order,
                              const at::RecordFunction &function,
                              c10::ArrayRef<const c10::IValue> inputs)
{
    Known **next = here.last->next;
    if (!fits(next[1], function, inputs))
        return learn(thread, order, function, inputs);
    std::swap(next[0], next[1]);
    return next[0];
}

// The op that begins.
inline const Known *recognize(pyro_recorder_thread *thread, Order *order,
                              const at::RecordFunction &function,
                              c10::ArrayRef<const c10::IValue> inputs)
{
    Known *known = here.expected, *kept = known;
    if (__builtin_expect(!fits(known, function, inputs), 0)) {
        known = recognize_other(thread, order, function, inputs);
        kept = known != order->passing ? known : nullptr;
    }
    if (__builtin_expect(kept != nullptr, 1)) {
        here.last = kept;
        here.expected = kept->next[0];
    }
    if (thread->depth < PYRO_MOST_OPEN_SPANS)
        order->open[thread->depth] = kept;
    return known;
}

// What comes next is compared when this op has run; by then it should be at hand.
inline void prefetch(const Known *known)
{
    auto *line = reinterpret_cast<const char *>(known);
    __builtin_prefetch(line);
    __builtin_prefetch(line + 64);
    __builtin_prefetch(line + 128);
    __builtin_prefetch(line + 192);
}

// The id of values that were not expected.
RARELY uint32_t learn_outputs(pyro_recorder_thread *thread, Known *known,
                              const std::vector<c10::IValue> &values)
{
    Words outputs;
    if (!outputs.put(values.data(), values.size())) {
        CutWriter writer;
        writer.values(values.data(), values.size());
        return door->signature(thread, writer.words, writer.count);
    }
    uint32_t id = outputs.count ? door->signature(thread, outputs.words, outputs.count) : 0;
    FormWriter form;
    if (known && id && form.put(values.data(), values.size())) {
        // In the place of what was known, where that is as long.
        bool fits = known->output_form && known->output_form->bytes == form.bytes();
        void *room = fits ? const_cast<Form *>(known->output_form)
                          : take_room(here.order, form.bytes());
        if (room) {
            form.copy(room);
            known->output_form = static_cast<Form *>(room);
            known->outputs = id;
        }
    }
    return id;
}

// The outputs' id; `depth` is where the op was open.
inline uint32_t recognize_outputs(pyro_recorder_thread *thread, uint32_t depth,
                                  const std::vector<c10::IValue> &values)
{
    Known *known = nullptr;
    if (here.order && depth < PYRO_MOST_OPEN_SPANS)
        known = here.order->open[depth];
    if (__builtin_expect(known && known->output_form &&
                             has_form(known->output_form, {values.data(), values.size()}),
                         1))
        return known->outputs;
    return learn_outputs(thread, known, values);
}

} // namespace

#endif

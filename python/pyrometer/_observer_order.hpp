/* Which op comes next: names and values of ops are compared with what followed last time. */
#ifndef PYROMETER_OBSERVER_ORDER_HPP
#define PYROMETER_OBSERVER_ORDER_HPP

#include "_observer_inside.hpp"
#include "_observer_values.hpp"

namespace
{

// What an op was when it was last met after the same ops: its name and values, and their ids.
struct alignas(64) Known {
    Known *next[2]; // what followed it; the latest first
    const void *schema; // NULL: only the text of the name tells
    const char *name;
    uint32_t name_id, inputs, outputs;
    uint16_t input_words, output_words;
    uint32_t trail[3];   // the ops before it, the latest first
    uint64_t words[];    // inputs; outputs; the name, ended and padded by 0

    uint64_t *output_place()
    {
        return words + input_words;
    }
    const uint64_t *name_place() const
    {
        return words + input_words + output_room;
    }
    static constexpr size_t most_output_words = 16; // that are kept
    // A number is compared with two words, also where the second belongs to none.
    static constexpr size_t output_room = most_output_words + 1;
};

static_assert(sizeof(Known) == 64, "what every op looks at is one line of the cache");

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
    here.generation = thread->generation;
    here.order = order;
    here.last = reinterpret_cast<Known *>(order->room); // before the first op; never NULL
    here.expected = nullptr;
    order->passing = reinterpret_cast<Known *>(order->room + sizeof(Known));
    order->used = 2 * sizeof(Known);
    std::memset(order->room, 0, order->used);
    std::memset(order->open, 0, sizeof order->open);
    std::memset(static_cast<void *>(order->seen), 0, sizeof order->seen);
    std::memset(order->index, 0, sizeof order->index);
    return order;
}

// NULL where there is no memory for it.
inline Order *order_of(pyro_recorder_thread *thread)
{
    if (__builtin_expect(here.generation != thread->generation || thread->ops != here.order, 0))
        return renew_order(thread);
    return here.order;
}

// The address says what it was, and the text whether it still is.
RARELY bool is_name(const Known *known, const char *name)
{
    return known->name == name &&
           !std::strcmp(reinterpret_cast<const char *>(known->name_place()), name);
}

inline bool is_op(const Known *known, const at::RecordFunction &function)
{
    const void *schema = schema_of(function);
    return __builtin_expect(schema != nullptr, 1) ? known->schema == schema
                                                  : is_name(known, function.name());
}

OFTEN inline bool fits(const Known *known, const at::RecordFunction &function,
                       c10::ArrayRef<const c10::IValue> inputs)
{
    return known && is_op(known, function) &&
           match_values(known->words, known->input_words, inputs.data(), inputs.size());
}

// Makes room for an op and what it was given; NULL where that is too long to be worth it.
Known *append(pyro_recorder_thread *thread, Order *order, const char *name, const Words &inputs)
{
    size_t length = std::strlen(name), name_words = length / 8 + 1;
    size_t bytes = sizeof(Known) + (inputs.count + Known::output_room + name_words) * 8;
    bytes = (bytes + alignof(Known) - 1) & ~(alignof(Known) - 1);
    if (length >= longest_name)
        return nullptr;
    if (order->used + bytes > Order::room_bytes)
        renew_order(thread);
    auto *known = reinterpret_cast<Known *>(order->room + order->used);
    order->used += bytes;
    known->next[0] = known->next[1] = nullptr;
    known->name = name;
    known->input_words = static_cast<uint16_t>(inputs.count);
    known->output_words = UINT16_MAX;
    known->outputs = 0;
    std::memcpy(known->words, inputs.words, inputs.count * 8);
    std::memcpy(known->words + inputs.count + Known::output_room, name, length + 1);
    return known;
}

// The op with these ids after those that were last; NULL where it cannot be kept.
Known *find_or_append(pyro_recorder_thread *thread, Order *order, const char *name,
                      const Words &inputs, uint32_t name_id, uint32_t inputs_id)
{
    const Known *last = here.last;
    uint32_t trail[] = {op_hash(last->name_id, last->inputs), last->trail[0], last->trail[1]};
    uint64_t hash = op_hash(name_id, inputs_id);
    for (uint32_t before : trail)
        hash = (hash ^ before) * UINT64_C(0x9e3779b97f4a7c15);
    size_t slot = hash >> (64 - Order::index_bits);
    for (size_t way = 0; way < 2; way++) {
        Known *known = order->index[slot ^ way];
        if (known && !std::memcmp(known->trail, trail, sizeof trail) &&
            known->name_id == name_id && known->inputs == inputs_id && known->name == name)
            return known;
    }
    Known *known = append(thread, order, name, inputs);
    if (!known)
        return nullptr;
    known->name_id = name_id;
    known->inputs = inputs_id;
    std::memcpy(known->trail, trail, sizeof trail);
    order->index[slot ^ 1] = order->index[slot];
    return order->index[slot] = known;
}

// Looks up what was not expected, and remembers it as what follows the last op.
Known *learn(pyro_recorder_thread *thread, Order *order, const at::RecordFunction &function,
             c10::ArrayRef<const c10::IValue> values)
{
    Words inputs;
    const char *name = function.name();
    Known *passing = order->passing, *known;
    passing->name_id = door->name(thread, name);
    if (!inputs.put(values.data(), values.size())) {
        CutWriter writer;
        writer.values(values.data(), values.size());
        passing->inputs = door->signature(thread, writer.words, writer.count);
        return passing;
    }
    passing->inputs = inputs.count ? door->signature(thread, inputs.words, inputs.count) : 0;
    if (!passing->name_id || !(known = find_or_append(thread, order, name, inputs,
                                                      passing->name_id, passing->inputs)))
        return passing;
    known->schema = schema_of(function);
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
inline void prefetch_next(const Known *known)
{
    auto *line = reinterpret_cast<const char *>(known->next[0]);
    __builtin_prefetch(line);
    __builtin_prefetch(line + 64);
    __builtin_prefetch(line + 128);
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
    if (known && id && outputs.count <= Known::most_output_words) {
        std::memcpy(known->output_place(), outputs.words, outputs.count * 8);
        known->output_words = static_cast<uint16_t>(outputs.count);
        known->outputs = id;
    }
    return id;
}

// The outputs' id; `depth` is where the op was open.
inline uint32_t recognize_outputs(pyro_recorder_thread *thread, uint32_t depth,
                                  const std::vector<c10::IValue> &values)
{
    Known *known = nullptr;
    if (thread->ops == here.order && here.generation == thread->generation &&
        depth < PYRO_MOST_OPEN_SPANS)
        known = here.order->open[depth];
    if (__builtin_expect(known && known->output_words != UINT16_MAX &&
                             match_values(known->output_place(), known->output_words,
                                          values.data(), values.size()),
                         1))
        return known->outputs;
    return learn_outputs(thread, known, values);
}

} // namespace

#endif

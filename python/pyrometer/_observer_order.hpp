/* Which op comes next: names and values of ops are compared with what followed last time. */
#ifndef PYROMETER_OBSERVER_ORDER_HPP
#define PYROMETER_OBSERVER_ORDER_HPP

#include "_observer_values.hpp"

namespace
{

// What an op was when it was last met after the same op: its name and values, and their ids.
struct Known {
    Known *next[2]; // what followed it; the latest first
    const char *name;
    uint32_t name_id, inputs, outputs;
    uint32_t before_name, before_inputs; // of the op that it followed
    uint16_t input_words, output_words, output_room, name_words;
    uint64_t words[]; // the name, ended and padded by 0; then the inputs; then the outputs

    const uint64_t *input_place() const
    {
        return words + name_words;
    }
    uint64_t *output_place()
    {
        return words + name_words + input_words;
    }
};

// A model runs the same ops in the same order again and again, so the next one is most likely what
// followed last time: then comparing it, from memory that was laid out in that order, replaces all
// looking up. What is compared is everything, so nothing is taken from an earlier call.
struct Order {
    static constexpr size_t room_bytes = 1u << 20;
    uint32_t generation;
    Known *last; // the op that began last; never NULL
    Known *open[PYRO_MOST_OPEN_SPANS];
    Known *index[4096]; // by both ops, so that the chain of what follows closes to a ring
    size_t used;
    alignas(64) char room[room_bytes];
};

__attribute__((noinline)) Order *renew_order(pyro_recorder_thread *thread)
{
    auto *order = static_cast<Order *>(thread->ops);
    if (!order)
        thread->ops = order = static_cast<Order *>(std::calloc(1, sizeof *order));
    if (!order)
        return nullptr;
    order->generation = thread->generation;
    order->last = reinterpret_cast<Known *>(order->room); // before the first op
    order->last->next[0] = order->last->next[1] = nullptr;
    order->used = sizeof(Known);
    order->last->name_id = order->last->inputs = 0;
    std::memset(order->open, 0, sizeof order->open);
    std::memset(order->index, 0, sizeof order->index);
    return order;
}

inline Order *order_of(pyro_recorder_thread *thread)
{
    auto *order = static_cast<Order *>(thread->ops);
    if (__builtin_expect(!order || order->generation != thread->generation, 0))
        return renew_order(thread);
    return order;
}

inline bool is_same(const uint64_t *left, const uint64_t *right, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (left[i] != right[i])
            return false;
    }
    return true;
}

inline bool fits(const Known *known, const char *name, const Words &inputs)
{
    return known && known->name == name && known->input_words == inputs.count &&
           is_same(known->input_place(), inputs.words, inputs.count) &&
           !std::strcmp(reinterpret_cast<const char *>(known->words), name);
}

// Makes room for an op and what it was given; NULL where that is too long to be worth it.
Known *append(pyro_recorder_thread *thread, Order *order, const char *name, const Words &inputs)
{
    constexpr size_t output_room = 16, longest = 256; // bytes of a name
    size_t length = std::strlen(name), name_words = length / 8 + 1;
    size_t bytes = sizeof(Known) + (name_words + inputs.count + output_room) * 8;
    if (length >= longest)
        return nullptr;
    if (order->used + bytes > Order::room_bytes)
        renew_order(thread);
    auto *known = reinterpret_cast<Known *>(order->room + order->used);
    order->used += bytes;
    known->next[0] = known->next[1] = nullptr;
    known->name = name;
    known->name_words = static_cast<uint16_t>(name_words);
    known->input_words = static_cast<uint16_t>(inputs.count);
    known->output_words = UINT16_MAX;
    known->output_room = output_room;
    known->words[name_words - 1] = 0;
    std::memcpy(known->words, name, length);
    std::memcpy(known->words + name_words, inputs.words, inputs.count * 8);
    return known;
}

// Looks up what was not expected, and remembers it as what follows the last op. The ids are in
// `out` in any case.
__attribute__((noinline)) Known *learn(pyro_recorder_thread *thread, Order *order,
                                       const char *name, const Words &inputs, Known *out)
{
    out->name_id = door->name(thread, name);
    out->inputs = inputs.count ? door->signature(thread, inputs.words, inputs.count) : 0;
    out->outputs = 0;
    if (!order || !out->name_id)
        return nullptr;
    uint32_t before_name = order->last->name_id, before_inputs = order->last->inputs;
    uint64_t hash = (uint64_t{before_name} << 48 ^ uint64_t{before_inputs} << 32 ^
                     uint64_t{out->name_id} << 16 ^ out->inputs) *
                    UINT64_C(0x9e3779b97f4a7c15);
    Known **place = &order->index[hash >> 52];
    Known *known = *place;
    if (!known || !fits(known, name, inputs) || known->before_name != before_name ||
        known->before_inputs != before_inputs) {
        known = append(thread, order, name, inputs);
        if (!known)
            return nullptr;
        known->name_id = out->name_id;
        known->inputs = out->inputs;
        known->outputs = 0;
        known->before_name = before_name;
        known->before_inputs = before_inputs;
        *place = known;
    }
    order->last->next[1] = order->last->next[0];
    order->last->next[0] = known;
    return known;
}

// The op that begins: as it is known, or in `out` where it cannot be kept.
inline Known *recognize(pyro_recorder_thread *thread, const char *name, const Words &inputs,
                        Known *out)
{
    Order *order = order_of(thread);
    Known *known = nullptr;
    if (__builtin_expect(order != nullptr, 1)) {
        Known **next = order->last->next;
        if (__builtin_expect(fits(next[0], name, inputs), 1)) {
            known = next[0];
        } else if (fits(next[1], name, inputs)) {
            known = next[1];
            next[1] = next[0];
            next[0] = known;
        }
    }
    if (__builtin_expect(!known, 0))
        known = learn(thread, order, name, inputs, out);
    if (order) {
        if (known)
            order->last = known;
        if (thread->depth < PYRO_MOST_OPEN_SPANS)
            order->open[thread->depth] = known;
    }
    return known ? known : out;
}

// What comes next is compared when this op has run; by then it should be at hand.
inline void prefetch_next(const Known *known)
{
    if (const Known *next = known->next[0]) {
        auto *line = reinterpret_cast<const char *>(next);
        __builtin_prefetch(line);
        __builtin_prefetch(line + 64);
        __builtin_prefetch(line + 128);
    }
}

// The outputs' id; `depth` is where the op was open.
inline uint32_t recognize_outputs(pyro_recorder_thread *thread, uint32_t depth,
                                  const Words &outputs)
{
    auto *order = static_cast<Order *>(thread->ops);
    Known *known = order && order->generation == thread->generation &&
                           depth < PYRO_MOST_OPEN_SPANS
                       ? order->open[depth]
                       : nullptr;
    if (__builtin_expect(known && known->output_words == outputs.count &&
                             is_same(known->output_place(), outputs.words, outputs.count),
                         1))
        return known->outputs;
    uint32_t id = outputs.count ? door->signature(thread, outputs.words, outputs.count) : 0;
    if (known && id && outputs.count <= known->output_room) {
        std::memcpy(known->output_place(), outputs.words, outputs.count * 8);
        known->output_words = static_cast<uint16_t>(outputs.count);
        known->outputs = id;
    }
    return id;
}

} // namespace

#endif

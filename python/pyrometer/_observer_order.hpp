/* Which op comes next: names and values of ops are compared with what followed last time. */
#ifndef PYROMETER_OBSERVER_ORDER_HPP
#define PYROMETER_OBSERVER_ORDER_HPP

#include "_observer_values.hpp"

namespace
{

// What an op was when it was last met after the same op: its name and values, and their ids.
struct alignas(64) Known {
    Known *next[2]; // what followed it; the latest first
    const char *name;
    uint64_t name_mask; // of the name's last word
    uint32_t name_id, inputs, outputs;
    uint16_t name_words, input_words, output_words;
    uint16_t is_kept;
    uint32_t before_name, before_inputs; // of the op that it followed
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

constexpr size_t most_output_words = 16; // that are kept
constexpr size_t longest_name = 256;     // in bytes

// A model runs the same ops in the same order again and again, so the next one is most likely what
// followed last time: then comparing it, from memory that was laid out in that order, replaces all
// looking up. What is compared is everything, so nothing is taken from an earlier call.
struct Order {
    static constexpr size_t room_bytes = 8u << 20; // of which only what is used becomes memory
    static constexpr int index_bits = 14;
    uint32_t generation;
    Known *last; // the op that began last; never NULL
    size_t used;
    Known *open[PYRO_MOST_OPEN_SPANS];
    Known *index[1u << index_bits]; // by both ops, so that the chain of what follows closes to a ring
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
    order->generation = thread->generation;
    order->last = reinterpret_cast<Known *>(order->room); // before the first op
    std::memset(static_cast<void *>(order->last), 0, sizeof(Known));
    order->used = sizeof(Known);
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

// The address says what it was, and the text whether it still is. By words, which reach beyond the
// end of a text that begins with a word, but never into another page.
inline bool is_name(const Known *known, const char *name)
{
    if (known->name != name)
        return false;
    if (__builtin_expect(reinterpret_cast<uintptr_t>(name) & 7, 0))
        return !std::strcmp(reinterpret_cast<const char *>(known->words), name);
    size_t last = known->name_words - 1u;
    uint64_t word;
    for (size_t i = 0; i < last; i++) {
        __builtin_memcpy(&word, name + i * 8, 8);
        if (word != known->words[i])
            return false;
    }
    __builtin_memcpy(&word, name + last * 8, 8);
    return !((word ^ known->words[last]) & known->name_mask);
}

OFTEN inline bool fits(const Known *known, const char *name, c10::ArrayRef<const c10::IValue> inputs)
{
    return known && is_name(known, name) &&
           match_values(known->input_place(), known->input_words, inputs.data(), inputs.size());
}

// Makes room for an op and what it was given; NULL where that is too long to be worth it.
Known *append(pyro_recorder_thread *thread, Order *order, const char *name, const Words &inputs)
{
    size_t length = std::strlen(name), name_words = length / 8 + 1;
    size_t bytes = sizeof(Known) + (name_words + inputs.count + most_output_words) * 8;
    bytes = (bytes + alignof(Known) - 1) & ~(alignof(Known) - 1);
    if (length >= longest_name)
        return nullptr;
    if (order->used + bytes > Order::room_bytes)
        renew_order(thread);
    auto *known = reinterpret_cast<Known *>(order->room + order->used);
    order->used += bytes;
    known->next[0] = known->next[1] = nullptr;
    known->name = name;
    known->name_mask = ~uint64_t{0} >> (56 - length % 8 * 8);
    known->name_words = static_cast<uint16_t>(name_words);
    known->input_words = static_cast<uint16_t>(inputs.count);
    known->output_words = UINT16_MAX;
    known->is_kept = 1;
    known->words[name_words - 1] = 0;
    std::memcpy(known->words, name, length);
    std::memcpy(known->words + name_words, inputs.words, inputs.count * 8);
    return known;
}

// Looks up what was not expected, and remembers it as what follows the last op; in `out` where it
// cannot be kept.
Known *learn(pyro_recorder_thread *thread, Order *order, const char *name,
             c10::ArrayRef<const c10::IValue> values, Known *out)
{
    Words inputs;
    out->is_kept = 0;
    out->name_id = door->name(thread, name);
    out->outputs = 0;
    if (!inputs.put(values.data(), values.size())) {
        CutWriter writer;
        writer.values(values.data(), values.size());
        out->inputs = door->signature(thread, writer.words, writer.count);
        return out;
    }
    out->inputs = inputs.count ? door->signature(thread, inputs.words, inputs.count) : 0;
    if (!order || !out->name_id)
        return out;
    uint32_t before_name = order->last->name_id, before_inputs = order->last->inputs;
    uint64_t hash = (uint64_t{before_name} << 48 ^ uint64_t{before_inputs} << 32 ^
                     uint64_t{out->name_id} << 16 ^ out->inputs) *
                    UINT64_C(0x9e3779b97f4a7c15);
    Known **place = &order->index[hash >> (64 - Order::index_bits)];
    Known *known = *place;
    if (!known || known->before_name != before_name || known->before_inputs != before_inputs ||
        !fits(known, name, values)) {
        known = append(thread, order, name, inputs);
        if (!known)
            return out;
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

RARELY Known *recognize_other(pyro_recorder_thread *thread, Order *order, const char *name,
                              c10::ArrayRef<const c10::IValue> inputs, Known *out)
{
    Known **next = order ? order->last->next : nullptr;
    if (next && fits(next[1], name, inputs)) {
        std::swap(next[0], next[1]);
        return next[0];
    }
    return learn(thread, order, name, inputs, out);
}

// The op that begins: as it is known, or in `out` where it cannot be kept.
inline Known *recognize(pyro_recorder_thread *thread, const char *name,
                        c10::ArrayRef<const c10::IValue> inputs, Known *out)
{
    Order *order = order_of(thread);
    Known *known = order ? order->last->next[0] : nullptr;
    if (__builtin_expect(!fits(known, name, inputs), 0))
        known = recognize_other(thread, order, name, inputs, out);
    if (order) {
        if (known->is_kept)
            order->last = known;
        if (thread->depth < PYRO_MOST_OPEN_SPANS)
            order->open[thread->depth] = known->is_kept ? known : nullptr;
    }
    return known;
}

// What comes next is compared when this op has run; by then it should be at hand.
inline void prefetch_next(const Known *known)
{
    auto *line = reinterpret_cast<const char *>(known->next[0]);
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
    if (known && id && outputs.count <= most_output_words) {
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
    auto *order = static_cast<Order *>(thread->ops);
    Known *known = order && order->generation == thread->generation &&
                           depth < PYRO_MOST_OPEN_SPANS
                       ? order->open[depth]
                       : nullptr;
    if (__builtin_expect(known && known->output_words != UINT16_MAX &&
                             match_values(known->output_place(), known->output_words,
                                          values.data(), values.size()),
                         1))
        return known->outputs;
    return learn_outputs(thread, known, values);
}

} // namespace

#endif

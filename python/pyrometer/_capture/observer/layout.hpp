/*
 * Layout of an op's values: every recorded property of them, in torch's memory order. Comparing
 * values with a layout takes few instructions and fewer branches. This matters because code and
 * branch predictions are usually cold when an op begins.
 */
#ifndef PYROMETER_OBSERVER_LAYOUT_HPP
#define PYROMETER_OBSERVER_LAYOUT_HPP

#include "values.hpp"

#include <ATen/core/List.h>

#include <algorithm>

namespace
{

typedef uint64_t Pair __attribute__((vector_size(16)));
typedef uint64_t OwnPair __attribute__((vector_size(16), may_alias));
typedef uint64_t TheirPair __attribute__((vector_size(16), aligned(8), may_alias));

INLINED Pair own_pair(const void *first, size_t offset)
{
    return *reinterpret_cast<const OwnPair *>(static_cast<const char *>(first) + offset);
}

// Reads from torch's memory, which is not aligned to 16 bytes.
INLINED Pair their_pair(const void *first, size_t offset)
{
    return *reinterpret_cast<const TheirPair *>(static_cast<const char *>(first) + offset);
}

INLINED bool is_any(Pair pair)
{
    return (pair[0] | pair[1]) != 0;
}

// A layout is a sequence of groups: first the values, then the items of each list among them. A
// group is a header, its values, and the tensors among them.
struct Group {
    uint32_t count, tensors;
    uint32_t next_list; // offset of the list whose items are the next group; or no_list
    uint32_t bytes;     // size of all groups; only set in the first
};
using ValueLayout = Group;
constexpr uint32_t no_list = UINT32_MAX;

struct ExpectedValue {
    uint64_t bits;
    uint32_t tag;
    uint32_t mask; // offset of the mask, stored where torch has padding
};

struct ExpectedTensor {
    uint32_t place; // offset of the value from the first
    uint32_t mask;  // offset of the mask
    uint64_t kind;  // Peek::kind_of
    uint64_t sizes[1 + most_sizes];
};

static_assert(sizeof(Group) == 16 && sizeof(ExpectedValue) == 16 && sizeof(ExpectedTensor) == 64,
              "all parts of a layout are aligned");

// An array of torch's values.
struct Values {
    const void *first;
    size_t count;

    Values(const c10::IValue *values, size_t number) : first(values), count(number)
    {
    }
    template <typename Pointed> INLINED const Pointed *pointer(size_t offset) const
    {
        const Pointed *pointer;
        std::memcpy(&pointer, static_cast<const char *>(first) + offset, sizeof pointer);
        return pointer;
    }
    INLINED Values items(size_t offset) const
    {
        const auto &list = pointer<c10::detail::ListImpl>(offset)->list;
        return {list.data(), list.size()};
    }
};

// Bits in which values differ from those expected at `at`; moves `at` past them.
INLINED Pair differing_values(const Settings *all, const char *&at, Values values)
{
    Pair difference = {};
    const char *end = at + values.count * sizeof(ExpectedValue);
    for (auto *value = static_cast<const char *>(values.first); at != end;
         at += sizeof(ExpectedValue), value += sizeof(ExpectedValue))
        difference |= (their_pair(value, 0) ^ own_pair(at, 0)) &
                      own_pair(all->value_masks, reinterpret_cast<const ExpectedValue *>(at)->mask);
    return difference;
}

// The same for tensors. The caller has checked that the expected tensors are tensors.
INLINED Pair differing_tensors(const Settings *all, const char *&at, Values values, size_t count)
{
    Pair difference = {};
    const char *end = at + count * sizeof(ExpectedTensor);
    for (; at != end; at += sizeof(ExpectedTensor)) {
        auto *expected = reinterpret_cast<const ExpectedTensor *>(at);
        auto *tensor = values.pointer<c10::TensorImpl>(expected->place);
        const void *sizes = Peek::sizes_of(tensor);
        // Forces one base address; otherwise each mask would take a register.
        auto *masks = reinterpret_cast<const char *>(all) + expected->mask;
        __asm__("" : "+r"(masks));
        difference |= Pair{Peek::kind_of(tensor) ^ expected->kind, 0};
#pragma GCC unroll 3
        for (size_t i = 0; i < sizeof expected->sizes; i += sizeof(Pair))
            difference |= (their_pair(sizes, i) ^ own_pair(expected->sizes, i)) &
                          own_pair(masks, offsetof(Settings, size_masks) + i);
    }
    return difference;
}

// Whether the values match the layout, including their number. For the one place that every op runs
// through: there the comparison lies in the cache lines around it.
INLINED bool has_layout_inlined(const ValueLayout *layout, Values arguments)
{
    const Settings *all = &settings;
    __asm__("" : "+r"(all));
    auto *group = layout;
    Values values = arguments;
    for (;;) {
        auto *at = reinterpret_cast<const char *>(group + 1);
        // Tags are compared first, before any value is read as a tensor or a list.
        if (group->count != values.count || is_any(differing_values(all, at, values)) ||
            is_any(differing_tensors(all, at, values, group->tensors)))
            return false;
        if (group->next_list == no_list)
            return true;
        values = arguments.items(group->next_list);
        group = reinterpret_cast<const Group *>(at);
    }
}

HOT __attribute__((noinline)) bool has_layout(const ValueLayout *layout, Values arguments)
{
    return has_layout_inlined(layout, arguments);
}

// Builds the layout of values.
class LayoutWriter
{
  public:
    // False if the values have no layout: too many values, nested lists, or tensors with custom or
    // too many sizes. `any_reals`: real numbers may have any value.
    bool put(const c10::IValue *values, size_t count, bool any_reals = false)
    {
        size_t last = 0;
        any_reals_ = any_reals;
        used_ = 0;
        if (!put_group(values, count))
            return false;
        for (size_t i = 0; i < count; i++) {
            if (!values[i].isList())
                continue;
            auto items = values[i].toListRef();
            group_at(last)->next_list = static_cast<uint32_t>(i * sizeof *values);
            last = used_;
            if (!put_group(items.data(), items.size()) || has_list(items))
                return false;
        }
        group_at(0)->bytes = static_cast<uint32_t>(used_);
        return true;
    }
    size_t bytes() const
    {
        return used_;
    }
    void copy(void *to) const
    {
        std::memcpy(to, room_, used_);
    }

  private:
    size_t used_;
    bool any_reals_;
    alignas(Group) char room_[4096];

    Group *group_at(size_t offset)
    {
        return reinterpret_cast<Group *>(room_ + offset);
    }
    static bool has_list(c10::ArrayRef<c10::IValue> items)
    {
        return std::any_of(items.begin(), items.end(),
                           [](const c10::IValue &item) { return item.isList(); });
    }
    template <typename Part> bool add(const Part &part)
    {
        if (used_ + sizeof part > sizeof room_)
            return false;
        std::memcpy(room_ + used_, &part, sizeof part);
        used_ += sizeof part;
        return true;
    }
    bool put_group(const c10::IValue *values, size_t count)
    {
        size_t head = used_;
        uint32_t tensors = 0;
        bool fits = add(Group{static_cast<uint32_t>(count), 0, no_list, 0});
        for (size_t i = 0; i < count && fits; i++) {
            uint8_t tag = tag_of(values[i]);
            bool any = any_reals_ && tag == real_tag;
            uint32_t mask = (any ? 0 : mask_of_tag[tag]) * sizeof *settings.value_masks;
            fits = add(ExpectedValue{bits_of(values[i]), tag, mask});
        }
        for (size_t i = 0; i < count && fits; i++) {
            if (!values[i].isTensor())
                continue;
            fits = put_tensor(values[i].toTensor().unsafeGetTensorImpl(), i * sizeof *values);
            tensors++;
        }
        if (fits)
            group_at(head)->tensors = tensors;
        return fits;
    }
    bool put_tensor(const c10::TensorImpl *tensor, size_t place)
    {
        ExpectedTensor expected = {};
        if (Peek::is_odd(tensor) || static_cast<size_t>(tensor->dim()) > most_sizes)
            return false;
        size_t sizes = tensor->dim();
        expected.place = static_cast<uint32_t>(place);
        expected.mask = static_cast<uint32_t>(sizes * sizeof *settings.size_masks);
        expected.kind = Peek::kind_of(tensor);
        std::memcpy(expected.sizes, Peek::sizes_of(tensor), (1 + sizes) * sizeof *expected.sizes);
        return add(expected);
    }
};

} // namespace

#endif

/* Values of ops as words: tensors by type, device and sizes; numbers; lists of these. */
#ifndef PYROMETER_OBSERVER_VALUES_HPP
#define PYROMETER_OBSERVER_VALUES_HPP

#include "_observer_door.hpp"

namespace
{

constexpr int most_nesting = 4; // of lists in lists
constexpr size_t most_words = PYRO_SIGNATURE_MOST_WORDS;

// Lets through what torch keeps to itself: whether sizes are not simply there, and whether asking
// for them would run Python.
struct Peek : c10::TensorImpl {
    static bool has_own_sizes(const c10::TensorImpl *tensor)
    {
        return static_cast<const Peek *>(tensor)->matches_policy(SizesStridesPolicy::CustomSizes);
    }
    static bool asks_python(const c10::TensorImpl *tensor)
    {
        return static_cast<const Peek *>(tensor)->matches_python_custom(
            SizesStridesPolicy::CustomSizes);
    }
};

bool has_plain_sizes(const c10::TensorImpl *tensor)
{
    return !tensor->has_symbolic_sizes_strides() && !tensor->is_nested() &&
           !Peek::asks_python(tensor) && tensor->dtype().isScalarType();
}

// Writes words of values, in the form of recording.h, behind `at`. NULL when they do not fit before
// `end`: then the values are written again into room that is large, and cut there.
uint64_t *put_value(uint64_t *at, uint64_t *end, const c10::IValue &value, int nesting);

inline uint64_t *put_sizes(uint64_t *at, uint64_t *end, const c10::TensorImpl *tensor)
{
    c10::IntArrayRef sizes = tensor->sizes();
    if (__builtin_expect(static_cast<size_t>(end - at) <= sizes.size(), 0))
        return nullptr;
    *at++ = PYRO_VALUE_TENSOR |
            static_cast<uint64_t>(static_cast<uint8_t>(c10::typeMetaToScalarType(tensor->dtype())))
                << 8 |
            static_cast<uint64_t>(static_cast<uint8_t>(tensor->device_type())) << 16 |
            static_cast<uint64_t>(sizes.size()) << 32;
    for (int64_t size : sizes)
        *at++ = static_cast<uint64_t>(size);
    return at;
}

__attribute__((noinline)) uint64_t *put_odd_tensor(uint64_t *at, uint64_t *end,
                                                   const c10::TensorImpl *tensor)
{
    if (has_plain_sizes(tensor))
        return put_sizes(at, end, tensor);
    if (at == end)
        return nullptr;
    *at = PYRO_VALUE_OTHER;
    return at + 1;
}

inline uint64_t *put_tensor(uint64_t *at, uint64_t *end, const at::Tensor &value)
{
    const c10::TensorImpl *tensor = value.unsafeGetTensorImpl();
    if (!value.defined()) {
        if (at == end)
            return nullptr;
        *at = PYRO_VALUE_NONE;
        return at + 1;
    }
    if (__builtin_expect(Peek::has_own_sizes(tensor) || !tensor->dtype().isScalarType(), 0))
        return put_odd_tensor(at, end, tensor);
    return put_sizes(at, end, tensor);
}

__attribute__((noinline)) uint64_t *put_list(uint64_t *at, uint64_t *end, const c10::IValue &value,
                                             int nesting)
{
    if (at == end)
        return nullptr;
    if (nesting >= most_nesting) {
        *at = PYRO_VALUE_OTHER;
        return at + 1;
    }
    auto items = value.toListRef();
    *at++ = PYRO_VALUE_LIST | static_cast<uint64_t>(items.size()) << 32;
    for (size_t i = 0; i < items.size() && at; i++)
        at = put_value(at, end, items[i], nesting + 1);
    return at;
}

inline uint64_t *put_value(uint64_t *at, uint64_t *end, const c10::IValue &value, int nesting)
{
    if (value.isTensor())
        return put_tensor(at, end, value.toTensor());
    if (value.isList())
        return put_list(at, end, value, nesting);
    if (__builtin_expect(end - at < 2, 0))
        return nullptr;
    if (value.isInt()) {
        *at++ = PYRO_VALUE_INTEGER;
        *at++ = static_cast<uint64_t>(value.toInt());
    } else if (value.isBool()) {
        *at++ = PYRO_VALUE_BOOLEAN;
        *at++ = value.toBool();
    } else if (value.isDouble()) {
        double number = value.toDouble();
        *at++ = PYRO_VALUE_REAL;
        std::memcpy(at++, &number, sizeof number);
    } else {
        *at++ = value.isNone() ? PYRO_VALUE_NONE : PYRO_VALUE_OTHER;
    }
    return at;
}

// As much of the values as fits, ended by the mark of a cut: whole values, and of a list that is
// too long its first items.
class CutWriter
{
  public:
    uint64_t words[most_words];
    size_t count = 0;

    __attribute__((noinline)) void values(const c10::IValue *first, size_t number, int nesting = 0)
    {
        for (size_t i = 0; i < number && !is_cut_; i++)
            value(first[i], nesting);
    }

  private:
    bool is_cut_ = false;

    void value(const c10::IValue &value, int nesting)
    {
        uint64_t *end = words + most_words - 1;
        uint64_t *after = put_value(words + count, end, value, nesting);
        if (after) {
            count = static_cast<size_t>(after - words);
        } else if (value.isList() && words + count + 1 < end) {
            auto items = value.toListRef();
            words[count++] = PYRO_VALUE_LIST | static_cast<uint64_t>(items.size()) << 32;
            values(items.data(), items.size(), nesting + 1);
        } else {
            words[count++] = PYRO_VALUE_CUT;
            is_cut_ = true;
        }
    }
};

// The words of some values where they are few, which they nearly always are.
struct Words {
    size_t count = 0;
    uint64_t words[192];

    // False when they are more.
    bool put(const c10::IValue *first, size_t number)
    {
        uint64_t *at = words, *end = words + sizeof words / sizeof *words;
        for (size_t i = 0; i < number && at; i++)
            at = put_value(at, end, first[i], 0);
        count = at ? static_cast<size_t>(at - words) : 0;
        return at != nullptr;
    }
};

} // namespace

#endif

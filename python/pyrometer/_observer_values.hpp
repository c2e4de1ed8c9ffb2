/* Values of ops as words: tensors by type, device and sizes; numbers; lists of these. */
#ifndef PYROMETER_OBSERVER_VALUES_HPP
#define PYROMETER_OBSERVER_VALUES_HPP

#include "_observer_door.hpp"

#include <iterator>
#include <string>

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

inline uint64_t head_of(const c10::TensorImpl *tensor, size_t dimensions)
{
    auto type = static_cast<uint8_t>(c10::typeMetaToScalarType(tensor->dtype()));
    return PYRO_VALUE_TENSOR | static_cast<uint64_t>(type) << 8 |
           static_cast<uint64_t>(static_cast<uint8_t>(tensor->device_type())) << 16 |
           static_cast<uint64_t>(dimensions) << 32;
}

// The bits of an integer or a real number, which torch's own functions would fetch by a call into
// its library. Where they lie is found out before it is relied on.
inline uint64_t bits_of(const c10::IValue &value)
{
    uint64_t bits;
    std::memcpy(&bits, static_cast<const void *>(&value), sizeof bits);
    return bits;
}

// What kind of value it is, as torch numbers them; behind the bits.
inline uint8_t tag_of(const c10::IValue &value)
{
    uint32_t tag;
    std::memcpy(&tag, reinterpret_cast<const char *>(&value) + 8, sizeof tag);
    return static_cast<uint8_t>(tag);
}

// How a value that is neither tensor nor list is written: a head, and its bits if it has some.
struct alignas(32) Scalar {
    uint64_t kind = PYRO_VALUE_OTHER;
    uint64_t mask = 0; // of the bits that count
    uint64_t has_word = 0;
};

Scalar scalars[256]; // by tag

// Finds out where torch keeps bits and kinds; false where that is another place.
bool learn_layout()
{
    double real = 0.3;
    uint64_t bits, integer = 0x0123456789abcdef;
    std::memcpy(&bits, &real, sizeof bits);
    const c10::IValue values[] = {c10::IValue(), c10::IValue(static_cast<int64_t>(integer)),
                                  c10::IValue(real), c10::IValue(true),
                                  c10::IValue(std::string()), c10::IValue(at::Tensor())};
    const Scalar forms[] = {{PYRO_VALUE_NONE, 0, 0},
                            {PYRO_VALUE_INTEGER, ~uint64_t{0}, 1},
                            {PYRO_VALUE_REAL, ~uint64_t{0}, 1},
                            {PYRO_VALUE_BOOLEAN, 0xff, 1},
                            {}};
    if (sizeof(c10::IValue) != 16 || bits_of(values[1]) != integer || bits_of(values[2]) != bits ||
        (bits_of(values[3]) & 0xff) != 1)
        return false;
    for (size_t i = 0; i < std::size(values); i++) {
        for (size_t j = 0; j < i; j++)
            if (tag_of(values[i]) == tag_of(values[j]))
                return false;
        if (i < std::size(forms))
            scalars[tag_of(values[i])] = forms[i];
    }
    return true;
}

// Writes words of values, in the form of recording.h, behind `at`. NULL when they do not fit before
// `end`: then the values are written again into room that is large, and cut there.
uint64_t *put_value(uint64_t *at, uint64_t *end, const c10::IValue &value, int nesting);

inline uint64_t *put_sizes(uint64_t *at, uint64_t *end, const c10::TensorImpl *tensor)
{
    c10::IntArrayRef sizes = tensor->sizes();
    if (__builtin_expect(static_cast<size_t>(end - at) <= sizes.size(), 0))
        return nullptr;
    *at++ = head_of(tensor, sizes.size());
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
        *at++ = bits_of(value);
    } else if (value.isBool()) {
        *at++ = PYRO_VALUE_BOOLEAN;
        *at++ = value.toBool();
    } else if (value.isDouble()) {
        *at++ = PYRO_VALUE_REAL;
        *at++ = bits_of(value);
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

// Compares a value with the words that put_value would write for it: what is behind them, or NULL
// where they differ. The words are whole: those of a value that begins there end there. All but lists
// is inlined where it is used.
#define INLINED __attribute__((always_inline)) inline

INLINED const uint64_t *match_value(const uint64_t *at, const c10::IValue &value, int nesting);

INLINED const uint64_t *match_sizes(const uint64_t *at, const c10::TensorImpl *tensor)
{
    c10::IntArrayRef sizes = tensor->sizes();
    if (*at++ != head_of(tensor, sizes.size()))
        return nullptr;
    for (int64_t size : sizes) {
        if (*at++ != static_cast<uint64_t>(size))
            return nullptr;
    }
    return at;
}

RARELY const uint64_t *match_odd_tensor(const uint64_t *at, const c10::TensorImpl *tensor)
{
    if (has_plain_sizes(tensor))
        return match_sizes(at, tensor);
    return *at == PYRO_VALUE_OTHER ? at + 1 : nullptr;
}

INLINED const uint64_t *match_tensor(const uint64_t *at, const at::Tensor &value)
{
    const c10::TensorImpl *tensor = value.unsafeGetTensorImpl();
    if (!value.defined())
        return *at == PYRO_VALUE_NONE ? at + 1 : nullptr;
    if (__builtin_expect(Peek::has_own_sizes(tensor) || !tensor->dtype().isScalarType(), 0))
        return match_odd_tensor(at, tensor);
    return match_sizes(at, tensor);
}

OFTEN __attribute__((noinline)) const uint64_t *match_list(const uint64_t *at,
                                                           const c10::IValue &value, int nesting)
{
    if (nesting >= most_nesting)
        return *at == PYRO_VALUE_OTHER ? at + 1 : nullptr;
    auto items = value.toListRef();
    if (*at++ != (PYRO_VALUE_LIST | static_cast<uint64_t>(items.size()) << 32))
        return nullptr;
    for (size_t i = 0; i < items.size() && at; i++)
        at = match_value(at, items[i], nesting + 1);
    return at;
}

// Without a branch for each kind, which would often be foretold wrong. Behind the last word of an
// op there are others.
INLINED const uint64_t *match_scalar(const uint64_t *at, const c10::IValue &value)
{
    const Scalar &form = scalars[tag_of(value)];
    uint64_t difference = (at[1] ^ (bits_of(value) & form.mask)) & (0 - form.has_word);
    return at[0] == form.kind && !difference ? at + 1 + form.has_word : nullptr;
}

INLINED const uint64_t *match_value(const uint64_t *at, const c10::IValue &value, int nesting)
{
    if (value.isTensor())
        return match_tensor(at, value.toTensor());
    if (value.isList())
        return match_list(at, value, nesting);
    return match_scalar(at, value);
}

// Whether the words are those of the values, no more and no fewer.
INLINED bool match_values(const uint64_t *at, size_t count, const c10::IValue *first, size_t number)
{
    const uint64_t *end = at + count;
    for (size_t i = 0; i < number; i++) {
        if (at >= end || !(at = match_value(at, first[i], 0)))
            return false;
    }
    return at == end;
}

} // namespace

#endif

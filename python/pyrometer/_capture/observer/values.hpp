/* Writes values of ops as words: tensors by type, device and sizes; numbers; lists of these. */
#ifndef PYROMETER_OBSERVER_VALUES_HPP
#define PYROMETER_OBSERVER_VALUES_HPP

#include "recorder.hpp"

#include <c10/core/impl/SizesAndStrides.h>

#include <iterator>
#include <string>

namespace
{

constexpr int most_nesting = 4; // of lists
constexpr size_t most_words = PYRO_SIGNATURE_MOST_WORDS;

// Gives access to protected members of torch's tensors.
struct Peek : c10::TensorImpl {
    static bool has_own_sizes(const c10::TensorImpl *tensor)
    {
        return peek(tensor)->matches_policy(SizesStridesPolicy::CustomSizes);
    }
    // Whether reading the sizes would run Python code.
    static bool asks_python(const c10::TensorImpl *tensor)
    {
        return peek(tensor)->matches_python_custom(SizesStridesPolicy::CustomSizes);
    }
    // Whether sizes or device are not stored in the tensor.
    static bool is_odd(const c10::TensorImpl *tensor)
    {
        return has_own_sizes(tensor) || peek(tensor)->device_policy_;
    }
    // Equal for tensors with the same data type, device type and policies.
    static uint64_t kind_of(const c10::TensorImpl *tensor)
    {
        return kind_word(peek(tensor)) & settings.kind_mask;
    }
    // The number of sizes, followed by the sizes if they are at most most_sizes.
    static const void *sizes_of(const c10::TensorImpl *tensor)
    {
        return &peek(tensor)->sizes_and_strides_;
    }
    // Offsets of the words of kind_of() and sizes_of().
    static void find_fields(pyro_tensor_fields *fields)
    {
        alignas(c10::TensorImpl) static const char room[sizeof(c10::TensorImpl)] = {};
        auto *tensor = reinterpret_cast<const Peek *>(room);
        auto *kind = reinterpret_cast<const char *>(&tensor->data_type_);
        auto *sizes = reinterpret_cast<const char *>(&tensor->sizes_and_strides_);
        fields->kind_at = static_cast<uint32_t>(kind - room);
        fields->sizes_at = static_cast<uint32_t>(sizes - room);
    }
    static bool learn_kind();
    static bool learn_sizes();

  private:
    static const Peek *peek(const c10::TensorImpl *tensor)
    {
        return static_cast<const Peek *>(tensor);
    }
    static uint64_t kind_word(const Peek *tensor)
    {
        uint64_t word;
        std::memcpy(&word, reinterpret_cast<const char *>(&tensor->data_type_), sizeof word);
        return word;
    }
};

// Sets fields of a dummy tensor and finds which bits of the word change.
bool Peek::learn_kind()
{
    alignas(c10::TensorImpl) static char room[sizeof(c10::TensorImpl)];
    auto *tensor = reinterpret_cast<Peek *>(room);
    std::memset(room, 0, sizeof room);
    std::memset(static_cast<void *>(&tensor->data_type_), 0xff, sizeof tensor->data_type_);
    uint64_t type = kind_word(tensor);
    std::memset(room, 0, sizeof room);
    tensor->device_opt_ = c10::Device(c10::DeviceType::CPU);
    uint64_t device = kind_word(tensor);
    tensor->device_opt_ = c10::Device(c10::DeviceType::CUDA);
    device ^= kind_word(tensor);
    std::memset(room, 0, sizeof room);
    tensor->sizes_strides_policy_ = 3;
    uint64_t sizes = kind_word(tensor);
    tensor->device_policy_ = true;
    uint64_t policy = kind_word(tensor);
    uint64_t kind_mask = settings.kind_mask = type | device * 0xff | policy;
    settings.odd_mask = policy;
    return type && __builtin_popcountll(device) == 1 && __builtin_popcountll(sizes) == 2 &&
           __builtin_popcountll(policy) == 3 &&
           __builtin_popcountll(kind_mask) == 8 * sizeof tensor->data_type_ + 8 + 3;
}

bool Peek::learn_sizes()
{
    c10::impl::SizesAndStrides few;
    size_t number;
    few.resize(3);
    std::memcpy(&number, &few, sizeof number);
    return number == 3 && sizeof few >= 6 * sizeof(int64_t) &&
           reinterpret_cast<const char *>(few.sizes_data()) ==
               reinterpret_cast<const char *>(&few) + sizeof number;
}

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

// The bits of an integer or a real number, without the call into torch's library that its own
// accessors make. learn_layout() checks their position first.
inline uint64_t bits_of(const c10::IValue &value)
{
    uint64_t bits;
    std::memcpy(&bits, static_cast<const void *>(&value), sizeof bits);
    return bits;
}

// Torch's tag for the kind of value, stored after the bits.
inline uint8_t tag_of(const c10::IValue &value)
{
    uint32_t tag;
    std::memcpy(&tag, reinterpret_cast<const char *>(&value) + 8, sizeof tag);
    return static_cast<uint8_t>(tag);
}

uint8_t real_tag;         // torch's tag of real numbers
uint8_t mask_of_tag[256]; // index of Settings::value_masks: 0 no bits, 1 all, 2 a boolean's

// Checks where torch stores bits, tags and sizes; false if the layout is unsupported.
bool learn_layout()
{
    double real = 0.3;
    uint64_t bits, integer = 0x0123456789abcdef;
    std::memcpy(&bits, &real, sizeof bits);
    const c10::IValue values[] = {c10::IValue(),
                                  c10::IValue(static_cast<int64_t>(integer)),
                                  c10::IValue(real),
                                  c10::IValue(true),
                                  c10::IValue(std::string()),
                                  c10::IValue(at::Tensor())};
    const uint8_t masks[] = {0, 1, 1, 2, 0, 0};
    if (sizeof(c10::IValue) != 16 || bits_of(values[1]) != integer || bits_of(values[2]) != bits ||
        (bits_of(values[3]) & 0xff) != 1 || !Peek::learn_kind() || !Peek::learn_sizes())
        return false;
    for (size_t i = 0; i < std::size(values); i++) {
        for (size_t j = 0; j < i; j++)
            if (tag_of(values[i]) == tag_of(values[j]))
                return false;
        mask_of_tag[tag_of(values[i])] = masks[i];
    }
    real_tag = tag_of(values[2]);
    return true;
}

// Writes a value as words, in the format of recording.h, at `at` and returns the new end. NULL if
// they do not fit before `end`; the caller then uses CutWriter, which has more room.
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

// Writes as many values as fit, and of a list that is too long its first items. Ends truncated
// values with PYRO_VALUE_CUT.
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

// The words of a few values, which is nearly always enough.
struct Words {
    size_t count = 0;
    uint64_t words[192];

    // False if the values do not fit.
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

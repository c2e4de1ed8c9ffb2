/* Which tensors, and which bytes of which memory, ops read and write. */
#ifndef PYROMETER_OBSERVER_STORAGES_HPP
#define PYROMETER_OBSERVER_STORAGES_HPP

#include "_observer_numbers.hpp"
#include "_observer_values.hpp"

namespace
{

// Words of storages, in the form of recording.h. A tensor that finds no room is left out.
class StorageWriter
{
  public:
    uint64_t words[most_words];
    size_t count = 0;

    // Those that an op is given, or gives.
    explicit StorageWriter(bool are_given_by_op) : are_given_by_op_(are_given_by_op)
    {
    }
    void values(const c10::IValue *first, size_t number, int nesting = 0)
    {
        for (size_t i = 0; i < number; i++) {
            if (first[i].isTensor()) {
                tensor(first[i].toTensor());
            } else if (first[i].isList() && nesting < most_nesting) {
                auto items = first[i].toListRef();
                values(items.data(), items.size(), nesting + 1);
            }
        }
    }

  private:
    const bool are_given_by_op_;

    void tensor(const at::Tensor &value)
    {
        if (!value.defined() || value.unsafeGetTensorImpl()->is_wrapped_number())
            return; // a number of Python's that an op takes as a tensor comes from nowhere
        c10::TensorImpl *impl = value.unsafeGetTensorImpl();
        bool is_plain = has_plain_sizes(impl);
        size_t rank = is_plain ? impl->sizes().size() : 0;
        if (count + PYRO_STORAGE_WORDS + rank > most_words)
            return;
        Numbered numbered = numbers().see(value, are_given_by_op_);
        uint64_t *at = words + count;
        at[0] = numbered.tensor;
        at[1] = numbered.storage;
        const c10::VariableVersion &version = impl->version_counter();
        at[2] = version.enabled() ? version.current_version() : UINT64_MAX;
        at[3] = at[4] = UINT64_MAX;
        uint64_t code = is_plain ? static_cast<uint8_t>(c10::typeMetaToScalarType(impl->dtype()))
                                 : 0xff;
        at[5] = code | static_cast<uint64_t>(rank) << 32;
        if (impl->has_storage() && is_plain)
            place(impl, at);
        for (size_t d = 0; d < rank; d++)
            at[PYRO_STORAGE_WORDS + d] = static_cast<uint64_t>(impl->sizes()[d]);
        count += PYRO_STORAGE_WORDS + rank;
    }

    // Which bytes of the storage are the tensor's, and whether all between the first and the last.
    void place(const c10::TensorImpl *impl, uint64_t *at)
    {
        uint64_t item = impl->itemsize(), last = 0;
        c10::IntArrayRef sizes = impl->sizes(), strides = impl->strides();
        for (size_t d = 0; d < sizes.size(); d++)
            if (sizes[d] > 0)
                last += static_cast<uint64_t>(sizes[d] - 1) * static_cast<uint64_t>(strides[d]);
        uint64_t elements = static_cast<uint64_t>(impl->numel());
        at[3] = static_cast<uint64_t>(impl->storage_offset()) * item;
        at[4] = at[3] + (elements ? (last + 1) * item : 0);
        at[5] |= static_cast<uint64_t>(elements >= last + 1) << 8;
    }
};

} // namespace

#endif

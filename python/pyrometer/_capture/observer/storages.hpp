/* Describes which tensors ops read and write, and which bytes of which storage these occupy. */
#ifndef PYROMETER_OBSERVER_STORAGES_HPP
#define PYROMETER_OBSERVER_STORAGES_HPP

#include "tensor_ids.hpp"
#include "values.hpp"

#include <ATen/core/function_schema.h>

namespace
{

// Writes words of storages in the format of recording.h. Leaves out tensors that do not fit.
class StorageWriter
{
  public:
    uint64_t words[most_words];
    size_t count = 0;

    // For the outputs of an op, or its inputs; `schema` says which inputs the op writes.
    explicit StorageWriter(bool are_given_by_op, const c10::FunctionSchema *schema = nullptr)
        : are_given_by_op_(are_given_by_op), schema_(schema)
    {
    }
    void values(const c10::IValue *first, size_t number, int nesting = 0)
    {
        for (size_t i = 0; i < number; i++) {
            if (nesting == 0)
                is_written_ = writes(i);
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
    const c10::FunctionSchema *const schema_;
    bool is_written_ = false;

    bool writes(size_t argument) const
    {
        if (!schema_ || argument >= schema_->arguments().size())
            return false;
        const c10::AliasInfo *alias = schema_->arguments()[argument].alias_info();
        return alias && alias->isWrite();
    }

    void tensor(const at::Tensor &value)
    {
        if (!value.defined() || value.unsafeGetTensorImpl()->is_wrapped_number())
            return; // a Python number that an op takes as a tensor has no source
        c10::TensorImpl *impl = value.unsafeGetTensorImpl();
        bool is_plain = has_plain_sizes(impl);
        size_t rank = is_plain ? impl->sizes().size() : 0;
        bool has_place = impl->has_storage() && is_plain;
        bool is_strided = has_place && impl->numel() > 0 && !is_dense(impl);
        size_t needed = PYRO_STORAGE_WORDS + rank * (is_strided ? 2 : 1);
        if (count + needed > most_words)
            return;
        TensorId ids = tensor_ids().see(value, are_given_by_op_);
        uint64_t *at = words + count;
        at[0] = ids.tensor;
        at[1] = ids.storage;
        const c10::VariableVersion &version = impl->version_counter();
        at[2] = version.enabled() ? version.current_version() : UINT64_MAX;
        at[3] = at[4] = UINT64_MAX;
        uint64_t code = is_plain ? static_cast<uint8_t>(c10::typeMetaToScalarType(impl->dtype()))
                                 : 0xff;
        at[5] = code | static_cast<uint64_t>(rank) << 32;
        at[5] |= is_written_ ? PYRO_STORAGE_WRITTEN : 0;
        at[5] |= is_strided ? PYRO_STORAGE_STRIDED : has_place ? PYRO_STORAGE_DENSE : 0;
        if (has_place)
            place(impl, at);
        for (size_t d = 0; d < rank; d++) {
            at[PYRO_STORAGE_WORDS + d] = static_cast<uint64_t>(impl->sizes()[d]);
            if (is_strided)
                at[PYRO_STORAGE_WORDS + rank + d] = static_cast<uint64_t>(impl->strides()[d]);
        }
        count += needed;
    }

    // Writes which bytes of the storage belong to the tensor and whether torch allocated them.
    static void place(const c10::TensorImpl *impl, uint64_t *at)
    {
        uint64_t item = impl->itemsize(), last = 0;
        c10::IntArrayRef sizes = impl->sizes(), strides = impl->strides();
        for (size_t d = 0; d < sizes.size(); d++)
            if (sizes[d] > 0)
                last += static_cast<uint64_t>(sizes[d] - 1) * static_cast<uint64_t>(strides[d]);
        at[3] = static_cast<uint64_t>(impl->storage_offset()) * item;
        at[4] = at[3] + (impl->numel() ? (last + 1) * item : 0);
        // Torch cannot resize memory that it did not allocate.
        bool is_own = impl->unsafe_storage().unsafeGetStorageImpl()->resizable();
        at[5] |= is_own ? 0 : PYRO_STORAGE_FOREIGN;
    }

    // Whether the tensor covers every element from its first to its last: no stride, in ascending
    // order, skips beyond the elements that smaller strides reach.
    static bool is_dense(const c10::TensorImpl *impl)
    {
        if (impl->is_contiguous())
            return true;
        c10::IntArrayRef sizes = impl->sizes(), strides = impl->strides();
        int64_t reached = 1, done = 0;
        for (size_t round = 0; round < sizes.size(); round++) {
            int64_t next = INT64_MAX;
            for (size_t d = 0; d < sizes.size(); d++)
                if (sizes[d] > 1 && strides[d] > done && strides[d] < next)
                    next = strides[d];
            if (next == INT64_MAX)
                return true;
            if (next > reached)
                return false;
            for (size_t d = 0; d < sizes.size(); d++)
                if (sizes[d] > 1 && strides[d] == next)
                    reached += (sizes[d] - 1) * next;
            done = next;
        }
        return true;
    }
};

} // namespace

#endif

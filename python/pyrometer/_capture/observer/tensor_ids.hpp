/* Assigns ids to tensors and storages. An id belongs to one object and is never reused. */
#ifndef PYROMETER_OBSERVER_TENSOR_IDS_HPP
#define PYROMETER_OBSERVER_TENSOR_IDS_HPP

#include "recorder.hpp"

#include <algorithm>
#include <mutex>
#include <optional>
#include <type_traits>
#include <typeinfo>
#include <unordered_map>
#include <vector>

namespace
{

using WeakTensor = c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>;
using WeakStorage = c10::weak_intrusive_ptr<c10::StorageImpl>;

// Before torch 2.10, a storage that dies while a weak pointer to it exists leaves its Python object
// behind. Python's weak references (such as torch.compile's) still find that object, and its user
// then frees the storage a second time. With these versions we take no weak pointers to storages,
// but track them from tensor to tensor. Since 2.10 the storage releases its Python object first.
template <typename Impl, typename = void> struct LeavesNothing : std::false_type {};
template <typename Impl>
struct LeavesNothing<Impl, std::void_t<decltype(std::declval<const Impl &>().decref_pyobject())>>
    : std::true_type {};
constexpr bool points_to_storages = LeavesNothing<c10::StorageImpl>::value;

struct TensorId {
    uint64_t tensor, storage;
};

// Maps addresses, which may be reused, to ids. A weak pointer keeps an address from being reused
// and says whether its object is dead. Sweeps free dead objects (some hundred bytes each), so
// that at most a few thousand of them remain, or as many as are alive.
class TensorIds
{
  public:
    // The ids of a tensor. `is_given`: it is an op's output, which the op may have created.
    TensorId see(const at::Tensor &value, bool is_given)
    {
        Removed removed; // freed after the lock is released, because that may call into Python
        std::lock_guard<std::mutex> guard(lock_);
        if (tensors_.size() >= next_sweep_)
            sweep(removed);
        const c10::TensorImpl *impl = value.unsafeGetTensorImpl();
        Tensor &tensor = tensors_[impl];
        bool is_new = !tensor.number;
        if (!tensor.pointer && is_released_by_torch(impl)) {
            tensor = Tensor();
            tensor.pointer.emplace(value.getIntrusivePtr());
            is_new = true;
        }
        uint64_t storage = 0;
        if (impl->has_storage())
            storage = points_to_storages ? pointed_to(impl->unsafe_storage())
                                         : followed(impl, tensor, is_given && is_new);
        if (is_new || (!tensor.pointer && tensor.storage != storage))
            tensor.number = ++last_;
        tensor.storage = storage;
        return {tensor.number, storage ? storage : tensor.number};
    }

    void clear()
    {
        Removed removed;
        std::lock_guard<std::mutex> guard(lock_);
        removed.all_tensors.swap(tensors_);
        removed.all_storages.swap(storages_);
        next_sweep_ = least_sweep;
    }

  private:
    struct Tensor {
        uint64_t number = 0, storage = 0;
        std::optional<WeakTensor> pointer;
    };
    struct Storage {
        uint64_t number = 0;
        std::optional<WeakStorage> pointer;
        // Without weak pointers: its memory, and tensors that were seen in it.
        const void *data = nullptr;
        std::vector<const c10::TensorImpl *> users;
    };
    using Tensors = std::unordered_map<const c10::TensorImpl *, Tensor>;
    using Storages = std::unordered_map<const c10::StorageImpl *, Storage>;
    struct Removed {
        std::vector<Tensors::node_type> tensors;
        std::vector<Storages::node_type> storages;
        Tensors all_tensors;
        Storages all_storages;
    };
    static constexpr size_t least_sweep = 4096;

    // Tensors of derived classes (vmap, functionalization, sparse) keep other tensors alive until
    // the last weak pointer to them is gone. These are identified by address and storage alone.
    static bool is_released_by_torch(const c10::TensorImpl *impl)
    {
        return typeid(*impl) == typeid(c10::TensorImpl);
    }

    uint64_t pointed_to(const c10::Storage &storage)
    {
        auto [at, is_new] = storages_.try_emplace(storage.unsafeGetStorageImpl());
        if (is_new) {
            at->second.number = ++last_;
            at->second.pointer.emplace(storage.getWeakStorageImpl());
        }
        return at->second.number;
    }

    // The storage at an address is the known one if a tensor that was in it is still alive. If none
    // is, a new output of an op has a new storage. Any other tensor may be a remaining alias
    // (`x.data`, a tensor saved by autograd), unless its memory is at another address.
    uint64_t followed(const c10::TensorImpl *impl, const Tensor &tensor, bool is_fresh)
    {
        const c10::StorageImpl *storage = impl->unsafe_storage().unsafeGetStorageImpl();
        auto [at, is_new] = storages_.try_emplace(storage);
        Storage &known = at->second;
        bool was_in_it = tensor.pointer && tensor.storage && tensor.storage == known.number;
        if (was_in_it)
            return known.number;
        if (is_new || !is_used(storage, known)) {
            const void *data = data_of(impl->unsafe_storage());
            if (is_new || is_fresh || data != known.data)
                known.number = ++last_;
            known.data = data;
            known.users.clear();
        }
        if (tensor.pointer)
            known.users.push_back(impl);
        return known.number;
    }

    bool is_used(const c10::StorageImpl *storage, const Storage &known) const
    {
        auto uses = [&](const c10::TensorImpl *user) {
            return is_alive_in(user, known.number) &&
                   user->unsafe_storage().unsafeGetStorageImpl() == storage;
        };
        return std::any_of(known.users.begin(), known.users.end(), uses);
    }

    bool is_alive_in(const c10::TensorImpl *user, uint64_t storage) const
    {
        auto at = tensors_.find(user);
        return at != tensors_.end() && at->second.storage == storage && at->second.pointer &&
               !at->second.pointer->expired();
    }

    static const void *data_of(const c10::Storage &storage)
    {
        if (storage.device_type() == c10::DeviceType::Meta)
            return nullptr;
        try {
            return storage.data();
        } catch (...) {
            return nullptr; // a tensor without memory, under torch.compile
        }
    }

    template <typename Map>
    static void extract_dead(Map &from, std::vector<typename Map::node_type> &to)
    {
        for (auto at = from.begin(); at != from.end();) {
            auto next = std::next(at);
            if (!at->second.pointer || at->second.pointer->expired())
                to.push_back(from.extract(at));
            at = next;
        }
    }

    COLD void sweep(Removed &removed)
    {
        extract_dead(tensors_, removed.tensors);
        if (points_to_storages)
            extract_dead(storages_, removed.storages);
        for (auto &[address, storage] : storages_) {
            uint64_t number = storage.number;
            auto dead = [&](const c10::TensorImpl *user) { return !is_alive_in(user, number); };
            auto &users = storage.users;
            users.erase(std::remove_if(users.begin(), users.end(), dead), users.end());
        }
        next_sweep_ = std::max(least_sweep, tensors_.size() * 2);
    }

    std::mutex lock_;
    Tensors tensors_;
    Storages storages_;
    uint64_t last_ = 0;
    size_t next_sweep_ = least_sweep;
};

TensorIds &tensor_ids()
{
    static TensorIds *forever = new TensorIds; // callbacks may run after static destructors
    return *forever;
}

} // namespace

#endif

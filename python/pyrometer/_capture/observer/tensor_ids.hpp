/* Ids of tensors and storages: an id belongs to one object while it lives and is never used again. */
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

// Before torch 2.10 a storage that dies while somebody points to it weakly leaves its Python object
// behind. Python's own weak references still find that (those of torch.compile do), and whoever
// uses it frees the storage a second time. So there storages are never pointed to, but followed
// from tensor to tensor. Since 2.10 the object goes first, in which the storage has a part.
template <typename Impl, typename = void> struct LeavesNothing : std::false_type {};
template <typename Impl>
struct LeavesNothing<Impl, std::void_t<decltype(std::declval<const Impl &>().decref_pyobject())>>
    : std::true_type {};
constexpr bool points_to_storages = LeavesNothing<c10::StorageImpl>::value;

struct TensorId {
    uint64_t tensor, storage;
};

// Addresses are used again, so each is looked up here. A weak pointer keeps the address from others
// and says whether who had it is gone; from time to time those are let go, so that no more than a
// few thousand dead objects, or as many as live, are held: some hundred bytes each.
class TensorIds
{
  public:
    // `is_given`: by an op, which may have made it.
    TensorId see(const at::Tensor &value, bool is_given)
    {
        Gone gone; // freed without the lock, because that may call into Python
        std::lock_guard<std::mutex> guard(lock_);
        if (tensors_.size() >= next_sweep_)
            sweep(gone);
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
        Gone gone;
        std::lock_guard<std::mutex> guard(lock_);
        gone.all_tensors.swap(tensors_);
        gone.all_storages.swap(storages_);
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
        // Where it is followed: its memory, and tensors that were seen in it.
        const void *data = nullptr;
        std::vector<const c10::TensorImpl *> users;
    };
    using Tensors = std::unordered_map<const c10::TensorImpl *, Tensor>;
    using Storages = std::unordered_map<const c10::StorageImpl *, Storage>;
    struct Gone {
        std::vector<Tensors::node_type> tensors;
        std::vector<Storages::node_type> storages;
        Tensors all_tensors;
        Storages all_storages;
    };
    static constexpr size_t least_sweep = 4096;

    // Tensors of classes derived from it keep other tensors until the last weak pointer is gone:
    // those of vmap, of functionalization, sparse ones. They go by address and storage alone.
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

    // It is the one that was seen here if a tensor that was in it still is. If none is, then an
    // op's new tensor has a new one; another tensor may be what is left of it (`x.data`, what
    // autograd saved), unless the memory is elsewhere.
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
            return nullptr; // of a tensor without memory, under torch.compile
        }
    }

    template <typename Map> static void let_go(Map &from, std::vector<typename Map::node_type> &to)
    {
        for (auto at = from.begin(); at != from.end();) {
            auto next = std::next(at);
            if (!at->second.pointer || at->second.pointer->expired())
                to.push_back(from.extract(at));
            at = next;
        }
    }

    COLD void sweep(Gone &gone)
    {
        let_go(tensors_, gone.tensors);
        if (points_to_storages)
            let_go(storages_, gone.storages);
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
    static TensorIds *forever = new TensorIds; // callbacks may come after static objects are gone
    return *forever;
}

} // namespace

#endif

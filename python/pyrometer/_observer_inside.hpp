/* What torch knows of an op and does not show, and when that ends to be true. */
#ifndef PYROMETER_OBSERVER_INSIDE_HPP
#define PYROMETER_OBSERVER_INSIDE_HPP

#include "_observer_door.hpp"

#ifdef PYROMETER_SEES_INSIDE
#include <ATen/core/dispatch/Dispatcher.h>
#endif

namespace
{

#ifdef PYROMETER_SEES_INSIDE

// An explicit instantiation may name private members. Where they have other names this does not
// compile, and the library is built without it.
template <typename Owner, typename Member, Member Owner::*member> struct Reveal {
    friend Member &reveal(Owner &owner, Member *)
    {
        return owner.*member;
    }
};

using OpName = std::variant<std::string, at::RecordFunction::schema_ref_t>;

at::StepCallbacks &reveal(at::RecordFunction &, at::StepCallbacks *);
OpName &reveal(at::RecordFunction &, OpName *);

template struct Reveal<at::RecordFunction, at::StepCallbacks, &at::RecordFunction::step_callbacks_>;
template struct Reveal<at::RecordFunction, OpName, &at::RecordFunction::fn_>;

template <typename Member> Member &inside(const at::RecordFunction &function)
{
    return reveal(const_cast<at::RecordFunction &>(function), static_cast<Member *>(nullptr));
}

// Keys of tensors, and of what a thread adds to them, under which ops do what they are defined to
// do: not those of tensor subclasses, modes and transforms, which may do anything.
constexpr c10::DispatchKeySet plain_keys =
    c10::DispatchKeySet(c10::DispatchKeySet::RAW, c10::full_backend_mask) |
    c10::autograd_dispatch_keyset | c10::autocast_dispatch_keyset |
    c10::DispatchKeySet({c10::DispatchKey::Dense, c10::DispatchKey::BackendSelect,
                         c10::DispatchKey::ADInplaceOrView, c10::DispatchKey::Conjugate,
                         c10::DispatchKey::Negative});

inline bool are_plain(uint64_t tensor_keys)
{
    c10::DispatchKeySet plain = plain_keys, added = here.keys->included();
    return !((tensor_keys | added.raw_repr()) & ~plain.raw_repr());
}

// Whose name it is, as long as no op is taken away; NULL where that is not to be relied on.
inline const void *schema_of(const at::RecordFunction &function)
{
    const auto *schema = std::get_if<1>(&inside<OpName>(function));
    return schema && !settings.has_lost_ops.load(std::memory_order_relaxed) ? &schema->get()
                                                                            : nullptr;
}

// Outputs of this op are not wanted after all: torch asks when the op has begun. False where
// another observer may want them.
inline bool spare_outputs(const at::RecordFunction &function)
{
    auto &callbacks = inside<at::StepCallbacks>(function);
    if (callbacks.callbacks_.size() != 1)
        return false;
    callbacks.needs_outputs_ = false;
    return true;
}

// An op that is taken away may leave its place to another.
struct Registrations final : c10::OpRegistrationListener {
    void onOperatorRegistered(const c10::OperatorHandle &) override
    {
    }
    void onOperatorDeregistered(const c10::OperatorHandle &) override
    {
        settings.has_lost_ops.store(true, std::memory_order_relaxed);
    }
};

// For as long as the process lives.
void watch_registrations()
{
    static auto *forever = new c10::RegistrationHandleRAII(
        c10::Dispatcher::singleton().addRegistrationListener(std::make_unique<Registrations>()));
    (void)forever;
}

#else

inline bool are_plain(uint64_t)
{
    return false;
}

inline const void *schema_of(const at::RecordFunction &)
{
    return nullptr;
}

inline bool spare_outputs(const at::RecordFunction &)
{
    return false;
}

void watch_registrations()
{
}

#endif

} // namespace

#endif

/* Private torch fields we read, and when they become invalid. */
#ifndef PYROMETER_OBSERVER_TORCH_PRIVATE_HPP
#define PYROMETER_OBSERVER_TORCH_PRIVATE_HPP

#include "recorder.hpp"

#ifdef PYROMETER_READS_PRIVATE_FIELDS
#include <ATen/core/dispatch/Dispatcher.h>
#endif

namespace
{

#ifdef PYROMETER_READS_PRIVATE_FIELDS

// An explicit instantiation may name private members. We only read them. If a torch version names
// one differently, this does not compile and the library is built without it.
template <typename Owner, typename Member, Member Owner::*member> struct Reveal {
    friend Member &reveal(Owner &owner, Member *)
    {
        return owner.*member;
    }
};

using OpName = std::variant<std::string, at::RecordFunction::schema_ref_t>;

OpName &reveal(at::RecordFunction &, OpName *);

template struct Reveal<at::RecordFunction, OpName, &at::RecordFunction::fn_>;

// The op's schema, which identifies it until an op is deregistered; NULL if unreliable.
inline const void *schema_of(const at::RecordFunction &function)
{
    auto &revealed = reveal(const_cast<at::RecordFunction &>(function),
                            static_cast<OpName *>(nullptr));
    if (revealed.index() != settings.schema_index.load(std::memory_order_relaxed))
        return nullptr;
    if (revealed.index() != 1)
        __builtin_unreachable();
    return &std::get_if<1>(&revealed)->get();
}

// After a deregistration, another op's schema may reuse the address.
struct Registrations final : c10::OpRegistrationListener {
    void onOperatorRegistered(const c10::OperatorHandle &) override
    {
    }
    void onOperatorDeregistered(const c10::OperatorHandle &) override
    {
        settings.schema_index.store(UINT8_MAX, std::memory_order_relaxed);
    }
};

// Stays registered until the process ends.
void watch_registrations()
{
    static auto *forever = new c10::RegistrationHandleRAII(
        c10::Dispatcher::singleton().addRegistrationListener(std::make_unique<Registrations>()));
    (void)forever;
}

#else

inline const void *schema_of(const at::RecordFunction &)
{
    return nullptr;
}

void watch_registrations()
{
}

#endif

} // namespace

#endif

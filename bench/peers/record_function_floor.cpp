/* What torch charges an observer of ops that does nothing: callbacks of at::RecordFunction that
 * return at once, with inputs, and with outputs too. */
#include <ATen/record_function.h>

static std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction &)
{
    return nullptr;
}

static void end(const at::RecordFunction &, at::ObserverContext *)
{
}

static at::CallbackHandle handle;

extern "C" __attribute__((visibility("default"))) void floor_set(int on, int with_outputs)
{
    if (handle)
        at::removeCallback(handle);
    handle = 0;
    if (on)
        handle = at::addGlobalCallback(
            at::RecordFunctionCallback(&begin, &end)
                .needsInputs(true)
                .needsOutputs(with_outputs)
                .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION,
                         at::RecordScope::TORCHSCRIPT_FUNCTION, at::RecordScope::USER_SCOPE}));
}

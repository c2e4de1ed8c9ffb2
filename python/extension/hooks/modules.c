/*
 * Records layers: replaces the vectorcall slot of torch.nn.Module._call_impl, so that every module
 * call becomes a span while function, code and identity stay unchanged. paths.c resolves a
 * module's name at its first call; module_table.c caches it by address, and call_order.c knows
 * which module is called next.
 */
#include "hooks/modules.h"

#include "hooks/call_order.h"
#include "hooks/layer_hook.h"

#include <string.h>

/* Code that every call of a layer runs. */
#define HOT_CODE __attribute__((hot, aligned(64)))

/* State of this thread, reached without a function call. */
static _Thread_local struct {
    layer_call call;              /* the running layer */
    const ordered_call *expected; /* the next call of a module */
    pyro_recorder_thread *thread; /* the recorder's, once it has recorded a layer */
    const ordered_call *root;     /* the last call outside of layers: of a model */
} thread_state __attribute__((tls_model("initial-exec"))) = {.expected = core_call_order,
                                                             .root = core_call_order};

/* The next call of the module by this parent needs no search for its name. */
static uint32_t set_name(module_slot *slot, uint32_t parent, uint32_t id, uint32_t generation)
{
    slot->generation = generation;
    slot->parent = parent;
    return slot->id = id;
}

static bool keep_name(PyObject *module, uint32_t parent, uint32_t id, uint32_t generation)
{
    if (!layers_keep_name(module, parent, id, generation))
        return false;
    set_name(module_find_slot(module), parent, id, generation);
    return true;
}

/*
 * Resolves the name of a module. Runs no Python code of pyrometer, and hides torch's from tracers.
 * Returns 0 if it fails, with an exception only if that is not an Exception (KeyboardInterrupt).
 */
static uint32_t name_of_new(PyObject *module, const layer_call *caller, uint32_t generation)
{
    bool keep = false;
    PyThreadState *state = PyThreadState_Get();
    PyThreadState_EnterTracing(state);
    uint32_t id = layers_resolve(module, caller, generation, &keep);
    if (id && keep && !keep_name(module, caller ? caller->id : 0, id, generation))
        id = 0;
    PyThreadState_LeaveTracing(state);
    if (!id && PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_Exception))
        PyErr_Clear();
    return id;
}

static __attribute__((noinline)) uint32_t name_of_other(PyObject *module, module_slot *known,
                                                        const layer_call *caller,
                                                        uint32_t generation)
{
    uint32_t parent = caller ? caller->id : 0;
    const seen_module *seen = known ? known->seen : NULL;
    if (seen && seen->generation == generation) {
        for (uint32_t i = 0; i < seen->name_count; i++) {
            if (seen->names[i].parent == parent)
                return set_name(known, parent, seen->names[i].id, generation);
        }
    }
    return name_of_new(module, caller, generation);
}

static inline uint32_t name_of(PyObject *module, module_slot *known, const layer_call *caller,
                               uint32_t generation)
{
    uint32_t parent = caller ? caller->id : 0;
    if (__builtin_expect(known && known->generation == generation && known->parent == parent, 1))
        return known->id;
    return name_of_other(module, known, caller, generation);
}

static size_t count_arguments(size_t count_and_flag, PyObject *names)
{
    return (size_t)PyVectorcall_NARGS(count_and_flag) +
           (names ? (size_t)PyTuple_GET_SIZE(names) : 0);
}

/* Begins the span; false if it cannot be written. Sets the base for stacks of nested calls. */
static inline bool begin_layer(uint32_t id, const void *key, const layer_input *input, int64_t mark)
{
    pyro_recorder_api *api = core_hook.api;
    pyro_recorder_thread *thread = pyro_recorder_enter(api);
    if (!thread)
        return false;
    thread_state.thread = thread;
    uint32_t stack = 0;
    if (__builtin_expect(api->flags & PYRO_RECORD_STACKS, 0))
        stack = core_layer_stack(thread);
    uint32_t inputs = input->count ? api->signature(thread, input->words, input->count) : 0;
    pyro_record *record = pyro_record_room(api, thread);
    pyro_span_open(thread, record, key);
    if (record) {
        record->sequence = mark;
        record->name = id;
        record->inputs = inputs;
        record->stack = stack;
        pyro_record_is(record, PYRO_RECORD_LAYER, 0);
        record->start_raw = pyro_raw_time(api);
        pyro_record_commit(thread, record);
        pyro_record_prefetch(record + 2);
    }
    pyro_recorder_leave(thread);
    return true;
}

static inline void end_layer(const void *key, bool raised, uint32_t generation,
                             uint32_t layer_stack, void *layer_frame)
{
    pyro_recorder_api *api = core_hook.api;
    uint64_t now = pyro_raw_time(api);
    pyro_recorder_thread *thread = pyro_recorder_enter(api);
    if (!thread)
        return;
    if (thread->generation == generation) {
        pyro_record *record = pyro_span_close(thread, key);
        if (record) {
            if (raised)
                record->notes |= PYRO_NOTE_RAISED;
            __atomic_store_n(&record->end_raw, now, __ATOMIC_RELEASE);
        }
        thread->layer_stack = layer_stack;
        thread->layer_frame = layer_frame;
    }
    pyro_recorder_leave(thread);
}

/* Reads the stack of the enclosing layer, which end_layer() restores. */
static __attribute__((noinline)) void read_layer_stack(uint32_t *stack, void **frame)
{
    pyro_recorder_thread *thread = pyro_recorder_enter(core_hook.api);
    if (!thread)
        return;
    *stack = thread->layer_stack;
    *frame = thread->layer_frame;
    pyro_recorder_leave(thread);
}

/* The number of values in the first tensor of a call; 0: unknown. */
static uint64_t count_values(const layer_input *input)
{
    uint64_t values = 1, rank = input->count ? input->words[0] >> 32 : 0;
    for (size_t i = 1; i <= rank && i < input->count; i++)
        values *= input->words[i] ? input->words[i] : 1;
    return input->count ? values : 0;
}

/* Whether observe_call() may handle the next calls of this session; notes that too. */
static bool note_session(uint32_t generation)
{
    const pyro_recorder_api *api = core_hook.api;
    bool is_plain = !(api->flags & PYRO_RECORD_STACKS) && !api->uses_clock && !api->needs_fence &&
                    !core_passes_wanted && !core_marks_wanted && !core_ranges_wanted;
    core_hook.wants_inputs = api->flags & PYRO_RECORD_SHAPES;
    if (core_hook.wants_inputs && !core_tensor_access.tensor) /* Python reads inputs */
        is_plain = false;
    core_hook.plain_generation = is_plain ? generation : NONE_PLAIN;
    return is_plain;
}

static inline bool is_named(const module_slot *slot, uint32_t parent, uint32_t generation)
{
    return slot && slot->generation == generation && slot->parent == parent;
}

/* A call of a module has its place in the order of calls; what follows it there is expected next. */
static void expect_next(const PyObject *module, uint32_t parent, uint32_t generation)
{
    module_slot *called = module_find_slot(module);
    if (!is_named(called, parent, generation)) /* its name must be resolved again */
        return;
    const ordered_call *place = call_order_place(thread_state.expected, called);
    thread_state.expected = place + 1;
    if (!parent)
        thread_state.root = place;
}

/* Calls the module, as a span if it has a name. */
static PyObject *observe_layer(vectorcallfunc original, PyObject *function,
                               PyObject *const *arguments, size_t count_and_flag, PyObject *names,
                               module_slot *known, uint32_t generation)
{
    PyObject *module = arguments[0];
    layer_call outer = thread_state.call;
    bool is_inside = outer.id && outer.generation == generation;
    uint32_t id = name_of(module, known, is_inside ? &outer : NULL, generation);
    if (__builtin_expect(!id, 0) && PyErr_Occurred())
        return NULL;
    uint32_t outer_stack = 0, flags = core_hook.api->flags;
    void *outer_frame = NULL;
    layer_input input;
    if (__builtin_expect(flags & PYRO_RECORD_STACKS, 0))
        read_layer_stack(&outer_stack, &outer_frame);
    input.count = 0;
    if (flags & PYRO_RECORD_SHAPES)
        layers_read_input(&input, arguments, count_arguments(count_and_flag, names));
    layer_call inner = {module, is_inside ? outer.root : module, id, generation};
    int64_t mark = __builtin_expect(core_marks_wanted, 0) ? core_marks_next() : -1;
    if (!id || !begin_layer(id, &inner, &input, mark))
        return original(function, arguments, count_and_flag, names);
    if (note_session(generation))
        expect_next(module, is_inside ? outer.id : 0, generation);
    thread_state.call = inner;
    bool is_step = !is_inside && core_hook.api->wants_steps, has_range = core_ranges_wanted;
    uint64_t begin_raw = __builtin_expect(is_step, 0) ? pyro_raw_time(core_hook.api) : 0;
    if (__builtin_expect(mark >= 0, 0))
        core_mark(mark, true);
    if (__builtin_expect(has_range, 0))
        pyro_range_begin_layer(id);
    PyObject *result = original(function, arguments, count_and_flag, names);
    if (__builtin_expect(has_range, 0))
        pyro_range_end();
    if (__builtin_expect(mark >= 0, 0))
        core_mark(mark, false);
    end_layer(&inner, !result, generation, outer_stack, outer_frame);
    thread_state.call = outer;
    if (__builtin_expect(is_step && result, 0))
        pyro_flight_forward(id, count_values(&input), begin_raw, pyro_raw_time(core_hook.api));
    return result;
}

static inline PyObject *call_module(vectorcallfunc original, PyObject *function,
                                    PyObject *const *arguments, size_t count_and_flag,
                                    PyObject *names, module_slot *known)
{
    uint32_t generation = __atomic_load_n(&core_hook.api->generation, __ATOMIC_RELAXED);
    if (generation & 1 && core_hook.api->flags & PYRO_RECORD_LAYERS && !core_hook.api->is_resting)
        return observe_layer(original, function, arguments, count_and_flag, names, known,
                             generation);
    return original(function, arguments, count_and_flag, names);
}

/* All calls that observe_call() does not handle. */
static __attribute__((noinline, cold)) PyObject *observe_other(PyObject *function,
                                                               PyObject *const *arguments,
                                                               size_t count_and_flag,
                                                               PyObject *names)
{
    if (__builtin_expect(!core_hook.function || PyVectorcall_NARGS(count_and_flag) < 1, 0))
        return core_hook.original(function, arguments, count_and_flag, names);
    /* Only modules have a slot. */
    module_slot *known = module_find_slot(arguments[0]);
    if (__builtin_expect(!known, 0) &&
        !PyObject_TypeCheck(arguments[0], (PyTypeObject *)core_hook.module_class))
        return core_hook.original(function, arguments, count_and_flag, names);
    core_pass pass = {NULL, NULL, false};
    if (core_passes_wanted) {
        core_pass_enter(&pass, arguments[0]);
        known = module_find_slot(arguments[0]); /* the table may have moved it */
    }
    PyObject *result = call_module(core_hook.original, function, arguments, count_and_flag, names,
                                   known);
    if (pass.is_asked)
        core_pass_leave(&pass);
    return result;
}

/* The thread has been in the session. */
static inline bool enter_fast(pyro_recorder_thread *thread, uint32_t generation, uint32_t *busy)
{
    return pyro_recorder_enter_quickly(core_hook.api, thread, generation, busy);
}

/* The id of an input that an expected call did not get last time; 0: none. Runs no Python code, so that
 * the place stays this call's. */
static __attribute__((noinline)) uint32_t learn_input(const ordered_call *expected,
                                                      PyObject *const *arguments, size_t count)
{
    pyro_recorder_thread *thread = thread_state.thread;
    layer_input input;
    uint32_t busy, id = 0;
    layers_read_input(&input, arguments, count);
    if (!input.count || !enter_fast(thread, expected->generation, &busy))
        return 0;
    id = core_hook.api->signature(thread, input.words, input.count);
    pyro_recorder_leave_quickly(thread, busy);
    layers_keep_input(call_order_input(expected), arguments, count, id, expected->generation);
    return id;
}

/* Begins the span of an expected call; false if begin_layer() must. */
static inline bool begin_expected(pyro_recorder_thread *thread, const ordered_call *expected,
                                  const void *key, uint32_t input)
{
    uint32_t busy, depth = thread->depth;
    if (__builtin_expect(thread->next == thread->end || depth >= PYRO_MOST_OPEN_SPANS ||
                             !enter_fast(thread, expected->generation, &busy),
                         0))
        return false;
    pyro_record *record = thread->next;
    record->inputs = input;
    record->sequence = -1;
    record->name = expected->id;
    pyro_record_is(record, PYRO_RECORD_LAYER, 0);
    record->start_raw = pyro_counter();
    pyro_span_open_at(thread, depth, record, key);
    pyro_record_commit(thread, record);
    pyro_record_prefetch(record + 2);
    pyro_recorder_leave_quickly(thread, busy);
    return true;
}

/* Ends a span that was lost or closed, or whose call raised. */
static __attribute__((noinline, cold)) void end_other(const void *key, bool raised,
                                                      uint32_t generation)
{
    end_layer(key, raised, generation, 0, NULL);
}

static inline void end_expected(pyro_recorder_thread *thread, uint32_t generation, const void *key,
                                bool raised)
{
    uint64_t now = pyro_counter();
    uint32_t busy, depth = thread->depth - 1;
    const pyro_open_span *span = &thread->open[depth % PYRO_MOST_OPEN_SPANS];
    if (__builtin_expect(span->key == key && depth < PYRO_MOST_OPEN_SPANS && !raised &&
                             enter_fast(thread, generation, &busy),
                         1)) {
        pyro_record *record = span->record;
        if (__builtin_expect(record != NULL, 1)) {
            __atomic_store_n(&thread->depth, depth, __ATOMIC_RELEASE);
            __atomic_store_n(&record->end_raw, now, __ATOMIC_RELEASE);
        }
        pyro_recorder_leave_quickly(thread, busy);
        if (__builtin_expect(record != NULL, 1))
            return;
    }
    end_other(key, raised, generation);
}

/* Whether a layer runs in a session whose calls need only a record. */
static inline bool is_plain_now(void)
{
    return thread_state.call.generation == core_hook.plain_generation && !core_hook.api->is_resting;
}

/* Whether a call that the running layer makes is the expected one. */
static inline bool is_expected(const ordered_call *expected, const PyObject *module)
{
    uint64_t parent, running; /* an id and a session at once */
    _Static_assert(offsetof(ordered_call, generation) == offsetof(ordered_call, parent) + 4 &&
                       offsetof(layer_call, generation) == offsetof(layer_call, id) + 4,
                   "they lie side by side");
    memcpy(&parent, &expected->parent, sizeof parent);
    memcpy(&running, &thread_state.call.id, sizeof running);
    return expected->module == module && parent == running;
}

static HOT_CODE PyObject *observe_call(PyObject *function, PyObject *const *arguments,
                                       size_t count_and_flag, PyObject *names);

/* Expects a call of a known module that is not the expected one. False if observe_call() cannot handle
 * it nevertheless. */
static bool expect_instead(PyObject *module)
{
    module_slot *called = module_find_slot(module);
    if (!is_plain_now() || is_expected(thread_state.expected, module) ||
        !is_named(called, thread_state.call.id, thread_state.call.generation))
        return false;
    thread_state.expected = call_order_place(thread_state.expected, called);
    return true;
}

/* Whether the model is called that was called last, in a session whose calls need only a record. The
 * thread must have been in that session too: another one may have written the place anew. */
static inline bool is_root_again(const PyObject *module)
{
    const ordered_call *place = thread_state.root;
    const pyro_recorder_thread *thread = thread_state.thread;
    const pyro_recorder_api *api = core_hook.api;
    uint32_t session = core_hook.plain_generation;
    return place->module == module && !thread_state.call.id && !place->parent &&
           place->generation == session && thread && thread->generation == session &&
           !api->is_resting && !api->wants_steps;
}

/* For observe_call(), the calls of a model lie in the session as those of a layer lie in that. */
static HOT_CODE __attribute__((noinline)) PyObject *
observe_root(PyObject *function, PyObject *const *arguments, size_t count_and_flag, PyObject *names)
{
    const ordered_call *place = thread_state.root;
    layer_call outer = thread_state.call;
    thread_state.call = (layer_call){NULL, arguments[0], 0, place->generation};
    thread_state.expected = place;
    PyObject *result = observe_call(function, arguments, count_and_flag, names);
    thread_state.call = outer;
    return result;
}

static HOT_CODE __attribute__((noinline)) PyObject *observe_unexpected(PyObject *function,
                                                                       PyObject *const *arguments,
                                                                       size_t count_and_flag,
                                                                       PyObject *names)
{
    size_t count = (size_t)PyVectorcall_NARGS(count_and_flag);
    if (count > 0 && is_root_again(arguments[0]))
        return observe_root(function, arguments, count_and_flag, names);
    if (count > 0 && expect_instead(arguments[0]))
        return observe_call(function, arguments, count_and_flag, names);
    return observe_other(function, arguments, count_and_flag, names);
}

/* The code is small because the program evicts it from the caches between two calls. */
static inline __attribute__((always_inline)) PyObject *
observe_expected(PyObject *function, PyObject *const *arguments, size_t count_and_flag,
                 PyObject *names, const ordered_call *expected, bool with_input, uint32_t input)
{
    pyro_recorder_thread *thread = thread_state.thread;
    layer_call *call = &thread_state.call;
    struct {
        PyObject *module;
        uint32_t id, generation;
    } outer = {call->module, call->id, call->generation};
    if (__builtin_expect(!begin_expected(thread, expected, &outer, input), 0))
        return observe_other(function, arguments, count_and_flag, names);
    call->module = expected->module;
    call->id = expected->id;
    thread_state.expected = expected + 1;
    call_order_prefetch(expected + 1, with_input);
    PyObject *result = core_hook.original(function, arguments, count_and_flag, names);
    end_expected(thread, outer.generation, &outer, !result);
    call->module = outer.module;
    call->id = outer.id;
    return result;
}

static HOT_CODE __attribute__((noinline)) PyObject *
observe_with_input(PyObject *function, PyObject *const *arguments, size_t count_and_flag,
                   PyObject *names, const ordered_call *expected)
{
    size_t count = count_arguments(count_and_flag, names);
    const known_input *known = call_order_input(expected);
    uint32_t input = __builtin_expect(input_is_known(known, arguments, count, expected->generation),
                                      1)
                         ? known->id
                         : learn_input(expected, arguments, count);
    return observe_expected(function, arguments, count_and_flag, names, expected, true, input);
}

static HOT_CODE PyObject *observe_call(PyObject *function, PyObject *const *arguments,
                                       size_t count_and_flag, PyObject *names)
{
    const ordered_call *expected = thread_state.expected;
    if (__builtin_expect(PyVectorcall_NARGS(count_and_flag) < 1 ||
                             !is_expected(expected, arguments[0]) || !is_plain_now(),
                         0))
        return observe_unexpected(function, arguments, count_and_flag, names);
    if (core_hook.wants_inputs)
        return observe_with_input(function, arguments, count_and_flag, names, expected);
    return observe_expected(function, arguments, count_and_flag, names, expected, false, 0);
}

bool layers_is_module(PyObject *object)
{
    return core_hook.function && PyObject_TypeCheck(object, (PyTypeObject *)core_hook.module_class);
}

PyObject *layers_call(vectorcallfunc original, PyObject *function, PyObject *const *arguments,
                      size_t count_and_flag, PyObject *names)
{
    return call_module(original, function, arguments, count_and_flag, names,
                       module_find_slot(arguments[0]));
}

void layers_set_vectorcall(PyFunctionObject *function, vectorcallfunc call)
{
#if PY_VERSION_HEX >= 0x030C0000
    PyFunction_SetVectorcall(function, call);
#else
    /* Without a version the interpreter does not bypass this slot. */
    function->func_version = 0;
    function->vectorcall = call;
#endif
}

const char core_layers_install_doc[] =
    "layers_install(function, module_class): records calls of the function with a module as spans\n"
    "of the running session. The function is torch.nn.Module._call_impl.";

PyObject *core_layers_install(PyObject *module, PyObject *args)
{
    PyObject *function, *module_class;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!O!:layers_install", &PyFunction_Type, &function, &PyType_Type,
                          &module_class))
        return NULL;
#ifdef Py_GIL_DISABLED
    PyErr_SetString(
        PyExc_RuntimeError,
        "recording layers requires a Python with the GIL; free-threaded builds are unsupported");
    return NULL;
#endif
    if (core_hook.function) {
        PyErr_SetString(PyExc_RuntimeError,
                        "layers are recorded already; call layers_remove() first");
        return NULL;
    }
    if (layers_names_begin(module_class))
        return NULL;
    core_hook.api = pyro_recorder_entrance();
    Py_XSETREF(core_hook.module_class, Py_NewRef(module_class));
    core_hook.function = Py_NewRef(function);
    if (!core_hook.is_wrapped) {
        core_hook.original = ((PyFunctionObject *)function)->vectorcall;
        layers_set_vectorcall((PyFunctionObject *)function, observe_call);
    }
    Py_RETURN_NONE;
}

const char core_recorder_api_doc[] =
    "recorder_api() -> int: address of the recorder's API, for the observer.";

PyObject *core_recorder_api(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyLong_FromVoidPtr(pyro_recorder_entrance());
}

const char core_layers_remove_doc[] =
    "layers_remove(): stops recording layers; does nothing if they are not recorded.";

PyObject *core_layers_remove(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    if (!core_hook.function)
        Py_RETURN_NONE;
    PyFunctionObject *function = (PyFunctionObject *)core_hook.function;
    /* Calls in progress still return through observe_call, so `original` and `api` stay. */
    core_hook.is_wrapped = function->vectorcall != observe_call;
    if (!core_hook.is_wrapped)
        layers_set_vectorcall(function, core_hook.original);
    core_hook.function = NULL;
    core_hook.plain_generation = NONE_PLAIN;
    layers_forget_all();
    layers_names_end();
    Py_DECREF(function);
    Py_RETURN_NONE;
}

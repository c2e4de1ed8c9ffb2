/*
 * Records layers: replaces the vectorcall slot of torch.nn.Module._call_impl, so that every module
 * call becomes a span while function, code and identity stay unchanged. paths.c resolves a
 * module's name at its first call; module_table.c caches it by address.
 */
#include "hooks/modules.h"

/* One hook per process, because there is one Module class. Guarded by the GIL. */
static struct {
    PyObject *function, *module_class;
    vectorcallfunc original;
    pyro_recorder_api *api;
    bool is_wrapped; /* another hook replaced the slot after us and keeps calling us */
} hook CORE_EVERY_CALL;

/* State of this thread, reached without a function call. */
static _Thread_local struct {
    layer_call call;                    /* the running layer */
    pyro_recorder_thread *const *place; /* the recorder's pointer to its state of this thread */
} thread_state __attribute__((tls_model("initial-exec")));

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
    if (id && keep && !layers_keep_name(module, caller ? caller->id : 0, id, generation))
        id = 0;
    PyThreadState_LeaveTracing(state);
    if (!id && PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_Exception))
        PyErr_Clear();
    return id;
}

/* Prefetches the slot of the module that followed last time: the order of calls repeats. */
static inline void expect_follower(const module_slot *called)
{
    uint32_t number = (uint32_t)(called - core_modules.slots), mask = core_modules.slot_count - 1;
    module_slot *before = &core_modules.slots[core_modules.last_slot & mask];
    if (before->follower != number)
        before->follower = number;
    core_modules.last_slot = number;
    __builtin_prefetch(&core_modules.slots[called->follower & mask]);
}

static __attribute__((noinline)) uint32_t name_of_other(PyObject *module, module_slot *known,
                                                        const layer_call *caller,
                                                        uint32_t generation)
{
    uint32_t parent = caller ? caller->id : 0;
    const seen_module *seen = known ? known->seen : NULL;
    if (seen && seen->generation == generation) {
        for (uint32_t i = 0; i < seen->name_count; i++) {
            if (seen->names[i].parent != parent)
                continue;
            known->generation = generation;
            known->parent = parent;
            return known->id = seen->names[i].id;
        }
    }
    return name_of_new(module, caller, generation);
}

static inline uint32_t name_of(PyObject *module, module_slot *known, const layer_call *caller,
                               uint32_t generation)
{
    uint32_t parent = caller ? caller->id : 0;
    if (__builtin_expect(known && known->generation == generation && known->parent == parent, 1)) {
        expect_follower(known);
        return known->id;
    }
    return name_of_other(module, known, caller, generation);
}

static __attribute__((noinline)) pyro_recorder_thread *enter_first(pyro_recorder_api *api)
{
    thread_state.place = api->place ? api->place() : NULL;
    return pyro_recorder_enter(api);
}

/* Like pyro_recorder_enter(). */
static inline pyro_recorder_thread *enter(pyro_recorder_api *api)
{
    pyro_recorder_thread *thread = thread_state.place ? *thread_state.place : NULL;
    if (__builtin_expect(!thread || thread->generation != api->generation, 0))
        return enter_first(api);
    return pyro_recorder_enter_with(api, thread);
}

/* The input of a layer as words. */
#define MOST_INPUT_WORDS 32

typedef struct layer_input {
    size_t count;
    uint64_t words[MOST_INPUT_WORDS];
} layer_input;

/* Begins the span; false if it cannot be written. Sets the base for stacks of nested calls. */
static inline bool begin_layer(uint32_t id, const void *key, const layer_input *input, int64_t mark)
{
    pyro_recorder_api *api = hook.api;
    pyro_recorder_thread *thread = enter(api);
    if (!thread)
        return false;
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
    pyro_recorder_api *api = hook.api;
    uint64_t now = pyro_raw_time(api);
    pyro_recorder_thread *thread = enter(api);
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
    pyro_recorder_thread *thread = enter(hook.api);
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

/* Calls the module, as a span if it has a name. */
static inline PyObject *observe_layer(vectorcallfunc original, PyObject *function,
                                      PyObject *const *arguments, size_t count_and_flag,
                                      PyObject *names, module_slot *known, uint32_t generation)
{
    PyObject *module = arguments[0];
    layer_call outer = thread_state.call;
    bool is_inside = outer.id && outer.generation == generation;
    uint32_t id = name_of(module, known, is_inside ? &outer : NULL, generation);
    if (__builtin_expect(!id, 0) && PyErr_Occurred())
        return NULL;
    uint32_t outer_stack = 0, flags = hook.api->flags;
    void *outer_frame = NULL;
    layer_input input;
    if (__builtin_expect(flags & PYRO_RECORD_STACKS, 0))
        read_layer_stack(&outer_stack, &outer_frame);
    input.count = 0;
    if (flags & PYRO_RECORD_SHAPES) {
        size_t count = (size_t)PyVectorcall_NARGS(count_and_flag) +
                       (names ? (size_t)PyTuple_GET_SIZE(names) : 0);
        input.count = layers_input(input.words, MOST_INPUT_WORDS, arguments, count);
    }
    layer_call inner = {module, is_inside ? outer.root : module, id, generation};
    int64_t mark = __builtin_expect(core_marks_wanted, 0) ? core_marks_next() : -1;
    if (!id || !begin_layer(id, &inner, &input, mark))
        return original(function, arguments, count_and_flag, names);
    thread_state.call = inner;
    bool is_step = !is_inside && hook.api->wants_steps, has_range = core_ranges_wanted;
    uint64_t begin_raw = __builtin_expect(is_step, 0) ? pyro_raw_time(hook.api) : 0;
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
        pyro_flight_forward(id, count_values(&input), begin_raw, pyro_raw_time(hook.api));
    return result;
}

static inline PyObject *call_module(vectorcallfunc original, PyObject *function,
                                    PyObject *const *arguments, size_t count_and_flag,
                                    PyObject *names, module_slot *known)
{
    uint32_t generation = __atomic_load_n(&hook.api->generation, __ATOMIC_RELAXED);
    if (generation & 1 && hook.api->flags & PYRO_RECORD_LAYERS && !hook.api->is_resting)
        return observe_layer(original, function, arguments, count_and_flag, names, known,
                             generation);
    return original(function, arguments, count_and_flag, names);
}

static PyObject *observe_call(PyObject *function, PyObject *const *arguments, size_t count_and_flag,
                              PyObject *names)
{
    if (__builtin_expect(!hook.function || PyVectorcall_NARGS(count_and_flag) < 1, 0))
        return hook.original(function, arguments, count_and_flag, names);
    /* Only modules have a slot. */
    module_slot *known = module_find_slot(arguments[0]);
    if (__builtin_expect(!known, 0) &&
        !PyObject_TypeCheck(arguments[0], (PyTypeObject *)hook.module_class))
        return hook.original(function, arguments, count_and_flag, names);
    core_pass pass = {NULL, NULL, false};
    if (core_passes_wanted) {
        core_pass_enter(&pass, arguments[0]);
        known = module_find_slot(arguments[0]); /* the table may have moved it */
    }
    PyObject *result = call_module(hook.original, function, arguments, count_and_flag, names,
                                   known);
    if (pass.is_asked)
        core_pass_leave(&pass);
    return result;
}

bool layers_is_module(PyObject *object)
{
    return hook.function && PyObject_TypeCheck(object, (PyTypeObject *)hook.module_class);
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
    if (hook.function) {
        PyErr_SetString(PyExc_RuntimeError,
                        "layers are recorded already; call layers_remove() first");
        return NULL;
    }
    if (layers_names_begin(module_class))
        return NULL;
    hook.api = pyro_recorder_entrance();
    Py_XSETREF(hook.module_class, Py_NewRef(module_class));
    hook.function = Py_NewRef(function);
    if (!hook.is_wrapped) {
        hook.original = ((PyFunctionObject *)function)->vectorcall;
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
    if (!hook.function)
        Py_RETURN_NONE;
    PyFunctionObject *function = (PyFunctionObject *)hook.function;
    /* Calls in progress still return through observe_call, so `original` and `api` stay. */
    hook.is_wrapped = function->vectorcall != observe_call;
    if (!hook.is_wrapped)
        layers_set_vectorcall(function, hook.original);
    hook.function = NULL;
    layers_forget_all();
    layers_names_end();
    Py_DECREF(function);
    Py_RETURN_NONE;
}

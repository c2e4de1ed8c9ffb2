/* Recognizes passes among module calls: those of decorated classes and of registered modules. The
 * layer hook calls it around every module call; it calls Python only when a pass begins or ends. */
#include "hooks/layer_hook.h"

#include <pthread.h>
#include <pyrometer/capture.h>
#include <pyrometer/report.h>
#include <stdbool.h>

bool core_passes_wanted; /* a class or module is registered */

static PyObject *begin_function, *end_function;
static PyObject *marker;    /* attribute of a class that holds its registration */
static PyObject *instances; /* id of a module -> its registration */
static _Thread_local bool inside; /* this thread is inside a pass */
static _Thread_local PyObject *asked; /* the model whose running call was checked; only compared */

/* Wrappers of a model. With is_pass, the wrapper's call is the pass, because it runs the model
 * compiled or on other threads. Other wrappers call the model, whose call is the pass. */
static const struct wrapper {
    const char *type, *child;
    bool is_pass;
} wrappers[] = {{"OptimizedModule", "_orig_mod", true},
                {"DataParallel", "module", true},
                {"DistributedDataParallel", "module", false},
                {"FullyShardedDataParallel", "_fsdp_wrapped_module", false}};

static const struct wrapper *wrapper_of(PyObject *module)
{
    const char *type = Py_TYPE(module)->tp_name;

    for (size_t i = 0; i < sizeof wrappers / sizeof *wrappers; i++)
        if (strcmp(type, wrappers[i].type) == 0)
            return &wrappers[i];
    return NULL;
}

/* A new reference to a wrapper's child module, or NULL. */
static PyObject *child_of(PyObject *module, const char *name)
{
    PyObject *modules = PyObject_GetAttrString(module, "_modules"), *result = NULL;

    if (modules && PyDict_Check(modules))
        result = Py_XNewRef(PyDict_GetItemString(modules, name));
    Py_XDECREF(modules);
    PyErr_Clear();
    return result;
}

/* A new reference to the model below one or more wrappers, if their call is the pass; or NULL. */
static PyObject *wrapped_module(PyObject *module)
{
    const struct wrapper *wrapper = wrapper_of(module);
    PyObject *result = wrapper && wrapper->is_pass ? child_of(module, wrapper->child) : NULL;

    while (result && (wrapper = wrapper_of(result)))
        Py_SETREF(result, child_of(result, wrapper->child));
    return result;
}

/* A new reference to the registration of the module or its class, or NULL. */
static PyObject *find_registration(PyObject *module)
{
    PyObject *found = _PyType_Lookup(Py_TYPE(module), marker);

    if (!found && PyDict_GET_SIZE(instances) > 0) {
        PyObject *key = PyLong_FromVoidPtr(module);

        if (key)
            found = PyDict_GetItemWithError(instances, key);
        Py_XDECREF(key);
        PyErr_Clear();
    }
    return Py_XNewRef(found);
}

/* Prevents Dynamo from compiling our callbacks. Returns its callback for resume_dynamo(). */
static PyObject *pause_dynamo(PyObject **setter)
{
    PyObject *modules = PyImport_GetModuleDict();
    PyObject *eval_frame = PyDict_GetItemString(modules, "torch._C._dynamo.eval_frame");
    PyObject *before;

    *setter = eval_frame ? PyObject_GetAttrString(eval_frame, "set_eval_frame") : NULL;
    before = *setter ? PyObject_CallOneArg(*setter, Py_None) : NULL;
    PyErr_Clear();
    return before;
}

static void resume_dynamo(PyObject *setter, PyObject *before)
{
    if (setter && before)
        Py_XDECREF(PyObject_CallOneArg(setter, before));
    PyErr_Clear();
    Py_XDECREF(setter);
    Py_XDECREF(before);
}

/* Calls a function and prints its exceptions. A new reference, or NULL. */
static PyObject *call_quietly(PyObject *function, PyObject *a, PyObject *b)
{
    PyObject *setter, *before = pause_dynamo(&setter);
    PyObject *result = PyObject_CallFunctionObjArgs(function, a, b, NULL);

    if (!result && PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) {
        PyErr_Clear();
        PyErr_SetInterrupt(); /* raises it again in the program */
    } else if (!result) {
        PyErr_WriteUnraisable(function);
    }
    resume_dynamo(setter, before);
    return result;
}

bool core_is_inside_pass(void)
{
    return inside;
}

/* Begins a pass of `model`, unless its running call was checked already: in its wrapper, or in
 * __call__ before `forward`. */
static void ask(core_pass *pass, PyObject *registration, PyObject *model)
{
    if (model == asked)
        return;
    inside = true; /* begin_function may call modules */
    pass->token = call_quietly(begin_function, registration, model);
    if (pass->token == Py_None)
        Py_CLEAR(pass->token);
    inside = pass->token != NULL;
    pass->is_asked = true;
    pass->before = asked;
    asked = model;
}

void core_pass_enter(core_pass *pass, PyObject *module)
{
    PyObject *wrapped, *registration;

    if (inside || !begin_function)
        return;
    registration = find_registration(module);
    wrapped = registration ? NULL : wrapped_module(module);
    if (wrapped)
        registration = find_registration(wrapped);
    if (registration)
        ask(pass, registration, wrapped ? wrapped : module);
    Py_XDECREF(registration);
    Py_XDECREF(wrapped); /* the wrapper keeps it alive during the call */
}

void core_pass_leave(core_pass *pass)
{
    PyObject *type, *value, *traceback;

    asked = pass->before;
    if (!pass->token)
        return;
    PyErr_Fetch(&type, &value, &traceback);
    Py_XDECREF(call_quietly(end_function, pass->token, type ? type : Py_None));
    inside = false;
    PyErr_Restore(type, value, traceback);
    Py_CLEAR(pass->token);
}

PyDoc_STRVAR(set_doc, "set_passes(begin, end, marker, instances)\n\n"
                      "begin(registration, module) -> token or None; end(token, raised type).");

static PyObject *set_passes(PyObject *module, PyObject *args)
{
    PyObject *begin, *end, *name, *chosen;

    (void)module;
    if (!PyArg_ParseTuple(args, "OOUO!:set_passes", &begin, &end, &name, &PyDict_Type, &chosen))
        return NULL;
    Py_XSETREF(begin_function, Py_NewRef(begin));
    Py_XSETREF(end_function, Py_NewRef(end));
    Py_XSETREF(instances, Py_NewRef(chosen));
    Py_INCREF(name);
    PyUnicode_InternInPlace(&name);
    Py_XSETREF(marker, name);
    core_passes_wanted = true;
    layers_reconsider();
    Py_RETURN_NONE;
}

/* An ended pass: the inputs of its table, then the table. */
typedef struct ended_pass {
    struct ended_pass *next;
    PyObject *token; /* only used with the GIL */
    char *title, *table, *failure;
    bool with_flops;
} ended_pass;

/* Queue of finished passes for next_pass(), in the order in which they ended. They have numbers, as
 * have their readers: a reader that leaves may be followed by another one while passes go on. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    ended_pass *first, *last;
    uint64_t ended, taken; /* by readers, or failed: these need none */
    uint64_t newest_reader, closed_reader;
    uint64_t last_pass; /* of the closed reader */
} done = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void free_pass(ended_pass *pass)
{
    if (!pass)
        return;
    Py_XDECREF(pass->token);
    free(pass->title);
    pyro_free(pass->table);
    free(pass->failure);
    free(pass);
}

/* Runs on the recorder's thread, which must not use Python. */
static void pass_is_done(void *user, pyro_trace *trace, const pyro_error *error)
{
    ended_pass *pass = user;
    pyro_error table_error;
    char line[1024];
    size_t size;

    pyro_error_clear(&table_error);
    if (!trace)
        pass->failure = strdup(pyro_error_line(error, line, sizeof line));
    else if (pyro_report_layer_table(&pass->table, &size, trace, pass->title, pass->with_flops,
                                     &table_error) != PYRO_OK)
        pass->failure = strdup(pyro_error_line(&table_error, line, sizeof line));
    pthread_mutex_lock(&done.lock);
    if (done.last)
        done.last->next = pass;
    else
        done.first = pass;
    done.last = pass;
    pthread_cond_broadcast(&done.changed);
    pthread_mutex_unlock(&done.lock);
}

static PyObject *pass_begin(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return PyLong_FromUnsignedLongLong(pyro_pass_begin());
}

static PyObject *pass_abandon(PyObject *module, PyObject *begun)
{
    (void)module;
    pyro_pass_abandon(PyLong_AsUnsignedLongLong(begun));
    if (PyErr_Occurred())
        return NULL;
    Py_RETURN_NONE;
}

static void count_pass(uint64_t *passes)
{
    pthread_mutex_lock(&done.lock);
    ++*passes;
    pthread_cond_broadcast(&done.changed);
    pthread_mutex_unlock(&done.lock);
}

PyDoc_STRVAR(end_doc,
             "pass_end(token, begun, path, model, number, flags, title, with_flops,\n"
             "profile or None, missing or None, lacks_ops)\n\n"
             "Ends a pass and writes its file in the background; next_pass() returns its\n"
             "table. Adds the profile, a trace of torch.profiler, to the file and deletes it.");

static PyObject *pass_end(PyObject *module, PyObject *args)
{
    pyro_pass_options options = {.done = pass_is_done};
    PyObject *token, *path;
    unsigned long long begun;
    long long number;
    const char *title;
    int with_flops, lacks_ops, status;
    ended_pass *pass;
    pyro_error error;

    if (!PyArg_ParseTuple(args, "OKO&sLIspzzp:pass_end", &token, &begun, PyUnicode_FSConverter,
                          &path, &options.model, &number, &options.flags, &title, &with_flops,
                          &options.profile, &options.missing, &lacks_ops))
        return NULL;
    pass = calloc(1, sizeof *pass);
    if (!pass || !(pass->title = strdup(title))) {
        free_pass(pass);
        Py_DECREF(path);
        return PyErr_NoMemory();
    }
    pass->token = Py_NewRef(token);
    pass->with_flops = with_flops;
    options.path = PyBytes_AS_STRING(path);
    options.number = number;
    options.lacks_ops = lacks_ops;
    options.user = pass;
    pyro_error_clear(&error);
    count_pass(&done.ended);
    Py_BEGIN_ALLOW_THREADS /* waits if the writer is too far behind */
    status = pyro_pass_end(begun, &options, &error);
    Py_END_ALLOW_THREADS
    Py_DECREF(path);
    if (status < 0) {
        count_pass(&done.taken);
        free_pass(pass);
        return core_fail(PyModule_GetState(module), &error, status, 0);
    }
    Py_RETURN_NONE;
}

PyDoc_STRVAR(open_doc, "open_passes() -> int: the number of a new reader of next_pass().");

static PyObject *open_passes(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    pthread_mutex_lock(&done.lock);
    uint64_t reader = ++done.newest_reader;
    pthread_mutex_unlock(&done.lock);
    return PyLong_FromUnsignedLongLong(reader);
}

PyDoc_STRVAR(next_doc, "next_pass(reader) -> (token, table or None, failure or None), or None\n\n"
                       "Waits for the next finished pass, in the order of pass_end(). None after\n"
                       "close_passes(reader), once all passes that ended before were returned.");

/* The reader's next pass; NULL once it is closed and has no more. Needs the lock. */
static ended_pass *wait_for_pass(uint64_t reader)
{
    while (reader > done.closed_reader || done.taken < done.last_pass) {
        ended_pass *pass = done.first;
        if (!pass) {
            pthread_cond_wait(&done.changed, &done.lock);
            continue;
        }
        done.first = pass->next;
        if (!done.first)
            done.last = NULL;
        done.taken++;
        pthread_cond_broadcast(&done.changed);
        return pass;
    }
    return NULL;
}

static PyObject *next_pass(PyObject *module, PyObject *number)
{
    ended_pass *pass;
    PyObject *result;
    unsigned long long reader = PyLong_AsUnsignedLongLong(number);

    (void)module;
    if (PyErr_Occurred())
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    pthread_mutex_lock(&done.lock);
    pass = wait_for_pass(reader);
    pthread_mutex_unlock(&done.lock);
    Py_END_ALLOW_THREADS
    if (!pass)
        Py_RETURN_NONE;
    result = Py_BuildValue("(Ozz)", pass->token, pass->table, pass->failure);
    free_pass(pass);
    return result;
}

static PyObject *close_passes(PyObject *module, PyObject *number)
{
    unsigned long long reader = PyLong_AsUnsignedLongLong(number);

    (void)module;
    if (PyErr_Occurred())
        return NULL;
    pthread_mutex_lock(&done.lock);
    if (reader > done.closed_reader)
        done.closed_reader = reader;
    done.last_pass = done.ended;
    pthread_cond_broadcast(&done.changed);
    pthread_mutex_unlock(&done.lock);
    Py_RETURN_NONE;
}

/* For a forked child, which lacks the thread that writes the parent's passes. */
static PyObject *forget_passes(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    pthread_mutex_init(&done.lock, NULL);
    pthread_cond_init(&done.changed, NULL);
    done.first = done.last = NULL;
    done.ended = done.taken = done.last_pass = 0;
    inside = false;
    asked = NULL;
    Py_RETURN_NONE;
}

static PyMethodDef pass_methods[] = {
    {"set_passes", set_passes, METH_VARARGS, set_doc},
    {"pass_begin", pass_begin, METH_NOARGS, "pass_begin() -> int: begin time; 0: not recording."},
    {"pass_end", pass_end, METH_VARARGS, end_doc},
    {"pass_abandon", pass_abandon, METH_O, "pass_abandon(begun): discards a pass."},
    {"open_passes", open_passes, METH_NOARGS, open_doc},
    {"next_pass", next_pass, METH_O, next_doc},
    {"close_passes", close_passes, METH_O,
     "close_passes(reader): it shall return the passes that have ended, and no more."},
    {"forget_passes", forget_passes, METH_NOARGS,
     "forget_passes(): resets all state in a forked child."},
    {NULL, NULL, 0, NULL},
};

int core_add_passes(PyObject *module)
{
    return PyModule_AddFunctions(module, pass_methods);
}

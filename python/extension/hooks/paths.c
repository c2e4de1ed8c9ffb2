/*
 * Resolves module names: the attribute path from the root module that was called first, as in
 * named_modules(); for a shared module the path through its caller. Walks dictionaries in C, so
 * that tracers, profilers and compilers see no Python frame.
 */
#include "hooks/modules.h"

#define MOST_DEPTH 200         /* of nested modules, which may contain themselves */
#define LONGEST_PATH 4096
#define LONGEST_DETOUR 256     /* bytes by which a path may exceed the module's first path */
#define UNKNOWN UINT64_MAX

typedef struct place {
    uint32_t root;
    char *path;
} place;

/* Names of the running session, and torch's classes and functions. Guarded by the GIL. */
static struct {
    PyObject *module_class, *parameter_class, *tensor_class, *lazy_class;
    PyObject *tracing_state, *quiet_class;
    PyObject *modules_key, *parameters_key, *numel_key, *element_size_key;
    PyObject *ids; /* text of an entry's fields -> id */
    place *places; /* by id */
    uint32_t place_count, generation;
} names;

static void forget_session(uint32_t generation)
{
    for (uint32_t i = 0; i < names.place_count; i++)
        PyMem_Free(names.places[i].path);
    PyMem_Free(names.places);
    names.places = NULL;
    names.place_count = 0;
    names.generation = generation;
    if (names.ids)
        PyDict_Clear(names.ids);
}

static PyObject *attribute_of(const char *module_name, const char *attribute)
{
    PyObject *module = PyImport_ImportModule(module_name);
    PyObject *found = module ? PyObject_GetAttrString(module, attribute) : NULL;
    Py_XDECREF(module);
    return found;
}

int layers_names_begin(PyObject *module_class)
{
    layers_names_end();
    names.module_class = Py_NewRef(module_class);
    names.ids = PyDict_New();
    names.parameter_class = attribute_of("torch.nn", "Parameter");
    names.tensor_class = attribute_of("torch", "Tensor");
    names.lazy_class = attribute_of("torch.nn.parameter", "UninitializedTensorMixin");
    names.tracing_state = attribute_of("torch._C", "_get_tracing_state");
    names.quiet_class = attribute_of("torch._C", "DisableTorchFunction");
    names.modules_key = PyUnicode_InternFromString("_modules");
    names.parameters_key = PyUnicode_InternFromString("_parameters");
    names.numel_key = PyUnicode_InternFromString("numel");
    names.element_size_key = PyUnicode_InternFromString("element_size");
    if (names.ids && names.parameter_class && names.tensor_class && names.lazy_class &&
        names.tracing_state && names.quiet_class && names.modules_key && names.parameters_key &&
        names.numel_key && names.element_size_key)
        return 0;
    layers_names_end();
    return -1;
}

void layers_names_end(void)
{
    forget_session(0);
    Py_CLEAR(names.module_class);
    Py_CLEAR(names.parameter_class);
    Py_CLEAR(names.tensor_class);
    Py_CLEAR(names.lazy_class);
    Py_CLEAR(names.tracing_state);
    Py_CLEAR(names.quiet_class);
    Py_CLEAR(names.modules_key);
    Py_CLEAR(names.parameters_key);
    Py_CLEAR(names.numel_key);
    Py_CLEAR(names.element_size_key);
    Py_CLEAR(names.ids);
}

/* A dictionary in the module's __dict__, borrowed; NULL if missing. */
static PyObject *own_dictionary(PyObject *module, PyObject *key)
{
    PyObject *attributes = PyObject_GenericGetDict(module, NULL);
    PyObject *found = attributes ? PyDict_GetItemWithError(attributes, key) : NULL;
    Py_XDECREF(attributes); /* the module keeps it alive */
    PyErr_Clear();
    return found && PyDict_Check(found) ? found : NULL;
}

static bool is_module(PyObject *object)
{
    return object && PyObject_TypeCheck(object, (PyTypeObject *)names.module_class);
}

/* Appends ".key" to the path in a buffer of LONGEST_PATH. Returns false and changes nothing if it
 * does not fit or the key is not a str. */
static bool join_path(char *path, PyObject *key)
{
    Py_ssize_t size = 0;
    const char *text = PyUnicode_Check(key) ? PyUnicode_AsUTF8AndSize(key, &size) : NULL;
    size_t length = strlen(path);
    if (!text || length + (size_t)size + 2 > LONGEST_PATH) {
        PyErr_Clear();
        return false;
    }
    if (length)
        path[length++] = '.';
    memcpy(path + length, text, (size_t)size + 1);
    for (Py_ssize_t i = 0; i < size; i++) /* a NUL would end the path */
        if (!text[i])
            path[length + (size_t)i] = '?';
    return true;
}

/* A module's parameters, each counted once. */
typedef struct holdings {
    PyObject *seen; /* addresses of counted modules and parameters */
    uint64_t parameters, bytes;
    bool is_unknown, is_lazy;
} holdings;

/* Adds an address; true if it is new, false also if memory ran out. */
static bool add_seen(PyObject *seen, PyObject *object)
{
    PyObject *address = PyLong_FromVoidPtr(object);
    Py_ssize_t before = PySet_GET_SIZE(seen);
    if (!address || PySet_Add(seen, address))
        PyErr_Clear();
    Py_XDECREF(address);
    return PySet_GET_SIZE(seen) > before;
}

static uint64_t ask_number(PyObject *tensor, PyObject *method)
{
    PyObject *answer = PyObject_CallMethodNoArgs(tensor, method);
    uint64_t number = answer ? PyLong_AsUnsignedLongLong(answer) : UNKNOWN;
    Py_XDECREF(answer);
    if (PyErr_Occurred()) {
        PyErr_Clear();
        return UNKNOWN;
    }
    return number;
}

static void count_parameter(holdings *held, PyObject *parameter)
{
    if (parameter == Py_None || !add_seen(held->seen, parameter))
        return;
    int is_lazy = PyObject_IsInstance(parameter, names.lazy_class);
    if (is_lazy) {
        PyErr_Clear();
        held->is_lazy = held->is_unknown = true;
        return;
    }
    /* Reading other tensor classes may run their Python code. */
    if (held->is_unknown || ((PyObject *)Py_TYPE(parameter) != names.parameter_class &&
                             (PyObject *)Py_TYPE(parameter) != names.tensor_class)) {
        held->is_unknown = true;
        return;
    }
    uint64_t count = ask_number(parameter, names.numel_key);
    uint64_t bytes = ask_number(parameter, names.element_size_key);
    if (count == UNKNOWN || bytes == UNKNOWN) {
        held->is_unknown = true;
        return;
    }
    held->parameters += count;
    held->bytes += count * bytes;
}

/* A copy of a dictionary's items, because our calls may change it; NULL if it is empty. */
static PyObject *items_of(PyObject *module, PyObject *key)
{
    PyObject *dictionary = own_dictionary(module, key);
    PyObject *items = dictionary && PyDict_GET_SIZE(dictionary) ? PyDict_Items(dictionary) : NULL;
    PyErr_Clear();
    return items;
}

static void count_module(holdings *held, PyObject *module, int depth)
{
    if (depth > MOST_DEPTH || !add_seen(held->seen, module))
        return;
    PyObject *parameters = items_of(module, names.parameters_key);
    for (Py_ssize_t i = 0; parameters && i < PyList_GET_SIZE(parameters); i++)
        count_parameter(held, PyTuple_GET_ITEM(PyList_GET_ITEM(parameters, i), 1));
    Py_XDECREF(parameters);
    PyObject *children = items_of(module, names.modules_key);
    for (Py_ssize_t i = 0; children && i < PyList_GET_SIZE(children); i++) {
        PyObject *child = PyTuple_GET_ITEM(PyList_GET_ITEM(children, i), 1);
        if (is_module(child))
            count_module(held, child, depth + 1);
    }
    Py_XDECREF(children);
}

/* While torch.jit traces, it records reads of tensor properties in the user's graph. */
static bool is_tracing(void)
{
    PyObject *tracing = PyObject_CallNoArgs(names.tracing_state);
    bool is_on = tracing != Py_None;
    PyErr_Clear();
    Py_XDECREF(tracing);
    return is_on;
}

/* Counts parameters, hidden from torch's modes, subclasses and tracer. */
static void count_holdings(holdings *held, PyObject *module)
{
    PyObject *quiet = PyObject_CallNoArgs(names.quiet_class);
    PyObject *entered = quiet ? PyObject_CallMethod(quiet, "__enter__", NULL) : NULL;
    held->is_unknown = is_tracing() || !entered;
    held->seen = PySet_New(NULL);
    PyErr_Clear();
    if (held->seen)
        count_module(held, module, 0);
    PyObject *left = entered
                         ? PyObject_CallMethod(quiet, "__exit__", "OOO", Py_None, Py_None, Py_None)
                         : NULL;
    PyErr_Clear();
    Py_XDECREF(left);
    Py_XDECREF(entered);
    Py_XDECREF(quiet);
    Py_CLEAR(held->seen);
}

static bool keep_place(uint32_t id, uint32_t root, const char *path)
{
    if (id >= names.place_count) {
        uint32_t count = id < 128 ? 256 : id * 2;
        place *places = PyMem_Realloc(names.places, count * sizeof *places);
        if (!places)
            return false;
        memset(places + names.place_count, 0, (count - names.place_count) * sizeof *places);
        names.places = places;
        names.place_count = count;
    }
    size_t size = strlen(path) + 1;
    char *copy = PyMem_Malloc(size);
    if (!copy)
        return false;
    memcpy(copy, path, size);
    PyMem_Free(names.places[id].path);
    names.places[id] = (place){root ? root : id, copy};
    return true;
}

/* Whether a module has no children and no parameters, like losses and activations. */
static bool is_bare(PyObject *module)
{
    PyObject *children = own_dictionary(module, names.modules_key);
    PyObject *parameters = own_dictionary(module, names.parameters_key);
    return !(children && PyDict_GET_SIZE(children)) && !(parameters && PyDict_GET_SIZE(parameters));
}

/* The id of a module at a path below a root; root 0 makes it a root. 0 with an exception. */
static uint32_t id_of(PyObject *module, uint32_t root, const char *path, bool is_passing,
                      bool *keep)
{
    seen_module *seen = layers_see(module, names.generation);
    if (!seen)
        return 0;
    if (pyro_recorder_entrance()->flags & PYRO_RECORD_STACKS)
        core_stacks_hold(Py_TYPE(module));
    holdings held = {0};
    uint32_t instance = seen->instance;
    const char *class_name = strrchr(Py_TYPE(module)->tp_name, '.');
    class_name = class_name ? class_name + 1 : Py_TYPE(module)->tp_name;
    count_holdings(&held, module); /* invalidates `seen` */
    *keep = !held.is_lazy;
    pyro_module_data data = {
        .root = root,
        .instance = instance,
        .parameters = held.is_unknown ? UNKNOWN : held.parameters,
        .parameter_bytes = held.is_unknown ? UNKNOWN : held.bytes,
    };
    /* Temporary bare modules share one entry per class, or entries would grow without limit. */
    PyObject *text = PyUnicode_FromFormat("%u %u %llu %s %s", root,
                                          is_passing && is_bare(module) ? 0u : instance,
                                          (unsigned long long)data.parameters, class_name, path);
    PyObject *known = text ? PyDict_GetItemWithError(names.ids, text) : NULL;
    uint32_t id = known ? (uint32_t)PyLong_AsUnsignedLong(known) : 0;
    if (text && !known && !PyErr_Occurred()) {
        id = pyro_recorder_module(&data, path, class_name);
        PyObject *number = id ? PyLong_FromUnsignedLong(id) : NULL;
        if (!number || PyDict_SetItem(names.ids, text, number) || !keep_place(id, root, path))
            id = 0;
        Py_XDECREF(number);
    }
    Py_XDECREF(text);
    return id;
}

static bool set_home(PyObject *module, uint32_t root, const char *path)
{
    seen_module *seen = layers_see(module, names.generation);
    if (!seen || seen->home_root)
        return seen != NULL;
    size_t size = strlen(path) + 1;
    seen->home_path = PyMem_Malloc(size);
    if (!seen->home_path)
        return false;
    memcpy(seen->home_path, path, size);
    seen->home_root = root;
    return true;
}

/* Sets the first path of every module below a root, in the order of named_modules(). */
static bool walk(PyObject *module, uint32_t root, char *path, PyObject *visited, int depth)
{
    if (depth > MOST_DEPTH || !add_seen(visited, module))
        return true;
    if (!set_home(module, root, path))
        return false;
    bool ok = true;
    size_t length = strlen(path);
    PyObject *children = items_of(module, names.modules_key);
    for (Py_ssize_t i = 0; children && ok && i < PyList_GET_SIZE(children); i++) {
        PyObject *item = PyList_GET_ITEM(children, i), *child = PyTuple_GET_ITEM(item, 1);
        if (is_module(child) && join_path(path, PyTuple_GET_ITEM(item, 0)))
            ok = walk(child, root, path, visited, depth + 1);
        path[length] = '\0';
    }
    Py_XDECREF(children);
    return ok;
}

static bool walk_root(PyObject *module, uint32_t root)
{
    char path[LONGEST_PATH] = "";
    PyObject *visited = PySet_New(NULL);
    bool ok = visited && walk(module, root, path, visited, 0);
    Py_XDECREF(visited);
    return ok;
}

/* Appends the path from `around` to a module below it; false if the module is not there. */
static bool search(char *path, PyObject *around, PyObject *module, PyObject *visited, int depth)
{
    PyObject *children = own_dictionary(around, names.modules_key), *key, *child;
    Py_ssize_t position = 0;
    size_t length = strlen(path);
    if (!children || depth > MOST_DEPTH || !add_seen(visited, around))
        return false;
    /* Only reads dictionaries, so no code runs that could change them. */
    while (PyDict_Next(children, &position, &key, &child)) {
        if (!is_module(child) || !join_path(path, key))
            continue;
        if (child == module || search(path, child, module, visited, depth + 1))
            return true;
        path[length] = '\0';
    }
    return false;
}

static bool begins_with_path(const char *path, const char *start)
{
    size_t length = strlen(start);
    return !length || (!strncmp(path, start, length) && path[length] == '.');
}

static bool is_child(char *path, PyObject *module, PyObject *parent)
{
    PyObject *children = own_dictionary(parent, names.modules_key), *key, *child;
    Py_ssize_t position = 0;
    while (children && PyDict_Next(children, &position, &key, &child)) {
        if (child == module)
            return join_path(path, key);
    }
    return false;
}

/* Turns the caller's path into the module's: as its child, by the first path, or by a search. */
static bool find_below(char *path, PyObject *module, const layer_call *caller, const char *home)
{
    if (is_child(path, module, caller->module))
        return true;
    if (home && begins_with_path(home, path)) {
        snprintf(path, LONGEST_PATH, "%s", home);
        return true;
    }
    PyObject *visited = PySet_New(NULL);
    bool found = visited && search(path, caller->module, module, visited, 0);
    Py_XDECREF(visited);
    PyErr_Clear();
    return found;
}

/* Whether Dynamo is active, which compiles or rejects every Python function that runs. */
static bool is_compiling(void)
{
    return _PyInterpreterState_GetEvalFrameFunc(PyInterpreterState_Get()) !=
           _PyEval_EvalFrameDefault;
}

/* Records the parameters and buffers of a model for its graph. Ignores failures, so that the model
 * runs on. */
static void note_weights(PyObject *module)
{
    if (is_tracing() || is_compiling())
        return;
    PyObject *weights = PyImport_ImportModule("pyrometer._capture.tensor_roles");
    PyObject *done = weights ? PyObject_CallMethod(weights, "note_weights", "O", module) : NULL;
    Py_XDECREF(done);
    Py_XDECREF(weights);
    PyErr_Clear();
}

static uint32_t resolve_root(PyObject *module, bool *keep)
{
    const seen_module *seen = layers_find(module);
    if (seen && seen->generation == names.generation && seen->home_root && *seen->home_path) {
        char path[LONGEST_PATH];
        snprintf(path, sizeof path, "%s", seen->home_path);
        return id_of(module, seen->home_root, path, false, keep);
    }
    uint32_t id = id_of(module, 0, "", true, keep);
    if (!id || !walk_root(module, id))
        return 0;
    if (pyro_recorder_entrance()->flags & PYRO_RECORD_STORAGES)
        note_weights(module);
    return id;
}

/* Resolves a module that is not below its caller. */
static uint32_t resolve_unrelated(PyObject *module, const layer_call *caller, bool *keep)
{
    const seen_module *seen = layers_find(module);
    const place *around = &names.places[caller->id];
    uint32_t root = around->root;
    char path[LONGEST_PATH];
    if (!(seen && seen->generation == names.generation && seen->home_root)) {
        /* It may have been added since the root was walked. */
        const seen_module *top = layers_find(caller->root);
        if (top && top->generation == names.generation && top->home_root && !*top->home_path &&
            !walk_root(caller->root, top->home_root))
            return 0;
        seen = layers_find(module);
        around = &names.places[caller->id];
    }
    if (seen && seen->generation == names.generation && seen->home_root) {
        snprintf(path, sizeof path, "%s", seen->home_path);
        uint32_t home = seen->home_root;
        return id_of(module, *path ? home : 0, path, !*path, keep);
    }
    const char *class_name = strrchr(Py_TYPE(module)->tp_name, '.');
    class_name = class_name ? class_name + 1 : Py_TYPE(module)->tp_name;
    snprintf(path, sizeof path, "%s%s<%s>", around->path, *around->path ? "." : "", class_name);
    return id_of(module, root, path, true, keep);
}

uint32_t layers_resolve(PyObject *module, const layer_call *caller, uint32_t generation, bool *keep)
{
    if (names.generation != generation)
        forget_session(generation);
    if (!caller)
        return resolve_root(module, keep);
    if (caller->id >= names.place_count || !names.places[caller->id].path)
        return 0;

    const place *around = &names.places[caller->id];
    const seen_module *seen = layers_find(module);
    bool has_home = seen && seen->generation == generation && seen->home_root == around->root;
    char path[LONGEST_PATH];
    *keep = true;
    if (module == caller->module)
        return caller->id;
    if (has_home && !*seen->home_path)
        return around->root;
    snprintf(path, sizeof path, "%s", around->path);
    bool is_below = find_below(path, module, caller, has_home ? seen->home_path : NULL);
    if (is_below && has_home && strlen(path) > strlen(seen->home_path) + LONGEST_DETOUR)
        is_below = false; /* modules contain each other: the path would grow without limit */
    if (is_below)
        return id_of(module, around->root, path, false, keep);
    return resolve_unrelated(module, caller, keep);
}

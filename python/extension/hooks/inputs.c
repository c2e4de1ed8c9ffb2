/*
 * Finds the first tensor among a layer's arguments and writes its sizes as signature words. Reads
 * the sizes with the observer if it is available, otherwise through Python.
 */
#include "hooks/inputs.h"

/* Limits of the search in arguments: nesting, and items per container. */
#define DEEPEST_ARGUMENT 3
#define MOST_ITEMS 64

typedef size_t (*describe_fn)(const void *tensor, uint64_t *words, size_t room);

tensor_access core_tensor_access CORE_EVERY_CALL;

/* Guarded by the GIL; set once per session. */
static struct {
    PyTypeObject *tensor, *base; /* torch.Tensor, and the base class of all tensors */
    describe_fn describe; /* the observer's; NULL without it */
    size_t pointer_at;    /* offset of the C++ object's address in a Python tensor */
    PyObject *quiet, *is_tracing, *count_modes; /* of torch._C: see inputs_install() */
    PyObject *shape; /* the string "shape" */
} torch_types;

static inline bool is_tensor(PyObject *value)
{
    return Py_TYPE(value) == torch_types.tensor || PyObject_TypeCheck(value, torch_types.base);
}

/* A borrowed reference, or NULL; runs no Python code. */
static PyObject *find_tensor(PyObject *value, int depth)
{
    PyObject *found = NULL, *key, *item;
    Py_ssize_t position = 0;

    if (is_tensor(value))
        return value;
    if (depth == DEEPEST_ARGUMENT)
        return NULL;
    if (PyList_Check(value) || PyTuple_Check(value)) {
        Py_ssize_t count = PySequence_Fast_GET_SIZE(value);

        for (Py_ssize_t i = 0; i < count && i < MOST_ITEMS && !found; i++)
            found = find_tensor(PySequence_Fast_GET_ITEM(value, i), depth + 1);
    } else if (PyDict_Check(value)) {
        for (int i = 0; i < MOST_ITEMS && !found && PyDict_Next(value, &position, &key, &item); i++)
            found = find_tensor(item, depth + 1);
    }
    return found;
}

/* Writes a torch.Size as words; 0 if a size is not a plain int. */
static size_t put_sizes(PyObject *shape, uint64_t *words, size_t room)
{
    Py_ssize_t count = shape && PyTuple_Check(shape) ? PyTuple_GET_SIZE(shape) : -1;

    if (count < 0 || (size_t)count >= room)
        return 0;
    words[0] = PYRO_VALUE_TENSOR | UINT64_C(0xff) << 8 | (uint64_t)count << 32;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *size = PyTuple_GET_ITEM(shape, i);

        if (!PyLong_CheckExact(size))
            return 0;
        words[i + 1] = PyLong_AsUnsignedLongLongMask(size);
    }
    return (size_t)count + 1;
}

/* Reads the shape, hidden from subclasses and modes. A new reference, or NULL. */
static PyObject *ask_quietly(PyObject *tensor)
{
    PyObject *guard = PyObject_CallNoArgs(torch_types.quiet), *shape = NULL;
    PyObject *entered = guard ? PyObject_CallMethod(guard, "__enter__", NULL) : NULL;

    if (entered) {
        shape = PyObject_GetAttr(tensor, torch_types.shape);
        PyErr_Clear();
        Py_XDECREF(PyObject_CallMethod(guard, "__exit__", "OOO", Py_None, Py_None, Py_None));
    }
    PyErr_Clear();
    Py_XDECREF(guard);
    Py_XDECREF(entered);
    return shape;
}

/* Reads the shape through Python. Not while torch.jit traces, which would record the access. */
static size_t ask_python(PyObject *tensor, uint64_t *words, size_t room)
{
    PyObject *tracing = PyObject_CallNoArgs(torch_types.is_tracing), *shape = NULL;
    PyObject *modes = tracing == Py_None ? PyObject_CallNoArgs(torch_types.count_modes) : NULL;
    size_t count;

    if (modes && Py_TYPE(tensor) == torch_types.tensor && PyLong_AsLong(modes) == 0)
        shape = PyObject_GetAttr(tensor, torch_types.shape);
    else if (modes)
        shape = ask_quietly(tensor);
    count = put_sizes(shape, words, room);
    PyErr_Clear();
    Py_XDECREF(tracing);
    Py_XDECREF(modes);
    Py_XDECREF(shape);
    return count;
}

static size_t describe(PyObject *tensor, uint64_t *words, size_t room)
{
    const void *object;

    if (!torch_types.describe)
        return ask_python(tensor, words, room);
    memcpy(&object, (const char *)tensor + torch_types.pointer_at, sizeof object);
    return object ? torch_types.describe(object, words, room) : 0;
}

static size_t search_input(uint64_t *words, size_t room, PyObject *const *arguments, size_t count)
{
    if (!torch_types.base)
        return 0;
    for (size_t i = 1; i < count; i++) {
        PyObject *tensor = find_tensor(arguments[i], 0);

        if (tensor)
            return describe(tensor, words, room);
    }
    return 0;
}

void layers_read_input(layer_input *input, PyObject *const *arguments, size_t count)
{
    input->count = search_input(input->words, MOST_INPUT_WORDS, arguments, count);
}

void layers_keep_input(known_input *known, PyObject *const *arguments, size_t count, uint32_t id,
                       uint32_t generation)
{
    const tensor_access *access = &core_tensor_access;
    const char *tensor = plain_tensor(access, arguments, count);

    known->generation = 0;
    if (!id || !tensor || tensor_kind(access, tensor) & access->fields.odd_mask)
        return;
    const uint64_t *sizes = tensor_sizes(access, tensor);
    if (sizes[0] > PYRO_TENSOR_OWN_SIZES)
        return;
    known->kind = tensor_kind(access, tensor);
    memcpy(known->sizes, sizes, (1 + sizes[0]) * sizeof *sizes);
    known->id = id;
    known->generation = generation;
}

/* The offset of the C++ object's address in a Python tensor; 0 if not found. */
static size_t find_pointer(PyObject *tensor)
{
    PyObject *number = PyObject_GetAttrString(tensor, "_cdata");
    void *wanted = number ? PyLong_AsVoidPtr(number) : NULL, *word;
    size_t size = (size_t)Py_TYPE(tensor)->tp_basicsize;

    Py_XDECREF(number);
    PyErr_Clear();
    for (size_t at = sizeof(PyObject); wanted && at + sizeof word <= size; at += sizeof word) {
        memcpy(&word, (const char *)tensor + at, sizeof word);
        if (word == wanted)
            return at;
    }
    return 0;
}

/* Whether observer and Python report the same sizes for a tensor. */
static bool is_right(PyObject *tensor)
{
    uint64_t read[8], expected[8];
    size_t count = describe(tensor, read, 8);

    return count > 0 && count == ask_python(tensor, expected, 8) &&
           read[0] >> 32 == expected[0] >> 32 &&
           memcmp(read + 1, expected + 1, (count - 1) * sizeof *read) == 0;
}

/* Whether the fields of a plain tensor hold the sizes that Python reports. */
static bool has_right_fields(const tensor_access *access, PyObject *tensor)
{
    PyObject *arguments[] = {NULL, tensor};
    const char *object = plain_tensor(access, arguments, 2);
    uint64_t expected[1 + PYRO_TENSOR_OWN_SIZES];
    size_t count = ask_python(tensor, expected, sizeof expected / sizeof *expected);

    if (!object || !count || tensor_kind(access, object) & access->fields.odd_mask)
        return false;
    const uint64_t *sizes = tensor_sizes(access, object);
    return sizes[0] == count - 1 &&
           memcmp(sizes + 1, expected + 1, (count - 1) * sizeof *expected) == 0;
}

/* Lets inputs be compared by the fields of tensors, if these are where the observer says. */
static void use_fields(const pyro_tensor_fields *fields, PyObject *first, PyObject *second)
{
    tensor_access access = {.tensor = torch_types.tensor, .pointer_at = torch_types.pointer_at};

    if (fields)
        access.fields = *fields;
    if (!fields || !torch_types.describe || !has_right_fields(&access, first) ||
        !has_right_fields(&access, second))
        access.tensor = NULL;
    core_tensor_access = access;
}

const char core_inputs_install_doc[] =
    "inputs_install(describe, fields, tensors, base, quiet, is_tracing, count_modes) -> bool\n\n"
    "Records input shapes of layers. `describe` is the address of the observer's function or 0,\n"
    "`fields` that of its pyro_tensor_fields or 0, `tensors` two different tensors, `base` the class\n"
    "of all tensors. The rest are torch._C.DisableTorchFunction, _get_tracing_state and\n"
    "_len_torch_function_stack. Returns True if the observer reads the shapes.";

PyObject *core_inputs_install(PyObject *module, PyObject *args)
{
    unsigned long long address, fields;
    PyObject *first, *second, *base, *quiet, *is_tracing, *count_modes;
    size_t at;

    (void)module;
    if (!PyArg_ParseTuple(args, "KK(OO)O!OOO:inputs_install", &address, &fields, &first, &second,
                          &PyType_Type, &base, &quiet, &is_tracing, &count_modes))
        return NULL;
    if (!torch_types.shape && !(torch_types.shape = PyUnicode_InternFromString("shape")))
        return NULL;
    Py_XSETREF(torch_types.quiet, Py_NewRef(quiet));
    Py_XSETREF(torch_types.is_tracing, Py_NewRef(is_tracing));
    Py_XSETREF(torch_types.count_modes, Py_NewRef(count_modes));
    Py_XSETREF(torch_types.tensor, (PyTypeObject *)Py_NewRef(Py_TYPE(first)));
    Py_XSETREF(torch_types.base, (PyTypeObject *)Py_NewRef(base));
    at = find_pointer(first);
    torch_types.pointer_at = at;
    torch_types.describe = NULL;
    if (at && at == find_pointer(second))
        torch_types.describe = (describe_fn)(uintptr_t)address;
    if (torch_types.describe && (!is_right(first) || !is_right(second)))
        torch_types.describe = NULL;
    use_fields((const pyro_tensor_fields *)(uintptr_t)fields, first, second);
    return PyBool_FromLong(torch_types.describe != NULL);
}

/* Holds references to code objects that stacks name by address. Only needed in Python 3.11. */
#include "hooks/stack_codes.h"

#if CODE_HAS_NUMBER
void core_stacks_hold(PyTypeObject *type)
{
    (void)type;
}

bool stacks_hold_file(PyObject *code, PyObject *globals)
{
    (void)code, (void)globals;
    return true;
}

void stacks_release(void)
{
}
#else

#include <pthread.h>

#define FEWEST_CODES 256u
#define MOST_CODES 100000u

static struct {
    pthread_mutex_t lock;
    PyCodeObject **codes; /* open addressing by address */
    uint32_t used, capacity;
} held = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint32_t code_slot(const PyCodeObject *code)
{
    uint32_t mask = held.capacity - 1;
    uint32_t i = (uint32_t)(((uintptr_t)code >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 32) & mask;
    while (held.codes[i] && held.codes[i] != code)
        i = (i + 1) & mask;
    return i;
}

static bool grow_held(void)
{
    if (held.used * 2 < held.capacity)
        return true;
    uint32_t old_capacity = held.capacity;
    PyCodeObject **old = held.codes;
    uint32_t capacity = old_capacity ? old_capacity * 2 : FEWEST_CODES;
    PyCodeObject **codes = calloc(capacity, sizeof(*codes));
    if (!codes)
        return false;
    held.codes = codes;
    held.capacity = capacity;
    for (uint32_t i = 0; i < old_capacity; i++) {
        if (old[i])
            held.codes[code_slot(old[i])] = old[i];
    }
    free(old);
    return true;
}

/* Holds a reference to the code object until the session ends; false if that fails. Sets `is_new`
 * if it was not held before. */
static bool hold(PyCodeObject *code, bool *is_new)
{
    bool is_held = false;
    *is_new = false;
    pthread_mutex_lock(&held.lock);
    if (held.capacity && held.codes[code_slot(code)] == code) {
        is_held = true;
    } else if (PyGILState_Check() && held.used < MOST_CODES && grow_held()) {
        held.codes[code_slot(code)] = (PyCodeObject *)Py_NewRef((PyObject *)code);
        held.used++;
        is_held = *is_new = true;
    }
    pthread_mutex_unlock(&held.lock);
    return is_held;
}

void stacks_release(void)
{
    pthread_mutex_lock(&held.lock);
    PyCodeObject **codes = held.codes;
    uint32_t capacity = held.capacity;
    held.codes = NULL;
    held.used = held.capacity = 0;
    pthread_mutex_unlock(&held.lock);
    for (uint32_t i = 0; i < capacity; i++)
        Py_XDECREF((PyObject *)codes[i]);
    free(codes);
}

/* Holds the code and that of nested functions. Returns whether it was not held before. */
static bool hold_code(PyObject *object, int depth)
{
    bool is_new;
    PyCodeObject *code = (PyCodeObject *)object;
    if (depth > 8 || !hold(code, &is_new) || !is_new)
        return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(code->co_consts); i++) {
        PyObject *inner = PyTuple_GET_ITEM(code->co_consts, i);
        if (PyCode_Check(inner))
            hold_code(inner, depth + 1);
    }
    return true;
}

static void hold_function(PyObject *object)
{
    PyObject *inner = NULL;
    if (Py_IS_TYPE(object, &PyStaticMethod_Type) || Py_IS_TYPE(object, &PyClassMethod_Type))
        object = inner = PyObject_GetAttrString(object, "__func__");
    if (object && PyFunction_Check(object))
        hold_code(PyFunction_GET_CODE(object), 0);
    PyErr_Clear();
    Py_XDECREF(inner);
}

static void hold_class(PyTypeObject *type)
{
    PyObject *name, *value;
    Py_ssize_t position = 0;
    while (type->tp_dict && PyDict_Next(type->tp_dict, &position, &name, &value))
        hold_function(value);
}

bool stacks_hold_file(PyObject *code, PyObject *globals)
{
    PyObject *name, *value;
    Py_ssize_t position = 0;
    bool is_new;
    if (!hold_code(code, 0))
        return hold((PyCodeObject *)code, &is_new); /* then its file was processed, too */
    while (globals && PyDict_Check(globals) && PyDict_Next(globals, &position, &name, &value)) {
        hold_function(value);
        if (PyType_Check(value) && PyType_HasFeature((PyTypeObject *)value, Py_TPFLAGS_HEAPTYPE))
            hold_class((PyTypeObject *)value);
    }
    return true;
}

/* Only reads dictionaries, so no Python code runs meanwhile. */
void core_stacks_hold(PyTypeObject *type)
{
    PyObject *mro = type->tp_mro, *name, *value;
    for (Py_ssize_t i = 0; mro && i < PyTuple_GET_SIZE(mro); i++) {
        PyTypeObject *base = (PyTypeObject *)PyTuple_GET_ITEM(mro, i);
        Py_ssize_t position = 0;
        while (base->tp_dict && PyDict_Next(base->tp_dict, &position, &name, &value)) {
            if (PyFunction_Check(value))
                stacks_hold_file(PyFunction_GET_CODE(value), PyFunction_GET_GLOBALS(value));
        }
        hold_class(base);
    }
}
#endif

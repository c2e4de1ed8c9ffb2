/*
 * Inputs of layers: the first tensor among a call's arguments. Most calls get the same sizes again,
 * so each place in the order of calls keeps the fields of the tensor that it got last, and the id of
 * its signature. Guarded by the GIL.
 */
#ifndef PYROMETER_EXTENSION_INPUTS_H
#define PYROMETER_EXTENSION_INPUTS_H

#include "module.h"

#include <pyrometer/capture.h>
#include <string.h>

/* Where plain tensors store what a recording says of them. */
typedef struct tensor_access {
    _Alignas(64) PyTypeObject *tensor; /* torch.Tensor, without its subclasses; NULL: not known */
    size_t pointer_at; /* offset of the C++ object's address in a Python tensor */
    pyro_tensor_fields fields;
} tensor_access;

/* Hidden, so that access needs no global offset table. */
extern tensor_access core_tensor_access __attribute__((visibility("hidden")));

/* The input that a call got last. */
typedef struct known_input {
    _Alignas(64) uint64_t kind;
    uint64_t sizes[1 + PYRO_TENSOR_OWN_SIZES]; /* first their number */
    uint32_t id;         /* of its signature */
    uint32_t generation; /* the session of that id; 0: no input is known */
} known_input;

_Static_assert(sizeof(known_input) == 64, "an input fits one cache line");

/* The words of an input. */
#define MOST_INPUT_WORDS 32

typedef struct layer_input {
    size_t count; /* 0: the call has no tensor */
    uint64_t words[MOST_INPUT_WORDS];
} layer_input;

/* The C++ object of a call's first argument; NULL if that is not a plain tensor. `count`: of
 * arguments, the module and keyword arguments included. */
static inline const char *plain_tensor(const tensor_access *access, PyObject *const *arguments,
                                       size_t count)
{
    const char *tensor;
    if (count < 2 || Py_TYPE(arguments[1]) != access->tensor)
        return NULL;
    memcpy(&tensor, (const char *)arguments[1] + access->pointer_at, sizeof tensor);
    return tensor;
}

static inline uint64_t tensor_kind(const tensor_access *access, const char *tensor)
{
    uint64_t word;
    memcpy(&word, tensor + access->fields.kind_at, sizeof word);
    return word & access->fields.kind_mask;
}

/* The number of sizes, followed by the sizes if they are few. */
static inline const uint64_t *tensor_sizes(const tensor_access *access, const char *tensor)
{
    return (const uint64_t *)(const void *)(tensor + access->fields.sizes_at);
}

/* Whether a call gets what it got last, in the same session. */
static inline bool input_is_known(const known_input *known, PyObject *const *arguments,
                                  size_t count, uint32_t generation)
{
    const tensor_access *access = &core_tensor_access;
    const char *tensor = plain_tensor(access, arguments, count);
    if (__builtin_expect(!tensor || known->generation != generation, 0))
        return false;
    const uint64_t *sizes = tensor_sizes(access, tensor);
    uint64_t difference = tensor_kind(access, tensor) ^ known->kind, number = known->sizes[0];
    for (size_t i = 0; i <= number; i++)
        difference |= sizes[i] ^ known->sizes[i];
    return !difference;
}

/* Reads the input of a call. Runs Python code if the observer's functions are missing. */
void layers_read_input(layer_input *input, PyObject *const *arguments, size_t count);
/* Keeps an input that was read from the same arguments, if its fields can be compared. Its id is that of
 * its signature in the session `generation`. */
void layers_keep_input(known_input *known, PyObject *const *arguments, size_t count, uint32_t id,
                       uint32_t generation);

#endif

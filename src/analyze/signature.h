/*
 * Turns an op of a trace into a call that ops.def can price, from the texts of "Input Dims", "Input
 * type" and "Concrete Inputs". One signature is reused for many calls; fixed limits bound it.
 */
#ifndef PYRO_ANALYZE_SIGNATURE_H
#define PYRO_ANALYZE_SIGNATURE_H

#include "graph/ops.h"

enum {
    PYRO_SIGNATURE_ARGS = 96,
    PYRO_SIGNATURE_TENSORS = 8192,
    PYRO_SIGNATURE_INTEGERS = 32768,
    PYRO_SIGNATURE_TEXT = 4096
};

typedef struct pyro_signature {
    pyro_call call;
    bool dtypes_known; /* for every tensor; otherwise the bytes are unknown */
    pyro_call_arg args[PYRO_SIGNATURE_ARGS];
    pyro_tensor tensors[PYRO_SIGNATURE_TENSORS];
    size_t tensor_count;
    int64_t integers[PYRO_SIGNATURE_INTEGERS];
    size_t integer_count;
    char text[PYRO_SIGNATURE_TEXT]; /* names of arguments and texts among them */
    size_t text_length;
} pyro_signature;

/*
 * Reads the arguments of `op`; `types` and `concrete` may be "" where a trace has none. False when
 * a text is not understood or holds more than the limits.
 */
bool pyro_signature_read(pyro_signature *signature, const pyro_op *op, const char *dims,
                         const char *types, const char *concrete);

/* Element type of a C++ name as the profiler writes it: "c10::BFloat16", "long int". */
pyro_dtype pyro_dtype_from_cpp(const char *name, size_t length);
/* The first element type in a text of "Input type"; PYRO_DTYPE_UNKNOWN. */
pyro_dtype pyro_dtype_of_types(const char *types);

#endif

/* Element types of tensors (dtypes.def). */
#ifndef PYRO_GRAPH_DTYPE_H
#define PYRO_GRAPH_DTYPE_H

#include <stdbool.h>
#include <stdint.h>

typedef enum pyro_dtype {
#define DTYPE(id, name, short_name, code, bits, floating) PYRO_DTYPE_##id,
#include "graph/dtypes.def"
#undef DTYPE
    PYRO_DTYPE_COUNT,
    PYRO_DTYPE_UNKNOWN = PYRO_DTYPE_COUNT
} pyro_dtype;

const char *pyro_dtype_name(pyro_dtype dtype);
const char *pyro_dtype_short_name(pyro_dtype dtype); /* "fp32" */
int64_t pyro_dtype_bytes(pyro_dtype dtype); /* of one value alone: 1 for 4-bit types */
/* The bytes of many values, several per byte for 4-bit and 2-bit types. False: they overflow. */
bool pyro_dtype_storage(pyro_dtype dtype, int64_t elements, int64_t *bytes);
bool pyro_dtype_is_floating(pyro_dtype dtype);
/* From the code in .pt2 files; PYRO_DTYPE_UNKNOWN if invalid. */
pyro_dtype pyro_dtype_from_pt2(int64_t code);
/* From the number of c10::ScalarType, as in recordings. */
pyro_dtype pyro_dtype_from_scalar_type(uint64_t number);
/* From a name ("float16") or short name ("fp16"); PYRO_DTYPE_UNKNOWN if invalid. */
pyro_dtype pyro_dtype_from_name(const char *name);

#endif

/* Looks up element types in the table of dtypes.def. */
#include "graph/dtype.h"

#include "base/checked.h"
#include <stddef.h>
#include <string.h>

typedef struct dtype_row {
    const char *name, *short_name;
    int code, bits;
    bool floating;
} dtype_row;

static const dtype_row rows[PYRO_DTYPE_COUNT + 1] = {
#define DTYPE(id, name, short_name, code, bits, floating) {name, short_name, code, bits, floating},
#include "graph/dtypes.def"
#undef DTYPE
    {"unknown", "unknown", -1, 0, false},
};

const char *pyro_dtype_name(pyro_dtype dtype)
{
    return rows[dtype].name;
}

const char *pyro_dtype_short_name(pyro_dtype dtype)
{
    return rows[dtype].short_name;
}

int64_t pyro_dtype_bytes(pyro_dtype dtype)
{
    return (rows[dtype].bits + 7) / 8;
}

bool pyro_dtype_storage(pyro_dtype dtype, int64_t elements, int64_t *bytes)
{
    int64_t bits = rows[dtype].bits;
    if (bits >= 8)
        return pyro_mul_i64(elements, bits / 8, bytes);
    *bytes = bits ? elements / (8 / bits) + (elements % (8 / bits) != 0) : 0;
    return true;
}

bool pyro_dtype_is_floating(pyro_dtype dtype)
{
    return rows[dtype].floating;
}

pyro_dtype pyro_dtype_from_pt2(int64_t code)
{
    for (size_t i = 0; i < PYRO_DTYPE_COUNT; i++)
        if (rows[i].code == code)
            return (pyro_dtype)i;
    return PYRO_DTYPE_UNKNOWN;
}

pyro_dtype pyro_dtype_from_scalar_type(uint64_t number)
{
    /* Row + 1 of each number; 0: no such type. */
    static const uint8_t rows_of[] = {
        [0] = PYRO_DTYPE_UINT8 + 1,
        [1] = PYRO_DTYPE_INT8 + 1,
        [2] = PYRO_DTYPE_INT16 + 1,
        [3] = PYRO_DTYPE_INT32 + 1,
        [4] = PYRO_DTYPE_INT64 + 1,
        [5] = PYRO_DTYPE_FLOAT16 + 1,
        [6] = PYRO_DTYPE_FLOAT32 + 1,
        [7] = PYRO_DTYPE_FLOAT64 + 1,
        [8] = PYRO_DTYPE_COMPLEX32 + 1,
        [9] = PYRO_DTYPE_COMPLEX64 + 1,
        [10] = PYRO_DTYPE_COMPLEX128 + 1,
        [11] = PYRO_DTYPE_BOOL + 1,
        [12] = PYRO_DTYPE_INT8 + 1,
        [13] = PYRO_DTYPE_UINT8 + 1,
        [14] = PYRO_DTYPE_INT32 + 1,
        [15] = PYRO_DTYPE_BFLOAT16 + 1,
        [23] = PYRO_DTYPE_FLOAT8_E5M2 + 1,
        [24] = PYRO_DTYPE_FLOAT8_E4M3FN + 1,
        [25] = PYRO_DTYPE_FLOAT8_E5M2FNUZ + 1,
        [26] = PYRO_DTYPE_FLOAT8_E4M3FNUZ + 1,
        [27] = PYRO_DTYPE_UINT16 + 1,
        [28] = PYRO_DTYPE_UINT32 + 1,
        [29] = PYRO_DTYPE_UINT64 + 1,
        [44] = PYRO_DTYPE_FLOAT8_E8M0FNU + 1,
    };
    if (number >= sizeof rows_of || !rows_of[number])
        return PYRO_DTYPE_UNKNOWN;
    return (pyro_dtype)(rows_of[number] - 1);
}

pyro_dtype pyro_dtype_from_name(const char *name)
{
    for (size_t i = 0; i < PYRO_DTYPE_COUNT; i++)
        if (!strcmp(rows[i].name, name) || !strcmp(rows[i].short_name, name))
            return (pyro_dtype)i;
    return PYRO_DTYPE_UNKNOWN;
}

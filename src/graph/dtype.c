/* Look-ups in the table of element types. */
#include "graph/dtype.h"

#include <stddef.h>
#include <string.h>

typedef struct dtype_row {
    const char *name, *short_name;
    int code, bytes;
    bool floating;
} dtype_row;

static const dtype_row rows[PYRO_DTYPE_COUNT + 1] = {
#define DTYPE(id, name, short_name, code, bytes, floating) \
    {name, short_name, code, bytes, floating},
#include "graph/dtypes.def"
#undef DTYPE
    {"unknown", "unknown", -1, 0, false},
};

const char *pyro_dtype_name(pyro_dtype dtype)
{
    return rows[dtype].name;
}

int64_t pyro_dtype_bytes(pyro_dtype dtype)
{
    return rows[dtype].bytes;
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

pyro_dtype pyro_dtype_from_name(const char *name)
{
    for (size_t i = 0; i < PYRO_DTYPE_COUNT; i++)
        if (!strcmp(rows[i].name, name) || !strcmp(rows[i].short_name, name))
            return (pyro_dtype)i;
    return PYRO_DTYPE_UNKNOWN;
}

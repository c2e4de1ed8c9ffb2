/* Recognises kinds and element types of collectives in their many spellings. */
#include "analyze/device/collective.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

typedef enum bus_factor { FACTOR_ONE, FACTOR_SHARE, FACTOR_TWO_SHARES } bus_factor;

/* One address for each kind, so that callers may compare addresses. */
static const char allreduce[] = "allreduce";

/* Letters that a spelling holds; the first row that fits wins, so longer ones come first. */
static const struct {
    const char *letters, *kind;
    bus_factor factor;
} kinds[] = {
    {"allreduce", allreduce, FACTOR_TWO_SHARES},
    {"crossdevicereduce", allreduce, FACTOR_TWO_SHARES},
    {"reducescatter", "reduce_scatter", FACTOR_SHARE},
    {"allgather", "allgather", FACTOR_SHARE},
    {"alltoall", "alltoall", FACTOR_SHARE},
    {"broadcast", "broadcast", FACTOR_ONE},
    {"barrier", "barrier", FACTOR_ONE},
    {"sendrecv", "sendrecv", FACTOR_ONE},
    {"gather", "gather", FACTOR_SHARE},
    {"scatter", "scatter", FACTOR_SHARE},
    {"reduce", "reduce", FACTOR_ONE},
    {"send", "send", FACTOR_ONE},
    {"recv", "recv", FACTOR_ONE},
};
#define KIND_COUNT (sizeof kinds / sizeof kinds[0])

const char *pyro_collective_kind(const char *text)
{
    static const char anonymous[] = "(anonymous namespace)";
    char letters[128];
    size_t length = 0;
    const char *inner = strstr(text, anonymous);
    if (inner)
        text = inner + sizeof anonymous - 1;
    /* Arguments of a kernel name types, not kinds. */
    for (; *text && *text != '(' && length < sizeof letters - 1; text++) {
        if (isalpha((unsigned char)*text))
            letters[length++] = (char)tolower((unsigned char)*text);
    }
    letters[length] = '\0';
    for (size_t i = 0; i < KIND_COUNT; i++) {
        if (strstr(letters, kinds[i].letters))
            return kinds[i].kind;
    }
    return NULL;
}

pyro_dtype pyro_collective_dtype(const char *text)
{
    static const struct {
        const char *name;
        pyro_dtype dtype;
    } names[] = {
        {"float", PYRO_DTYPE_FLOAT32},
        {"f32", PYRO_DTYPE_FLOAT32},
        {"half", PYRO_DTYPE_FLOAT16},
        {"f16", PYRO_DTYPE_FLOAT16},
        {"double", PYRO_DTYPE_FLOAT64},
        {"f64", PYRO_DTYPE_FLOAT64},
        {"long", PYRO_DTYPE_INT64},
        {"int", PYRO_DTYPE_INT32},
        {"short", PYRO_DTYPE_INT16},
        {"char", PYRO_DTYPE_INT8},
        {"byte", PYRO_DTYPE_UINT8},
        {"complexfloat", PYRO_DTYPE_COMPLEX64},
        {"complexdouble", PYRO_DTYPE_COMPLEX128},
    };
    char lower[32];
    size_t length = strlen(text);
    if (length == 0 || length >= sizeof lower)
        return PYRO_DTYPE_UNKNOWN;
    for (size_t i = 0; i <= length; i++)
        lower[i] = (char)tolower((unsigned char)text[i]);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(lower, names[i].name) == 0)
            return names[i].dtype;
    }
    return pyro_dtype_from_name(lower);
}

pyro_dtype pyro_collective_kernel_dtype(const char *kernel)
{
    size_t end = strcspn(kernel, "(");
    for (size_t at = 0; at < end;) {
        char word[32];
        size_t length = strcspn(kernel + at, "_(");
        if (length < sizeof word) {
            memcpy(word, kernel + at, length);
            word[length] = '\0';
            pyro_dtype dtype = pyro_collective_dtype(word);
            if (dtype != PYRO_DTYPE_UNKNOWN)
                return dtype;
        }
        at += length + 1;
    }
    return PYRO_DTYPE_UNKNOWN;
}

double pyro_collective_bus_factor(const char *kind, int64_t group_size)
{
    bus_factor factor = FACTOR_ONE;
    for (size_t i = 0; i < KIND_COUNT; i++) {
        if (strcmp(kind, kinds[i].kind) == 0)
            factor = kinds[i].factor;
    }
    if (factor == FACTOR_ONE)
        return 1;
    if (group_size <= 0)
        return -1;
    double share = (double)(group_size - 1) / (double)group_size;
    return factor == FACTOR_TWO_SHARES ? 2 * share : share;
}

/* Reads "Input Dims", "Input type" and "Concrete Inputs" into the arguments of a call. */
#include "analyze/signature.h"

#include "base/checked.h"
#include "graph/shapes/shapes.h"
#include <stdlib.h>
#include <string.h>

/* A piece of a text that lives elsewhere. */
typedef struct slice {
    const char *text;
    size_t length;
} slice;

pyro_dtype pyro_dtype_from_cpp(const char *name, size_t length)
{
    static const struct {
        const char *name;
        pyro_dtype dtype;
    } names[] = {
        {"float", PYRO_DTYPE_FLOAT32},
        {"c10::BFloat16", PYRO_DTYPE_BFLOAT16},
        {"c10::Half", PYRO_DTYPE_FLOAT16},
        {"double", PYRO_DTYPE_FLOAT64},
        {"long int", PYRO_DTYPE_INT64},
        {"long", PYRO_DTYPE_INT64},
        {"long long", PYRO_DTYPE_INT64},
        {"int", PYRO_DTYPE_INT32},
        {"short int", PYRO_DTYPE_INT16},
        {"short", PYRO_DTYPE_INT16},
        {"signed char", PYRO_DTYPE_INT8},
        {"unsigned char", PYRO_DTYPE_UINT8},
        {"unsigned short", PYRO_DTYPE_UINT16},
        {"short unsigned int", PYRO_DTYPE_UINT16},
        {"unsigned int", PYRO_DTYPE_UINT32},
        {"unsigned long", PYRO_DTYPE_UINT64},
        {"long unsigned int", PYRO_DTYPE_UINT64},
        {"bool", PYRO_DTYPE_BOOL},
        {"c10::complex<c10::Half>", PYRO_DTYPE_COMPLEX32},
        {"c10::complex<float>", PYRO_DTYPE_COMPLEX64},
        {"c10::complex<double>", PYRO_DTYPE_COMPLEX128},
        {"c10::Float8_e4m3fn", PYRO_DTYPE_FLOAT8_E4M3FN},
        {"c10::Float8_e5m2", PYRO_DTYPE_FLOAT8_E5M2},
        {"c10::Float8_e4m3fnuz", PYRO_DTYPE_FLOAT8_E4M3FNUZ},
        {"c10::Float8_e5m2fnuz", PYRO_DTYPE_FLOAT8_E5M2FNUZ},
        {"c10::Float8_e8m0fnu", PYRO_DTYPE_FLOAT8_E8M0FNU},
        {"c10::qint8", PYRO_DTYPE_INT8},
        {"c10::quint8", PYRO_DTYPE_UINT8},
        {"c10::qint32", PYRO_DTYPE_INT32},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i].name) == length && !memcmp(names[i].name, name, length))
            return names[i].dtype;
    return PYRO_DTYPE_UNKNOWN;
}

pyro_dtype pyro_dtype_of_types(const char *types)
{
    while ((types = strchr(types, '"'))) {
        size_t length = strcspn(++types, "\"");
        pyro_dtype dtype = pyro_dtype_from_cpp(types, length);
        if (dtype != PYRO_DTYPE_UNKNOWN)
            return dtype;
        types += length;
        types += *types == '"';
    }
    return PYRO_DTYPE_UNKNOWN;
}

static const char *skip_space(const char *at)
{
    while (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r')
        at++;
    return at;
}

/* The end of a JSON value; NULL when it does not end. */
static const char *skip_value(const char *at)
{
    int depth = 0;
    do {
        at = skip_space(at);
        if (*at == '\0')
            return NULL;
        if (*at == '"') {
            for (at++; *at && *at != '"'; at++)
                if (*at == '\\' && at[1])
                    at++;
            if (!*at)
                return NULL;
        }
        depth += *at == '[' || *at == '{';
        depth -= *at == ']' || *at == '}';
        if (depth < 0)
            return NULL;
        at++;
        if (depth == 0 && at[-1] != '"' && at[-1] != ']' && at[-1] != '}')
            at += strcspn(at, ",]} \n\t\r"); /* the rest of a number or word */
        if (depth > 0) {
            at = skip_space(at);
            if (*at == ',')
                at++;
        }
    } while (depth > 0);
    return at;
}

/* Splits an array into its values; -1 when it is not an array or has more than `limit` values. */
static int split(const char *text, slice *items, int limit)
{
    const char *at = skip_space(text);
    int count = 0;
    if (*at != '[')
        return -1;
    at = skip_space(at + 1);
    while (*at != ']') {
        const char *end = count < limit ? skip_value(at) : NULL;
        if (!end)
            return -1;
        bool quoted = *at == '"';
        items[count].text = at + quoted;
        items[count++].length = (size_t)(end - at) - 2 * quoted;
        at = skip_space(end);
        if (*at == ',')
            at = skip_space(at + 1);
        else if (*at != ']')
            return -1;
    }
    return count;
}

static bool add_integer(pyro_signature *signature, int64_t value)
{
    if (signature->integer_count == PYRO_SIGNATURE_INTEGERS)
        return false;
    signature->integers[signature->integer_count++] = value;
    return true;
}

/* One tensor of dims "[8, 3]". */
static bool add_tensor(pyro_signature *signature, slice dims, pyro_dtype dtype)
{
    if (signature->tensor_count == PYRO_SIGNATURE_TENSORS)
        return false;
    pyro_tensor *tensor = &signature->tensors[signature->tensor_count];
    *tensor = (pyro_tensor){.dims = signature->integers + signature->integer_count,
                            .elements = 1,
                            .id = ++signature->tensor_count,
                            .dtype = (uint8_t)dtype};
    signature->dtypes_known &= dtype != PYRO_DTYPE_UNKNOWN;
    const char *at = dims.text + 1, *end = dims.text + dims.length;
    for (at = skip_space(at); at < end && *at != ']'; at = skip_space(at)) {
        char *stop;
        long long size = strtoll(at, &stop, 10);
        if (stop == at || size < 0 || tensor->rank == PYRO_MAX_RANK ||
            !add_integer(signature, size) ||
            !pyro_mul_i64(tensor->elements, size, &tensor->elements))
            return false;
        tensor->rank++;
        at = skip_space(stop);
        if (*at == ',')
            at++;
    }
    return true;
}

static bool is(slice text, const char *word)
{
    return text.length == strlen(word) && !memcmp(text.text, word, text.length);
}

/* A number as Python writes it. */
static bool read_number(slice text, int64_t *out, bool *is_integer)
{
    char *stop, copy[48];
    if (is(text, "True") || is(text, "False")) {
        *out = is(text, "True");
        return *is_integer = true;
    }
    if (text.length == 0 || text.length >= sizeof copy)
        return false;
    memcpy(copy, text.text, text.length);
    copy[text.length] = '\0';
    *out = strtoll(copy, &stop, 10);
    *is_integer = stop != copy && !*stop;
    if (*is_integer)
        return true;
    strtod(copy, &stop);
    return stop != copy && !*stop;
}

/* "[1, 1]" among the concrete inputs; a list of anything but integers counts for nothing. */
static bool read_list(pyro_signature *signature, pyro_call_arg *arg, slice text)
{
    const char *at = text.text + 1, *end = text.text + text.length - 1;
    arg->kind = PYRO_ARG_INTEGERS;
    arg->integers = signature->integers + signature->integer_count;
    while (at < end) {
        at = skip_space(at);
        size_t length = 0;
        while (at + length < end && at[length] != ',')
            length++;
        slice item = {at, length};
        while (item.length && item.text[item.length - 1] == ' ')
            item.length--;
        int64_t value;
        bool is_integer;
        if (item.length && (!read_number(item, &value, &is_integer) || !is_integer)) {
            arg->kind = PYRO_ARG_OTHER;
            arg->integers = NULL;
            arg->count = 0;
            return true;
        }
        if (item.length && !add_integer(signature, value))
            return false;
        arg->count += item.length > 0;
        at += length + 1;
    }
    return true;
}

static const char *keep_text(pyro_signature *signature, slice text)
{
    if (signature->text_length + text.length + 1 > PYRO_SIGNATURE_TEXT)
        return NULL;
    char *kept = signature->text + signature->text_length;
    memcpy(kept, text.text, text.length);
    kept[text.length] = '\0';
    signature->text_length += text.length + 1;
    return kept;
}

static bool read_concrete(pyro_signature *signature, pyro_call_arg *arg, slice text)
{
    int64_t value;
    bool is_integer;
    if (!text.length || is(text, "None") || is(text, "null"))
        return true;
    if (text.text[0] == '[' && text.text[text.length - 1] == ']')
        return read_list(signature, arg, text);
    if (read_number(text, &value, &is_integer)) {
        arg->kind = is_integer ? PYRO_ARG_INTEGER : PYRO_ARG_NUMBER;
        arg->integers = is_integer ? signature->integers + signature->integer_count : NULL;
        arg->count = is_integer;
        if (is(text, "True") || is(text, "False"))
            arg->kind = PYRO_ARG_BOOLEAN;
        return !is_integer || add_integer(signature, value);
    }
    arg->kind = PYRO_ARG_TEXT;
    arg->text = keep_text(signature, text);
    return arg->text != NULL;
}

/* A list of tensors: "[[1, 2], [3]]". */
static bool read_tensors(pyro_signature *signature, pyro_call_arg *arg, slice dims, slice type)
{
    pyro_dtype dtype = pyro_dtype_from_cpp(type.text, type.length);
    const char *at = skip_space(dims.text + 1), *end = dims.text + dims.length - 1;
    arg->kind = PYRO_ARG_TENSORS;
    arg->tensors = signature->tensors + signature->tensor_count;
    while (at < end) {
        const char *stop = skip_value(at);
        if (!stop || stop > end)
            return false;
        slice item = {at, (size_t)(stop - at)};
        if (*at == '[') {
            if (!add_tensor(signature, item, dtype))
                return false;
            arg->count++;
        }
        at = skip_space(stop);
        if (*at == ',')
            at = skip_space(at + 1);
    }
    return true;
}

static bool read_argument(pyro_signature *signature, pyro_call_arg *arg, slice dims, slice type,
                          slice concrete)
{
    bool is_array = dims.length >= 2 && dims.text[0] == '[';
    const char *inside = is_array ? skip_space(dims.text + 1) : "";
    if (is_array && *inside == '[')
        return read_tensors(signature, arg, dims, type);
    pyro_dtype dtype = pyro_dtype_from_cpp(type.text, type.length);
    /* A tensor without dims and a number differ only in the type. */
    if (is_array && (*inside != ']' || dtype != PYRO_DTYPE_UNKNOWN)) {
        arg->kind = PYRO_ARG_TENSOR;
        arg->tensors = signature->tensors + signature->tensor_count;
        arg->count = 1;
        return add_tensor(signature, dims, dtype);
    }
    if (is(type, "TensorList")) {
        arg->kind = PYRO_ARG_TENSORS; /* its dims were not recorded */
        return true;
    }
    return read_concrete(signature, arg, concrete);
}

static bool name_arguments(pyro_signature *signature, const char *names)
{
    for (size_t a = 0; a < signature->call.arg_count && names && *names; a++) {
        size_t length = strcspn(names, " ");
        signature->args[a].name = keep_text(signature, (slice){names, length});
        if (!signature->args[a].name)
            return false;
        names += length + (names[length] == ' ');
    }
    return true;
}

bool pyro_signature_read(pyro_signature *signature, const pyro_op *op, const char *dims,
                         const char *types, const char *concrete)
{
    slice dim_items[PYRO_SIGNATURE_ARGS], type_items[PYRO_SIGNATURE_ARGS];
    slice concrete_items[PYRO_SIGNATURE_ARGS];
    int count = split(dims, dim_items, PYRO_SIGNATURE_ARGS);
    int type_count = split(types, type_items, PYRO_SIGNATURE_ARGS);
    int concrete_count = split(concrete, concrete_items, PYRO_SIGNATURE_ARGS);
    signature->tensor_count = signature->integer_count = signature->text_length = 0;
    signature->dtypes_known = true;
    signature->call = (pyro_call){.op = op, .args = signature->args};
    if (count < 0)
        return false;
    for (int a = 0; a < count; a++) {
        static const slice nothing = {"", 0};
        signature->args[a] = (pyro_call_arg){.name = "", .kind = PYRO_ARG_NONE};
        if (!read_argument(signature, &signature->args[a], dim_items[a],
                           a < type_count ? type_items[a] : nothing,
                           a < concrete_count ? concrete_items[a] : nothing))
            return false;
    }
    signature->call.arg_count = (size_t)count;
    return name_arguments(signature, op->arguments);
}

/*
 * Reads the tensors of torch.save and TorchScript archives. Their pickle is described as data
 * (pyro_pickle_describe) and walked for calls that rebuild tensors: nothing is unpickled.
 */
#include "read/torch_archive.h"

#include "base/checked.h"
#include "base/containers/buf.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/pickle/pickle.h"
#include "read/weights.h"
#include <stdlib.h>
#include <string.h>

enum { MAX_PICKLE_BYTES = 256 << 20, MAX_DEPTH = 64 };

/* Storages and element types by their names in a pickle. */
static const struct {
    const char *storage, *type, *stored;
    pyro_dtype dtype;
    int bytes;
} types[] = {
    {"torch.FloatStorage", "torch.float32", "F32", PYRO_DTYPE_FLOAT32, 4},
    {"torch.HalfStorage", "torch.float16", "F16", PYRO_DTYPE_FLOAT16, 2},
    {"torch.BFloat16Storage", "torch.bfloat16", "BF16", PYRO_DTYPE_BFLOAT16, 2},
    {"torch.DoubleStorage", "torch.float64", "F64", PYRO_DTYPE_FLOAT64, 8},
    {"torch.LongStorage", "torch.int64", "I64", PYRO_DTYPE_INT64, 8},
    {"torch.IntStorage", "torch.int32", "I32", PYRO_DTYPE_INT32, 4},
    {"torch.ShortStorage", "torch.int16", "I16", PYRO_DTYPE_INT16, 2},
    {"torch.CharStorage", "torch.int8", "I8", PYRO_DTYPE_INT8, 1},
    {"torch.ByteStorage", "torch.uint8", "U8", PYRO_DTYPE_UINT8, 1},
    {"torch.BoolStorage", "torch.bool", "BOOL", PYRO_DTYPE_BOOL, 1},
    {"torch.ComplexFloatStorage", "torch.complex64", "C64", PYRO_DTYPE_COMPLEX64, 8},
    {"torch.QInt8Storage", "torch.qint8", "QI8", PYRO_DTYPE_INT8, 1},
    {"torch.QUInt8Storage", "torch.quint8", "QU8", PYRO_DTYPE_UINT8, 1},
    {"torch.QInt32Storage", "torch.qint32", "QI32", PYRO_DTYPE_INT32, 4},
    {"", "torch.float8_e4m3fn", "F8_E4M3", PYRO_DTYPE_FLOAT8_E4M3FN, 1},
    {"", "torch.float8_e5m2", "F8_E5M2", PYRO_DTYPE_FLOAT8_E5M2, 1},
    {"", "torch.uint16", "U16", PYRO_DTYPE_UINT16, 2},
    {"", "torch.uint32", "U32", PYRO_DTYPE_UINT32, 4},
    {"", "torch.uint64", "U64", PYRO_DTYPE_UINT64, 8},
};

enum { NO_TYPE = -1 };

typedef struct walker {
    pyro_model *model;
    pyro_json *json;
    pyro_error *error;
    pyro_stored_types stored;
    pyro_buf path;
    pyro_intern buffers;  /* "class.attribute" that the code declares */
    pyro_intern storages; /* "key offset sizes", to find shared tensors */
    pyro_buf firsts;      /* uint32_t: the parameter of each storage */
    bool is_script;
} walker;

/* A call that rebuilds a tensor, while its arguments are read. */
typedef struct tensor {
    int type;
    char key[64];
    int64_t offset, dims[PYRO_MAX_RANK];
    size_t rank;
} tensor;

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), size = strlen(end);
    return length >= size && !strcmp(text + length - size, end);
}

const pyro_zip_entry *pyro_torch_archive_find(const pyro_zip *zip)
{
    for (size_t i = 0; i < zip->count; i++) {
        const char *name = zip->entries[i].name;
        if (!strcmp(name, "data.pkl") ||
            (ends_with(name, "/data.pkl") && strchr(name, '/') == strrchr(name, '/')))
            return &zip->entries[i];
    }
    return NULL;
}

static int type_by(const char *text, bool is_storage)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!strcmp(text, is_storage ? types[i].storage : types[i].type))
            return (int)i;
    return NO_TYPE;
}

/* The sizes of a tensor: the array is the current token. */
static bool read_sizes(walker *w, tensor *t)
{
    t->rank = 0;
    for (pyro_json_kind kind; (kind = pyro_json_next(w->json)) != PYRO_JSON_ARRAY_END; t->rank++)
        if (kind != PYRO_JSON_NUMBER || t->rank == PYRO_MAX_RANK ||
            !pyro_json_int(w->json, &t->dims[t->rank]) || t->dims[t->rank] < 0)
            return pyro_json_fail(w->json, "expected the sizes of a tensor"), false;
    return true;
}

/* ["storage", "torch.FloatStorage", "0", "cpu", 64]: the array is the current token. */
static bool read_storage(walker *w, tensor *t)
{
    size_t place = 0, length;
    for (pyro_json_kind kind; (kind = pyro_json_next(w->json)) != PYRO_JSON_ARRAY_END; place++) {
        if (kind == PYRO_JSON_ERROR || kind == PYRO_JSON_END)
            return false;
        const char *text = kind == PYRO_JSON_STRING ? pyro_json_text(w->json, &length) : NULL;
        if (place == 1 && text)
            t->type = type_by(text, true);
        if (place == 2 && text && length < sizeof t->key)
            memcpy(t->key, text, length + 1);
        if ((kind == PYRO_JSON_ARRAY || kind == PYRO_JSON_OBJECT) && !pyro_json_skip(w->json))
            return false;
    }
    return true;
}

/* {"call": null, "arguments": [...]}: the object is the current token. */
static bool read_storage_call(walker *w, tensor *t)
{
    for (pyro_json_kind kind; (kind = pyro_json_next(w->json)) == PYRO_JSON_KEY;) {
        bool is_arguments = PYRO_JSON_IS(w->json, "arguments");
        if (!is_arguments) {
            if (!pyro_json_skip(w->json))
                return false;
        } else if (pyro_json_next(w->json) != PYRO_JSON_ARRAY || !read_storage(w, t)) {
            return pyro_json_fail(w->json, "expected the storage of a tensor"), false;
        }
    }
    return pyro_json_current(w->json) == PYRO_JSON_OBJECT_END;
}

/* [storage, offset, sizes, strides, requires_grad, hooks, dtype]: the array is the current token. */
static bool read_tensor(walker *w, tensor *t)
{
    size_t place = 0, length;
    *t = (tensor){.type = NO_TYPE};
    for (pyro_json_kind kind; (kind = pyro_json_next(w->json)) != PYRO_JSON_ARRAY_END; place++) {
        bool good = kind != PYRO_JSON_ERROR && kind != PYRO_JSON_END;
        if (good && place == 0 && kind == PYRO_JSON_OBJECT) {
            good = read_storage_call(w, t);
        } else if (good && place == 1 && kind == PYRO_JSON_NUMBER) {
            good = pyro_json_int(w->json, &t->offset);
        } else if (good && place == 2 && kind == PYRO_JSON_ARRAY) {
            good = read_sizes(w, t);
        } else if (good && kind == PYRO_JSON_STRING) {
            int type = type_by(pyro_json_text(w->json, &length), false);
            t->type = type == NO_TYPE ? t->type : type;
        } else if (good && (kind == PYRO_JSON_ARRAY || kind == PYRO_JSON_OBJECT)) {
            good = pyro_json_skip(w->json);
        }
        if (!good)
            return pyro_json_fail(w->json, "expected the arguments of a tensor"), false;
    }
    if (t->type == NO_TYPE || !t->key[0])
        return pyro_json_fail(w->json, "a tensor of an unknown type"), false;
    return true;
}

/* The parameter that already has this storage, offset and shape; else this one is remembered. */
static bool find_first(walker *w, const tensor *t, uint32_t parameter, uint32_t *first)
{
    pyro_buf name = PYRO_BUF_INIT;
    pyro_buf_addf(&name, "%s %lld", t->key, (long long)t->offset);
    for (size_t d = 0; d < t->rank; d++)
        pyro_buf_addf(&name, " %lld", (long long)t->dims[d]);
    size_t before = w->firsts.length / sizeof parameter;
    uint32_t id = name.failed ? PYRO_INTERN_NONE
                              : pyro_intern_add(&w->storages, name.data, name.length);
    pyro_buf_free(&name);
    if (id == PYRO_INTERN_NONE)
        return false;
    if (id == before)
        pyro_buf_add(&w->firsts, &parameter, sizeof parameter);
    if (w->firsts.failed)
        return false;
    memcpy(first, w->firsts.data + id * sizeof parameter, sizeof *first);
    return true;
}

static int add_tensor(walker *w, const tensor *t, bool is_buffer)
{
    int64_t values = 1, bytes;
    for (size_t d = 0; d < t->rank; d++)
        if (!pyro_mul_i64(values, t->dims[d], &values))
            return pyro_fail(w->error, PYRO_ERROR_FORMAT, "tensor '%.100s' is too large",
                             w->path.data);
    if (!pyro_mul_i64(values, types[t->type].bytes, &bytes))
        return pyro_fail(w->error, PYRO_ERROR_FORMAT, "tensor '%.100s' is too large", w->path.data);
    uint32_t index = (uint32_t)w->model->parameter_count, first;
    pyro_stored stored = {.name = w->path.data,
                          .name_length = w->path.length,
                          .type = types[t->type].stored,
                          .dtype = types[t->type].dtype,
                          .rank = t->rank,
                          .dims = t->dims,
                          .bytes = bytes,
                          .is_buffer = is_buffer};
    int status = pyro_weights_add(w->model, &w->stored, &stored, w->error);
    if (status < 0)
        return status;
    if (!find_first(w, t, index, &first))
        return pyro_fail_memory(w->error);
    if (first != index && !is_buffer &&
        w->model->parameters[first].role == w->model->parameters[index].role)
        w->model->parameters[index].tied_to = first;
    return PYRO_OK;
}

static int walk(walker *w, bool is_buffer, int depth);

/* Appends a part of a path; the containers of a pickled module are no parts. */
static bool enter(walker *w, const char *text, size_t length)
{
    static const char *const silent[] = {"_parameters", "_buffers", "_modules"};
    for (size_t i = 0; i < sizeof silent / sizeof *silent; i++)
        if (!strcmp(text, silent[i]))
            return true;
    if (w->path.length)
        pyro_buf_addc(&w->path, '.');
    pyro_buf_add(&w->path, text, length);
    return !w->path.failed;
}

static bool is_declared_buffer(const walker *w, const char *class_name, const char *key)
{
    pyro_buf name = PYRO_BUF_INIT;
    pyro_buf_addf(&name, "%s.%s", class_name, key);
    bool found = !name.failed &&
                 pyro_intern_find(&w->buffers, name.data, name.length) != PYRO_INTERN_NONE;
    pyro_buf_free(&name);
    return found;
}

/* {"key": value, ...}: attributes of an object of that class, or items of a dict. */
static int walk_members(walker *w, const char *class_name, bool is_buffer, int depth)
{
    if (pyro_json_current(w->json) != PYRO_JSON_OBJECT)
        return pyro_json_fail(w->json, "expected items");
    for (pyro_json_kind kind; (kind = pyro_json_next(w->json)) == PYRO_JSON_KEY;) {
        size_t length, before = w->path.length;
        const char *text = pyro_json_text(w->json, &length);
        if (!text || strlen(text) != length)
            return pyro_json_fail(w->json, "expected a name");
        bool held = is_buffer || !strcmp(text, "_buffers") ||
                    is_declared_buffer(w, class_name, text);
        if (!enter(w, text, length))
            return pyro_fail_memory(w->error);
        pyro_json_next(w->json);
        int status = walk(w, held, depth + 1);
        if (status < 0)
            return status;
        w->path.length = before;
        w->path.data[before] = '\0';
    }
    return pyro_json_current(w->json) == PYRO_JSON_OBJECT_END ? PYRO_OK : pyro_json_status(w->json);
}

static int walk_list(walker *w, bool is_buffer, int depth)
{
    size_t place = 0;
    for (pyro_json_kind kind; (kind = pyro_json_next(w->json)) != PYRO_JSON_ARRAY_END; place++) {
        size_t before = w->path.length;
        if (kind == PYRO_JSON_ERROR || kind == PYRO_JSON_END)
            return pyro_json_fail(w->json, "expected a value");
        pyro_buf_addf(&w->path, "%s%zu", before ? "." : "", place);
        if (w->path.failed)
            return pyro_fail_memory(w->error);
        int status = walk(w, is_buffer, depth + 1);
        if (status < 0)
            return status;
        w->path.length = before;
        w->path.data[before] = '\0';
    }
    return PYRO_OK;
}

/* The arguments of a call: a tensor, a parameter around one, or nothing of interest. */
static int walk_arguments(walker *w, const char *callee, bool is_buffer, int depth)
{
    pyro_json_kind kind = pyro_json_next(w->json);
    if (kind == PYRO_JSON_ARRAY && (!strcmp(callee, "torch._utils._rebuild_tensor_v2") ||
                                    !strcmp(callee, "torch._utils._rebuild_tensor_v3") ||
                                    !strcmp(callee, "torch._utils._rebuild_tensor") ||
                                    !strcmp(callee, "torch._utils._rebuild_qtensor"))) {
        tensor t;
        return read_tensor(w, &t) ? add_tensor(w, &t, is_buffer) : pyro_json_status(w->json);
    }
    if (kind == PYRO_JSON_ARRAY && !strcmp(callee, "torch._utils._rebuild_parameter")) {
        pyro_json_next(w->json);
        int status = walk(w, is_buffer, depth + 1);
        if (status < 0)
            return status;
        while ((kind = pyro_json_next(w->json)) != PYRO_JSON_ARRAY_END)
            if (kind == PYRO_JSON_ERROR || kind == PYRO_JSON_END ||
                ((kind == PYRO_JSON_ARRAY || kind == PYRO_JSON_OBJECT) && !pyro_json_skip(w->json)))
                return pyro_json_fail(w->json, "expected the arguments of a parameter");
        return PYRO_OK;
    }
    if ((kind == PYRO_JSON_ARRAY || kind == PYRO_JSON_OBJECT) && !pyro_json_skip(w->json))
        return pyro_json_status(w->json);
    return pyro_json_status(w->json);
}

/* A described object or dict, whose attributes belong to the class `owner` if it has no call. */
static int walk_object(walker *w, const char *owner, bool is_buffer, int depth)
{
    pyro_buf callee = PYRO_BUF_INIT;
    int status = PYRO_OK;
    size_t length;
    pyro_buf_adds(&callee, owner);
    while (status == PYRO_OK && pyro_json_next(w->json) == PYRO_JSON_KEY) {
        if (PYRO_JSON_IS(w->json, "call")) {
            callee.length = 0;
            pyro_json_next(w->json);
            pyro_buf_adds(&callee, pyro_json_text(w->json, &length));
        } else if (PYRO_JSON_IS(w->json, "arguments")) {
            status = walk_arguments(w, callee.data, is_buffer, depth);
        } else if (PYRO_JSON_IS(w->json, "items")) {
            pyro_json_next(w->json);
            status = walk_members(w, callee.data, is_buffer, depth);
        } else if (pyro_json_next(w->json) == PYRO_JSON_OBJECT) {
            status = walk_object(w, callee.data, is_buffer, depth + 1);
        } else {
            status = walk(w, is_buffer, depth + 1);
        }
        status = callee.failed ? pyro_fail_memory(w->error) : status;
    }
    pyro_buf_free(&callee);
    return status == PYRO_OK ? pyro_json_status(w->json) : status;
}

/* A value whose first token is the current one. */
static int walk(walker *w, bool is_buffer, int depth)
{
    if (depth > MAX_DEPTH)
        return pyro_fail(w->error, PYRO_ERROR_LIMIT, "objects more than %d deep", MAX_DEPTH);
    switch (pyro_json_current(w->json)) {
    case PYRO_JSON_OBJECT:
        return walk_object(w, "", is_buffer, depth);
    case PYRO_JSON_ARRAY:
        return walk_list(w, is_buffer, depth);
    default:
        return pyro_json_status(w->json);
    }
}

static int walk_json(walker *w, const pyro_buf *text)
{
    pyro_source *source = NULL;
    pyro_json_options options = {.max_depth = 4 * MAX_DEPTH, .any_utf8 = true};
    int status = pyro_source_open_memory(&source, text->data, text->length, w->error);
    if (status == PYRO_OK)
        status = pyro_json_open(&w->json, source, &options, w->error);
    if (status == PYRO_OK) {
        pyro_json_next(w->json);
        status = walk(w, false, 0);
        pyro_json_close(w->json);
    }
    pyro_source_close(source);
    return status;
}

static int read_pickle(walker *w, const pyro_zip *zip, const pyro_zip_entry *entry)
{
    pyro_buf text = PYRO_BUF_INIT;
    char *pickle = NULL;
    size_t size;
    int status = pyro_zip_read_member(&pickle, &size, zip, entry, MAX_PICKLE_BYTES, w->error);
    if (status == PYRO_OK)
        status = pyro_pickle_describe(&text, pickle, size, w->error);
    if (status == PYRO_OK)
        status = walk_json(w, &text);
    if (status < 0)
        pyro_error_where(w->error, w->model->file, entry->name);
    free(pickle);
    pyro_buf_free(&text);
    return status;
}

static bool add_notes(walker *w)
{
    return !w->is_script ||
           pyro_model_note(w->model,
                           "a TorchScript archive: names, shapes and types of its tensors "
                           "are read, its code is not run");
}

int pyro_torch_archive_open(pyro_model *model, const pyro_zip *zip, pyro_error *error)
{
    const pyro_zip_entry *entry = pyro_torch_archive_find(zip);
    walker w = {.model = model, .error = error, .path = PYRO_BUF_INIT, .firsts = PYRO_BUF_INIT};
    pyro_intern_init(&w.buffers, &model->arena);
    pyro_intern_init(&w.storages, &model->arena);
    for (size_t i = 0; i < zip->count; i++)
        w.is_script |= ends_with(zip->entries[i].name, "constants.pkl") ||
                       strstr(zip->entries[i].name, "code/__torch__");
    pyro_buf_adds(&w.path, "");
    int status = pyro_weights_begin(model, error);
    if (status == PYRO_OK)
        status = pyro_script_buffers(&w.buffers, zip, error);
    if (status == PYRO_OK)
        status = read_pickle(&w, zip, entry);
    if (status == PYRO_OK && !model->parameter_count)
        status = pyro_fail(error, PYRO_ERROR_UNSUPPORTED,
                           "an archive of torch without tensors; " PYRO_EXPORT_HINT);
    if (status == PYRO_OK && !add_notes(&w))
        status = pyro_fail_memory(error);
    if (status == PYRO_OK)
        status = pyro_weights_end(model, &w.stored, error);
    pyro_intern_free(&w.buffers);
    pyro_intern_free(&w.storages);
    pyro_buf_free(&w.path);
    pyro_buf_free(&w.firsts);
    return status;
}

/* Opening a model: what kind of file it is, told by its content, and who reads it. */
#include "base/containers/buf.h"
#include "base/error.h"
#include "read/catalog.h"
#include "read/pt2.h"
#include "read/strip.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { HEAD_BYTES = 64 };

#define EXPORT_HINT \
    "export the model with torch.export.save(torch.export.export(model, inputs), \"model.pt2\")"

/* What becomes of a program: the graph of a model or, where `stripped` is not NULL, text again. */
typedef struct opening {
    pyro_model *model;
    pyro_buf *stripped;
} opening;

/* What else a zip archive may be. */
static int refuse_zip(const pyro_zip *zip, pyro_error *error)
{
    bool pickle = false, script = false, compiled = false;
    for (size_t i = 0; i < zip->count; i++) {
        const char *name = zip->entries[i].name;
        size_t length = strlen(name);
        script |= strstr(name, "/code/") != NULL || !strcmp(name, "constants.pkl") ||
                  (length > 14 && !strcmp(name + length - 14, "/constants.pkl"));
        pickle |= length >= 8 && !strcmp(name + length - 8, "data.pkl");
        compiled |= strstr(name, "aotinductor/") != NULL;
    }
    if (compiled)
        return pyro_fail(error, PYRO_ERROR_UNSUPPORTED,
                         "an AOTInductor package without its exported program; " EXPORT_HINT);
    if (script)
        return pyro_fail(error, PYRO_ERROR_UNSUPPORTED,
                         "a TorchScript archive, which is not read; " EXPORT_HINT);
    if (pickle)
        return pyro_fail(
            error, PYRO_ERROR_UNSUPPORTED,
            "a pickled checkpoint: it holds weights, no graph, and is never unpickled; " EXPORT_HINT);
    return pyro_fail(error, PYRO_ERROR_UNSUPPORTED,
                     "a zip archive without an exported program; " EXPORT_HINT);
}

/* An exported program's JSON on its own; `source` is left to the caller. */
static int open_json(const opening *opening, pyro_source *source, pyro_error *error)
{
    return opening->stripped ? pyro_strip_program(opening->stripped, source, error)
                             : pyro_pt2_read_program(opening->model, source, error);
}

static int open_zip(const opening *opening, pyro_source *source, const char *name,
                    pyro_error *error)
{
    pyro_zip zip;
    pyro_source *program = NULL;
    int status = pyro_zip_open(&zip, source, error);
    if (status < 0)
        return status;
    if (!pyro_pt2_is(&zip)) {
        status = refuse_zip(&zip, error);
    } else if (!opening->stripped) {
        status = pyro_pt2_open(opening->model, &zip, name, error);
    } else {
        status = pyro_pt2_open_program(&program, &zip, name, error);
        if (status == PYRO_OK)
            status = open_json(opening, program, error);
        pyro_source_close(program);
    }
    pyro_zip_close(&zip);
    return status;
}

static bool is_json(const unsigned char *head, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (head[i] != ' ' && head[i] != '\n' && head[i] != '\r' && head[i] != '\t')
            return head[i] == '{';
    return false;
}

/* ONNX is protobuf: ir_version (field 1, a small number), then producer, domain or graph. */
static bool is_onnx(const unsigned char *head, size_t size)
{
    return size > 4 && head[0] == 0x08 && head[1] < 0x20 &&
           (head[2] == 0x12 || head[2] == 0x1a || head[2] == 0x22 || head[2] == 0x3a ||
            head[2] == 0x42);
}

/* What else a file may be, told by its first bytes. */
static int refuse_other(const unsigned char *head, size_t size, pyro_error *error)
{
    static const struct {
        size_t offset, length;
        const char *magic, *what;
    } kinds[] = {
        {0, 4, "GGUF", "a GGUF file"},
        {0, 8, "\x89HDF\r\n\x1a\n", "an HDF5 file"},
        {4, 4, "TFL3", "a TensorFlow Lite model"},
        {4, 4, "ET12", "an ExecuTorch program"},
        {0, 4, "\x28\xb5\x2f\xfd", "a zstd-compressed file (decompress it first)"},
        {0, 4,
         "\x7f"
         "ELF",
         "a compiled program"},
        {0, 6, "\x93NUMPY", "a NumPy array"},
    };
    if (size == 0)
        return pyro_fail(error, PYRO_ERROR_FORMAT, "the file is empty");
    if (head[0] == 0x80 && size > 1 && head[1] >= 2 && head[1] <= 5)
        return pyro_fail(error, PYRO_ERROR_UNSUPPORTED,
                         "a pickle, which is never unpickled; " EXPORT_HINT);
    if (is_onnx(head, size))
        return pyro_fail(error, PYRO_ERROR_UNSUPPORTED,
                         "an ONNX model, which is not read yet; " EXPORT_HINT);
    if (size > 9 && head[8] == '{' && !head[7] && !head[6])
        return pyro_fail(error, PYRO_ERROR_UNSUPPORTED,
                         "a safetensors file: it holds weights, no graph; " EXPORT_HINT);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (size >= kinds[i].offset + kinds[i].length &&
            !memcmp(head + kinds[i].offset, kinds[i].magic, kinds[i].length))
            return pyro_fail(error, PYRO_ERROR_UNSUPPORTED, "%s, which is not read; " EXPORT_HINT,
                             kinds[i].what);
    return pyro_fail(error, PYRO_ERROR_UNSUPPORTED,
                     "not a model file that is known here; " EXPORT_HINT);
}

static int open_gzip(const opening *opening, const char *file, pyro_error *error)
{
    pyro_source *inner, *source;
    int status = pyro_source_open_file(&inner, file, error);
    if (status == PYRO_OK)
        status = pyro_source_open_gzip(&source, inner, error);
    if (status == PYRO_OK) {
        pyro_gzip_limit(source, PYRO_PT2_EXPANSION_FREE_BYTES, PYRO_PT2_MAX_EXPANSION,
                        PYRO_PT2_MAX_BYTES);
        status = open_json(opening, source, error);
        pyro_source_close(source);
    }
    return status;
}

static int open_source(const opening *opening, pyro_source *source, const char *name,
                       pyro_error *error)
{
    const pyro_model *model = opening->model;
    unsigned char head[HEAD_BYTES] = {0};
    size_t size = source->size < HEAD_BYTES ? (size_t)source->size : HEAD_BYTES;
    int status = pyro_source_read_at(source, 0, head, size, error);
    if (status < 0)
        return status;
    if (pyro_zip_is(head, size))
        return open_zip(opening, source, name, error);
    if (size > 2 && head[0] == 0x1f && head[1] == 0x8b && model->file_bytes >= 0)
        return open_gzip(opening, model->file, error);
    if (is_json(head, size))
        return open_json(opening, source, error);
    return refuse_other(head, size, error);
}

/* "models/resnet18.pt2" is called resnet18 until the file says otherwise. */
static int name_by_file(pyro_model *model, const char *path, pyro_error *error)
{
    const char *slash = strrchr(path, '/'), *stem = slash ? slash + 1 : path;
    const char *dot = strrchr(stem, '.');
    size_t length = dot && dot != stem ? (size_t)(dot - stem) : strlen(stem);
    model->file = pyro_arena_text(&model->arena, path, strlen(path));
    model->name = model->display_name = pyro_arena_text(&model->arena, stem, length);
    return model->file && model->name ? PYRO_OK : pyro_fail_memory(error);
}

static int finish(pyro_model **out, pyro_model *model, const char *label, int status,
                  pyro_error *error)
{
    if (status < 0) {
        pyro_error_where(error, label, NULL);
        pyro_model_close(model);
        return status;
    }
    *out = model;
    return PYRO_OK;
}

/* Opens a file or, with `stripped`, only takes its program from it; *out is NULL then. */
static int open_file(pyro_model **out, const char *path, const char *name, pyro_buf *stripped,
                     pyro_error *error)
{
    pyro_source *source = NULL;
    pyro_model *model = pyro_model_new();
    if (!model)
        return pyro_fail_memory(error);
    int status = name_by_file(model, path, error);
    if (status == PYRO_OK)
        status = pyro_source_open_regular(&source, path, error);
    if (status == PYRO_OK) {
        model->file_bytes = source->size;
        status = open_source(&(opening){model, stripped}, source, name, error);
    }
    pyro_source_close(source);
    return finish(out, model, path, status, error);
}

static int open_memory(pyro_model **out, const void *data, size_t size, const char *label,
                       pyro_buf *stripped, pyro_error *error)
{
    pyro_source *source = NULL;
    pyro_model *model = pyro_model_new();
    if (!model)
        return pyro_fail_memory(error);
    int status = name_by_file(model, label, error);
    if (status == PYRO_OK)
        status = pyro_source_open_memory(&source, data, size, error);
    if (status == PYRO_OK)
        status = open_source(&(opening){model, stripped}, source, NULL, error);
    pyro_source_close(source);
    return finish(out, model, label, status, error);
}

int pyro_model_open_memory(pyro_model **out, const void *data, size_t size, const char *label,
                           pyro_error *error)
{
    return open_memory(out, data, size, label, NULL, error);
}

int pyro_model_open_file(pyro_model **out, const char *path, pyro_error *error)
{
    return open_file(out, path, NULL, NULL, error);
}

/* An id of elsewhere whose model is not here, but one that is near it. */
static int only_near(const pyro_alias *alias, pyro_error *error)
{
    char option[64] = "";
    if (alias->side)
        snprintf(option, sizeof option, " --input-shape 1,3,%lld,%lld", (long long)alias->side,
                 (long long)alias->side);
    return pyro_fail(error, PYRO_ERROR_NOT_FOUND,
                     "no such file or built-in model; %s is %s: pyrometer cost %s%s (nothing is "
                     "downloaded)",
                     alias->model->name,
                     alias->side ? "the same at another image size"
                                 : "near it, but may differ in head, vocabulary or element type",
                     alias->model->name, option);
}

static int no_such_model(const char *spec, pyro_error *error)
{
    pyro_alias alias;
    if (pyro_alias_find(&alias, spec))
        return only_near(&alias, error);
    pyro_buf near = PYRO_BUF_INIT;
    pyro_catalog_suggest(&near, spec);
    int status = pyro_fail(error, PYRO_ERROR_NOT_FOUND,
                           "%s%s (pyrometer models lists the %zu built-in ones)",
                           pyro_alias_is_id(spec) ? "no such file, and no built-in model for this "
                                                    "id, which is not downloaded"
                                                  : "no such file or model",
                           near.data && !near.failed ? near.data : "", pyro_builtin_count());
    pyro_buf_free(&near);
    return status;
}

/* A file of that name; a folder is none as long as a model is called so. */
static bool is_file(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && !S_ISDIR(status.st_mode);
}

static bool is_there(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0;
}

/* A folder stands for the one file of a model in it. */
static int open_folder(pyro_model **out, const char *folder, pyro_buf *stripped, pyro_error *error)
{
    char *path = pyro_spec_only_file(folder);
    int result = path ? open_file(out, path, NULL, stripped, error)
                      : pyro_fail(error, PYRO_ERROR_UNSUPPORTED,
                                  "is a directory without a config.json or a single .pt2 "
                                  "file; name a file");
    free(path);
    return result;
}

/* A built-in model of that name, which has no file. */
static int strip_builtin(const char *name, pyro_buf *stripped, pyro_error *error)
{
    pyro_model *none = NULL;
    const char *known = pyro_builtin_of_id(name);
    const pyro_embedded_model *builtin = known ? pyro_builtin_find(known, false) : NULL;
    return builtin ? open_memory(&none, builtin->data, builtin->size, name, stripped, error)
                   : PYRO_ERROR_NOT_FOUND;
}

static int open_other(pyro_model **out, const char *spec, pyro_buf *stripped, pyro_error *error)
{
    const char *colon = strrchr(spec, ':');
    char *path = colon ? strndup(spec, (size_t)(colon - spec)) : NULL;
    int result;
    if (path && is_there(path))
        result = open_file(out, path, colon + 1, stripped, error);
    else if (stripped || (result = pyro_catalog_open_id(out, spec, error)) == PYRO_ERROR_NOT_FOUND)
        result = no_such_model(spec, error);
    free(path);
    return result;
}

static int open_spec(pyro_model **out, const char *spec, pyro_buf *stripped, pyro_error *error)
{
    pyro_spec_kind kind = pyro_spec_of(spec);
    int result;
    if (kind != PYRO_SPEC_MODEL)
        result = pyro_fail(error, PYRO_ERROR_UNSUPPORTED,
                           "%s, which Python has to build; export it first",
                           kind == PYRO_SPEC_FOLDER ? "a folder with a config.json"
                                                    : "a function that builds a model");
    else if (is_file(spec))
        return open_file(out, spec, NULL, stripped, error);
    else if ((result = stripped
                           ? strip_builtin(spec, stripped, error)
                           : pyro_catalog_open_model(out, spec, error)) != PYRO_ERROR_NOT_FOUND)
        return result;
    else if (is_there(spec))
        result = open_folder(out, spec, stripped, error);
    else
        result = open_other(out, spec, stripped, error);
    if (result < 0)
        pyro_error_where(error, spec, NULL);
    return result;
}

int pyro_model_open(pyro_model **out, const char *spec, pyro_error *error)
{
    return open_spec(out, spec, NULL, error);
}

int pyro_model_program(pyro_buf *out, const pyro_registry_model *given, pyro_error *error)
{
    pyro_model *model = NULL;
    int status = given->path ? open_spec(&model, given->path, out, error)
                             : open_memory(&model, given->data, given->size, "model", out, error);
    pyro_model_close(model);
    return status;
}

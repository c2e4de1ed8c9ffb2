/* Lists the supported model formats, and the formats that are recognised but unsupported. */
#include "read/formats.h"

#include "base/error.h"
#include "read/onnx/onnx.h"
#include "read/pt2/pt2.h"
#include "read/weights.h"
#include <string.h>

static const pyro_model_format formats[] = {
    {".pt2 archive", pyro_pt2_is_zip, pyro_pt2_open_zip},
    {"exported program as JSON", pyro_pt2_is_json, pyro_pt2_open_json},
    {"the same JSON in gzip", pyro_pt2_is_gzip, pyro_pt2_open_gzip},
    {"ONNX", pyro_onnx_is, pyro_onnx_open},
    {"safetensors", pyro_safetensors_is, pyro_safetensors_open},
    {"GGUF", pyro_gguf_is, pyro_gguf_open},
};

static bool is_pickle(const pyro_opening *opening)
{
    const unsigned char *head = opening->head;
    return opening->head_size > 1 && head[0] == 0x80 && head[1] >= 2 && head[1] <= 5;
}

/* Recognised by a function, or by bytes at an offset. */
static const struct {
    const char *what;
    bool (*recognise)(const pyro_opening *opening);
    size_t offset, length;
    const char *magic;
} unsupported[] = {
    {"a pickle, which is never unpickled", is_pickle, 0, 0, NULL},
    {"an HDF5 file, which is unsupported", NULL, 0, 8, "\x89HDF\r\n\x1a\n"},
    {"a TensorFlow Lite model, which is unsupported", NULL, 4, 4, "TFL3"},
    {"an ExecuTorch program, which is unsupported", NULL, 4, 4, "ET12"},
    {"a zstd-compressed file, which is unsupported (decompress it first)", NULL, 0, 4,
     "\x28\xb5\x2f\xfd"},
    {"a compiled program, which is unsupported", NULL, 0, 4,
     "\x7f"
     "ELF"},
    {"a NumPy array, which is unsupported", NULL, 0, 6, "\x93NUMPY"},
};

static bool has_magic(const pyro_opening *opening, size_t offset, size_t length, const char *magic)
{
    return opening->head_size >= offset + length && !memcmp(opening->head + offset, magic, length);
}

static int refuse(const pyro_opening *opening, pyro_error *error)
{
    if (opening->head_size == 0)
        return pyro_fail(error, PYRO_ERROR_FORMAT, "the file is empty");
    for (size_t i = 0; i < sizeof unsupported / sizeof *unsupported; i++)
        if (unsupported[i].recognise ? unsupported[i].recognise(opening)
                                     : has_magic(opening, unsupported[i].offset,
                                                 unsupported[i].length, unsupported[i].magic))
            return pyro_fail(error, PYRO_ERROR_UNSUPPORTED, "%s; " PYRO_EXPORT_HINT,
                             unsupported[i].what);
    pyro_buf names = PYRO_BUF_INIT;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        pyro_buf_addf(&names, "%s%s", i ? ", " : "", formats[i].name);
    int status = pyro_fail(error, PYRO_ERROR_UNSUPPORTED,
                           "not a model file in a known format (%s); " PYRO_EXPORT_HINT,
                           names.failed ? "" : names.data);
    pyro_buf_free(&names);
    return status;
}

int pyro_formats_open(pyro_opening *opening, pyro_error *error)
{
    int64_t size = opening->source->size;
    opening->head_size = size < PYRO_HEAD_BYTES ? (size_t)size : PYRO_HEAD_BYTES;
    int status = pyro_source_read_at(opening->source, 0, opening->head, opening->head_size, error);
    if (status < 0)
        return status;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (formats[i].recognise(opening))
            return formats[i].open(opening, error);
    return refuse(opening, error);
}

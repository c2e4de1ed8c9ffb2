/* Recognises and opens ONNX files: versions, functions, then the main graph. */
#include "base/containers/buf.h"
#include "base/error.h"
#include "read/onnx/onnx.h"
#include <stdlib.h>
#include <string.h>

/* Numbers of onnx.proto. */
enum model_field {
    MODEL_IR_VERSION = 1,
    MODEL_PRODUCER = 2,
    MODEL_PRODUCER_VERSION = 3,
    MODEL_GRAPH = 7,
    MODEL_OPSET = 8,
    MODEL_FUNCTION = 25,
};
enum { OPSET_DOMAIN = 1, OPSET_VERSION = 2 };
enum { OLDEST_IR = 3, NEWEST_IR = 14, OLDEST_OPSET = 7, NEWEST_OPSET = 28 };

/* A protobuf message that begins with ir_version, a small number; then producer, domain, graph. */
bool pyro_onnx_is(const pyro_opening *opening)
{
    const unsigned char *head = opening->head;
    return opening->head_size > 4 && head[0] == 0x08 && head[1] < 0x40 &&
           (head[2] == 0x12 || head[2] == 0x1a || head[2] == 0x22 || head[2] == 0x28 ||
            head[2] == 0x32 || head[2] == 0x3a || head[2] == 0x42);
}

static bool read_opset(onnx_reader *reader, const pyro_wire_field *message)
{
    pyro_wire_field field;
    const char *domain = "";
    int64_t version = 0;
    for (int64_t at = message->begin; pyro_wire_next(&reader->wire, &at, message->end, &field);) {
        if (field.number == OPSET_DOMAIN && !(domain = onnx_text(reader, &field)))
            return false;
        if (field.number == OPSET_VERSION)
            version = (int64_t)field.value;
    }
    reader->has_opset = true;
    if (!*domain || !strcmp(domain, "ai.onnx"))
        reader->opset = version;
    return !reader->wire.failed;
}

/* Graphs come before functions in the file, so their places are noted first. */
static bool read_model(onnx_reader *reader)
{
    pyro_wire_field field;
    int64_t end = reader->wire.source->size;
    for (int64_t at = 0; pyro_wire_next(&reader->wire, &at, end, &field);) {
        bool good = true;
        if (field.number == MODEL_IR_VERSION)
            reader->ir_version = (int64_t)field.value;
        else if (field.number == MODEL_PRODUCER)
            good = (reader->producer = onnx_text(reader, &field)) != NULL;
        else if (field.number == MODEL_PRODUCER_VERSION)
            good = (reader->producer_version = onnx_text(reader, &field)) != NULL;
        else if (field.number == MODEL_OPSET && field.type == PYRO_WIRE_BYTES)
            good = read_opset(reader, &field);
        else if (field.number == MODEL_FUNCTION && field.type == PYRO_WIRE_BYTES)
            good = onnx_index_function(reader, field.begin, field.end);
        else if (field.number == MODEL_GRAPH && field.type == PYRO_WIRE_BYTES) {
            reader->graph_begin = field.begin;
            reader->graph_end = field.end;
        }
        if (!good)
            return false;
    }
    if (!reader->wire.failed && !reader->graph_end)
        return pyro_wire_fail(&reader->wire, 0, "an ONNX file without a graph");
    if (!reader->wire.failed && !reader->has_opset)
        return pyro_wire_fail(&reader->wire, end,
                              "an ONNX file without the version of its operators: it is truncated");
    return !reader->wire.failed;
}

static bool check_versions(onnx_reader *reader)
{
    if (reader->ir_version < OLDEST_IR || (reader->opset && reader->opset < OLDEST_OPSET)) {
        reader->wire.failed = true;
        pyro_fail(reader->error, PYRO_ERROR_UNSUPPORTED,
                  "an ONNX file of IR version %lld and opset %lld; the oldest that can be read are "
                  "%d and %d (onnx.version_converter.convert_version makes newer ones)",
                  (long long)reader->ir_version, (long long)reader->opset, OLDEST_IR, OLDEST_OPSET);
        return false;
    }
    if (reader->ir_version <= NEWEST_IR && reader->opset <= NEWEST_OPSET)
        return true;
    return pyro_model_note(reader->model,
                           "IR version %lld and opset %lld are newer than %d and %d, the newest "
                           "known: operators that changed since may be counted as before",
                           (long long)reader->ir_version, (long long)reader->opset, NEWEST_IR,
                           NEWEST_OPSET)
               ? true
               : onnx_out_of_memory(reader);
}

static bool read_main(onnx_reader *reader)
{
    pyro_model *model = reader->model;
    reader->main = onnx_graph_new(reader, NULL);
    if (!reader->main)
        return false;
    model->graph = reader->main->graph;
    onnx_scope scope = {.graph = reader->main};
    if (!onnx_read_graph(reader, &scope, reader->graph_begin, reader->graph_end) ||
        !onnx_add_parameters(reader))
        return false;
    model->source = pyro_arena_format(
        &model->arena, "onnx IR %lld, opset %lld%s%.40s%s%.40s", (long long)reader->ir_version,
        (long long)reader->opset, *reader->producer ? ", " : "", reader->producer,
        *reader->producer_version ? " " : "", reader->producer_version);
    model->infer = onnx_infer;
    pyro_exprs_settle(&model->exprs);
    return model->source ? true : onnx_out_of_memory(reader);
}

int pyro_onnx_open(const pyro_opening *opening, pyro_error *error)
{
    if (opening->stripped)
        return pyro_fail(error, PYRO_ERROR_UNSUPPORTED,
                         "an ONNX model cannot be added to the registry: it has no exported "
                         "program; " PYRO_EXPORT_HINT);
    onnx_reader reader = {
        .model = opening->model, .error = error, .producer = "", .producer_version = ""};
    pyro_intern_init(&reader.function_keys, &opening->model->arena);
    bool good = pyro_wire_open(&reader.wire, opening->source, error);
    if (good && !pyro_op_index_init(&reader.ops))
        good = onnx_out_of_memory(&reader);
    good = good && read_model(&reader) && check_versions(&reader) && read_main(&reader);
    pyro_op_index_free(&reader.ops);
    pyro_wire_close(&reader.wire);
    pyro_intern_free(&reader.function_keys);
    free(reader.functions);
    free(reader.ids);
    free(reader.args);
    free(reader.integers);
    free(reader.reals);
    return good ? PYRO_OK : error && error->code ? (int)error->code : PYRO_ERROR_FORMAT;
}

/* Reads an exported program: its graph, and the signature that marks weights and inputs. */
#include "read/pt2/pt2.h"

#include "base/containers/buf.h"
#include "base/error.h"
#include "graph/validate.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { SCHEMA_MAJOR = 8 };

typedef struct program {
    pt2_reader reader;
    bool is_large;
    bool has_graph;
    int64_t schema_major, schema_minor;
    const char *torch_version;
} program;

/* Adds the parameter whose path is in the reader. */
static bool add_parameter(pt2_reader *reader, pyro_role role, uint32_t value)
{
    pyro_model *model = reader->model;
    const char *path = reader->path.data, *dot = strrchr(path, '.');
    uint32_t id = pyro_intern_add(&model->parameter_paths, path, reader->path.length);
    if (id != PYRO_INTERN_NONE && id < model->parameter_count) {
        pyro_json_fail(reader->json, "weight '%.100s' is listed twice", path);
        return false;
    }
    uint32_t owner = pyro_model_module(model, path, dot ? (size_t)(dot - path) : 0);
    if (id == PYRO_INTERN_NONE || owner == PYRO_NO_VALUE ||
        !pyro_grow(&model->parameters, &model->parameter_capacity, model->parameter_count + 1,
                   sizeof *model->parameters))
        return pt2_out_of_memory(reader);
    model->graph->values[value].role = (uint8_t)role;
    model->parameters[model->parameter_count++] = (pyro_parameter){
        .path = pyro_intern_text(&model->parameter_paths, id),
        .value = value,
        .module = owner,
        .role = (uint8_t)role,
        .tied_to = PYRO_NO_VALUE};
    return true;
}

uint32_t pt2_find_parameter(const pyro_model *model, const char *path, size_t length)
{
    uint32_t id = pyro_intern_find(&model->parameter_paths, path, length);
    return id == PYRO_INTERN_NONE ? PYRO_NO_VALUE : id;
}

static bool add_input(pt2_reader *reader, uint32_t value)
{
    pyro_model *model = reader->model;
    if (!pyro_grow(&model->inputs, &model->input_capacity, model->input_count + 1,
                   sizeof *model->inputs))
        return pt2_out_of_memory(reader);
    model->graph->values[value].role = PYRO_ROLE_INPUT;
    model->inputs[model->input_count++] = value;
    return true;
}

/* The name in {"name": "x"} or {"as_tensor": {"name": "x"}}; PYRO_NO_VALUE for other arguments. */
static bool read_spec_value(pt2_reader *reader, uint32_t *value)
{
    pyro_json *json = reader->json;
    if (!pt2_expect(reader, PYRO_JSON_OBJECT, "the argument of an input"))
        return false;
    if (pt2_take_value(reader, reader->model->graph, "\"name\": \"", "\"}", value))
        return *value != PYRO_NO_VALUE || pt2_out_of_memory(reader);
    while (pt2_next_key(reader)) {
        if (PYRO_JSON_IS(json, "as_tensor")) {
            if (!read_spec_value(reader, value))
                return false;
        } else if (PYRO_JSON_IS(json, "name")) {
            size_t length;
            if (!pt2_expect(reader, PYRO_JSON_STRING, "the name of an input"))
                return false;
            const char *text = pyro_json_text(json, &length);
            *value = text ? pyro_graph_value(reader->model->graph, text, length) : PYRO_NO_VALUE;
            if (*value == PYRO_NO_VALUE)
                return pt2_out_of_memory(reader);
        } else if (!pt2_skip(reader)) {
            return false;
        }
    }
    return !pt2_failed(reader);
}

/* Keeps the path of a weight in the reader until its object ends. */
static bool read_path(pt2_reader *reader)
{
    size_t length;
    if (!pt2_expect(reader, PYRO_JSON_STRING, "the path of a weight"))
        return false;
    const char *text = pyro_json_text(reader->json, &length);
    pyro_buf_reset(&reader->path);
    pyro_buf_add(&reader->path, text, length);
    return !reader->path.failed || pt2_out_of_memory(reader);
}

/* Reads the object of "parameter", "user_input" and so on. */
static bool read_spec(pt2_reader *reader, pyro_role role)
{
    uint32_t value = PYRO_NO_VALUE;
    bool has_path = false;
    if (!pt2_expect(reader, PYRO_JSON_OBJECT, "the description of an input"))
        return false;
    while (pt2_next_key(reader)) {
        bool good;
        if (PYRO_JSON_IS(reader->json, "arg"))
            good = read_spec_value(reader, &value);
        else if (PYRO_JSON_IS(reader->json, "parameter_name") ||
                 PYRO_JSON_IS(reader->json, "buffer_name") ||
                 PYRO_JSON_IS(reader->json, "tensor_constant_name"))
            good = has_path = read_path(reader);
        else
            good = pt2_skip(reader);
        if (!good)
            return false;
    }
    if (pt2_failed(reader))
        return false;
    if (value == PYRO_NO_VALUE)
        return true; /* an input that is a number, not a tensor */
    if (role == PYRO_ROLE_INPUT)
        return add_input(reader, value);
    if (!has_path)
        pyro_json_fail(reader->json, "a weight without a path");
    return has_path && add_parameter(reader, role, value);
}

static bool read_input_specs(pt2_reader *reader)
{
    pyro_json *json = reader->json;
    if (!pt2_expect(reader, PYRO_JSON_ARRAY, "the inputs of the signature"))
        return false;
    while (pt2_next_item(reader)) {
        if (pyro_json_current(json) != PYRO_JSON_OBJECT) {
            pyro_json_fail(json, "expected an input of the signature");
            return false;
        }
        while (pt2_next_key(reader)) {
            bool good;
            if (PYRO_JSON_IS(json, "parameter"))
                good = read_spec(reader, PYRO_ROLE_PARAMETER);
            else if (PYRO_JSON_IS(json, "buffer"))
                good = read_spec(reader, PYRO_ROLE_BUFFER);
            else if (PYRO_JSON_IS(json, "tensor_constant"))
                good = read_spec(reader, PYRO_ROLE_CONSTANT);
            else if (PYRO_JSON_IS(json, "user_input"))
                good = read_spec(reader, PYRO_ROLE_INPUT);
            else
                good = pt2_skip(reader);
            if (!good)
                return false;
        }
    }
    return !pt2_failed(reader);
}

static bool read_signature(pt2_reader *reader)
{
    if (!pt2_expect(reader, PYRO_JSON_OBJECT, "a signature"))
        return false;
    while (pt2_next_key(reader)) {
        bool specs = PYRO_JSON_IS(reader->json, "input_specs");
        if (!(specs ? read_input_specs(reader) : pt2_skip(reader)))
            return false;
    }
    return !pt2_failed(reader);
}

static bool read_graph_module(program *program)
{
    pt2_reader *reader = &program->reader;
    if (!pt2_expect(reader, PYRO_JSON_OBJECT, "a graph module"))
        return false;
    while (pt2_next_key(reader)) {
        bool good;
        if (PYRO_JSON_IS(reader->json, "graph")) {
            if (program->has_graph) {
                pyro_json_fail(reader->json, "a second graph");
                return false;
            }
            program->has_graph = true;
            if (program->is_large)
                pt2_places_start(reader);
            good = pt2_graph(reader, reader->model->graph);
            good = pt2_places_end(reader) && good;
        } else if (PYRO_JSON_IS(reader->json, "signature")) {
            good = read_signature(reader);
        } else {
            good = pt2_skip(reader);
        }
        if (!good)
            return false;
    }
    return !pt2_failed(reader);
}

/* A bound that is null, infinite or not an integer leaves `bound` unchanged. */
static bool read_bound(pt2_reader *reader, int64_t *bound)
{
    pyro_json_kind kind = pyro_json_next(reader->json);
    int64_t value;
    if (kind == PYRO_JSON_NUMBER && pyro_json_int(reader->json, &value) && value < INT64_MAX - 1 &&
        value > INT64_MIN + 2)
        *bound = value;
    if (kind == PYRO_JSON_OBJECT || kind == PYRO_JSON_ARRAY)
        return pt2_skip(reader);
    return kind != PYRO_JSON_ERROR;
}

static bool read_ranges(pt2_reader *reader)
{
    if (!pt2_expect(reader, PYRO_JSON_OBJECT, "range constraints"))
        return false;
    while (pt2_next_key(reader)) {
        size_t length;
        const char *text = pyro_json_text(reader->json, &length);
        int64_t index = text ? pyro_exprs_symbol(&reader->model->exprs, text, length) : -1;
        if (index < 0)
            return pt2_out_of_memory(reader);
        if (!pt2_expect(reader, PYRO_JSON_OBJECT, "a range"))
            return false;
        while (pt2_next_key(reader)) {
            pyro_symbol *symbol = &reader->model->exprs.symbols[index];
            bool good;
            if (PYRO_JSON_IS(reader->json, "min_val"))
                good = read_bound(reader, &symbol->min);
            else if (PYRO_JSON_IS(reader->json, "max_val"))
                good = read_bound(reader, &symbol->max);
            else
                good = pt2_skip(reader);
            if (!good)
                return false;
        }
        if (pt2_failed(reader))
            return false;
    }
    return !pt2_failed(reader);
}

static bool read_schema_version(program *program)
{
    pt2_reader *reader = &program->reader;
    if (!pt2_expect(reader, PYRO_JSON_OBJECT, "a schema version"))
        return false;
    while (pt2_next_key(reader)) {
        bool good;
        if (PYRO_JSON_IS(reader->json, "major"))
            good = pt2_integer(reader, &program->schema_major, "the schema's version");
        else if (PYRO_JSON_IS(reader->json, "minor"))
            good = pt2_integer(reader, &program->schema_minor, "the schema's version");
        else
            good = pt2_skip(reader);
        if (!good)
            return false;
    }
    return !pt2_failed(reader);
}

static bool read_program(program *program)
{
    pt2_reader *reader = &program->reader;
    if (!pt2_expect(reader, PYRO_JSON_OBJECT, "an exported program"))
        return false;
    while (pt2_next_key(reader)) {
        bool good;
        if (PYRO_JSON_IS(reader->json, "graph_module"))
            good = read_graph_module(program);
        else if (PYRO_JSON_IS(reader->json, "range_constraints"))
            good = read_ranges(reader);
        else if (PYRO_JSON_IS(reader->json, "guards_code"))
            good = pt2_guards(reader);
        else if (PYRO_JSON_IS(reader->json, "schema_version"))
            good = read_schema_version(program);
        else if (PYRO_JSON_IS(reader->json, "torch_version"))
            good = pt2_text(reader, &program->torch_version, "torch's version");
        else
            good = pt2_skip(reader);
        if (!good)
            return false;
    }
    return !pt2_failed(reader) && pt2_expect(reader, PYRO_JSON_END, "the end of the file");
}

static int check_program(program *program, pyro_error *error)
{
    pyro_model *model = program->reader.model;
    if (!program->has_graph)
        return pyro_fail(error, PYRO_ERROR_FORMAT, "the JSON contains no exported program");
    if (program->schema_major > SCHEMA_MAJOR)
        return pyro_fail(error, PYRO_ERROR_UNSUPPORTED,
                         "schema version %" PRId64 ".%" PRId64 " is newer than %d.x; a newer "
                         "pyrometer may read it",
                         program->schema_major, program->schema_minor, SCHEMA_MAJOR);
    if (program->schema_major >= 0 && program->schema_major < SCHEMA_MAJOR)
        pyro_model_note(model,
                        "schema version %" PRId64 ".%" PRId64 " is older than %d.0: only the parts "
                        "common to both are read",
                        program->schema_major, program->schema_minor, SCHEMA_MAJOR);
    model->source = pyro_arena_format(&model->arena, "pt2 %" PRId64 ".%" PRId64 ", torch %s",
                                      program->schema_major, program->schema_minor,
                                      program->torch_version ? program->torch_version : "unknown");
    if (!model->source)
        return pyro_fail_memory(error);
    return pyro_model_validate(model, error);
}

int pyro_pt2_read_program(pyro_model *model, pyro_source *source, pyro_error *error)
{
    program program = {.reader = {.model = model, .error = error},
                       .is_large = source->size > PYRO_PT2_LARGE_BYTES,
                       .schema_major = -1};
    pyro_json_options options = {.any_utf8 = true};
    int status = pyro_json_open(&program.reader.json, source, &options, error);
    if (status < 0)
        return status;
    model->graph = pyro_model_add_graph(model);
    if (!model->graph)
        status = pyro_fail_memory(error);
    else if (!read_program(&program))
        status = error && error->code < 0 ? error->code : PYRO_ERROR_FORMAT;
    else
        status = check_program(&program, error);
    pyro_json_close(program.reader.json);
    pyro_buf_free(&program.reader.path);
    free(program.reader.args);
    free(program.reader.values);
    free(program.reader.integers);
    return status;
}

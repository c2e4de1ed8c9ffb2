/* Strips the JSON of an exported program of what its cost does not need: stack traces, call graphs,
 * source lines. Keeps the schema, so that the ordinary reader can read the result. */
#include "read/pt2/strip.h"

#include "base/error.h"
#include "base/json/json.h"
#include "base/json/write.h"
#include <string.h>

/* The place of a value in the document, which decides the keys that are kept. */
typedef enum document_place {
    PLACE_PROGRAM,
    PLACE_GRAPH_MODULE,
    PLACE_SIGNATURE,
    PLACE_GRAPH,
    PLACE_NODES,
    PLACE_NODE,
    PLACE_METADATA,
    PLACE_TENSORS,
    PLACE_TENSOR,
    PLACE_SUBGRAPH, /* {"name": ..., "graph": ...} of a higher-order operator */
    PLACE_ELSEWHERE
} document_place;

/* The keys that are kept, and the places of their values. */
static const struct {
    document_place at;
    const char *key;
    document_place inside;
} kept_keys[] = {
    {PLACE_PROGRAM, "graph_module", PLACE_GRAPH_MODULE},
    {PLACE_PROGRAM, "range_constraints", PLACE_ELSEWHERE},
    {PLACE_PROGRAM, "guards_code", PLACE_ELSEWHERE},
    {PLACE_PROGRAM, "schema_version", PLACE_ELSEWHERE},
    {PLACE_PROGRAM, "torch_version", PLACE_ELSEWHERE},
    {PLACE_GRAPH_MODULE, "graph", PLACE_GRAPH},
    {PLACE_GRAPH_MODULE, "signature", PLACE_SIGNATURE},
    {PLACE_SIGNATURE, "input_specs", PLACE_ELSEWHERE},
    {PLACE_GRAPH, "inputs", PLACE_ELSEWHERE},
    {PLACE_GRAPH, "outputs", PLACE_ELSEWHERE},
    {PLACE_GRAPH, "nodes", PLACE_NODES},
    {PLACE_GRAPH, "tensor_values", PLACE_TENSORS},
    {PLACE_GRAPH, "sym_int_values", PLACE_ELSEWHERE},
    {PLACE_GRAPH, "sym_float_values", PLACE_ELSEWHERE},
    {PLACE_GRAPH, "sym_bool_values", PLACE_ELSEWHERE},
    {PLACE_NODE, "target", PLACE_ELSEWHERE},
    {PLACE_NODE, "inputs", PLACE_ELSEWHERE},
    {PLACE_NODE, "outputs", PLACE_ELSEWHERE},
    {PLACE_NODE, "metadata", PLACE_METADATA},
    {PLACE_METADATA, "nn_module_stack", PLACE_ELSEWHERE},
    {PLACE_TENSOR, "dtype", PLACE_ELSEWHERE},
    {PLACE_TENSOR, "sizes", PLACE_ELSEWHERE},
    {PLACE_SUBGRAPH, "name", PLACE_ELSEWHERE},
    {PLACE_SUBGRAPH, "graph", PLACE_GRAPH},
};

/* True if the current key is kept; also finds the place of its value. */
static bool is_kept(const pyro_json *json, document_place at, document_place *inside)
{
    *inside = PLACE_ELSEWHERE;
    if (at == PLACE_ELSEWHERE) {
        if (pyro_json_is(json, "as_graph", 8))
            *inside = PLACE_SUBGRAPH;
        return true;
    }
    if (at == PLACE_TENSORS) {
        *inside = PLACE_TENSOR;
        return true;
    }
    for (size_t i = 0; i < sizeof kept_keys / sizeof *kept_keys; i++)
        if (kept_keys[i].at == at &&
            pyro_json_is(json, kept_keys[i].key, strlen(kept_keys[i].key))) {
            *inside = kept_keys[i].inside;
            return true;
        }
    return false;
}

static void copy_value(pyro_json *json, pyro_json_writer *writer, document_place at);

static void copy_object(pyro_json *json, pyro_json_writer *writer, document_place at)
{
    pyro_json_begin_object(writer);
    while (pyro_json_next(json) == PYRO_JSON_KEY) {
        document_place inside;
        size_t length;
        const char *key;
        if (!is_kept(json, at, &inside)) {
            pyro_json_skip(json);
            continue;
        }
        key = pyro_json_text(json, &length);
        pyro_json_key(writer, key ? key : "");
        pyro_json_next(json);
        copy_value(json, writer, inside);
    }
    pyro_json_end_object(writer);
}

static void copy_array(pyro_json *json, pyro_json_writer *writer, document_place at)
{
    pyro_json_kind kind;
    pyro_json_begin_array(writer);
    while ((kind = pyro_json_next(json)) != PYRO_JSON_ARRAY_END && kind != PYRO_JSON_ERROR &&
           kind != PYRO_JSON_END)
        copy_value(json, writer, at == PLACE_NODES ? PLACE_NODE : PLACE_ELSEWHERE);
    pyro_json_end_array(writer);
}

/* Copies the current token and, if it opens a level, all up to its end. The reader bounds depth. */
static void copy_value(pyro_json *json, pyro_json_writer *writer, document_place at)
{
    size_t length;
    const char *text;
    switch (pyro_json_current(json)) {
    case PYRO_JSON_OBJECT:
        copy_object(json, writer, at);
        break;
    case PYRO_JSON_ARRAY:
        copy_array(json, writer, at);
        break;
    case PYRO_JSON_STRING:
        text = pyro_json_text(json, &length);
        pyro_json_string_n(writer, text ? text : "", text ? length : 0);
        break;
    case PYRO_JSON_NUMBER:
        text = pyro_json_number_text(json, &length);
        pyro_json_raw(writer, text ? text : "0");
        break;
    case PYRO_JSON_TRUE:
    case PYRO_JSON_FALSE:
        pyro_json_boolean(writer, pyro_json_current(json) == PYRO_JSON_TRUE);
        break;
    default:
        pyro_json_null(writer);
        break;
    }
}

int pyro_strip_program(pyro_buf *out, pyro_source *program, pyro_error *error)
{
    pyro_json_options options = {.any_utf8 = true};
    pyro_json_writer writer;
    pyro_json *json;
    int status = pyro_json_open(&json, program, &options, error);
    if (status < 0)
        return status;
    pyro_json_writer_init(&writer, out, 0);
    if (pyro_json_next(json) != PYRO_JSON_OBJECT)
        pyro_json_fail(json, "expected an exported program");
    copy_value(json, &writer, PLACE_PROGRAM);
    pyro_json_next(json);
    status = pyro_json_status(json);
    pyro_json_close(json);
    return status < 0 ? status : out->failed ? pyro_fail_memory(error) : PYRO_OK;
}

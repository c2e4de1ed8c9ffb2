/* Reads a JSON document into a tree. */
#include "history/import/document.h"

#include "base/error.h"
#include "base/source/source.h"

#include <math.h>
#include <string.h>

enum { DEPTH_MAX = 64, NODES_MAX = 20000000, TOKEN_BYTES_MAX = 1 << 20 };

typedef struct parsing {
    pyro_json *json;
    pyro_document *document;
    size_t nodes;
    pyro_error *error;
} parsing;

static int read_value(parsing *p, pyro_node *node);

static pyro_node *new_node(parsing *p)
{
    return p->nodes++ < NODES_MAX ? pyro_arena_alloc(&p->document->arena, sizeof(pyro_node)) : NULL;
}

/* Depth is bounded by the JSON reader. */
static int read_children(parsing *p, pyro_node *parent)
{
    pyro_json_kind end = parent->kind == PYRO_JSON_OBJECT ? PYRO_JSON_OBJECT_END
                                                          : PYRO_JSON_ARRAY_END;
    const pyro_node **link = &parent->first;

    for (;;) {
        pyro_json_kind kind = pyro_json_next(p->json);
        const char *key = NULL;

        if (kind == end)
            return PYRO_OK;
        if (kind == PYRO_JSON_KEY) {
            size_t length;
            const char *text = pyro_json_text(p->json, &length);

            key = pyro_arena_text(&p->document->arena, text, length);
            if (!key)
                return pyro_fail_memory(p->error);
            pyro_json_next(p->json);
        }
        pyro_node *node = new_node(p);
        if (!node)
            return p->nodes > NODES_MAX
                       ? pyro_fail(p->error, PYRO_ERROR_LIMIT, "more than %d values", NODES_MAX)
                       : pyro_fail_memory(p->error);
        node->key = key;
        int status = read_value(p, node);
        if (status != PYRO_OK)
            return status;
        *link = node;
        link = &node->next;
        parent->count++;
    }
}

/* Takes the current token. */
static int read_value(parsing *p, pyro_node *node)
{
    const char *text;
    size_t length;

    node->kind = pyro_json_current(p->json);
    node->number = NAN;
    switch (node->kind) {
    case PYRO_JSON_OBJECT:
    case PYRO_JSON_ARRAY:
        return read_children(p, node);
    case PYRO_JSON_STRING:
        text = pyro_json_text(p->json, &length);
        node->text = pyro_arena_text(&p->document->arena, text, length);
        return node->text ? PYRO_OK : pyro_fail_memory(p->error);
    case PYRO_JSON_NUMBER:
        if (!pyro_json_double(p->json, &node->number))
            node->number = NAN;
        return PYRO_OK;
    case PYRO_JSON_TRUE:
    case PYRO_JSON_FALSE:
    case PYRO_JSON_NULL:
        return PYRO_OK;
    default:
        return pyro_json_fail(p->json, "expected a value");
    }
}

int pyro_document_parse(pyro_document *out, const void *bytes, size_t size, pyro_error *error)
{
    pyro_json_options options = {
        .max_depth = DEPTH_MAX, .max_token_bytes = TOKEN_BYTES_MAX, .nonfinite = true};
    parsing p = {.document = out, .error = error};
    pyro_source *source = NULL;
    pyro_node *root = NULL;

    *out = (pyro_document){.root = NULL};
    pyro_arena_init(&out->arena);
    int status = pyro_source_open_memory(&source, bytes, size, error);
    if (status == PYRO_OK)
        status = pyro_json_open(&p.json, source, &options, error);
    if (status == PYRO_OK) {
        root = new_node(&p);
        status = root ? PYRO_OK : pyro_fail_memory(error);
    }
    if (status == PYRO_OK) {
        pyro_json_next(p.json);
        status = read_value(&p, root);
    }
    if (status == PYRO_OK && pyro_json_next(p.json) != PYRO_JSON_END)
        status = pyro_json_fail(p.json, "expected the end of the file");
    out->root = root;
    pyro_json_close(p.json);
    pyro_source_close(source);
    return status;
}

void pyro_document_free(pyro_document *document)
{
    pyro_arena_free(&document->arena);
}

bool pyro_node_is(const pyro_node *node, pyro_json_kind kind)
{
    return node && node->kind == kind;
}

const pyro_node *pyro_node_get(const pyro_node *object, const char *key)
{
    if (!pyro_node_is(object, PYRO_JSON_OBJECT))
        return NULL;
    for (const pyro_node *child = object->first; child; child = child->next)
        if (strcmp(child->key, key) == 0)
            return child;
    return NULL;
}

const char *pyro_node_text(const pyro_node *object, const char *key)
{
    const pyro_node *node = pyro_node_get(object, key);

    return pyro_node_is(node, PYRO_JSON_STRING) ? node->text : "";
}

double pyro_node_number(const pyro_node *object, const char *key)
{
    const pyro_node *node = pyro_node_get(object, key);

    return pyro_node_is(node, PYRO_JSON_NUMBER) ? node->number : NAN;
}

bool pyro_node_true(const pyro_node *object, const char *key)
{
    return pyro_node_is(pyro_node_get(object, key), PYRO_JSON_TRUE);
}

static size_t copy_numbers(double *out, const pyro_node *array, double factor)
{
    size_t count = 0;

    for (const pyro_node *child = array->first; child; child = child->next) {
        if (child->kind == PYRO_JSON_ARRAY) {
            count += copy_numbers(out ? out + count : NULL, child, factor);
        } else if (child->kind == PYRO_JSON_NUMBER && isfinite(child->number * factor)) {
            if (out)
                out[count] = child->number * factor;
            count++;
        }
    }
    return count;
}

double *pyro_node_numbers(pyro_document *document, const pyro_node *array, double factor,
                          size_t *count, bool *failed)
{
    *count = 0;
    if (!pyro_node_is(array, PYRO_JSON_ARRAY))
        return NULL;
    size_t total = copy_numbers(NULL, array, factor);
    if (total == 0)
        return NULL;
    double *numbers = pyro_arena_array(&document->arena, total, sizeof *numbers);
    if (!numbers) {
        *failed = true;
        return NULL;
    }
    *count = copy_numbers(numbers, array, factor);
    return numbers;
}

/* A JSON document as a tree in memory, for files of results; bounded in size and depth. */
#ifndef PYRO_HISTORY_IMPORT_DOCUMENT_H
#define PYRO_HISTORY_IMPORT_DOCUMENT_H

#include "base/containers/arena.h"
#include "base/json/json.h"

#include <pyrometer/error.h>

typedef struct pyro_node {
    pyro_json_kind kind; /* of a value: OBJECT, ARRAY, STRING, NUMBER, TRUE, FALSE or NULL */
    const char *key; /* NULL outside of objects */
    const char *text; /* of a string */
    double number;
    const struct pyro_node *first, *next; /* children of an object or array; siblings */
    size_t count; /* of children */
} pyro_node;

typedef struct pyro_document {
    pyro_arena arena;
    const pyro_node *root;
} pyro_document;

/* Free with pyro_document_free(), also after a failure. */
int pyro_document_parse(pyro_document *out, const void *bytes, size_t size, pyro_error *error);
void pyro_document_free(pyro_document *document);

/* All accept NULL nodes, and give NULL, "", NaN or the default if there is no such member. */
const pyro_node *pyro_node_get(const pyro_node *object, const char *key);
const char *pyro_node_text(const pyro_node *object, const char *key);
double pyro_node_number(const pyro_node *object, const char *key);
bool pyro_node_true(const pyro_node *object, const char *key);
bool pyro_node_is(const pyro_node *node, pyro_json_kind kind);
/*
 * The finite numbers of an array, in nested arrays too, times `factor`; NULL and *count 0
 * without any. *failed is set if memory runs out.
 */
double *pyro_node_numbers(pyro_document *document, const pyro_node *array, double factor,
                          size_t *count, bool *failed);

#endif

/* The reader of .pt2 files: its functions for formats.c, and what its files share. */
#ifndef PYRO_READ_PT2_H
#define PYRO_READ_PT2_H

#include "base/containers/buf.h"
#include "base/json/json.h"
#include "base/zip/zip.h"
#include "graph/model.h"
#include "read/formats.h"

/* Limits on the size and expansion of a program; no real export reaches them. */
#define PYRO_PT2_MAX_BYTES (INT64_C(4) << 30)
#define PYRO_PT2_MAX_EXPANSION 400
#define PYRO_PT2_EXPANSION_FREE_BYTES (INT64_C(64) << 20)
/* Threads help with larger programs; below, starting them costs more. */
#define PYRO_PT2_LARGE_BYTES (INT64_C(8) << 20)

/* Rows of formats.c (open.c). */
bool pyro_pt2_is_zip(const pyro_opening *opening);
int pyro_pt2_open_zip(const pyro_opening *opening, pyro_error *error);
bool pyro_pt2_is_json(const pyro_opening *opening);
int pyro_pt2_open_json(const pyro_opening *opening, pyro_error *error);
bool pyro_pt2_is_gzip(const pyro_opening *opening);
int pyro_pt2_open_gzip(const pyro_opening *opening, pyro_error *error);

/* Reads an exported program from a zip archive; `name` selects one of several, NULL: the
 * only one. */
int pyro_pt2_open(pyro_model *model, const pyro_zip *zip, const char *name, pyro_error *error);
/* The JSON of that program. */
int pyro_pt2_open_program(pyro_source **out, const pyro_zip *zip, const char *name,
                          pyro_error *error);
/* Reads only model->facts from an archive, not the graph. */
int pyro_pt2_read_facts(pyro_model *model, const pyro_zip *zip, pyro_error *error);
/* True if the archive contains an exported program, in either layout. */
bool pyro_pt2_is(const pyro_zip *zip);

/* Reads the JSON of an exported program (program.c). */
int pyro_pt2_read_program(pyro_model *model, pyro_source *source, pyro_error *error);

/* Places of nodes that a thread finds; NULL: they are found at once. */
typedef struct pt2_places pt2_places;

/* State of the functions that read JSON. Each returns false after filling the error. */
typedef struct pt2_reader {
    pyro_model *model;
    pyro_json *json;
    pyro_error *error;
    /* scratch for lists whose length is known only at their end */
    uint32_t *values;
    size_t value_count, value_capacity;
    pyro_arg_integer *integers;
    size_t integer_count, integer_capacity;
    pyro_arg *args;
    size_t arg_count, arg_capacity;
    pyro_buf path;
    pt2_places *places;
} pt2_reader;

/* Steps (json.c). The value to read comes next, or for `_at` is the current token. */
bool pt2_expect(pt2_reader *reader, pyro_json_kind kind, const char *what);
/* Moves to the next key of an object: false at its end and on error (then pt2_failed). */
bool pt2_next_key(pt2_reader *reader);
/* Moves to the next item of an array: false at its end and on error. */
bool pt2_next_item(pt2_reader *reader);
bool pt2_failed(const pt2_reader *reader);
bool pt2_skip(pt2_reader *reader);
bool pt2_integer(pt2_reader *reader, int64_t *out, const char *what);
/* Text that is kept: interned in the model. */
bool pt2_text(pt2_reader *reader, const char **out, const char *what);
bool pt2_out_of_memory(pt2_reader *reader);

/* Reads a SymInt, SymBool or plain number as a size; with `is_number` it may be negative. */
bool pt2_size_at(pt2_reader *reader, bool is_number, pyro_size *out);
/* A graph with all its nodes and values (graph.c); the object comes next. */
bool pt2_graph(pt2_reader *reader, pyro_graph *graph);
/* The guards of the export (guards.c); an array of texts comes next. */
bool pt2_guards(pt2_reader *reader);
/* The arguments of a node (args.c); the array comes next. */
bool pt2_args(pt2_reader *reader, pyro_graph *graph, pyro_node *node);
/*
 * Places of nodes in the module tree (places.c). Between start and end, which large programs have
 * around a graph, only these functions may use the modules, and nodes have no places yet.
 */
void pt2_places_start(pt2_reader *reader);
bool pt2_place_node(pt2_reader *reader, pyro_node *node, const char *stack, size_t length);
/* The node is in no module, so no call is open. */
void pt2_place_nowhere(pt2_reader *reader);
/* Without a start it does nothing. */
bool pt2_places_end(pt2_reader *reader);
/* Pyrometer's member beside the program (extra.c); the object comes next. */
bool pt2_extra(pt2_reader *reader, bool *has_ties);
/* Finds a parameter by path; PYRO_NO_VALUE: not found. */
uint32_t pt2_find_parameter(const pyro_model *model, const char *path, size_t length);
/*
 * Reads the rest of an object that is written as `before`, a name, `after`; false: it is written
 * otherwise. The object is the current token. The value is PYRO_NO_VALUE if memory runs out.
 */
bool pt2_take_value(pt2_reader *reader, pyro_graph *graph, const char *before, const char *after,
                    uint32_t *out);
/* The values in a list of Arguments, flattened; the array comes next. */
bool pt2_values(pt2_reader *reader, pyro_graph *graph, const uint32_t **out, uint32_t *count);

#endif

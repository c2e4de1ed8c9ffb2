/*
 * Where compiled code comes from: the graphs that Inductor compiled, the calls of their wrappers in
 * order, and the modules and source lines behind each call. Readers of several formats fill it.
 */
#ifndef PYRO_TRACE_PROVENANCE_PROVENANCE_H
#define PYRO_TRACE_PROVENANCE_PROVENANCE_H

#include "base/containers/arena.h"
#include "base/containers/intern.h"
#include <pyrometer/error.h>
#include <stdbool.h>
#include <stdint.h>

#define PYRO_NO_TEXT UINT32_MAX
/* Bounds for hostile files. */
#define PYRO_MOST_COMPILED_GRAPHS 100000
#define PYRO_MOST_COMPILED_CALLS 4000000

/* A module whose nodes are in a call. */
typedef struct pyro_compiled_owner {
    uint32_t path;       /* from the compiled module on, "blocks.0.attn"; "" is that module */
    uint32_t class_name; /* PYRO_NO_TEXT unknown */
    int64_t bytes;       /* that its nodes write; -1 unknown */
} pyro_compiled_owner;

/* A call of a generated kernel, or of a kernel of a library ("extern_kernels.addmm"). */
typedef struct pyro_compiled_call {
    uint32_t name;
    uint32_t source; /* "model.py:23"; PYRO_NO_TEXT */
    size_t first_owner, owner_count;
} pyro_compiled_call;

typedef struct pyro_compiled_graph {
    uint32_t key; /* in Inductor's cache, which traces show in "## Call CompiledFxGraph KEY ##";
                   * PYRO_NO_TEXT */
    bool is_backward;
    size_t first_call, call_count;
} pyro_compiled_graph;

typedef struct pyro_provenance {
    pyro_arena arena;
    pyro_intern texts;
    pyro_compiled_owner *owners;
    size_t owner_count, owner_capacity;
    pyro_compiled_call *calls;
    size_t call_count, call_capacity;
    pyro_compiled_graph *graphs;
    size_t graph_count, graph_capacity;
    size_t files;       /* that told something */
    const char *folder; /* where they are; NULL: in the trace itself */
    size_t damaged;     /* parts of files that could not be read */
    int64_t rank;       /* whose logs are read; -1: all */
} pyro_provenance;

void pyro_provenance_init(pyro_provenance *all);
void pyro_provenance_free(pyro_provenance *all);

/* Functions that add return false when memory is out or a bound is reached; the rest of a file is
 * then not read. */
bool pyro_provenance_add_graph(pyro_provenance *all, const char *key, bool is_backward);
/* A call of the last graph. */
bool pyro_provenance_add_call(pyro_provenance *all, const char *name, size_t length);
/* Adds bytes to a module of the last call. */
bool pyro_provenance_add_owner(pyro_provenance *all, const char *path, size_t length,
                               const char *class_name, int64_t bytes);
bool pyro_provenance_set_source(pyro_provenance *all, const char *source, size_t length);

static inline const char *pyro_provenance_text(const pyro_provenance *all, uint32_t id)
{
    return id == PYRO_NO_TEXT ? "" : pyro_intern_text(&all->texts, id);
}

/* Writes "/x/model.py:23" of the innermost frame of a stack ('File "/x/model.py", line 23, in forward');
 * false if it has none or does not fit. */
bool pyro_innermost_frame(const char *stack, char *out, size_t size);

/* Whether a name is one that Inductor gives to the kernels that it generates. */
bool pyro_is_generated_kernel(const char *name);

/* notes.c: reads a graph, or a part of one, that our recorder wrote as JSON. A damaged one is
 * counted and ignored. */
int pyro_provenance_read_note(pyro_provenance *all, const char *text, size_t length,
                              pyro_error *error);

/*
 * folder.c: reads all files of a folder, and of the folders in it, that Inductor or TORCH_TRACE
 * wrote. `path` may also be one such file. A folder without any is PYRO_ERROR_FORMAT.
 */
int pyro_provenance_read_folder(pyro_provenance *all, const char *path, pyro_error *error);
/* Reads such files beside a trace, or in a folder beside it that is named after what wrote them. Files
 * that are damaged, or none at all, are no error. */
int pyro_provenance_find_beside(pyro_provenance *all, const char *trace, pyro_error *error);

#endif

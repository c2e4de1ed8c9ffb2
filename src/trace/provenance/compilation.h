/*
 * One compilation of torch.compile while its files are read: the graph that Dynamo captured, which
 * names parameters by their modules, and the graphs that Inductor made of it.
 */
#ifndef PYRO_TRACE_PROVENANCE_COMPILATION_H
#define PYRO_TRACE_PROVENANCE_COMPILATION_H

#include "base/containers/buf.h"
#include "trace/provenance/provenance.h"

#define PYRO_MOST_NODES 1000000

/* What is known of nodes, by the id of their names. */
typedef struct pyro_node_table {
    pyro_arena arena;
    pyro_intern names;
    struct pyro_node_facts {
        uint32_t path; /* in `paths` of the compilation; PYRO_NO_TEXT */
        int64_t bytes; /* of its result; -1 */
        bool has_parameter; /* a parameter or buffer says its path */
    } *facts;
    size_t capacity;
} pyro_node_table;

void pyro_node_table_init(pyro_node_table *table);
void pyro_node_table_free(pyro_node_table *table);
/* The facts of a node, added if it is new; NULL when memory is out. */
struct pyro_node_facts *pyro_node_add(pyro_node_table *table, const char *name, size_t length);
/* NULL: unknown. */
const struct pyro_node_facts *pyro_node_find(const pyro_node_table *table, const char *name,
                                             size_t length);

/* A call in the wrapper that Inductor wrote. Texts are separated by spaces. */
typedef struct pyro_wrapper_call {
    char *name;        /* "extern_kernels.mm" */
    uint32_t handle;   /* of provenance; 0: none */
    char *source_nodes; /* "layer_norm linear" */
    char *arguments;    /* identifiers: "buf1 primals_27" */
    char *post_nodes;   /* nodes of the graph that was compiled: "addmm" */
    char *source;       /* "model.py:23"; NULL */
} pyro_wrapper_call;

typedef struct pyro_compilation {
    pyro_provenance *all;
    pyro_arena arena; /* texts of calls */
    pyro_intern paths; /* of modules */
    pyro_node_table captured; /* Dynamo's graph */
    pyro_node_table compiled; /* the forward graph behind it; primals_N and argN_1 too */
    size_t placeholders; /* of Dynamo's graph that were counted */
    pyro_wrapper_call *calls; /* of the graph that is being read */
    size_t call_count, call_capacity;
    bool is_backward, has_code;
    pyro_buf key;
    bool failed; /* memory is out */
} pyro_compilation;

bool pyro_compilation_init(pyro_compilation *compilation, pyro_provenance *all);
void pyro_compilation_free(pyro_compilation *compilation);
/* Forgets Dynamo's graph: it is captured again. */
void pyro_compilation_restart(pyro_compilation *compilation);
/* Adds the graph whose wrapper was read to the provenance, with the modules of its calls. */
void pyro_compilation_flush(pyro_compilation *compilation);

/* captured_graph.c: reads Dynamo's graph as Python code and infers the modules of its nodes. */
void pyro_read_captured_graph(pyro_compilation *compilation, const char *text, size_t length);
/* compiled_graph.c: reads the sizes of nodes in a graph that Inductor compiled. */
void pyro_read_compiled_graph(pyro_compilation *compilation, const char *text, size_t length);
/* printed.c: bytes of "f32[2, 16, 64][1024, 64, 1]cuda:0"; -1 for other texts and symbolic sizes. */
int64_t pyro_bytes_of_type(const char *text, const char *end);
/* wrapper.c: reads the calls of the code that Inductor wrote. */
void pyro_read_wrapper(pyro_compilation *compilation, const char *text, size_t length);
/* mappings.c: reads maps from kernels to nodes, from nodes to nodes, and from kernels to stacks;
 * false: damaged. */
bool pyro_read_mappings(pyro_compilation *compilation, const char *text, size_t length);

/* The call of "name:handle", or NULL. */
pyro_wrapper_call *pyro_wrapper_find(const pyro_compilation *compilation, const char *name);
/* "model.py:23" of the innermost frame of a stack; NULL: none. */
char *pyro_source_of_stack(pyro_compilation *compilation, const char *stack);

/* printed.c: lines of a text; sets `line` and its length; false at the end. */
bool pyro_next_line(const char **text, const char *end, const char **line, size_t *length);

#endif

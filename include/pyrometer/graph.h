/*
 * Dataflow graphs of models: nodes are calls of modules or operators, edges are the tensors between
 * them. Built from a file, a built-in model or a recording. docs/reference/graph-format.md defines
 * nodes and edges.
 */
#ifndef PYROMETER_GRAPH_H
#define PYROMETER_GRAPH_H

#include <pyrometer/cost.h>
#include <pyrometer/error.h>
#include <pyrometer/trace.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What runs in one pass: the operators in order, their modules, and the tensors between them. */
typedef struct pyro_program pyro_program;

/* Makes a program from a model's cost. The caller may free cost and model afterwards. */
PYRO_API int pyro_program_of_model(pyro_program **out, const pyro_cost *cost, pyro_error *error);
/* Makes a program from a recording with storages: the operators of its first pass, timed over all
 * passes. The caller may close the trace afterwards. PYRO_ERROR_UNSUPPORTED if the trace lacks the
 * required data. */
PYRO_API int pyro_program_of_trace(pyro_program **out, pyro_trace *trace, pyro_error *error);
PYRO_API void pyro_program_free(pyro_program *program);
PYRO_API const char *pyro_program_name(const pyro_program *program);
/* Number of passes that were timed; 0 if the model never ran. */
PYRO_API int64_t pyro_program_passes(const pyro_program *program);

typedef enum pyro_granularity {
    PYRO_GRANULARITY_MODULE, /* down to repeated blocks; leaves elsewhere */
    PYRO_GRANULARITY_LAYER,  /* leaf modules, and operators that run outside of them */
    PYRO_GRANULARITY_OP,     /* operators */
    PYRO_GRANULARITY_COUNT
} pyro_granularity;

typedef enum pyro_op_level {
    PYRO_LEVEL_HIGH, /* torch functions in place of the operators that they called, where known */
    PYRO_LEVEL_ATEN /* every operator that no other operator called */
} pyro_op_level;

typedef enum pyro_graph_node_kind {
    PYRO_GRAPH_NODE_INPUT, /* a tensor that comes from outside the pass */
    PYRO_GRAPH_NODE_MODULE,
    PYRO_GRAPH_NODE_OP
} pyro_graph_node_kind;

/* Unknown amounts are -1. */
typedef struct pyro_graph_node {
    const char *name; /* unique: "layer1.0", "act@1" (its second call), "layer1.0/add", "x" */
    const char *path; /* of the module, or of the operator's module; "" is the model */
    const char *type; /* class of a module, operator, or "input" */
    pyro_graph_node_kind kind;
    int64_t operators; /* number of operators in this node */
    int64_t parameters, parameter_bytes; /* shared ones count once, at their first use */
    int64_t passes; /* timed passes */
    int64_t median_ns, p95_ns, total_ns;
    int64_t flops, moved_bytes;
    int64_t output_bytes; /* outputs that other nodes use or that outlive the pass */
    int64_t device_ns; /* work that it started on devices: mean of its passes */
} pyro_graph_node;

typedef struct pyro_graph_tensor {
    const char *dtype; /* "float32" */
    size_t rank;
    const int64_t *dims; /* -1 where a size depends on data */
    int64_t bytes;
    bool assumed; /* of an edge: that it overlaps with what the node reads is assumed, not known */
} pyro_graph_tensor;

/* An edge between two nodes, which are given by index. */
typedef struct pyro_graph_edge {
    uint32_t from, to;
    uint32_t first_tensor, tensor_count;
    int64_t bytes;
    bool assumed; /* all of its tensors are assumed */
} pyro_graph_edge;

typedef struct pyro_graph_totals {
    int64_t nodes, edges, inputs;
    int64_t parameters, parameter_bytes;
    int64_t flops, moved_bytes;
    int64_t passes;
    int64_t pass_median_ns, pass_p95_ns; /* of a whole pass */
    int64_t node_total_ns; /* sum over nodes of their medians */
    int64_t node_mean_ns, node_max_ns; /* of their medians */
    uint32_t slowest; /* index of a node; UINT32_MAX: none */
} pyro_graph_totals;

typedef struct pyro_dataflow pyro_dataflow;

typedef struct pyro_dataflow_options {
    pyro_granularity granularity;
    pyro_op_level level;
} pyro_dataflow_options;

/* Builds the graph of a program. The program must outlive the graph. */
PYRO_API int pyro_dataflow_build(pyro_dataflow **out, const pyro_program *program,
                                 const pyro_dataflow_options *options, pyro_error *error);
PYRO_API void pyro_dataflow_free(pyro_dataflow *graph);
PYRO_API const char *pyro_dataflow_name(const pyro_dataflow *graph);
PYRO_API pyro_granularity pyro_dataflow_granularity(const pyro_dataflow *graph);
PYRO_API const char *pyro_granularity_name(pyro_granularity granularity);
/* Nodes in the order in which they started, inputs first. */
PYRO_API const pyro_graph_node *pyro_dataflow_nodes(const pyro_dataflow *graph, size_t *count);
/* Edges, sorted by `to`, then by `from`. */
PYRO_API const pyro_graph_edge *pyro_dataflow_edges(const pyro_dataflow *graph, size_t *count);
PYRO_API const pyro_graph_tensor *pyro_dataflow_tensors(const pyro_dataflow *graph, size_t *count);
PYRO_API const pyro_graph_totals *pyro_dataflow_totals(const pyro_dataflow *graph);
PYRO_API const char *const *pyro_dataflow_notes(const pyro_dataflow *graph, size_t *count);

/* A cut between two neighbouring blocks: it splits the graph into two sides. */
typedef struct pyro_cut {
    uint32_t after; /* the last node before the cut */
    int64_t bytes; /* that cross the cut, each tensor once; -1 unknown */
    int64_t tensors;
    int64_t before, behind; /* time in ns, or FLOPs if nothing was timed */
} pyro_cut;

typedef struct pyro_part {
    uint32_t first, last; /* nodes */
    int64_t amount; /* time in ns, or FLOPs */
    int64_t parameters, parameter_bytes;
    int64_t memory_bytes; /* parameters plus the peak of live tensors */
    int64_t received_bytes; /* from earlier parts */
} pyro_part;

/* Minimum number of timed passes for a split by time; with fewer, warm-up dominates. */
#define PYRO_PASSES_FOR_CUTS 5

/* Every cut between two neighbouring blocks, and the best split into parts. */
typedef struct pyro_cuts {
    bool timed; /* amounts are ns; else FLOPs */
    pyro_cut *cuts;
    size_t cut_count;
    pyro_part *parts;
    size_t part_count;
    int64_t memory_limit; /* 0: none */
    char warning[320]; /* why the times are unreliable; "" if they are reliable */
} pyro_cuts;

/*
 * Splits a graph's blocks, in order, into `parts` parts of at most `memory_limit` bytes each (0: no
 * limit). Minimises the slowest part; among equal splits takes the most even one (the smallest sum
 * of squares), then the one whose cuts move the fewest bytes. PYRO_ERROR_ARGUMENT, with the reason,
 * if no such split exists.
 */
PYRO_API int pyro_cuts_find(pyro_cuts *out, const pyro_dataflow *graph, int64_t parts,
                            int64_t memory_limit, pyro_error *error);
PYRO_API void pyro_cuts_free(pyro_cuts *cuts);

typedef enum pyro_graph_format {
    PYRO_GRAPH_TEXT,
    PYRO_GRAPH_DOT,
    PYRO_GRAPH_JSON,
    PYRO_GRAPH_GRAPHML
} pyro_graph_format;

/* Limits for a picture: Graphviz draws it within seconds, and people can still read it. */
#define PYRO_PICTURE_NODES 300
#define PYRO_PICTURE_EDGES 1200

typedef struct pyro_graph_report {
    pyro_graph_format format;
    bool no_edges, no_stats;
    const pyro_cuts *cuts; /* may be NULL */
    /* For dot only. Equal blocks are drawn once, unless their module's path has at most `depth`
     * names. With `for_picture`, a graph that exceeds the limits of a picture fails with
     * PYRO_ERROR_LIMIT. */
    int64_t depth;
    bool for_picture;
} pyro_graph_report;

/* Each returns a NUL-terminated buffer that the caller frees with pyro_free(). */
PYRO_API int pyro_report_graph(char **out, size_t *size, const pyro_dataflow *graph,
                               const pyro_graph_report *report, pyro_error *error);
/* Only the stats section. */
PYRO_API int pyro_report_graph_stats(char **out, size_t *size, const pyro_dataflow *graph,
                                     pyro_error *error);
/* The cuts and the parts as text tables. */
PYRO_API int pyro_report_cuts(char **out, size_t *size, const pyro_dataflow *graph,
                              const pyro_cuts *cuts, pyro_error *error);

#ifdef __cplusplus
}
#endif
#endif

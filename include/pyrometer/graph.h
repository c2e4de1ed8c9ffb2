/*
 * A model as a graph of what runs: nodes are calls of modules or operators, edges the tensors that
 * go from one to the next. From a file, a built-in model or a recording.
 * docs/reference/graph-format.md defines nodes and edges.
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

/* What ran, or would run, in one pass: operators in their order, the modules that they ran in, and
 * the tensors between them. */
typedef struct pyro_program pyro_program;

/* Of a priced model. Nothing of the cost or the model is needed afterwards. */
PYRO_API int pyro_program_of_model(pyro_program **out, const pyro_cost *cost, pyro_error *error);
/* Of a recording with storages: what its first pass did, and the times of all of them. The trace
 * is not needed afterwards. PYRO_ERROR_UNSUPPORTED where it does not hold what it takes. */
PYRO_API int pyro_program_of_trace(pyro_program **out, pyro_trace *trace, pyro_error *error);
PYRO_API void pyro_program_free(pyro_program *program);
PYRO_API const char *pyro_program_name(const pyro_program *program);
/* How often the model ran: times are over so many passes. 0: it never ran. */
PYRO_API int64_t pyro_program_passes(const pyro_program *program);

typedef enum pyro_granularity {
    PYRO_GRANULARITY_MODULE, /* down to repeated blocks; leaves elsewhere */
    PYRO_GRANULARITY_LAYER,  /* leaf modules, and operators that run outside of them */
    PYRO_GRANULARITY_OP,     /* operators */
    PYRO_GRANULARITY_COUNT
} pyro_granularity;

typedef enum pyro_op_level {
    PYRO_LEVEL_HIGH, /* a function of torch stands for the operators that it called, where known */
    PYRO_LEVEL_ATEN /* every operator that was called from outside of another */
} pyro_op_level;

typedef enum pyro_graph_node_kind {
    PYRO_GRAPH_NODE_INPUT, /* a tensor that comes from outside the pass */
    PYRO_GRAPH_NODE_MODULE,
    PYRO_GRAPH_NODE_OP
} pyro_graph_node_kind;

/* Amounts that are not known are -1. */
typedef struct pyro_graph_node {
    const char *name; /* unique: "layer1.0", "act@1" (its second call), "layer1.0/add", "x" */
    const char *path; /* of the module that it is, or ran in; "" is the model */
    const char *type; /* class of a module, operator, or "input" */
    pyro_graph_node_kind kind;
    int64_t operators; /* that it stands for */
    int64_t parameters, parameter_bytes; /* that it uses first: shared ones count once */
    int64_t passes; /* that were timed */
    int64_t median_ns, p95_ns, total_ns;
    int64_t flops, moved_bytes;
    int64_t output_bytes; /* of what it makes that others use, or that is left at the end */
} pyro_graph_node;

typedef struct pyro_graph_tensor {
    const char *dtype; /* "float32" */
    size_t rank;
    const int64_t *dims; /* -1 where a size depends on data */
    int64_t bytes;
    bool assumed; /* of an edge: it may share no byte with what is read, which is not decided */
} pyro_graph_tensor;

/* From one node to another; node numbers are indices. */
typedef struct pyro_graph_edge {
    uint32_t from, to;
    uint32_t first_tensor, tensor_count;
    int64_t bytes;
    bool assumed; /* all of its tensors are */
} pyro_graph_edge;

typedef struct pyro_graph_totals {
    int64_t nodes, edges, inputs;
    int64_t parameters, parameter_bytes;
    int64_t flops, moved_bytes;
    int64_t passes;
    int64_t pass_median_ns, pass_p95_ns; /* of a whole pass */
    int64_t node_total_ns; /* sum over nodes of their medians */
    int64_t node_mean_ns, node_max_ns; /* of their medians */
    uint32_t slowest; /* node; UINT32_MAX none */
} pyro_graph_totals;

typedef struct pyro_dataflow pyro_dataflow;

typedef struct pyro_dataflow_options {
    pyro_granularity granularity;
    pyro_op_level level;
} pyro_dataflow_options;

/* The graph of a program, which must outlive it. */
PYRO_API int pyro_dataflow_build(pyro_dataflow **out, const pyro_program *program,
                                 const pyro_dataflow_options *options, pyro_error *error);
PYRO_API void pyro_dataflow_free(pyro_dataflow *graph);
PYRO_API const char *pyro_dataflow_name(const pyro_dataflow *graph);
PYRO_API pyro_granularity pyro_dataflow_granularity(const pyro_dataflow *graph);
PYRO_API const char *pyro_granularity_name(pyro_granularity granularity);
/* In the order in which they began; inputs come first. */
PYRO_API const pyro_graph_node *pyro_dataflow_nodes(const pyro_dataflow *graph, size_t *count);
/* By the node that they go to, then by the one that they come from. */
PYRO_API const pyro_graph_edge *pyro_dataflow_edges(const pyro_dataflow *graph, size_t *count);
PYRO_API const pyro_graph_tensor *pyro_dataflow_tensors(const pyro_dataflow *graph, size_t *count);
PYRO_API const pyro_graph_totals *pyro_dataflow_totals(const pyro_dataflow *graph);
PYRO_API const char *const *pyro_dataflow_notes(const pyro_dataflow *graph, size_t *count);

/* A cut: everything up to a block on one side, everything behind it on the other. */
typedef struct pyro_cut {
    uint32_t after; /* node that is the last one before the cut */
    int64_t bytes; /* that cross it, each tensor once; -1 not known */
    int64_t tensors;
    int64_t before, behind; /* time in ns, or FLOPs where nothing was timed */
} pyro_cut;

typedef struct pyro_part {
    uint32_t first, last; /* nodes */
    int64_t amount; /* time in ns, or FLOPs */
    int64_t parameters, parameter_bytes;
    int64_t memory_bytes; /* parameters, and the most that lives at one time beside them */
    int64_t received_bytes; /* that come from earlier parts */
} pyro_part;

/* Times of fewer passes than this are too cold to split by. */
#define PYRO_PASSES_FOR_CUTS 5

/* Every cut between two neighbouring blocks, and the best split into parts. */
typedef struct pyro_cuts {
    bool timed; /* amounts are ns; else FLOPs */
    pyro_cut *cuts;
    size_t cut_count;
    pyro_part *parts;
    size_t part_count;
    int64_t memory_limit; /* 0: none */
    char warning[320]; /* why the times are not to be relied on; "" where they are */
} pyro_cuts;

/*
 * Splits a graph's blocks, in their order, into `parts` so that the slowest is as fast as can be,
 * none needs more than `memory_limit` bytes (0: any), of such splits the most even one (the smallest
 * sum of squares), and of those one over whose cuts the fewest bytes go.
 * PYRO_ERROR_ARGUMENT where that cannot be done, with the reason.
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

/* Graphviz draws so many nodes and edges within seconds, and people can still read them. */
#define PYRO_PICTURE_NODES 300
#define PYRO_PICTURE_EDGES 1200

typedef struct pyro_graph_report {
    pyro_graph_format format;
    bool no_edges, no_stats;
    const pyro_cuts *cuts; /* NULL: none */
    /* Of dot alone. Blocks that are alike are drawn once, unless the path of their module has no more
     * than `depth` names; a graph of more nodes or edges than a picture may have is
     * PYRO_ERROR_LIMIT, where it is for one. */
    int64_t depth;
    bool for_picture;
} pyro_graph_report;

/* A NUL-terminated buffer that the caller frees with pyro_free(). */
PYRO_API int pyro_report_graph(char **out, size_t *size, const pyro_dataflow *graph,
                               const pyro_graph_report *report, pyro_error *error);
/* The stats section alone. */
PYRO_API int pyro_report_graph_stats(char **out, size_t *size, const pyro_dataflow *graph,
                                     pyro_error *error);
/* The cuts and the parts as tables for people. */
PYRO_API int pyro_report_cuts(char **out, size_t *size, const pyro_dataflow *graph,
                              const pyro_cuts *cuts, pyro_error *error);

#ifdef __cplusplus
}
#endif
#endif

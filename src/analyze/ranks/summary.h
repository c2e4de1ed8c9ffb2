/*
 * The data kept per rank (a part), and the set of parts. Texts are ids in the table of the set,
 * times are int64 nanoseconds of the rank's wall clock. Parts are sorted by pyro_rank_part_order,
 * so that a set does not depend on the order of merging.
 */
#ifndef PYRO_ANALYZE_RANKS_SUMMARY_H
#define PYRO_ANALYZE_RANKS_SUMMARY_H

#include "analyze/analyze.h"
#include "base/containers/intern.h"
#include <pyrometer/ranks.h>

/* A trace with more contributes only the first ones. */
#define PYRO_RANK_MOST_COLLECTIVES 200000
#define PYRO_RANK_MOST_STEPS 10000
#define PYRO_RANK_MOST_LAYERS 200000
#define PYRO_RANK_LAYER_OPS 3
/* The row of host time outside all known layers and ops. */
#define PYRO_RANK_OUTSIDE "(outside layers)"

typedef struct pyro_rank_step {
    int64_t number; /* -1: the whole trace */
    int64_t start_ns, span_ns;
    int64_t compute_ns, communication_ns, communication_exposed_ns, idle_ns, data_loading_ns;
} pyro_rank_step;

typedef struct pyro_rank_collective {
    uint32_t kind, group; /* texts */
    int64_t step;         /* number of the step that it was called in; -1 the whole trace */
    int64_t ordinal;      /* among those of its kind, group and step */
    int64_t group_size, message_bytes; /* -1 unknown */
    int64_t number;    /* in its group, on all ranks; -1 unknown */
    uint32_t comms_id; /* text that all ranks of this collective share; PYRO_NO_ID */
    int64_t arrival_ns; /* the rank was ready for it */
    int64_t start_ns, end_ns, exposed_ns;
} pyro_rank_collective;

typedef struct pyro_rank_layer_op {
    uint32_t name;
    int64_t host_ns, device_ns; /* per step, mean */
} pyro_rank_layer_op;

/* Own time of a layer in one phase, per step (median); pseudo layers are in parentheses. */
typedef struct pyro_rank_layer {
    uint32_t path, class_name;
    int64_t phase; /* pyro_phase */
    int64_t host_ns, device_ns;
    pyro_rank_layer_op ops[PYRO_RANK_LAYER_OPS]; /* most time first; name PYRO_NO_ID: none */
} pyro_rank_layer;

typedef struct pyro_rank_part {
    int64_t rank, cycle, world_size; /* -1 unknown */
    uint32_t file, device;
    uint32_t host; /* machine that it ran on; PYRO_NO_ID */
    int64_t start_ns, span_ns, events, warnings;
    int64_t on_device; /* 0 or 1 */
    int64_t memory_peak_bytes, flops; /* -1 unknown */
    int64_t left_out; /* collectives over the limit */
    pyro_rank_step *steps;
    size_t step_count, step_capacity;
    pyro_rank_collective *collectives;
    size_t collective_count, collective_capacity;
    pyro_rank_layer *layers; /* by path and phase */
    size_t layer_count, layer_capacity;
} pyro_rank_part;

struct pyro_rank_summary {
    pyro_arena arena;
    pyro_intern texts;
    pyro_rank_part *parts;
    size_t count, capacity;
};

static inline const char *pyro_rank_text(const pyro_rank_summary *summary, uint32_t id)
{
    return id == PYRO_NO_ID ? "" : pyro_intern_text(&summary->texts, id);
}

/* Interns; PYRO_NO_ID when memory is out. */
uint32_t pyro_rank_intern(pyro_rank_summary *summary, const char *text);
/* Compares by rank, cycle, start, file and the other members; 0: the same part. */
int pyro_rank_part_order(const pyro_rank_summary *left_of, const pyro_rank_part *left,
                         const pyro_rank_summary *right_of, const pyro_rank_part *right);
void pyro_rank_part_free(pyro_rank_part *part);
/* Inserts the part and owns it; frees it if the set already has it. */
int pyro_rank_summary_insert(pyro_rank_summary *summary, pyro_rank_part *part, pyro_error *error);

#endif

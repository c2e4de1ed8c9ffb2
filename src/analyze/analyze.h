/*
 * Analyses are callbacks over one pass of the events in order of time: init, event, finish. Each is
 * one file that ends in its row of the table in analyze.c and fills its part of the result.
 */
#ifndef PYRO_ANALYZE_ANALYZE_H
#define PYRO_ANALYZE_ANALYZE_H

#include "base/arena.h"
#include "trace/joins.h"
#include "trace/trace.h"
#include <regex.h>

typedef struct pyro_chip pyro_chip;

/* What every analysis sees. */
typedef struct pyro_analysis_context {
    const pyro_trace *trace;
    const pyro_joins *joins;
    const pyro_analysis_options *options;
    const pyro_chip *chip;     /* hardware/hardware.h; NULL when it is not known */
    pyro_arena *arena;         /* of the result: what it points to lives here */
    pyro_analysis *result;
    pyro_error *error;
    /* Work that analyses share, made before the pass */
    int64_t *op_flops, *op_bytes; /* by index of op detail: -1 no rule, and for ops inside a priced op */
    const regex_t *filter;        /* NULL: everything */
} pyro_analysis_context;

typedef struct pyro_analyzer {
    const char *name;
    size_t state_size; /* zeroed memory that the callbacks share */
    int (*init)(void *state, pyro_analysis_context *context);
    /* Every kept event in order of time, already narrowed to the step and phase asked for. */
    int (*event)(void *state, pyro_analysis_context *context, uint32_t event);
    int (*finish)(void *state, pyro_analysis_context *context);
} pyro_analyzer;

extern const pyro_analyzer pyro_analyze_steps, pyro_analyze_gaps, pyro_analyze_layers,
    pyro_analyze_ops, pyro_analyze_kernels, pyro_analyze_communication, pyro_analyze_memory,
    pyro_analyze_launch, pyro_analyze_copies, pyro_analyze_syncs, pyro_analyze_loading,
    pyro_analyze_stacks;

/* After the pass, over the finished result (findings.def). */
int pyro_find_findings(pyro_analysis_context *context);

/* True when `start` lies in the step asked for, or none was asked for. */
bool pyro_context_in_step(const pyro_analysis_context *context, int64_t start_ns);

#endif

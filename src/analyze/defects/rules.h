/* What the rules about defects of a trace look at, and the rules. */
#ifndef PYRO_ANALYZE_DEFECTS_RULES_H
#define PYRO_ANALYZE_DEFECTS_RULES_H

#include "analyze/analyze.h"
#include "base/containers/buf.h"

/* Gathered in one pass in order of time. */
typedef struct pyro_defect_facts {
    uint8_t *name_kinds; /* by interned name: what a call of this name is (gather.c) */
    uint8_t *has_work;   /* bit by event: a launch whose device work is in the file */
    uint32_t *launches;  /* of kernels, outside captures of graphs */
    size_t launch_count, launch_capacity;
    uint32_t *waits; /* device-side waits for an event */
    size_t wait_count, wait_capacity;
    pyro_map records; /* correlation to the call that records an event */
    int64_t *busy_until_ns; /* by track */
    uint8_t *has_launches;  /* by track: some work so far has its launch in the file */
    int64_t work, kernels;
    int64_t orphans, orphan_ns;             /* work without a launch */
    int64_t launched_before, before_ns; /* of it, first on its stream */
    int64_t early_kernels, earliest_ns;
    int64_t stream_overlaps;
    int64_t collectives, bare_collectives;
    int64_t device_ops; /* ops that exist for devices only */
    uint32_t device_op; /* one of them */
    int open_captures;
} pyro_defect_facts;

/* A rule writes its evidence and returns how many events have the defect; 0: none. */
typedef int64_t pyro_defect_rule(const pyro_defect_facts *facts,
                                 const pyro_analysis_context *context, pyro_buf *evidence);

#define DEFECT(id, rule, severity, title, cause, advice) pyro_defect_rule pyro_defect_##rule;
#include "analyze/defects/defects.def"
#undef DEFECT

/* Adds one event, in order of time; false when memory is out (gather.c). */
bool pyro_defects_begin(pyro_defect_facts *facts, const pyro_analysis_context *context);
bool pyro_defects_add(pyro_defect_facts *facts, const pyro_analysis_context *context,
                      uint32_t event);
void pyro_defects_free(pyro_defect_facts *facts);

#endif

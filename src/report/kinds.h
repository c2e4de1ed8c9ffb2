/* Kinds of reports. Each has one writer per format (writers.def). */
#ifndef PYRO_REPORT_KINDS_H
#define PYRO_REPORT_KINDS_H

typedef enum pyro_report_kind {
    PYRO_REPORT_NONE,
    PYRO_REPORT_COST,
    PYRO_REPORT_TRAIN,        /* of a training step */
    PYRO_REPORT_SIDE_BY_SIDE, /* several costs */
    PYRO_REPORT_DIFF,         /* two costs */
    PYRO_REPORT_MODELS,
    PYRO_REPORT_CHECK,
    PYRO_REPORT_TRACEABLE,
    PYRO_REPORT_TRACE,
    PYRO_REPORT_PASSES,
    PYRO_REPORT_TRACE_DIFF,
    PYRO_REPORT_RANKS,
    PYRO_REPORT_BENCH,
    PYRO_REPORT_VERDICT,
    PYRO_REPORT_GRAPH,
    PYRO_REPORT_DOCTOR,
    PYRO_REPORT_HISTORY,
    PYRO_REPORT_LEARN,
    PYRO_REPORT_REPLAY,
    PYRO_REPORT_FUSION,
    PYRO_REPORT_HARDWARE,
    PYRO_REPORT_FIT,
    PYRO_REPORT_MAP,
    PYRO_REPORT_KIND_COUNT
} pyro_report_kind;

#endif

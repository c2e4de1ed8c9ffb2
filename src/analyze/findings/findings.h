/* Inside the findings: what detectors see, and what they say. */
#ifndef PYRO_ANALYZE_FINDINGS_FINDINGS_H
#define PYRO_ANALYZE_FINDINGS_FINDINGS_H

#include "analyze/analyze.h"
#include "hardware/hardware.h"

typedef struct pyro_evidence {
    double value; /* against the row's thresholds */
    const char *text, *place;
    int64_t gain_ns; /* -1 unknown */
} pyro_evidence;

/* What the chip could have done in the time that priced ops took. */
typedef struct pyro_roofline {
    bool is_made;
    int64_t priced_ns;       /* device time of ops whose FLOPs and bytes are known */
    int64_t memory_bound_ns; /* of it, in ops below the ridge */
    int64_t long_ns, lost_ns; /* of ops that are no mere launches, and above the roofline */
    uint32_t memory_bound_op, lost_op; /* names with the most of each; PYRO_NO_ID */
} pyro_roofline;

/* Totals that several detectors use. */
typedef struct pyro_finder {
    pyro_analysis_context *context;
    const pyro_analysis *result;
    int64_t span_ns;      /* of all steps, or of the whole trace */
    int64_t steps;        /* 1 where the trace has none */
    int64_t idle_ns;
    bool has_device_work;
    bool memory_out;      /* set by pyro_evidence_say and pyro_finder_* */
    uint8_t *kernel_family; /* by name; read it with pyro_finder_family */
    uint32_t *kernels;      /* that are wanted, in order of time */
    size_t kernel_count;
    pyro_roofline roofline;
} pyro_finder;

enum {
    PYRO_FAMILY_CONTRACTION = 1,
    PYRO_FAMILY_TENSOR_CORE = 2,
    PYRO_FAMILY_LAYOUT = 4,
    PYRO_FAMILY_ELEMENTWISE = 8,
    PYRO_FAMILY_KNOWN = 128
};

/* The number that a row is about; false when the trace cannot tell. */
typedef bool (*pyro_detector)(pyro_finder *finder, pyro_evidence *evidence);

/* Sets the text, in the analysis' arena. */
void pyro_evidence_say(pyro_finder *finder, pyro_evidence *evidence, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The first of the texts that is not empty. */
const char *pyro_first_text(const char *a, const char *b, const char *c);
/* PYRO_FAMILY_* of an event that is a kernel. */
uint8_t pyro_finder_family(pyro_finder *finder, uint32_t event);
/* The id of a name, PYRO_NO_ID when no event has it. */
uint32_t pyro_finder_name(const pyro_finder *finder, const char *name);
/* Element type of an op's first tensor, as its types say; PYRO_DTYPE_UNKNOWN. */
pyro_dtype pyro_finder_dtype(const pyro_finder *finder, uint32_t op);

#define DETECTOR(name) bool pyro_detect_##name(pyro_finder *finder, pyro_evidence *evidence)
#define FINDING(id, detector, warning, severe, title, advice) DETECTOR(detector);
#include "analyze/findings/findings.def"
#undef FINDING

#endif

/* The input and output of the detectors of model.def, and helpers that they share. */
#ifndef PYRO_ANALYZE_FINDINGS_MODEL_H
#define PYRO_ANALYZE_FINDINGS_MODEL_H

#include "analyze/findings/evidence.h"
#include <pyrometer/recommend.h>

/* The evidence, with the groups of its operators. */
typedef struct pyro_model_view {
    const pyro_model_evidence *known;
    const unsigned *groups; /* PYRO_GROUP_* by operator */
} pyro_model_view;

/* The result of a detector; members that it does not set are "". */
typedef struct pyro_advice {
    pyro_evidence seen;
    const char *gain, *variant;
    const char *advice; /* replaces the row's */
} pyro_advice;

/* Measures the number of a row; false when the evidence lacks the data for it. */
typedef bool (*pyro_model_detector)(const pyro_model_view *view, pyro_advice *advice);

/* Share of the operators' own time, and calls, of the operators in any of the groups. */
typedef struct pyro_group_share {
    double share;
    int64_t calls;
} pyro_group_share;
pyro_group_share pyro_model_share(const pyro_model_view *view, unsigned groups);

/* Share of a call in which the model waits; estimated from the use of the processor where the
 * scheduler does not report it. */
double pyro_model_waiting_share(const pyro_model_evidence *known);

/* True when a list, separated by spaces, has the word. */
bool pyro_list_has(const char *list, const char *word);
/* True when the model is of one of the kinds, separated by spaces. */
bool pyro_model_is_kind(const pyro_model_evidence *known, const char *kinds);
bool pyro_model_is_precision(const pyro_model_evidence *known, const char *precision);

static inline double pyro_mebibytes(double bytes)
{
    return bytes / (1 << 20);
}

#define MODEL_DETECTOR(name) \
    bool pyro_advise_##name(const pyro_model_view *view, pyro_advice *advice)
/* The threshold function is for detectors that depend on another row. */
#define RECOMMENDATION(id, detector, rank, threshold, subject, advice, covers) \
    MODEL_DETECTOR(detector); \
    static inline double pyro_threshold_of_##detector(void) \
    { \
        return threshold; \
    }
#include "analyze/findings/model/model.def"
#undef RECOMMENDATION

#endif

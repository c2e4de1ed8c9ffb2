/* Makes the list of findings from what the rules found: families, gains, severities, order. */
#ifndef PYRO_ANALYZE_FINDINGS_FAMILIES_H
#define PYRO_ANALYZE_FINDINGS_FAMILIES_H

#include "analyze/findings/findings.h"

/* A row of findings.def that was found. */
typedef struct pyro_found {
    const char *id, *title, *advice;
    double severe; /* the row's severe threshold */
    pyro_evidence evidence;
} pyro_found;

/* Fills the findings of the result and their parts; changes gains in `found`. */
int pyro_list_findings(pyro_analysis_context *context, const pyro_finder *finder, pyro_found *found,
                       size_t count);

#endif

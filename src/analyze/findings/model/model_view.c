/* Helpers of the detectors of model.def: shares of the evidence, lists, kinds. */
#include "analyze/findings/model/model.h"

#include <math.h>
#include <string.h>

pyro_group_share pyro_model_share(const pyro_model_view *view, unsigned groups)
{
    /* An operator that only calls others has hardly any own time, and does not count as a call. */
    const double least_share = 0.002;
    pyro_group_share sums = {0};
    for (size_t i = 0; i < view->known->op_count; i++) {
        const pyro_op_share *op = &view->known->ops[i];
        if (!(view->groups[i] & groups))
            continue;
        sums.share += op->share;
        sums.calls += op->share >= least_share ? op->calls : 0;
    }
    return sums;
}

double pyro_model_waiting_share(const pyro_model_evidence *known)
{
    if (known->on_gpu)
        return 0;
    if (!isnan(known->waiting_share))
        return known->waiting_share;
    return isnan(known->cpu_percent) ? 0 : fmax(0, 1 - known->cpu_percent / 100);
}

bool pyro_list_has(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = list; *at; at += strspn(at, " ")) {
        size_t here = strcspn(at, " ");
        if (here == length && !memcmp(at, word, length))
            return true;
        at += here;
    }
    return false;
}

bool pyro_model_is_kind(const pyro_model_evidence *known, const char *kinds)
{
    return known->kind && pyro_list_has(kinds, known->kind);
}

bool pyro_model_is_precision(const pyro_model_evidence *known, const char *precision)
{
    return known->precision && !strcmp(known->precision, precision);
}

/* Distinguishes ops that compute from those that wrap or wait. */
#include "analyze/ranks/summarize.h"

#include "analyze/device/collective.h"

#include <string.h>

static bool has_prefix(const char *name, const char *prefix)
{
    return strncmp(name, prefix, strlen(prefix)) == 0;
}

bool pyro_rank_is_compute(const char *name)
{
    return strstr(name, "::") && !has_prefix(name, "autograd::") &&
           !has_prefix(name, "torch::autograd::") && !has_prefix(name, "profiler::") &&
           !pyro_is_communication(name);
}

/* Results of CUPTI as states of the collector, with a line for users. */
#include "device/cupti_failures.h"

#include "device/cupti_subscription.h"

#include <stdio.h>

pyro_collector_state pyro_cupti_explain(const pyro_cupti *cupti, const char *what, int result,
                                        char *reason, size_t size)
{
    char holder[64];
    switch (result) {
    case 0:
        snprintf(reason, size, "%s", what);
        return PYRO_COLLECTOR_FAILED;
    case PYRO_CUPTI_TAKEN:
        pyro_cupti_find_holder(cupti, holder, sizeof holder);
        snprintf(reason, size,
                 "another profiler in this process uses CUPTI (torch.profiler, Nsight, "
                 "compute-sanitizer%s%s)",
                 holder[0] ? "; its name there is " : "", holder);
        return PYRO_COLLECTOR_TAKEN;
    case PYRO_CUPTI_NO_PRIVILEGES:
        snprintf(reason, size,
                 "the driver restricts profiling to administrators "
                 "(NVreg_RestrictProfilingToAdminUsers)");
        return PYRO_COLLECTOR_NOT_ALLOWED;
    case PYRO_CUPTI_NO_DRIVER:
        snprintf(reason, size,
                 "CUPTI %u cannot connect to the NVIDIA driver, which may be too old for it",
                 cupti->version);
        return PYRO_COLLECTOR_TOO_OLD;
    default:
        snprintf(reason, size, "%s: %s", what, pyro_cupti_text(cupti, result));
        return PYRO_COLLECTOR_FAILED;
    }
}

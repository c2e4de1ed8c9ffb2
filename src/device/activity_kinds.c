/* Switches kinds of records on and off. */
#include "device/activity_kinds.h"

#include "device/collector.h"

/* A kind of records, and the bit that asks for it; 0: always collected. */
static const struct {
    int kind;
    uint32_t bit;
} kinds[] = {{PYRO_CUPTI_CONCURRENT_KERNEL, 0},
             {PYRO_CUPTI_MEMCPY, 0},
             {PYRO_CUPTI_PEER_MEMCPY, 0},
             {PYRO_CUPTI_MEMSET, PYRO_COLLECT_SETS},
             {PYRO_CUPTI_SYNCHRONIZATION, PYRO_COLLECT_SYNCS},
             {PYRO_CUPTI_OVERHEAD, PYRO_COLLECT_OVERHEAD}};

int pyro_activity_kinds_enable(const pyro_cupti_subscription *use, const pyro_cupti *cupti,
                               uint32_t more)
{
    /* Queries of events, which allocators and NCCL repeat until the work has ended, would be most of
     * the synchronizations. */
    if (cupti->record_queries)
        cupti->record_queries(0);
    int result = pyro_cupti_enable(use, kinds[0].kind);
    for (size_t i = 1; result == PYRO_CUPTI_SUCCESS && i < sizeof kinds / sizeof *kinds; i++)
        if (!kinds[i].bit || kinds[i].bit & more)
            pyro_cupti_enable(use, kinds[i].kind);
    return result;
}

void pyro_activity_kinds_disable(const pyro_cupti_subscription *use)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        pyro_cupti_disable(use, kinds[i].kind);
}

/* Sweeps over classes of intervals. */
#include "analyze/intervals.h"

void pyro_sweep_init(pyro_sweep *sweep, unsigned class_count, int64_t start_ns,
                     pyro_segment_fn segment, void *user)
{
    sweep->segment = segment;
    sweep->user = user;
    sweep->class_count = class_count;
    sweep->now_ns = start_ns;
    for (unsigned i = 0; i < PYRO_SWEEP_CLASSES; i++)
        sweep->until_ns[i] = start_ns;
}

void pyro_sweep_to(pyro_sweep *sweep, int64_t time_ns)
{
    while (sweep->now_ns < time_ns) {
        int64_t next = time_ns;
        unsigned classes = 0;
        for (unsigned i = 0; i < sweep->class_count; i++) {
            if (sweep->until_ns[i] <= sweep->now_ns)
                continue;
            classes |= 1u << i;
            if (sweep->until_ns[i] < next)
                next = sweep->until_ns[i];
        }
        sweep->segment(sweep->user, sweep->now_ns, next, classes);
        sweep->now_ns = next;
    }
}

/* The number of usable processors. */
#ifndef PYRO_BASE_PROCESSORS_H
#define PYRO_BASE_PROCESSORS_H

/* Number of threads that can run at once, within the limits of `taskset` and containers. */
int pyro_count_processors(void);

#endif

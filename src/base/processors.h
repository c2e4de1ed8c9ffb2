/* How many threads are worth starting. */
#ifndef PYRO_BASE_PROCESSORS_H
#define PYRO_BASE_PROCESSORS_H

/* How many threads may run here at once: what `taskset` and containers leave of the machine. */
int pyro_count_processors(void);

#endif

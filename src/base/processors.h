/* The number of usable processors, and the name of their model. */
#ifndef PYRO_BASE_PROCESSORS_H
#define PYRO_BASE_PROCESSORS_H

/* Number of threads that can run at once, within the limits of `taskset` and containers. */
int pyro_count_processors(void);

/* Model of the first processor: "AMD EPYC 9554 64-Core Processor", "Neoverse-N1"; "unknown". */
#define PYRO_PROCESSOR_NAME 80
void pyro_processor_name(char name[PYRO_PROCESSOR_NAME]);
/* The same from the text of /proc/cpuinfo. */
void pyro_processor_name_in(char name[PYRO_PROCESSOR_NAME], const char *cpuinfo);

#endif

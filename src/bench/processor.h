/* Parsers for the kernel's description of a processor. */
#ifndef PYRO_BENCH_PROCESSOR_H
#define PYRO_BENCH_PROCESSOR_H

#include <pyrometer/bench.h>

enum { PYRO_CACHE_LEVELS = 5 }; /* 1 to 4 are used */

/* Reads the sizes of data caches from a folder with index0, index1, ...; 0: unknown. */
void pyro_caches_read(int64_t bytes[PYRO_CACHE_LEVELS], const char *folder);
/* Bytes to write to evict caches of these sizes; -1 if all are unknown. */
int64_t pyro_caches_eviction_bytes(const int64_t bytes[PYRO_CACHE_LEVELS], int64_t threads);
/* The extension for bfloat16 products among the flags of /proc/cpuinfo; NULL: none. */
const char *pyro_find_bfloat16(const char *cpuinfo);

#endif

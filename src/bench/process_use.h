/* Parsers for the kernel's counters of a process. */
#ifndef PYRO_BENCH_PROCESS_USE_H
#define PYRO_BENCH_PROCESS_USE_H

#include <pyrometer/bench.h>

/* /proc/self/net/dev: sums over all interfaces except loopback; both -1 if the text is damaged. */
void pyro_parse_network(const char *text, int64_t *received_bytes, int64_t *sent_bytes);
/* /proc/self/schedstat: time that a thread was runnable but had no processor; -1: damaged. */
int64_t pyro_parse_run_delay_ns(const char *text);
/* /proc/self/statm: pages in memory; -1: damaged. */
int64_t pyro_parse_resident_pages(const char *text);

#endif

/* A set of times as sorted intervals: how much of an interval it covers, and set differences. */
#ifndef PYRO_ANALYZE_COVERAGE_H
#define PYRO_ANALYZE_COVERAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pyro_stretch {
    int64_t start_ns, end_ns;
    int64_t before_ns; /* covered before its start */
} pyro_stretch;

typedef struct pyro_coverage {
    pyro_stretch *items;
    size_t count, capacity;
} pyro_coverage;

/* In any order; false when memory is out. */
bool pyro_coverage_add(pyro_coverage *coverage, int64_t start_ns, int64_t end_ns);
/* Sorts and merges the added intervals. Call it before the functions below. */
void pyro_coverage_finish(pyro_coverage *coverage);
int64_t pyro_coverage_overlap(const pyro_coverage *coverage, int64_t start_ns, int64_t end_ns);
/* Fills an empty coverage with `whole` minus `part`; false when memory is out. */
bool pyro_coverage_difference(pyro_coverage *out, const pyro_coverage *whole,
                              const pyro_coverage *part);
void pyro_coverage_free(pyro_coverage *coverage);

#endif

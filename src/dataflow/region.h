/*
 * The bytes of a storage that a tensor covers: a first byte and the sums of arithmetic
 * progressions, one per dimension. Decides exactly, up to a bounded amount of work, whether two
 * regions overlap, and which bytes of one region later ones do not cover.
 */
#ifndef PYRO_DATAFLOW_REGION_H
#define PYRO_DATAFLOW_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PYRO_REGION_AXES 8

typedef struct pyro_axis {
    int64_t count, stride; /* bytes 0, stride, 2 * stride, ...; count at least 2 */
} pyro_axis;

typedef struct pyro_region {
    int64_t begin, end; /* first byte, and the one after the last; `end` negative: unknown */
    bool exact;         /* the axes define which bytes in between; else these are unknown */
    uint32_t axis_count;
    pyro_axis axes[PYRO_REGION_AXES]; /* by falling stride; no two can be joined into one */
} pyro_region;

typedef enum pyro_meeting {
    PYRO_APART,
    PYRO_MEET,
    PYRO_MAY_MEET /* unknown, or more work than allowed */
} pyro_meeting;

/* All bytes from `begin` to `end`. */
pyro_region pyro_region_run(int64_t begin, int64_t end);
/* Some unknown bytes from `begin` to `end`; with a negative end anywhere. */
pyro_region pyro_region_somewhere(int64_t begin, int64_t end);
/* A tensor's elements; strides count elements. */
pyro_region pyro_region_strided(int64_t begin, int64_t element_bytes, size_t rank,
                                const int64_t *sizes, const int64_t *strides);

pyro_meeting pyro_regions_meet(const pyro_region *a, const pyro_region *b);
/* True when every byte of `inner` is certainly one of `outer`. */
bool pyro_region_covers(const pyro_region *outer, const pyro_region *inner);

/*
 * Lays regions over `below`, the first on top. `visible[i]`: some byte of `below` is seen in region
 * i; the last entry: some byte is in none. The work is subtracted from `budget`. False when a
 * region is not exact, or budget or memory is out: then the result is unknown.
 */
bool pyro_regions_stack(const pyro_region *below, const pyro_region *const *above, size_t count,
                        int64_t *budget, bool *visible);
/* Upper and lower bound of the number of bytes in the region. */
double pyro_region_most_bytes(const pyro_region *region);
double pyro_region_least_bytes(const pyro_region *region);

#endif

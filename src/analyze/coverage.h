/* A set of times as sorted stretches: how much of an interval it covers, and what another leaves. */
#ifndef PYRO_ANALYZE_COVERAGE_H
#define PYRO_ANALYZE_COVERAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pyro_stretch {
    int64_t start_ns, end_ns;
    int64_t before_ns; /* covered before its start */
} pyro_stretch;

typedef struct pyro_cover {
    pyro_stretch *items;
    size_t count, capacity;
} pyro_cover;

/* In any order; false when memory is out. */
bool pyro_cover_add(pyro_cover *cover, int64_t start_ns, int64_t end_ns);
/* Sorts and joins what was added; before it nothing below may be asked. */
void pyro_cover_finish(pyro_cover *cover);
int64_t pyro_cover_overlap(const pyro_cover *cover, int64_t start_ns, int64_t end_ns);
/* Fills an empty cover with what of `whole` is not in `part`; false when memory is out. */
bool pyro_cover_difference(pyro_cover *out, const pyro_cover *whole, const pyro_cover *part);
void pyro_cover_free(pyro_cover *cover);

#endif

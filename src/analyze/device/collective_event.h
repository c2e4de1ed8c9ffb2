/* Describes one collective that ran on a device: its kind, group, type and size. */
#ifndef PYRO_ANALYZE_DEVICE_COLLECTIVE_EVENT_H
#define PYRO_ANALYZE_DEVICE_COLLECTIVE_EVENT_H

#include "analyze/analyze.h"
#include "analyze/enclosing.h"

typedef struct pyro_collective_finder {
    pyro_map by_external_id; /* ops that describe a collective */
    pyro_enclosing enclosing;
} pyro_collective_finder;

/* False when memory is out. */
bool pyro_collective_finder_init(pyro_collective_finder *finder, const pyro_trace *trace);
void pyro_collective_finder_free(pyro_collective_finder *finder);

/* A row without numbers that stands for its kind, group, type and size. Equal texts have equal
 * addresses. `event` is a kernel; `found` (or NULL) gets its description, or NULL. */
pyro_collective_row pyro_collective_describe(pyro_collective_finder *finder,
                                             const pyro_analysis_context *context, uint32_t event,
                                             const pyro_collective_detail **found);

/* Rows that differ in kind, group, type or size. Begins as zeros. */
typedef struct pyro_collective_set {
    pyro_map by_key;
    pyro_collective_row *rows;
    size_t count, capacity;
} pyro_collective_set;

/* Index of the row, which is added if it is missing; PYRO_NO_EVENT when memory is out. */
uint32_t pyro_collective_set_find(pyro_collective_set *set, const pyro_collective_row *wanted);
void pyro_collective_set_free(pyro_collective_set *set);

/* The description of a collective by an op; NULL: none. */
const pyro_collective_detail *pyro_collective_of_op(const pyro_trace *trace, uint32_t event);
/* Bytes of the larger side of a message; -1 unknown. */
int64_t pyro_collective_bytes(const pyro_trace *trace, const pyro_collective_detail *detail);

#endif

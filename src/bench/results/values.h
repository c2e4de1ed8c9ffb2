/* Readers of the values of results: single values, and objects by tables of their members. */
#ifndef PYRO_BENCH_RESULTS_VALUES_H
#define PYRO_BENCH_RESULTS_VALUES_H

#include "base/json/json.h"
#include "bench/results/results.h"

typedef struct pyro_results_reader {
    pyro_json *json;
    pyro_bench *bench;
    pyro_error *error;
    bool schema_seen;
} pyro_results_reader;

/* Reads the value of a key into `target`. */
typedef int (*pyro_results_fn)(pyro_results_reader *r, void *target);

typedef struct pyro_results_member {
    const char *key; /* NULL ends a table */
    pyro_results_fn read;
    size_t offset; /* of the target within the object's own target */
} pyro_results_member;

/* Into a const char *, NULL for null; copies the text. */
int pyro_results_string(pyro_results_reader *r, void *target);
int pyro_results_required_string(pyro_results_reader *r, void *target);
/* Into an int64_t and a double; null leaves the value unchanged. */
int pyro_results_integer(pyro_results_reader *r, void *target);
int pyro_results_number(pyro_results_reader *r, void *target);
int pyro_results_boolean(pyro_results_reader *r, void *target);
/* An array of numbers of at least 0. */
int pyro_results_amounts(pyro_results_reader *r, const double **out, size_t *count);
/* {"name": "value", ...}; `count` is the length of `pairs`. */
int pyro_results_pairs(pyro_results_reader *r, pyro_pair **pairs, size_t *count);
/* Members in the table; skips all others. `object` also reads the {. */
int pyro_results_members(pyro_results_reader *r, const pyro_results_member *members, void *target);
int pyro_results_object(pyro_results_reader *r, const pyro_results_member *members, void *target);

#endif

/* What reading results is made of: one value each, and objects by tables of their members. */
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

/* What to do with the value behind a key; `target` is what it fills. */
typedef int (*pyro_results_fn)(pyro_results_reader *r, void *target);

typedef struct pyro_results_member {
    const char *key; /* NULL ends a table */
    pyro_results_fn read;
    size_t offset; /* of what it fills in the object's own target */
} pyro_results_member;

/* Into a const char *, NULL for null; the text is copied. */
int pyro_results_string(pyro_results_reader *r, void *target);
int pyro_results_required_string(pyro_results_reader *r, void *target);
/* Into an int64_t and a double; null leaves what is there. */
int pyro_results_integer(pyro_results_reader *r, void *target);
int pyro_results_number(pyro_results_reader *r, void *target);
int pyro_results_boolean(pyro_results_reader *r, void *target);
/* An array of numbers that are not below 0. */
int pyro_results_amounts(pyro_results_reader *r, const double **out, size_t *count);
/* {"name": "value", ...}; `pairs` and `count` belong together. */
int pyro_results_pairs(pyro_results_reader *r, pyro_pair **pairs, size_t *count);
/* Members that are named in the table; all others are passed over. `object` reads the { too. */
int pyro_results_members(pyro_results_reader *r, const pyro_results_member *members, void *target);
int pyro_results_object(pyro_results_reader *r, const pyro_results_member *members, void *target);

#endif

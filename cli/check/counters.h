/* Gets the counts of other tools and explains how they differ from ours. */
#ifndef PYRO_CLI_CHECK_COUNTERS_H
#define PYRO_CLI_CHECK_COUNTERS_H

#include "cli/options/model.h"

#include "base/containers/arena.h"
#include "report/cost/check.h"

/* The count of one model by another tool. */
typedef struct pyro_counted_op {
    const char *name;
    int64_t count;
} pyro_counted_op;

typedef struct pyro_their_count {
    int64_t model; /* index of the model */
    const char *counter, *error; /* NULL: no error */
    int64_t total;
    pyro_counted_op *ops; /* by operator, then the operators without a rule */
    size_t op_count, uncounted_from, op_capacity;
} pyro_their_count;

/* The state of a comparison; the arena owns the texts. */
typedef struct pyro_check_session {
    pyro_arena arena;
    pyro_check check;
    const pyro_pricing *pricing;
    const pyro_priced *priced;
    const char *const *specs;
    size_t model_count;
} pyro_check_session;

/* Adds a row with only its model and counter set; NULL: out of memory. */
pyro_check_row *pyro_check_add_row(pyro_check_session *session, size_t model, const char *counter);
/* Adds a formatted reason to a row. False: out of memory. */
bool pyro_check_add_reason(pyro_check_session *session, pyro_check_row *row, const char *op,
                           int64_t flops, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* Adds the operators that we do not count to the reasons of a row. */
bool pyro_check_explain_unpriced(pyro_check_session *session, pyro_check_row *row,
                                 const pyro_cost *cost);
/* Fills the reasons of a row: the difference of the counts by operator. They add up. */
bool pyro_check_explain(pyro_check_session *session, pyro_check_row *row, const pyro_cost *cost,
                        const pyro_their_count *theirs);

/*
 * Runs the counters (words such as "fvcore") in Python on all models of the session and adds their
 * rows. False when they cannot run: the reason is printed and the exit code is set.
 */
bool pyro_check_run_counters(pyro_check_session *session, const char *const *counters,
                             size_t counter_count, const char *python, int *exit_code);
/*
 * Adds the rows for torchvision's published numbers. A model that is not published gets a row with
 * an error if torchvision was the only counter requested (`expected`), else no row.
 */
bool pyro_check_add_published(pyro_check_session *session, bool expected);

#endif

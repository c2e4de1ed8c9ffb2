/* Asking other counters about models, and saying where their count and ours part. */
#ifndef PYRO_CLI_CHECK_COUNTERS_H
#define PYRO_CLI_CHECK_COUNTERS_H

#include "cli/options/model.h"

#include "base/containers/arena.h"
#include "report/cost/check.h"

/* What one counter said of one model. */
typedef struct pyro_counted_op {
    const char *name;
    int64_t count;
} pyro_counted_op;

typedef struct pyro_their_count {
    int64_t model; /* index of the model that was asked about */
    const char *counter, *error; /* NULL: no error */
    int64_t total;
    pyro_counted_op *ops; /* by operator, and behind them those without a rule */
    size_t op_count, uncounted_from, op_capacity;
} pyro_their_count;

/* A comparison in the making; texts live in the arena. */
typedef struct pyro_check_session {
    pyro_arena arena;
    pyro_check check;
    const pyro_pricing *pricing;
    const pyro_priced *priced;
    const char *const *specs;
    size_t model_count;
} pyro_check_session;

/* Adds a row, empty but for its model and counter; NULL when memory is out. */
pyro_check_row *pyro_check_add_row(pyro_check_session *session, size_t model, const char *counter);
/* Adds a reason, made with printf, to a row. False when memory is out. */
bool pyro_check_add_reason(pyro_check_session *session, pyro_check_row *row, const char *op,
                           int64_t flops, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* Adds what our own count leaves out to the reasons of a row. */
bool pyro_check_explain_unpriced(pyro_check_session *session, pyro_check_row *row,
                                 const pyro_cost *cost);
/* Fills the reasons of a row: what parts the two counts, by operator; they add up. */
bool pyro_check_explain(pyro_check_session *session, pyro_check_row *row, const pyro_cost *cost,
                        const pyro_their_count *theirs);

/*
 * Runs the counters (words such as "fvcore") in Python on all models of the session and adds their
 * rows. False, with the reason said and the exit code set, where they cannot be run at all.
 */
bool pyro_check_run_counters(pyro_check_session *session, const char *const *counters,
                             size_t counter_count, const char *python, int *exit_code);
/*
 * Adds the rows of what torchvision publishes. A model of which nothing is known gets a row with an
 * error where it was asked for by itself (`expected`), else none.
 */
bool pyro_check_add_published(pyro_check_session *session, bool expected);

#endif

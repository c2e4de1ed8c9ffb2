/* Plans the runs of pyrometer bench: each command once per combination of parameters. */
#ifndef PYRO_CLI_BENCH_PLAN_H
#define PYRO_CLI_BENCH_PLAN_H

#include "base/containers/arena.h"
#include "cli/options/options.h"

#include <pyrometer/bench.h>

typedef struct pyro_planned {
    const char *name, *command;
    const char *prepare, *setup, *cleanup; /* NULL: none */
    pyro_pair *parameters;
    size_t parameter_count;
} pyro_planned;

typedef struct pyro_plan {
    pyro_arena arena;
    pyro_planned *items;
    size_t count;
} pyro_plan;

/* The input of a plan; lists are as in the options. */
typedef struct pyro_plan_request {
    const pyro_words *commands, *names, *prepare;
    const char *setup, *cleanup;
    const pyro_words *parameter_lists; /* VAR, "a,b,c", VAR, ... */
    const pyro_words *parameter_scans; /* VAR, MIN, MAX, VAR, ... */
    double step;                       /* of the scans */
    const char *step_text;             /* as given; NULL: 1 */
} pyro_plan_request;

int pyro_plan_make(pyro_plan *out, const pyro_plan_request *request, pyro_error *error);
void pyro_plan_free(pyro_plan *plan);

#endif

/* Opens what bench --against compares with: an earlier result, a commit or a model. */
#ifndef PYRO_CLI_BENCH_AGAINST_H
#define PYRO_CLI_BENCH_AGAINST_H

#include <pyrometer/bench.h>

typedef struct pyro_base {
    pyro_bench *bench; /* the earlier results; NULL: a commit or model, which must be run */
    char *worktree;    /* a temporary work tree with the commit; may be NULL */
    char *folder;      /* the current folder's counterpart in the work tree */
    char *toplevel;    /* root of the repository; may be NULL */
    char *model; /* the base model, relative to `folder`; NULL: commands */
} pyro_base;

/* `name` is a file of results or a commit of the repository of the current folder. */
int pyro_base_open(pyro_base *out, const char *name, pyro_error *error);
/* The same for a model, which may also be compared with another model. */
int pyro_base_open_model(pyro_base *out, const char *name, const char *model, pyro_error *error);
/* Removes the work tree. Call it before writing output, where a closed pipe ends the process. */
void pyro_base_leave(pyro_base *base);
void pyro_base_close(pyro_base *base);

#endif

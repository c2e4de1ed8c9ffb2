/* The base that pyrometer bench --against compares with: an earlier result, a commit, a model. */
#ifndef PYRO_CLI_BENCH_AGAINST_H
#define PYRO_CLI_BENCH_AGAINST_H

#include <pyrometer/bench.h>

typedef struct pyro_base {
    pyro_bench *bench; /* of an earlier file; NULL: a commit or a model, which is to be run */
    char *worktree;    /* a folder of its own that has the commit checked out; NULL: none */
    char *folder;      /* in it, what the current folder is here */
    char *toplevel;    /* what the work tree is a copy of; NULL: none */
    char *model; /* what is to be measured as the base, seen from `folder`; NULL: commands */
} pyro_base;

/* `name` is a file of results or a commit of the repository that the current folder is in. */
int pyro_base_open(pyro_base *out, const char *name, pyro_error *error);
/* The same for a model, which may also be compared with another model. */
int pyro_base_open_model(pyro_base *out, const char *name, const char *model, pyro_error *error);
/* Removes the work tree; before anything is written, since a reader that is gone ends us then. */
void pyro_base_leave(pyro_base *base);
void pyro_base_close(pyro_base *base);

#endif

/* The base that pyrometer bench --against compares with: an earlier result, or a commit. */
#ifndef PYRO_CLI_BENCH_AGAINST_H
#define PYRO_CLI_BENCH_AGAINST_H

#include <pyrometer/bench.h>

typedef struct pyro_base {
    pyro_bench *bench; /* of an earlier file; NULL: a commit, which is to be run */
    char *worktree;    /* a folder of its own that has the commit checked out; NULL: none */
    char *folder;      /* in it, what the current folder is here */
} pyro_base;

/* `name` is a file of results or a commit of the repository that the current folder is in. */
int pyro_base_open(pyro_base *out, const char *name, pyro_error *error);
/* Removes the work tree. */
void pyro_base_close(pyro_base *base);

#endif

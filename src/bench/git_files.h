/* The git work tree around the current folder; all are false outside of one. */
#ifndef PYRO_BENCH_GIT_FILES_H
#define PYRO_BENCH_GIT_FILES_H

#include <stdbool.h>
#include <stddef.h>

/* The commit that is checked out. */
bool pyro_git_commit(char *commit, size_t size);
/* The branch that is checked out; also false if HEAD is detached. */
bool pyro_git_branch(char *branch, size_t size);
/* The last part of the tree's path. */
bool pyro_git_tree_name(char *name, size_t size);

#endif

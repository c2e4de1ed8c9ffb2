/* Asks git about the repository in the current folder. */
#ifndef PYRO_HISTORY_GIT_H
#define PYRO_HISTORY_GIT_H

#include "base/containers/buf.h"

#include <stdbool.h>

/* Runs git with these arguments (NULL ends them) and collects its output; false: it failed. */
bool pyro_git(pyro_buf *out, const char *const *arguments);
/* The first line of the output; the caller frees it. NULL: git failed, or printed nothing. */
char *pyro_git_line(const char *const *arguments);

/* Splits output in place into lines that point into it; free() the array. */
bool pyro_split_lines(const char ***out, size_t *count, pyro_buf *text);

#endif

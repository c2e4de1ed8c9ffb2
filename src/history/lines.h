/* Lines in memory: who owns their texts, and how their points are ordered. */
#ifndef PYRO_HISTORY_LINES_H
#define PYRO_HISTORY_LINES_H

#include "base/containers/arena.h"
#include "base/containers/intern.h"

#include <pyrometer/history.h>

struct pyro_history_lines_store {
    pyro_history_lines lines;
    pyro_history_list list;
    pyro_arena arena;
    pyro_intern texts;
    size_t line_capacity, run_capacity;
};

int pyro_lines_store_new(struct pyro_history_lines_store **out, pyro_error *error);
void pyro_lines_store_free(struct pyro_history_lines_store *store);
/* A copy of a text, the same one for equal texts; NULL if memory runs out. */
const char *pyro_lines_text(struct pyro_history_lines_store *store, const char *text);

/*
 * Orders the points of a line by commit (if the query has them), else by time; leaves out those of
 * other branches. A clock that was ahead when a result was stored counts as that moment.
 */
int pyro_line_order(pyro_history_line *line, const pyro_history_query *query, pyro_error *error);

/* Whether a text matches a glob pattern; NULL matches everything. */
bool pyro_history_matches(const char *pattern, const char *text);
/* Whether a benchmark is a model, with any parameters; a model may be a pattern, NULL is any. */
bool pyro_history_is_model(const char *model, const char *benchmark);
/* Whether a result with these tags, separated by commas, has all that the query names. */
bool pyro_history_has_tags(const pyro_history_query *query, const char *tags);
/* Whether a commit starts with these digits; NULL: any. */
bool pyro_history_is_commit(const char *prefix, const char *commit);

#endif

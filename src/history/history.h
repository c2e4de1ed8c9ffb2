/* The open history, as the files of this room see it. */
#ifndef PYRO_HISTORY_HISTORY_H
#define PYRO_HISTORY_HISTORY_H

#include "base/containers/arena.h"
#include "history/database/database.h"

#include <pyrometer/history.h>

struct pyro_history {
    pyro_database *database;
};

/* $XDG_DATA_HOME/pyrometer/NAME; the caller frees it. */
int pyro_history_default_path(char **out, const char *name, pyro_error *error);
/* Nanoseconds since 1970. */
int64_t pyro_history_now_ns(void);

#endif

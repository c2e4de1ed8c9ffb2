/* Stores the results of other commands (--history), and keeps them if that fails. */
#include "cli/history/store.h"

#include "base/error.h"
#include "base/file.h"
#include "cli/message.h"
#include "history/database/location.h"
#include "history/history.h"
#include "history/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const pyro_option pyro_history_store_options[] = {
    {.long_name = "history",
     .kind = PYRO_OPTION_FLAG,
     .offset = offsetof(pyro_history_store_values, wanted),
     .help = "Add the result to the history (pyrometer history), labelled with the commit and "
             "branch here. A failure leaves the result in a file and the exit code unchanged."},
    {.long_name = "db",
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(pyro_history_store_values, database),
     .metavar = "FILE",
     .help = "History to add to: an SQLite file, or postgresql://USER@HOST/NAME.",
     .default_text = "$XDG_DATA_HOME/pyrometer/history.db",
     .completion = PYRO_COMPLETE_FILE},
    {.long_name = NULL},
};

char *pyro_history_hide_password(const char *database)
{
    char *copy = database ? strdup(database) : NULL;

    /* Options point into argv, which may be written. */
    if (copy)
        pyro_location_mask((char *)database);
    return copy;
}

/* In the folder of the user's data, else in the current one. */
static char *keep_for_later(const char *json, size_t size)
{
    char *folder = NULL, *path = NULL;
    bool is_kept = false;
    long long now_ns = (long long)pyro_history_now_ns();

    if (pyro_history_default_path(&folder, "pending", NULL) == PYRO_OK &&
        pyro_file_make_folder(folder, NULL) == PYRO_OK &&
        asprintf(&path, "%s/%lld-%d.json", folder, now_ns, (int)getpid()) > 0)
        is_kept = pyro_file_write_whole(path, json, size, true, NULL) == PYRO_OK;
    free(folder);
    if (!is_kept) {
        free(path);
        if (asprintf(&path, "pyrometer-result-%lld-%d.json", now_ns, (int)getpid()) < 0)
            return NULL;
        is_kept = pyro_file_write_whole(path, json, size, true, NULL) == PYRO_OK;
    }
    if (is_kept)
        return path;
    free(path);
    return NULL;
}

/* The result as it would be stored: labels of the folder and commit here must not get lost. */
static char *keep_runs(const pyro_runs *runs)
{
    pyro_buf text = PYRO_BUF_INIT;
    char *path = NULL;

    if (runs->count > 0 && pyro_runs_write(&text, runs, NULL) == PYRO_OK)
        path = keep_for_later(text.data, text.length);
    pyro_buf_free(&text);
    return path;
}

static int store_runs(const char *database, const pyro_runs *runs, pyro_error *error)
{
    pyro_history *history = NULL;
    size_t added;
    int status = pyro_history_open(&history, database, false, error);

    if (status == PYRO_OK)
        status = pyro_history_add_all(history, runs, &added, error);
    pyro_history_close(history);
    return status;
}

void pyro_history_store(const pyro_history_store_values *values, const char *json, size_t size)
{
    pyro_run_labels labels = {0};
    pyro_runs runs;
    pyro_error error;

    pyro_error_clear(&error);
    int status = pyro_runs_parse(&runs, json, size, &error);
    if (status == PYRO_OK)
        status = pyro_runs_label(&runs, &labels, &error);
    if (status == PYRO_OK)
        status = store_runs(values->database, &runs, &error);
    if (status != PYRO_OK) {
        char *kept = keep_runs(&runs);

        pyro_common_complain("the result is not in the history: %s; %s%s%s", error.message,
                             kept ? "it is kept in " : "and it could not be written to a file",
                             kept ? kept : "",
                             kept ? " (pyrometer history add takes that file)" : "");
        free(kept);
    }
    pyro_runs_free(&runs);
}

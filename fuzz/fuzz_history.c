/* Fuzzes the readers of results for the history: what is read can be labelled and stored, once. */
#include "history/run.h"

#include <pyrometer/history.h>

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is kept for later is the same result when it is read again. */
static void check_kept(pyro_history *history, const pyro_runs *runs)
{
    pyro_buf text = PYRO_BUF_INIT;
    size_t added = 1;
    pyro_runs again;

    if (pyro_runs_write(&text, runs, NULL) != PYRO_OK ||
        pyro_runs_parse(&again, text.data, text.length, NULL) != PYRO_OK ||
        again.count != runs->count ||
        pyro_history_add_all(history, &again, &added, NULL) != PYRO_OK || added != 0)
        abort();
    pyro_runs_free(&again);
    pyro_buf_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pyro_run_labels labels = {.project = "p", .commit = "c", .branch = "b"};
    pyro_history *history;
    pyro_runs runs;
    size_t added;
    bool is_new;

    if (pyro_runs_parse(&runs, data, size, NULL) != PYRO_OK)
        return 0;
    if (pyro_runs_label(&runs, &labels, NULL) != PYRO_OK)
        abort();
    /* Without the library of SQLite there is nothing more to test. */
    if (runs.count < 100 && pyro_history_open(&history, ":memory:", false, NULL) == PYRO_OK) {
        if (pyro_history_add_all(history, &runs, &added, NULL) != PYRO_OK)
            abort();
        for (size_t i = 0; i < runs.count; i++)
            if (pyro_history_add(history, runs.items[i], &is_new, NULL) != PYRO_OK || is_new)
                abort();
        check_kept(history, &runs);
        pyro_history_close(history);
    }
    pyro_runs_free(&runs);
    return 0;
}

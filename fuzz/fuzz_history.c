/* Fuzzes the readers of results for the history: what is read can be labelled and stored, once. */
#include <pyrometer/history.h>

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
        pyro_history_close(history);
    }
    pyro_runs_free(&runs);
    return 0;
}

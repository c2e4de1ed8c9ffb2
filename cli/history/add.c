/* pyrometer history add and import: stores results, with the labels of options, CI and git. */
#include "cli/history/history.h"

#include "base/containers/buf.h"
#include "base/error.h"
#include "history/history.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int label_runs(pyro_runs *runs, const pyro_history_values *values, int64_t file_time_ns,
                      pyro_error *error)
{
    pyro_run_labels labels = {.project = values->project,
                              .commit = values->commit,
                              .branch = values->branch,
                              .machine = values->machine,
                              .file_time_ns = file_time_ns};
    pyro_buf tags = PYRO_BUF_INIT;
    int status = pyro_history_moment(&labels.time_ns, "time", values->time, error);

    for (size_t i = 0; i < values->tags.count; i++)
        pyro_buf_addf(&tags, "%s%s", i > 0 ? "," : "", values->tags.items[i]);
    labels.tags = tags.data;
    if (status == PYRO_OK)
        status = tags.failed ? pyro_fail_memory(error) : pyro_runs_label(runs, &labels, error);
    pyro_buf_free(&tags);
    return status;
}

static int store_runs(const pyro_history_values *values, const pyro_runs *runs, size_t *added,
                      pyro_error *error)
{
    pyro_history *history = NULL;
    int status = pyro_history_open(&history, values->database, false, error);

    *added = 0;
    if (status == PYRO_OK)
        status = pyro_history_add_all(history, runs, added, error);
    pyro_history_close(history);
    return status;
}

/* A result without a time of its own was measured when its file was written. */
static int64_t file_time(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISREG(info.st_mode)
               ? (int64_t)info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec
               : 0;
}

static int add_file(const pyro_history_values *values, const char *path)
{
    pyro_runs runs;
    size_t added = 0;
    pyro_error error;

    pyro_error_clear(&error);
    int status = pyro_runs_open(&runs, path, &error);
    if (status == PYRO_OK)
        status = label_runs(&runs, values, file_time(path), &error);
    if (status == PYRO_OK)
        status = store_runs(values, &runs, &added, &error);
    if (status == PYRO_OK && !values->common.quiet) {
        fprintf(stderr, "%s: added %zu result%s (%s)", path, added, added == 1 ? "" : "s",
                runs.format);
        if (added < runs.count)
            fprintf(stderr, ", %zu already there", runs.count - added);
        fputc('\n', stderr);
    }
    pyro_runs_free(&runs);
    return status == PYRO_OK ? PYRO_EXIT_FINE : pyro_common_fail(NULL, &error);
}

static bool is_json(const char *name)
{
    size_t length = strlen(name);

    return length > 5 && strcmp(name + length - 5, ".json") == 0;
}

/* Adds what could not be stored earlier, and removes each file that now is. */
static int add_pending(const pyro_history_values *values)
{
    char *folder = NULL, *path;
    int exit_code = PYRO_EXIT_FINE;
    struct dirent *entry;
    pyro_error error;

    pyro_error_clear(&error);
    if (pyro_history_default_path(&folder, "pending", &error) != PYRO_OK)
        return pyro_common_fail(NULL, &error);
    DIR *files = opendir(folder);
    while (files && exit_code == PYRO_EXIT_FINE && (entry = readdir(files))) {
        if (!is_json(entry->d_name) || asprintf(&path, "%s/%s", folder, entry->d_name) < 0)
            continue;
        exit_code = add_file(values, path);
        if (exit_code == PYRO_EXIT_FINE)
            unlink(path);
        free(path);
    }
    if (files)
        closedir(files);
    free(folder);
    return exit_code;
}

int pyro_history_verb_add(const pyro_history_values *values, const char *const *operands,
                          size_t count)
{
    int exit_code = PYRO_EXIT_FINE;

    if (count == 0 && !values->pending)
        return pyro_common_complain("history add needs a file of results, or --pending");
    if (values->pending)
        exit_code = add_pending(values);
    for (size_t i = 0; i < count; i++) {
        int of_file = add_file(values, operands[i]);

        exit_code = exit_code == PYRO_EXIT_FINE ? of_file : exit_code;
    }
    return exit_code;
}

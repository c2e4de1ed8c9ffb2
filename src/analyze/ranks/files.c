/*
 * Finds the files of many ranks in a folder and reads them, with at most one trace per worker in
 * memory. Merges the summaries in any order.
 */
#include "analyze/ranks/summary.h"
#include "base/containers/buf.h"
#include "base/error.h"
#include "base/parallel.h"

#include <dirent.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MOST_FILES 1000000
#define DEEPEST_FOLDER 3

static bool ends_with(const char *name, const char *end)
{
    size_t length = strlen(name), tail = strlen(end);
    return length > tail && strcmp(name + length - tail, end) == 0;
}

/* Kernels of a recording lie beside it in a file that belongs to it. */
static bool is_trace_name(const char *name)
{
    static const char *const ends[] = {".json", ".json.gz", ".json.zst", ".pyro"};
    if (name[0] == '.' || ends_with(name, ".devices.json"))
        return false;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (ends_with(name, ends[i]))
            return true;
    return false;
}

static int add_file(pyro_rank_files *files, const char *path, bool from_folder, pyro_error *error)
{
    size_t capacity = files->capacity;
    if (files->count >= MOST_FILES)
        return pyro_fail(error, PYRO_ERROR_LIMIT, "more than %d files", MOST_FILES);
    if (!pyro_grow(&files->files, &files->capacity, files->count + 1, sizeof *files->files) ||
        !pyro_grow(&files->from_folder, &capacity, files->count + 1, sizeof *files->from_folder))
        return pyro_fail_memory(error);
    files->files[files->count] = strdup(path);
    if (!files->files[files->count])
        return pyro_fail_memory(error);
    files->from_folder[files->count++] = from_folder;
    return PYRO_OK;
}

static int by_name(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

/* Names in a folder, sorted; the caller frees them. */
static int list_folder(const char *path, char ***names, size_t *count, pyro_error *error)
{
    size_t capacity = 0;
    int status = PYRO_OK;
    struct dirent *entry;
    DIR *folder = opendir(path);
    if (!folder)
        return pyro_fail(error, PYRO_ERROR_IO, "%s", strerror(errno));
    while (status == PYRO_OK && (entry = readdir(folder))) {
        if (entry->d_name[0] == '.')
            continue;
        if (!pyro_grow(names, &capacity, *count + 1, sizeof **names) ||
            !((*names)[*count] = strdup(entry->d_name)))
            status = pyro_fail_memory(error);
        else
            (*count)++;
    }
    closedir(folder);
    if (*count)
        qsort(*names, *count, sizeof **names, by_name);
    return status;
}

static bool is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* Only regular files of a folder are read: opening a pipe or a device may block. */
static bool is_file(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

static int add_folder(pyro_rank_files *files, const char *path, int depth, pyro_error *error)
{
    char **names = NULL;
    size_t count = 0, before = files->count;
    pyro_buf inside = PYRO_BUF_INIT;
    int status = list_folder(path, &names, &count, error);
    /* Traces first; only a folder without any is looked into further. */
    for (int deeper = 0; deeper < 2 && files->count == before; deeper++) {
        for (size_t i = 0; i < count && status == PYRO_OK; i++) {
            pyro_buf_reset(&inside);
            pyro_buf_addf(&inside, "%s%s%s", path, ends_with(path, "/") ? "" : "/", names[i]);
            if (inside.failed)
                status = pyro_fail_memory(error);
            else if (deeper && depth < DEEPEST_FOLDER && is_folder(inside.data))
                status = add_folder(files, inside.data, depth + 1, error);
            else if (!deeper && is_trace_name(names[i]) && is_file(inside.data))
                status = add_file(files, inside.data, true, error);
        }
    }
    pyro_buf_free(&inside);
    for (size_t i = 0; i < count; i++)
        free(names[i]);
    free(names);
    return status;
}

int pyro_rank_files_add(pyro_rank_files *files, const char *path, pyro_error *error)
{
    return is_folder(path) ? add_folder(files, path, 0, error)
                           : add_file(files, path, false, error);
}

void pyro_rank_files_free(pyro_rank_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        free(files->files[i]);
    free(files->files);
    free(files->from_folder);
    *files = (pyro_rank_files){0};
}

/* A file, and what a worker made of it. */
typedef struct file_task {
    size_t file;
    int status;
    pyro_rank_summary *summary;
    pyro_error error;
} file_task;

typedef struct reading {
    const pyro_rank_files *files;
    const pyro_rank_reading *how;
    pyro_analysis_options analysis;
    int threads_each;
    atomic_int_least64_t done_bytes;
    int64_t total_bytes;
    file_task tasks[PYRO_MOST_WORKERS]; /* one per worker */
    /* Shared under the pool's lock. */
    size_t next; /* first file that no worker has taken */
    pyro_rank_summary *summary;
    char **messages; /* by file; NULL: it was read */
    int status;
    pyro_error error;
} reading;

/* How far one file is. */
typedef struct file_progress {
    reading *reading;
    atomic_int_least64_t done_bytes; /* threads of one reader say it, too */
} file_progress;

static void update_progress(void *user, int64_t done_bytes, int64_t total_bytes)
{
    file_progress *file = user;
    reading *reading = file->reading;
    (void)total_bytes;
    int64_t before = atomic_load(&file->done_bytes);
    do {
        if (done_bytes <= before)
            return;
    } while (!atomic_compare_exchange_weak(&file->done_bytes, &before, done_bytes));
    int64_t step = done_bytes - before;
    int64_t done = atomic_fetch_add(&reading->done_bytes, step) + step;
    if (reading->how->progress)
        reading->how->progress(reading->how->progress_user, done, reading->total_bytes);
}

static int summarize(reading *reading, const char *path, pyro_rank_summary **summary,
                     pyro_error *error)
{
    file_progress progress = {.reading = reading};
    pyro_trace_options options = {
        .threads = reading->threads_each, .progress = update_progress, .progress_user = &progress};
    pyro_trace *trace = NULL;
    int status = pyro_trace_open(&trace, path, &options, error);
    if (status == PYRO_OK)
        status = pyro_rank_summary_make(summary, trace, &reading->analysis, error);
    pyro_trace_close(trace);
    return status;
}

static void add_result(reading *reading, size_t file, int status, pyro_rank_summary *summary,
                       const pyro_error *error)
{
    if (status == PYRO_OK)
        status = pyro_rank_summary_merge(reading->summary, summary, &reading->error);
    else if (status != PYRO_ERROR_MEMORY) {
        const char *message = error->message[0] ? error->message : "cannot be read";
        reading->messages[file] = strdup(message);
        status = reading->messages[file] ? PYRO_OK : PYRO_ERROR_MEMORY;
    }
    if (reading->status == PYRO_OK && status != PYRO_OK)
        reading->status = pyro_fail_memory(&reading->error);
}

static void *take_file(void *data, unsigned worker)
{
    reading *reading = data;
    reading->tasks[worker] = (file_task){.file = reading->next++};
    return &reading->tasks[worker];
}

static void read_file(void *data, void *task, unsigned worker)
{
    reading *reading = data;
    file_task *file = task;
    (void)worker;
    pyro_error_clear(&file->error);
    file->status = summarize(reading, reading->files->files[file->file], &file->summary,
                             &file->error);
}

/* No file waits for another. */
static bool finish_file(void *data, void *task, unsigned worker)
{
    const file_task *file = task;
    (void)worker;
    add_result(data, file->file, file->status, file->summary, &file->error);
    pyro_rank_summary_free(file->summary);
    return false;
}

static bool are_files_taken(const void *data, unsigned worker)
{
    const reading *reading = data;
    (void)worker;
    return reading->next == reading->files->count;
}

static int64_t sum_sizes(const pyro_rank_files *files)
{
    int64_t total = 0;
    struct stat info;
    for (size_t i = 0; i < files->count; i++)
        if (stat(files->files[i], &info) == 0 && S_ISREG(info.st_mode))
            total += info.st_size;
    return total;
}

void pyro_rank_failures_free(pyro_rank_failure *failures, size_t count)
{
    for (size_t i = 0; failures && i < count; i++) {
        free((char *)failures[i].file);
        free((char *)failures[i].message);
    }
    free(failures);
}

/* Moves the messages to the result, in the order of the files. */
static int list_failures(const reading *reading, pyro_rank_failure **failures, size_t *count)
{
    size_t capacity = 0;
    *failures = NULL;
    *count = 0;
    for (size_t i = 0; i < reading->files->count; i++) {
        if (!reading->messages[i])
            continue;
        char *file = strdup(reading->files->files[i]);
        if (!file || !pyro_grow(failures, &capacity, *count + 1, sizeof **failures)) {
            free(file);
            return PYRO_ERROR_MEMORY;
        }
        (*failures)[(*count)++] = (pyro_rank_failure){
            .file = file,
            .message = reading->messages[i],
            .from_folder = reading->files->from_folder[i]};
        reading->messages[i] = NULL;
    }
    return PYRO_OK;
}

int pyro_rank_files_read(pyro_rank_summary **out, const pyro_rank_files *files,
                         const pyro_rank_reading *how, pyro_rank_failure **failures,
                         size_t *failure_count, pyro_error *error)
{
    static const pyro_rank_reading plain = {0};
    static const pyro_job job = {take_file, read_file, finish_file, are_files_taken};
    reading reading = {.files = files, .how = how ? how : &plain, .analysis = {.step = -1}};
    unsigned workers;
    *out = NULL;
    if (reading.how->analysis)
        reading.analysis = *reading.how->analysis;
    workers = pyro_count_parts(reading.how->threads, files->count, 1);
    /* A model is not made to be read by two threads at once. */
    if (reading.analysis.model)
        workers = 1;
    reading.threads_each = workers > 1 ? 1 : reading.how->threads;
    reading.analysis.threads = reading.threads_each;
    reading.total_bytes = sum_sizes(files);
    pyro_error_clear(&reading.error);
    reading.summary = pyro_rank_summary_new();
    reading.messages = calloc(files->count + 1, sizeof *reading.messages);
    if (reading.summary && reading.messages)
        pyro_pool_run(&job, &reading, workers);
    else
        reading.status = PYRO_ERROR_MEMORY;
    if (reading.status == PYRO_OK && failures)
        reading.status = list_failures(&reading, failures, failure_count);
    for (size_t i = 0; reading.messages && i < files->count; i++)
        free(reading.messages[i]);
    free(reading.messages);
    if (reading.status == PYRO_OK) {
        *out = reading.summary;
        return PYRO_OK;
    }
    pyro_rank_summary_free(reading.summary);
    return pyro_fail_memory(error);
}

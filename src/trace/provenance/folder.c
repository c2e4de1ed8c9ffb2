/*
 * Finds and reads the files about compiled code in a folder: logs of TORCH_TRACE, the files of a debug
 * trace (output_code.py, inductor_provenance_tracking_*.json), kernel_information.json of a package.
 * Files of one folder belong together.
 */
#include "trace/provenance/torch_log.h"

#include "base/error.h"
#include "base/source/source.h"
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MOST_LEVELS 6
#define MOST_FILES 20000
#define READ_BYTES ((size_t)1 << 16)
#define LARGEST_FILE ((size_t)256 << 20)

typedef enum file_kind { NO_FILE, LOG, CODE, CAPTURED, COMPILED, MAPPINGS } file_kind;

static bool ends_with(const char *name, const char *end)
{
    size_t length = strlen(name), size = strlen(end);
    return length >= size && strcmp(name + length - size, end) == 0;
}

static bool begins_with(const char *name, const char *prefix)
{
    return strncmp(name, prefix, strlen(prefix)) == 0;
}

static file_kind kind_of(const char *name)
{
    bool is_json = ends_with(name, ".json") || ends_with(name, ".json.gz");
    bool is_text = ends_with(name, ".py") || ends_with(name, ".txt");
    if ((begins_with(name, "dedicated_log_torch_trace") || strstr(name, "torch_trace")) &&
        (ends_with(name, ".log") || ends_with(name, ".log.gz")))
        return LOG;
    if (is_json && (begins_with(name, "inductor_provenance_tracking_node_mappings") ||
                    begins_with(name, "inductor_provenance_tracking_kernel_stack_traces") ||
                    begins_with(name, "kernel_information")))
        return MAPPINGS;
    if (is_text && (begins_with(name, "output_code") || begins_with(name, "inductor_output_code")))
        return CODE;
    if (is_text &&
        (begins_with(name, "before_pre_grad_graph") || begins_with(name, "dynamo_output_graph")))
        return CAPTURED;
    if (is_text && (begins_with(name, "fx_graph_transformed") ||
                    begins_with(name, "inductor_post_grad_graph")))
        return COMPILED;
    return NO_FILE;
}

/* Logs of several ranks are beside each other: "dedicated_log_torch_trace_rank_3_x.log". */
static bool is_of_rank(const char *name, int64_t rank)
{
    const char *found = strstr(name, "_rank_");
    return rank < 0 || !found || strtoll(found + 6, NULL, 10) == rank;
}

/* Reads a whole file, NUL-terminated. */
static int read_whole(pyro_buf *out, pyro_source *source, pyro_error *error)
{
    int64_t size = 1;
    int status = PYRO_OK;
    while (status == PYRO_OK && size > 0) {
        char *room = pyro_buf_reserve(out, READ_BYTES);
        size = room ? pyro_source_read(source, room, READ_BYTES - 1, error) : 0;
        if (!room)
            status = pyro_fail_memory(error);
        else if (size < 0)
            status = (int)size;
        else
            out->length += (size_t)size;
        if (out->length > LARGEST_FILE)
            status = pyro_fail(error, PYRO_ERROR_LIMIT, "the file has more than %zu MB",
                               LARGEST_FILE >> 20);
    }
    if (status == PYRO_OK)
        pyro_buf_addc(out, '\0'); /* readers of text stop there at the latest */
    return status;
}

/* The names in a folder that matter, in order. */
typedef struct listing {
    char **names;
    size_t count, capacity;
    bool failed;
} listing;

static int by_name(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

static listing list_folder(const char *path)
{
    listing all = {0};
    DIR *folder = opendir(path);
    struct dirent *entry;
    while (folder && (entry = readdir(folder)) && all.count < MOST_FILES) {
        if (entry->d_name[0] == '.')
            continue;
        char *name = strdup(entry->d_name);
        if (!name || !pyro_grow(&all.names, &all.capacity, all.count + 1, sizeof *all.names)) {
            free(name);
            all.failed = true;
            break;
        }
        all.names[all.count++] = name;
    }
    if (folder)
        closedir(folder);
    if (all.count)
        qsort(all.names, all.count, sizeof *all.names, by_name);
    return all;
}

static void free_listing(listing *all)
{
    for (size_t i = 0; i < all->count; i++)
        free(all->names[i]);
    free(all->names);
}

static void read_text(pyro_compilation *compilation, file_kind kind, const pyro_buf *text)
{
    size_t length = text->length ? text->length - 1 : 0;
    if (kind == CODE)
        pyro_read_wrapper(compilation, text->data, length);
    else if (kind == CAPTURED)
        pyro_read_captured_graph(compilation, text->data, length);
    else if (kind == COMPILED)
        pyro_read_compiled_graph(compilation, text->data, length);
    else
        compilation->all->damaged += !pyro_read_mappings(compilation, text->data, length);
}

/* Reads a file of some kind; other kinds than logs become parts of the compilation. */
static int read_kind(pyro_compilation *compilation, const char *path, file_kind kind,
                     pyro_error *error)
{
    pyro_buf text = PYRO_BUF_INIT;
    pyro_source *file = NULL, *source = NULL;
    int status = pyro_source_open_regular(&file, path, error);
    if (status == PYRO_OK)
        status = pyro_source_open_content(&source, file, error);
    if (status == PYRO_OK)
        status = kind == LOG ? pyro_provenance_read_log(compilation->all, source, error)
                             : read_whole(&text, source, error);
    if (status == PYRO_OK && kind != LOG && !text.failed)
        read_text(compilation, kind, &text);
    if (status == PYRO_OK && (text.failed || compilation->failed))
        status = pyro_fail_memory(error);
    compilation->all->files += status == PYRO_OK;
    pyro_source_close(source);
    pyro_buf_free(&text);
    return status;
}

/* Reads one file of a folder; one that cannot be read is counted as damaged. */
static int read_one(pyro_compilation *compilation, const char *path, file_kind kind,
                    pyro_error *error)
{
    pyro_error reason;
    pyro_error_clear(&reason);
    int status = read_kind(compilation, path, kind, &reason);
    compilation->all->damaged += status != PYRO_OK && status != PYRO_ERROR_MEMORY;
    return status == PYRO_ERROR_MEMORY ? pyro_fail_memory(error) : PYRO_OK;
}

/* Files of one folder, in the order in which they build on each other. */
static int read_files(pyro_provenance *all, const char *path, const listing *names,
                      pyro_error *error)
{
    static const file_kind order[] = {LOG, CAPTURED, COMPILED, CODE, MAPPINGS};
    pyro_compilation compilation;
    pyro_buf file = PYRO_BUF_INIT;
    int status = PYRO_OK;
    pyro_compilation_init(&compilation, all);
    for (size_t k = 0; k < sizeof order / sizeof *order; k++)
        for (size_t i = 0; status == PYRO_OK && i < names->count; i++) {
            if (kind_of(names->names[i]) != order[k] || !is_of_rank(names->names[i], all->rank))
                continue;
            pyro_buf_reset(&file);
            pyro_buf_addf(&file, "%s/%s", path, names->names[i]);
            status = file.failed ? pyro_fail_memory(error)
                                 : read_one(&compilation, file.data, order[k], error);
        }
    pyro_compilation_flush(&compilation);
    if (status == PYRO_OK && compilation.failed)
        status = pyro_fail_memory(error);
    pyro_compilation_free(&compilation);
    pyro_buf_free(&file);
    return status;
}

static bool is_folder(const char *path)
{
    struct stat about;
    return lstat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

static int read_level(pyro_provenance *all, const char *path, int level, pyro_error *error)
{
    listing names = list_folder(path);
    pyro_buf inner = PYRO_BUF_INIT;
    int status = names.failed ? pyro_fail_memory(error) : read_files(all, path, &names, error);
    for (size_t i = 0; status == PYRO_OK && level < MOST_LEVELS && i < names.count; i++) {
        pyro_buf_reset(&inner);
        pyro_buf_addf(&inner, "%s/%s", path, names.names[i]);
        if (inner.failed)
            status = pyro_fail_memory(error);
        else if (is_folder(inner.data) && all->files < MOST_FILES)
            status = read_level(all, inner.data, level + 1, error);
    }
    pyro_buf_free(&inner);
    free_listing(&names);
    return status;
}

/* A file that was named: its kind by its name, else a log. */
static int read_file(pyro_provenance *all, const char *path, pyro_error *error)
{
    const char *slash = strrchr(path, '/');
    file_kind kind = kind_of(slash ? slash + 1 : path);
    pyro_compilation compilation;
    pyro_compilation_init(&compilation, all);
    int status = read_kind(&compilation, path, kind == NO_FILE ? LOG : kind, error);
    pyro_compilation_flush(&compilation);
    if (status == PYRO_OK && compilation.failed)
        status = pyro_fail_memory(error);
    pyro_compilation_free(&compilation);
    return status;
}

int pyro_provenance_read_folder(pyro_provenance *all, const char *path, pyro_error *error)
{
    struct stat about;
    bool is_whole_folder = stat(path, &about) == 0 && S_ISDIR(about.st_mode);
    int status = is_whole_folder ? read_level(all, path, 0, error) : read_file(all, path, error);
    if (status == PYRO_OK && !all->graph_count)
        status = pyro_fail(error, PYRO_ERROR_FORMAT,
                           "no compiled graph is described: expected a log of TORCH_TRACE "
                           "(dedicated_log_torch_trace_*.log) or files of a debug trace "
                           "(inductor_provenance_tracking_*.json, output_code.py)%s",
                           all->damaged ? "; some files are damaged" : "");
    if (status != PYRO_OK)
        pyro_error_where(error, path, NULL);
    else
        all->folder = pyro_arena_text(&all->arena, path, strlen(path));
    return status;
}

/* What the folder beside a trace that holds its logs may be called. */
static const char *const folder_names[] = {"torch_trace", "torch_compile_debug", "provenance",
                                           "inductor_provenance"};

int pyro_provenance_find_beside(pyro_provenance *all, const char *trace, pyro_error *error)
{
    const char *slash = strrchr(trace, '/');
    pyro_buf folder = PYRO_BUF_INIT, inner = PYRO_BUF_INIT;
    pyro_buf_add(&folder, slash ? trace : ".",
                 slash ? (size_t)(slash - trace) + (slash == trace) : 1);
    if (folder.failed)
        return pyro_fail_memory(error);
    listing names = list_folder(folder.data);
    int status = names.failed ? pyro_fail_memory(error)
                              : read_files(all, folder.data, &names, error);
    const char *found = all->graph_count ? folder.data : NULL;
    for (size_t i = 0;
         status == PYRO_OK && !found && i < sizeof folder_names / sizeof *folder_names; i++) {
        pyro_buf_reset(&inner);
        pyro_buf_addf(&inner, "%s/%s", folder.data, folder_names[i]);
        if (inner.failed)
            status = pyro_fail_memory(error);
        else if (is_folder(inner.data))
            status = read_level(all, inner.data, 0, error);
        found = all->graph_count ? inner.data : NULL;
    }
    if (found)
        all->folder = pyro_arena_text(&all->arena, found, strlen(found));
    free_listing(&names);
    pyro_buf_free(&folder);
    pyro_buf_free(&inner);
    return status;
}

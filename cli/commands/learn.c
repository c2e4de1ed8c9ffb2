/* pyrometer learn: keeps how efficiently ops ran, by kind, sizes, type and chip. */
#include "cli/command.h"
#include "cli/common.h"
#include "cli/output.h"
#include "cli/progress.h"

#include "base/file.h"
#include "report/predict/learn.h"
#include "report/writers.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

typedef struct learn_values {
    const char *table, *chip;
    pyro_words merged;
    bool show, shipped;
    int64_t top; /* -1: not given */
    double thin;
    pyro_common common;
} learn_values;

static const pyro_option learn_options[] = {
    {.long_name = "table",
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(learn_values, table),
     .metavar = "FILE",
     .help = "Table to add to; it is created if it does not exist.",
     .default_text = "pyrometer/efficiency.json in the user's data folder",
     .completion = PYRO_COMPLETE_FILE,
     .writes = PYRO_WRITES_FILE},
    {.long_name = "merge",
     .kind = PYRO_OPTION_LIST,
     .offset = offsetof(learn_values, merged),
     .metavar = "FILE",
     .help = "Add the rows of another table; the order of tables does not matter.",
     .completion = PYRO_COMPLETE_FILE},
    {.long_name = "chip",
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(learn_values, chip),
     .metavar = "NAME",
     .help = "Chip that the traces ran on, if they do not name it.",
     .default_text = "the device of the trace, or the processor of a recording"},
    {.long_name = "thin",
     .kind = PYRO_OPTION_NUMBER,
     .offset = offsetof(learn_values, thin),
     .metavar = "PERCENT",
     .help = "Leave out rows of the table that similar ones predict within PERCENT of their time.",
     .minimum = 0.001,
     .maximum = 100},
    {.long_name = "show",
     .kind = PYRO_OPTION_FLAG,
     .offset = offsetof(learn_values, show),
     .help = "Show the rows of the table. As JSON this is the table itself."},
    {.long_name = "shipped",
     .kind = PYRO_OPTION_FLAG,
     .offset = offsetof(learn_values, shipped),
     .help = "With --show: show the table that ships with pyrometer."},
    {.long_name = "top",
     .kind = PYRO_OPTION_INTEGER,
     .offset = offsetof(learn_values, top),
     .metavar = "N",
     .help = "Number of rows that --show prints as text; 0 shows all.",
     .default_text = "20",
     .minimum = 0,
     .maximum = 1000000000},
    {.long_name = NULL},
};

static const pyro_option_group learn_groups[] = {
    {"Table:", learn_options, 0},
    {"Output:", pyro_common_options, offsetof(learn_values, common)},
    {NULL, NULL, 0},
};

typedef struct learn_run {
    const learn_values *values;
    char *path; /* of the table */
    pyro_efficiency_table *table;
    pyro_learn_file *files;
    size_t file_count, learnt_count;
} learn_run;

static void reject(pyro_learn_file *file, const pyro_error *error)
{
    if (error->offset >= 0)
        snprintf(file->rejected, sizeof file->rejected, "%.200s (at byte %lld)", error->message,
                 (long long)error->offset);
    else
        snprintf(file->rejected, sizeof file->rejected, "%.250s", error->message);
}

static void learn_trace(learn_run *run, const char *path, pyro_learn_file *file)
{
    pyro_progress progress;
    pyro_trace_options options = {.progress = pyro_progress_update, .progress_user = &progress};
    pyro_efficiency_table *learnt = pyro_efficiency_new();
    pyro_trace *trace = NULL;
    pyro_error error;

    pyro_error_clear(&error);
    *file = (pyro_learn_file){.file = path};
    pyro_progress_begin(&progress, path, run->values->common.quiet);
    int status = learnt ? pyro_trace_open(&trace, path, &options, &error) : PYRO_ERROR_MEMORY;
    if (status == PYRO_OK)
        status = pyro_efficiency_learn(learnt, trace, run->values->chip, &file->learnt, &error);
    if (status == PYRO_OK)
        status = pyro_efficiency_merge(run->table, learnt, &error);
    pyro_progress_end(&progress);
    if (status == PYRO_OK)
        run->learnt_count++;
    else
        reject(file, &error);
    pyro_trace_close(trace);
    pyro_efficiency_free(learnt);
}

static void merge_table(learn_run *run, const char *path, pyro_learn_file *file)
{
    pyro_efficiency_table *other = pyro_efficiency_new();
    pyro_error error;

    pyro_error_clear(&error);
    *file = (pyro_learn_file){.file = path, .is_table = true};
    int status = other ? pyro_efficiency_read(other, path, &error) : PYRO_ERROR_MEMORY;
    if (status == PYRO_OK)
        status = pyro_efficiency_merge(run->table, other, &error);
    if (status == PYRO_OK) {
        pyro_efficiency_rows(other, &file->rows);
        run->learnt_count++;
    } else {
        reject(file, &error);
    }
    pyro_efficiency_free(other);
}

/* Two processes that add to one table wait for each other. -1: the folder cannot be written. */
static int lock_table(const char *path)
{
    char *name = NULL;
    int fd = -1;

    if (asprintf(&name, "%s.lock", path) >= 0) {
        fd = open(name, O_CREAT | O_RDWR | O_CLOEXEC, 0666);
        if (fd >= 0 && flock(fd, LOCK_EX) != 0) {
            close(fd);
            fd = -1;
        }
        free(name);
    }
    return fd;
}

static int make_folder(const char *path, pyro_error *error)
{
    const char *slash = strrchr(path, '/');
    if (!slash || slash == path)
        return PYRO_OK;
    char *folder = strndup(path, (size_t)(slash - path));
    int status = folder ? pyro_file_make_folder(folder, error) : PYRO_ERROR_MEMORY;
    free(folder);
    return status;
}

static int read_table(learn_run *run, pyro_error *error)
{
    if (run->values->shipped)
        return pyro_efficiency_read_shipped(run->table, error);
    return access(run->path, F_OK) == 0 ? pyro_efficiency_read(run->table, run->path, error)
                                        : PYRO_OK;
}

/* Writes the table under a temporary name first, so that a reader sees the old or the new one. */
static int write_table(learn_run *run, pyro_error *error)
{
    pyro_buf text = PYRO_BUF_INIT;
    int status = run->values->thin > 0
                     ? pyro_efficiency_thin(run->table, run->values->thin / 100, error)
                     : PYRO_OK;
    if (status == PYRO_OK)
        status = pyro_efficiency_write(run->table, &text, error);
    if (status == PYRO_OK)
        status = pyro_file_write_whole(run->path, text.data, text.length, true, error);
    pyro_buf_free(&text);
    return status;
}

static int write_report(const learn_run *run)
{
    const learn_values *values = run->values;
    pyro_report_options options = pyro_common_report(&values->common);
    pyro_learn_report report = {.path = values->shipped ? NULL : run->path,
                                .files = run->files,
                                .file_count = run->file_count,
                                .table = run->table,
                                .show = values->show};
    pyro_error error;
    pyro_report_request request = {.kind = PYRO_REPORT_LEARN,
                                   .format = options.format,
                                   .options = &options,
                                   .error = &error,
                                   .learn = &report};
    char *text = NULL;
    size_t size = 0;

    if (values->top >= 0)
        options.top = values->top == 0 ? -1 : (int)values->top;
    pyro_error_clear(&error);
    int exit_code = pyro_report_write(&text, &size, &request) == PYRO_OK
                        ? pyro_common_write(&values->common, text, size)
                        : pyro_common_fail(NULL, &error);
    pyro_free(text);
    return exit_code;
}

static int learn_files(learn_run *run, const pyro_words *files)
{
    const pyro_words *merged = &run->values->merged;
    size_t count = files->count + merged->count;
    pyro_error error;

    pyro_error_clear(&error);
    if (count && make_folder(run->path, &error) != PYRO_OK)
        return pyro_common_fail(run->path, &error);
    int lock = count ? lock_table(run->path) : -1;
    int status = read_table(run, &error);
    int exit_code = status == PYRO_OK ? PYRO_EXIT_FINE : pyro_common_fail(run->path, &error);
    run->files = calloc(count + 1, sizeof *run->files);
    for (size_t i = 0; exit_code == PYRO_EXIT_FINE && run->files && i < count; i++) {
        pyro_learn_file *file = &run->files[run->file_count++];
        if (i < files->count)
            learn_trace(run, files->items[i], file);
        else
            merge_table(run, merged->items[i - files->count], file);
    }
    if (exit_code == PYRO_EXIT_FINE && run->learnt_count && write_table(run, &error) != PYRO_OK)
        exit_code = pyro_common_fail(run->path, &error);
    if (lock >= 0)
        close(lock);
    if (exit_code == PYRO_EXIT_FINE)
        exit_code = write_report(run);
    if (exit_code == PYRO_EXIT_FINE && count && !run->learnt_count)
        exit_code = pyro_common_complain("nothing was learnt");
    free(run->files);
    return exit_code;
}

static int check_values(const learn_values *values, const pyro_words *files)
{
    if (!files->count && !values->merged.count && !values->show)
        return pyro_common_complain("learn needs a trace: pyrometer learn TRACE... "
                                    "(see pyrometer learn --help)");
    if (values->shipped && (files->count || values->merged.count || !values->show))
        return pyro_common_complain("--shipped only goes with --show: the table that ships does "
                                    "not change");
    if (values->table && !values->table[0])
        return pyro_common_complain("--table needs a file name");
    if (values->chip && !values->chip[0])
        return pyro_common_complain("--chip needs a name");
    return PYRO_EXIT_FINE;
}

static int run_learn(const pyro_command *command, int argc, char **argv)
{
    learn_values values = {.top = -1, .common = PYRO_COMMON_INIT};
    pyro_words files = {0};
    int exit_code;

    if (pyro_common_parse(command, argc, argv, &values, &values.common, &files, &exit_code)) {
        learn_run run = {.values = &values,
                         .path = values.table ? strdup(values.table) : pyro_efficiency_user_path(),
                         .table = pyro_efficiency_new()};
        exit_code = check_values(&values, &files);
        if (exit_code == PYRO_EXIT_FINE && !run.path)
            exit_code = pyro_common_complain("no home folder: name a table with --table FILE");
        else if (exit_code == PYRO_EXIT_FINE)
            exit_code = run.table ? learn_files(&run, &files)
                                  : pyro_common_complain("out of memory");
        pyro_efficiency_free(run.table);
        free(run.path);
    }
    pyro_words_free(&files);
    pyro_options_free(command->groups, &values);
    return exit_code;
}

static const pyro_example learn_examples[] = {
    {"pyrometer learn run.json.gz other.pyro", "Add what two runs show to the user's table."},
    {"pyrometer learn --show", "List what was learnt."},
    {"pyrometer learn --merge colleague.json", "Add a table from another machine."},
    {"pyrometer learn *.json.gz --table team.json -q", "In a script: keep a separate table."},
    {NULL, NULL},
};

const pyro_command cmd_learn = {
    .name = "learn",
    .summary = "keep how efficiently ops ran, for predictions",
    .usage = "[TRACE...] [OPTION...]",
    .description =
        "Reads traces and recordings with shapes (record_shapes=True), and adds to a table how "
        "long each op took: by kind (gemm, conv, attention, ...), sizes, element type, chip and "
        "library. The table has no names of models, layers or files. Predictions prefer it to the "
        "data sheet of a chip.\n\n"
        "Sizes are grouped into half octaves, and a group has sums only, so tables of several "
        "machines can be merged in any order. An op with the same shapes counts once per trace, "
        "with its median time.\n\n"
        "A file that does not say enough is rejected with the reason. The exit code is 2 if "
        "nothing was learnt.",
    .examples = learn_examples,
    .groups = learn_groups,
    .operands = PYRO_COMPLETE_FILE,
    .report = PYRO_REPORT_LEARN,
    .run = run_learn,
};

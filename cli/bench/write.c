/* Writes result files, folders of them, and annotations for GitHub. */
#include "cli/bench/write.h"

#include "cli/github.h"
#include "cli/inputs.h"
#include "cli/output.h"
#include "base/text/printable.h"
#include "report/bench/bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int make_text(char **text, size_t *size, const pyro_bench_report *report,
                     pyro_bench_format format, pyro_error *error)
{
    return format == PYRO_BENCH_HTML ? pyro_report_bench_page(text, size, report, "bench", error)
                                     : pyro_report_bench(text, size, report, format, NULL, error);
}

static int write_file(const char *path, const pyro_bench_report *report, pyro_bench_format format)
{
    char *text = NULL;
    size_t size = 0;
    pyro_error error;

    if (!path)
        return PYRO_EXIT_FINE;
    pyro_error_clear(&error);
    int status = make_text(&text, &size, report, format, &error);
    return pyro_common_write_file(path, status, text, size, &error);
}

static int make_folder(const char *path)
{
    char *partial = strdup(path);

    if (!partial)
        return pyro_common_complain("out of memory");
    for (char *at = partial + 1; *at != '\0'; at++) {
        if (*at != '/')
            continue;
        *at = '\0';
        mkdir(partial, 0777);
        *at = '/';
    }
    free(partial);
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        return pyro_common_complain("%s: cannot create the folder: %s", path, strerror(errno));
    return PYRO_EXIT_FINE;
}

/* The files of a results folder; base.json only if a base was measured. */
static const struct {
    const char *name;
    pyro_bench_format format;
} folder_files[] = {
    {"results.json", PYRO_BENCH_JSON},   {"results.csv", PYRO_BENCH_CSV},
    {"report.html", PYRO_BENCH_HTML},    {"junit.xml", PYRO_BENCH_JUNIT},
    {"summary.md", PYRO_BENCH_MARKDOWN}, {"github-benchmark.json", PYRO_BENCH_GITHUB},
    {"base.json", PYRO_BENCH_JSON},
};
enum { FOLDER_FILES = sizeof folder_files / sizeof *folder_files };

int pyro_bench_check_folder(const char *folder)
{
    pyro_error error;
    char *path;
    int status = PYRO_OK;

    pyro_error_clear(&error);
    for (size_t i = 0; folder && i < FOLDER_FILES && status == PYRO_OK; i++) {
        if (asprintf(&path, "%s/%s", folder, folder_files[i].name) < 0)
            return pyro_common_complain("out of memory");
        status = pyro_inputs_check(path, &error);
        free(path);
    }
    return status == PYRO_OK ? PYRO_EXIT_FINE : pyro_common_fail(folder, &error);
}

static int write_folder(const char *folder, const pyro_bench_report *report, const pyro_bench *base)
{
    pyro_bench_report of_base = {.bench = base};
    char *path;
    int exit_code = make_folder(folder);

    for (size_t i = 0; i < FOLDER_FILES && exit_code == PYRO_EXIT_FINE; i++) {
        bool last = i + 1 == FOLDER_FILES;

        if (last && !base)
            break;
        if (asprintf(&path, "%s/%s", folder, folder_files[i].name) < 0)
            return pyro_common_complain("out of memory");
        exit_code = write_file(path, last ? &of_base : report, folder_files[i].format);
        free(path);
    }
    return exit_code;
}

int pyro_bench_write_exports(const pyro_bench_exports *exports, const pyro_bench_report *report,
                             const pyro_bench *base)
{
    int exit_code = write_file(exports->json, report, PYRO_BENCH_JSON);

    if (exit_code == PYRO_EXIT_FINE)
        exit_code = write_file(exports->csv, report, PYRO_BENCH_CSV);
    if (exit_code == PYRO_EXIT_FINE)
        exit_code = write_file(exports->markdown, report, PYRO_BENCH_MARKDOWN);
    if (exit_code == PYRO_EXIT_FINE)
        exit_code = write_file(exports->html, report, PYRO_BENCH_HTML);
    if (exit_code == PYRO_EXIT_FINE && exports->folder)
        exit_code = write_folder(exports->folder, report, base);
    return exit_code;
}

static int write_page(const pyro_common *common, const pyro_bench_report *report)
{
    pyro_page *page = NULL;
    pyro_error error;
    int exit_code;

    pyro_error_clear(&error);
    if (pyro_page_new(&page, NULL, &error) == PYRO_OK &&
        pyro_page_add_bench(page, "bench", report, &error) == PYRO_OK)
        exit_code = pyro_common_write_page(common, page);
    else
        exit_code = pyro_common_fail(NULL, &error);
    pyro_page_free(page);
    return exit_code;
}

int pyro_bench_write_result(const pyro_common *common, const pyro_bench_report *report)
{
    if (common->page)
        return write_page(common, report);
    pyro_report_options options = pyro_common_report(common);
    char *text = NULL;
    size_t size = 0;
    pyro_error error;

    pyro_error_clear(&error);
    if (pyro_report_bench(&text, &size, report, (pyro_bench_format)common->format, &options,
                          &error) != PYRO_OK)
        return pyro_common_fail(NULL, &error);
    int exit_code = pyro_common_write(common, text, size);
    pyro_free(text);
    return exit_code;
}

void pyro_bench_write_annotations(const pyro_bench_report *report)
{
    pyro_buf line = PYRO_BUF_INIT;
    char amount[PYRO_UNIT_TEXT];

    if (!getenv("GITHUB_ACTIONS"))
        return;
    for (size_t i = 0; i < report->gate_count; i++) {
        const pyro_gate_row *row = &report->gates[i];

        if (row->gate == PYRO_GATE_PASSED)
            continue;
        pyro_buf_reset(&line);
        pyro_buf_addf(&line, "%s: %s %s: %s", row->result->name, row->threshold->text,
                      pyro_gate_name(row->gate), pyro_format_amount(amount, row->value, row->unit));
        if (row->reason)
            pyro_buf_addf(&line, ", %s", row->reason);
        pyro_github_annotate("error", line.failed ? "a threshold is violated" : line.data);
    }
    pyro_buf_free(&line);
}

void pyro_bench_write_summary(const pyro_bench_report *report)
{
    char *text = NULL;
    size_t size = 0;
    pyro_error error;

    if (!getenv("GITHUB_STEP_SUMMARY"))
        return;
    pyro_error_clear(&error);
    if (pyro_report_bench(&text, &size, report, PYRO_BENCH_MARKDOWN, NULL, &error) == PYRO_OK)
        pyro_github_summarize(text, size);
    else
        pyro_common_fail("GITHUB_STEP_SUMMARY", &error);
    pyro_free(text);
}

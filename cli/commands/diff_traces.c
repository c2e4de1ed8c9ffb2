/* Compares two runs: opens both traces, analyzes them and reports what changed. */
#include "cli/commands/diff_traces.h"

#include <pyrometer/recording.h>
#include <pyrometer/report.h>

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

bool pyro_is_trace(const char *path)
{
    unsigned char start[8] = {0};
    struct stat status;
    FILE *file;

    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode))
        return false;
    file = fopen(path, "rb");
    if (!file)
        return false;
    size_t count = fread(start, 1, sizeof start, file);
    fclose(file);
    static const unsigned char mark[] = {0xef, 0xbb, 0xbf}; /* byte order mark of UTF-8 */
    const unsigned char *at = start;
    if (count > 3 && memcmp(start, mark, sizeof mark) == 0)
        at += sizeof mark;
    while (at < start + sizeof start - 1 && strchr(" \t\r\n", *at) && *at != '\0')
        at++;
    return *at == '{' || *at == '[' || memcmp(start, "\x1f\x8b", 2) == 0 ||
           memcmp(start, "\x28\xb5\x2f\xfd", 4) == 0 ||
           memcmp(start, PYRO_RECORDING_MAGIC, sizeof start) == 0;
}

static const pyro_analysis_options analysis_options = {.step = -1, .without_stacks = true};

/* A trace and its analysis. */
typedef struct analyzed {
    pyro_trace *trace;
    pyro_analysis *analysis;
} analyzed;

static int analyze(analyzed *out, const char *path)
{
    pyro_error error;
    size_t count;

    pyro_error_clear(&error);
    if (pyro_trace_open(&out->trace, path, NULL, &error) != PYRO_OK ||
        pyro_trace_analyze(&out->analysis, out->trace, &analysis_options, &error) != PYRO_OK)
        return pyro_common_fail(path, &error);
    const char *const *warnings = pyro_trace_warnings(out->trace, &count);
    for (size_t i = 0; i < count; i++)
        pyro_common_complain("%s: warning: %s", path, warnings[i]);
    return PYRO_EXIT_FINE;
}

/* Two timelines share the room that one has otherwise. */
#define EVENTS_PER_SIDE 400000

/* The comparison, then both runs. */
static int write_page(const analyzed *sides, const pyro_trace_diff *diff, const pyro_common *common)
{
    pyro_page_options page_options = {.max_events = EVENTS_PER_SIDE};
    pyro_report_options options = {.format = PYRO_FORMAT_JSON, .top = -1};
    pyro_page *page = NULL;
    pyro_error error;
    char *text = NULL;
    size_t size = 0;

    pyro_error_clear(&error);
    int status = pyro_page_new(&page, &page_options, &error);
    if (status == PYRO_OK)
        status = pyro_report_trace_diff(&text, &size, diff, &options, &error);
    if (status == PYRO_OK)
        status = pyro_page_add_diff(page, "comparison", text, size, &error);
    for (size_t i = 0; i < 2 && status == PYRO_OK; i++)
        status = pyro_page_add_trace(page, sides[i].trace, sides[i].analysis, &analysis_options,
                                     &error);
    int exit_code = status == PYRO_OK ? pyro_common_write_page(common, page)
                                      : pyro_common_fail(NULL, &error);
    pyro_free(text);
    pyro_page_free(page);
    return exit_code;
}

static int write_diff(const analyzed *sides, int top, const pyro_common *common)
{
    pyro_report_options options = pyro_common_report(common);
    pyro_trace_diff *diff = NULL;
    char *text = NULL;
    size_t size = 0;
    int exit_code;
    pyro_error error;

    options.top = top;
    pyro_error_clear(&error);
    if (pyro_trace_compare(&diff, sides[0].analysis, sides[1].analysis, &error) != PYRO_OK)
        exit_code = pyro_common_fail(NULL, &error);
    else if (common->page)
        exit_code = write_page(sides, diff, common);
    else if (pyro_report_trace_diff(&text, &size, diff, &options, &error) != PYRO_OK)
        exit_code = pyro_common_fail(NULL, &error);
    else
        exit_code = pyro_common_write(common, text, size);
    pyro_free(text);
    pyro_trace_diff_free(diff);
    return exit_code;
}

int pyro_diff_traces(const char *before, const char *after, int top, const pyro_common *common)
{
    analyzed sides[2] = {{NULL, NULL}, {NULL, NULL}};
    int exit_code = analyze(&sides[0], before);

    if (exit_code == PYRO_EXIT_FINE)
        exit_code = analyze(&sides[1], after);
    if (exit_code == PYRO_EXIT_FINE)
        exit_code = write_diff(sides, top, common);
    for (size_t i = 0; i < 2; i++) {
        pyro_analysis_free(sides[i].analysis);
        pyro_trace_close(sides[i].trace);
    }
    return exit_code;
}

/* pyrometer trace: analyzes where the time of a run went, from a trace or a recording. */
#include "cli/command.h"
#include "cli/common.h"
#include "cli/model_open.h"
#include "cli/options/regex.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/recording_state.h"
#include "cli/trace/options.h"

#include "base/parallel.h"

#include <pyrometer/trace.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

/* Events; for fewer, a second thread costs more than it saves. */
#define WORTH_A_THREAD 100000

/* One run of the command over its files. */
typedef struct trace_run {
    const trace_values *values;
    pyro_analysis_options analysis;
    pyro_trace_report_options report;
    pyro_buf out;
    size_t written; /* files in `out` */
    size_t warnings;
    size_t defects; /* that make numbers wrong */
    pyro_page *page;     /* NULL: no page is wanted */
    pyro_passes *passes; /* summary of files that hold one pass each; may be NULL */
    bool page_lacks_input; /* so that it is not written */
    bool has_layers, has_gaps, has_memory, has_findings; /* of the last file */
} trace_run;

static int write_chunk(void *user, const char *bytes, size_t size, pyro_error *error)
{
    return pyro_output_add(user, bytes, size, error);
}

typedef int write_trace_fn(pyro_trace *trace, const pyro_analysis_options *options,
                           pyro_write_fn write, void *user, pyro_error *error);

/* Writes the trace to a file in another format; `path` may be NULL. */
static int write_trace(const trace_run *run, pyro_trace *trace, const char *path,
                       write_trace_fn *write, const char *what)
{
    pyro_output_stream stream;
    pyro_error error;
    int status;

    if (!path)
        return PYRO_EXIT_FINE;
    pyro_error_clear(&error);
    if (pyro_output_begin(&stream, path, &error) != PYRO_OK)
        return pyro_common_fail(path, &error);
    status = write(trace, &run->analysis, write_chunk, &stream, &error);
    if (pyro_output_end(&stream, status == PYRO_OK, &error) != PYRO_OK || status != PYRO_OK)
        return pyro_common_fail(path, &error);
    if (!run->values->common.quiet && strcmp(path, "-") != 0)
        pyro_common_say_written(path, what);
    return PYRO_EXIT_FINE;
}

static int write_traces(const trace_run *run, pyro_trace *trace)
{
    int exit_code = write_trace(run, trace, run->values->chrome, pyro_trace_write_chrome,
                                "Chrome trace");

    return exit_code != PYRO_EXIT_FINE ? exit_code
                                       : write_trace(run, trace, run->values->perfetto,
                                                     pyro_trace_write_perfetto, "Perfetto trace");
}

/* Appends the separator between the results of two files. */
static void separate(trace_run *run)
{
    if (run->written == 0)
        return;
    if (run->report.report.format == PYRO_FORMAT_JSON)
        pyro_buf_adds(&run->out, ",\n");
    else if (run->report.report.format == PYRO_FORMAT_TEXT && !run->values->folded)
        pyro_buf_addc(&run->out, '\n');
}

static int add_report(trace_run *run, const pyro_trace *trace, const pyro_analysis *analysis,
                      bool several, pyro_error *error)
{
    pyro_trace_report_options *report = &run->report;
    char *text = NULL;
    size_t size = 0;
    int status;

    if (several) {
        report->part = (int)run->written + 1;
        /* Every part of one CSV must have the columns of the first. */
        if (report->view == PYRO_TRACE_OVERVIEW && report->report.format == PYRO_FORMAT_CSV)
            report->view = analysis->layer_count > 0 ? PYRO_TRACE_LAYERS : PYRO_TRACE_OPS;
    }
    if (run->values->folded)
        status = pyro_report_trace_folded(&text, &size, analysis, error);
    else
        status = pyro_report_trace(&text, &size, trace, analysis, report, error);
    if (status != PYRO_OK)
        return status;
    separate(run);
    if (report->report.format == PYRO_FORMAT_JSON && several && size > 0)
        size--; /* the line end comes after the comma */
    if (several) {
        pyro_buf_add(&run->out, text, size);
        pyro_free(text);
    } else {
        pyro_buf_free(&run->out);
        run->out = (pyro_buf){.data = text, .length = size, .capacity = size + 1};
    }
    run->written++;
    run->has_layers = analysis->layer_count > 0;
    run->has_gaps = analysis->gap_count > 0;
    run->has_memory = analysis->memory_count > 0;
    run->has_findings = analysis->finding_count > 0;
    return PYRO_OK;
}

/*
 * Several files that contain layer paths are passes of one model. They are summarized together,
 * unless a table was requested.
 */
static bool is_pass(const trace_run *run, const pyro_trace *trace, bool several)
{
    return several && run->report.view == PYRO_TRACE_OVERVIEW && !run->values->folded &&
           pyro_trace_has_paths(trace);
}

static int add_pass(trace_run *run, pyro_trace *trace, const pyro_analysis *analysis,
                    pyro_error *error)
{
    if (!run->passes)
        run->passes = pyro_passes_new();
    return run->passes ? pyro_passes_add(run->passes, trace, analysis, &run->analysis, error)
                       : PYRO_ERROR_MEMORY;
}

/* Appends the summary of all passes after the reports of other files. */
static int add_summary(trace_run *run)
{
    const pyro_pass_summary *summary;
    char *text = NULL;
    size_t size = 0;
    pyro_error error;

    pyro_error_clear(&error);
    if (pyro_passes_summarize(run->passes, &summary, &error) != PYRO_OK ||
        pyro_report_passes(&text, &size, summary, &run->report.report, &error) != PYRO_OK)
        return pyro_common_fail("passes", &error);
    separate(run);
    if (run->written > 0 && run->report.report.format == PYRO_FORMAT_JSON)
        size--;
    pyro_buf_add(&run->out, text, size);
    pyro_free(text);
    run->written++;
    return PYRO_EXIT_FINE;
}

typedef struct freed {
    pyro_trace *trace;
    pyro_analysis *analysis;
} freed;

/* Freeing the pages of a large trace takes time, so two threads share the work. */
static void free_part(void *data, unsigned part)
{
    const freed *freed = data;

    if (part == 0)
        pyro_trace_close(freed->trace);
    else
        pyro_analysis_free(freed->analysis);
}

/* Adds times of steps, totals and peaks to the history. */
static void remember(const trace_run *run, const pyro_trace *trace, const pyro_analysis *analysis)
{
    pyro_trace_report_options options = {.report.format = PYRO_FORMAT_JSON, .depth = -1};
    char *text = NULL;
    size_t size = 0;
    pyro_error error;

    if (!run->values->history.wanted)
        return;
    pyro_error_clear(&error);
    if (pyro_report_trace(&text, &size, trace, analysis, &options, &error) == PYRO_OK)
        pyro_history_store(&run->values->history, text, size);
    else
        pyro_common_fail("history", &error);
    pyro_free(text);
}

static int report_failure(trace_run *run, const char *path, bool is_read, const pyro_error *error)
{
    const char *name = strcmp(path, "-") == 0 ? "standard input" : path;

    if (!run->page || is_read) {
        run->page_lacks_input = true;
        return pyro_common_fail(name, error);
    }
    if (!pyro_common_fail_on_page(run->page, name, error))
        run->page_lacks_input = true;
    return PYRO_EXIT_ERROR;
}

/* All threads share one heap, so that each can use what others have freed. */
static void share_heap(void)
{
#ifdef __GLIBC__
    mallopt(M_ARENA_MAX, 1);
#endif
}

/* What reading has freed lies between what it keeps, where no large array of the analysis fits. */
static void return_free_memory(void)
{
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

static int analyze_file(trace_run *run, const char *path, bool several)
{
    pyro_progress progress;
    pyro_trace_options options = {.threads = (int)run->values->threads,
                                  .progress = pyro_progress_update,
                                  .progress_user = &progress};
    pyro_trace *trace = NULL;
    pyro_analysis *analysis = NULL;
    pyro_error error;
    size_t warnings = 0;
    int status, exit_code = PYRO_EXIT_FINE;

    pyro_error_clear(&error);
    pyro_progress_begin(&progress, path, run->values->common.quiet);
    status = pyro_trace_open(&trace, path, &options, &error);
    return_free_memory();
    if (status == PYRO_OK)
        status = pyro_trace_analyze(&analysis, trace, &run->analysis, &error);
    pyro_progress_end(&progress);
    bool is_read = status == PYRO_OK;
    if (is_read)
        exit_code = write_traces(run, trace);
    if (is_read && run->page)
        status = pyro_page_add_trace(run->page, trace, analysis, &run->analysis, &error);
    else if (is_read)
        status = is_pass(run, trace, several) ? add_pass(run, trace, analysis, &error)
                                              : add_report(run, trace, analysis, several, &error);
    if (status == PYRO_OK) {
        remember(run, trace, analysis);
        pyro_trace_warnings(trace, &warnings);
        run->warnings += warnings;
        for (size_t i = 0; i < analysis->defect_count; i++)
            run->defects += analysis->defects[i].severity >= PYRO_SEVERITY_WARNING;
    } else {
        exit_code = report_failure(run, path, is_read, &error);
    }
    freed freed = {trace, analysis};
    unsigned parts = trace ? pyro_count_parts((int)run->values->threads,
                                              (size_t)pyro_trace_event_count(trace), WORTH_A_THREAD)
                           : 1;
    if (parts > 1)
        pyro_run_parts(free_part, &freed, 2);
    for (unsigned part = 2; parts == 1 && part-- > 0;)
        free_part(&freed, part);
    return exit_code;
}

/* Appends commands to try next. */
static void add_hints(trace_run *run, const char *path)
{
    pyro_buf *buf = &run->out;

    pyro_buf_adds(buf, "\nNext:\n");
    if (run->has_layers)
        pyro_common_hint(buf, "trace", path, "--by layer", "layers, forward and backward");
    else
        pyro_common_hint(buf, "trace", path, "--by op", "every op");
    if (run->has_gaps)
        pyro_common_hint(buf, "trace", path, "--by cause", "where the time went, and why");
    if (run->has_memory)
        pyro_common_hint(buf, "trace", path, "--by memory", "what holds memory at the peak");
    if (run->has_findings)
        pyro_common_hint(buf, "trace", path, "--by finding", "all findings");
    if (pyro_recording_is_growing(path))
        pyro_common_hint(buf, "top", path, "", "follow it while it grows");
    pyro_common_hint_output(buf, "trace", path, "results");
}

static bool is_stdout(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

static int write_results(trace_run *run, const pyro_words *files)
{
    const pyro_common *common = &run->values->common;
    bool json = run->report.report.format == PYRO_FORMAT_JSON && !run->values->folded;

    if (is_stdout(run->values->chrome) || is_stdout(run->values->perfetto))
        return PYRO_EXIT_FINE;
    if (json && files->count > 1 && (!run->passes || run->written > 1)) {
        pyro_buf whole = PYRO_BUF_INIT;

        pyro_buf_adds(&whole, "[\n");
        pyro_buf_add(&whole, run->out.data, run->out.length);
        pyro_buf_adds(&whole, "\n]\n");
        whole.failed = whole.failed || run->out.failed;
        pyro_buf_free(&run->out);
        run->out = whole;
    }
    if (run->report.report.format == PYRO_FORMAT_TEXT && !run->values->folded &&
        files->count == 1 && run->report.view == PYRO_TRACE_OVERVIEW && !common->quiet &&
        pyro_common_to_stdout(common) && strcmp(files->items[0], "-") != 0)
        add_hints(run, files->items[0]);
    if (run->out.failed)
        return pyro_common_complain("out of memory");
    return pyro_common_write(common, run->out.data ? run->out.data : "", run->out.length);
}

static int analyze_files(trace_run *run, const pyro_words *files)
{
    int worst = PYRO_EXIT_FINE, exit_code;

    for (size_t i = 0; i < files->count; i++) {
        exit_code = analyze_file(run, files->items[i], files->count > 1);
        worst = exit_code > worst ? exit_code : worst;
    }
    if (run->page && !run->page_lacks_input) {
        exit_code = pyro_common_write_page(&run->values->common, run->page);
        worst = exit_code > worst ? exit_code : worst;
    }
    if (run->passes) {
        exit_code = add_summary(run);
        worst = exit_code > worst ? exit_code : worst;
    }
    if (run->written > 0) {
        exit_code = write_results(run, files);
        worst = exit_code > worst ? exit_code : worst;
    }
    if (worst == PYRO_EXIT_FINE &&
        ((run->values->strict && run->warnings > 0) || (run->values->check && run->defects > 0)))
        return PYRO_EXIT_POLICY;
    return worst;
}

static int begin_page(trace_run *run)
{
    pyro_error error;

    pyro_error_clear(&error);
    if (!run->values->common.page || pyro_page_new(&run->page, NULL, &error) == PYRO_OK)
        return PYRO_EXIT_FINE;
    return pyro_common_fail(NULL, &error);
}

static int open_model(trace_run *run)
{
    pyro_error error;

    pyro_error_clear(&error);
    if (!run->values->model ||
        pyro_open_model(&run->analysis.model, run->values->model, NULL, &error) == PYRO_OK)
        return PYRO_EXIT_FINE;
    return pyro_common_fail(run->values->model, &error);
}

static bool check_one_trace(const char *option, const char *path, const pyro_words *files)
{
    if (path && files->count > 1)
        pyro_common_complain("%s writes one trace, but %zu files were given", option, files->count);
    else if (path && path[0] == '\0')
        pyro_common_complain("%s needs a file name", option);
    else
        return true;
    return false;
}

static int check_values(const trace_values *values, const pyro_words *files)
{
    if (files->count == 0)
        return pyro_common_complain("trace needs a file: pyrometer trace FILE "
                                    "(see pyrometer trace --help)");
    if (!check_one_trace("--chrome", values->chrome, files) ||
        !check_one_trace("--perfetto", values->perfetto, files))
        return PYRO_EXIT_ERROR;
    if (is_stdout(values->chrome) && is_stdout(values->perfetto))
        return pyro_common_complain("--chrome and --perfetto cannot both write to standard output");
    for (size_t i = 0; i < values->ignored.count; i++)
        if (!pyro_finding_exists(values->ignored.items[i]))
            return pyro_common_complain("--ignore: no finding has the id \"%.100s\" (the reference "
                                        "of traces lists all)",
                                        values->ignored.items[i]);
    return pyro_regex_option("trace", "--filter", values->filter, 0) &&
                   pyro_regex_option("trace", "--layers-from", values->layers_from, 1) &&
                   pyro_regex_option("trace", "--steps-from", values->steps_from, 0)
               ? PYRO_EXIT_FINE
               : PYRO_EXIT_ERROR;
}

static int load_peaks(trace_run *run, pyro_peaks *peaks)
{
    const char *path = run->values->peaks;
    pyro_error error;

    pyro_error_clear(&error);
    if (path && pyro_peaks_read(peaks, path, &error) != PYRO_OK)
        return pyro_common_fail(path, &error);
    if (path || pyro_peaks_load(peaks))
        run->analysis.peaks = peaks;
    return PYRO_EXIT_FINE;
}

static int run_files(const trace_values *values, const pyro_words *files)
{
    trace_run run = {
        .values = values,
        .analysis = {.layers_from = values->layers_from,
                     .annotations = values->annotations,
                     .provenance = values->provenance,
                     .steps_from = values->steps_from,
                     .step = (int)values->step,
                     .phase = (pyro_phase)(values->phase + 1),
                     .filter = values->filter,
                     .ignored_findings = (const char *const *)values->ignored.items,
                     .ignored_finding_count = values->ignored.count,
                     .threads = (int)values->threads},
        .report = {.report = pyro_common_report(&values->common),
                   .view = values->check && values->view < 0 ? PYRO_TRACE_DEFECTS
                                                             : (pyro_trace_view)(values->view + 1),
                   .depth = (int)values->depth},
    };
    int exit_code = check_values(values, files);
    pyro_peaks peaks;
    bool wants_stacks = values->folded || values->common.page ||
                        run.report.view == PYRO_TRACE_STACKS ||
                        (run.report.report.format == PYRO_FORMAT_JSON && run.report.report.verbose);
    bool wants_gap_causes = values->common.page || values->history.wanted ||
                            run.report.view == PYRO_TRACE_GAPS ||
                            run.report.report.format != PYRO_FORMAT_TEXT;
    run.analysis.without_stacks = !wants_stacks;
    run.analysis.without_gap_causes = !wants_gap_causes;

    if (exit_code == PYRO_EXIT_FINE)
        exit_code = load_peaks(&run, &peaks);
    if (values->top >= 0)
        run.report.report.top = values->top == 0 ? -1 : (int)values->top;
    else if (run.report.view != PYRO_TRACE_OVERVIEW && !run.report.report.verbose)
        run.report.report.top = 20;
    if (exit_code == PYRO_EXIT_FINE)
        exit_code = open_model(&run);
    if (exit_code == PYRO_EXIT_FINE)
        exit_code = begin_page(&run);
    if (exit_code == PYRO_EXIT_FINE)
        exit_code = analyze_files(&run, files);
    pyro_buf_free(&run.out);
    pyro_passes_free(run.passes);
    pyro_page_free(run.page);
    if (run.analysis.model)
        pyro_model_close(run.analysis.model);
    return exit_code;
}

static int run_trace(const pyro_command *command, int argc, char **argv)
{
    trace_values values = {
        .view = -1, .top = -1, .depth = -1, .step = -1, .phase = -1, .common = PYRO_COMMON_INIT};
    pyro_words files = {0};
    char *database = NULL;
    int exit_code;

    share_heap();
    values.common.plain = &values.folded;
    if (pyro_common_parse(command, argc, argv, &values, &values.common, &files, &exit_code)) {
        database = pyro_history_hide_password(values.history.database);
        values.history.database = database;
        exit_code = run_files(&values, &files);
    }
    free(database);
    pyro_words_free(&files);
    pyro_options_free(command->groups, &values);
    return exit_code;
}

static const pyro_example trace_examples[] = {
    {"pyrometer trace run.json.gz", "One screen: where the time went, and what to do about it."},
    {"pyrometer trace run.json.gz --by layer --depth 2",
     "Blocks of the model, forward and backward."},
    {"pyrometer trace run.json.gz --by kernel --phase backward",
     "Kernels in which the backward pass spends its time."},
    {"pyrometer trace run.json.gz --model model.pt2",
     "Show layers by their dotted names in the model."},
    {"pyrometer trace run.pyro --perfetto run.pftrace",
     "Write a trace for ui.perfetto.dev, with layers as nested tracks."},
    {"pyrometer trace run.json.gz --step 3 --chrome step3.json",
     "Extract one step of a huge trace for Perfetto."},
    {"pyrometer trace MyModel_forward_*.json",
     "Layers over several passes: median, p95, and what changed."},
    {"pyrometer trace run.json.gz --folded > run.folded", "Input for flamegraph.pl or speedscope."},
    {"pyrometer trace run.json.gz --strict -q -o results.json",
     "In a script: exit code 1 if the file is damaged."},
    {NULL, NULL},
};

const pyro_command cmd_trace = {
    .name = "trace",
    .summary = "analyze a run: layers, ops, kernels, idle time, memory",
    .usage = "FILE... [OPTION...]",
    .description =
        "Reads a trace of torch.profiler (Kineto or Chrome JSON; plain, .gz or .zst; any age and "
        "size; - is standard input) or a recording of pyrometer run. Reports where the time went: "
        "by step, layer, op and kernel, forward and backward; when the device was idle and why; "
        "copies, collectives and memory; and what could be improved.\n\n"
        "Device work is attributed to the call that launched it, backward work to its forward op, "
        "and both to the layer. Layers need nn.Module frames in the trace "
        "(torch.profiler.profile(with_stack=True)) or --layers-from. Shapes and FLOPs need "
        "record_shapes=True, memory needs profile_memory=True. Work that belongs to no layer has "
        "its own rows, so every total adds up.\n\n"
        "A damaged file is read as far as possible, with warnings about the rest; only a file "
        "without any event is an error. Several files are reported one after the other, in JSON as "
        "an array.",
    .examples = trace_examples,
    .groups = pyro_trace_option_groups,
    .operands = PYRO_COMPLETE_FILE,
    .report = PYRO_REPORT_TRACE,
    .run = run_trace,
};

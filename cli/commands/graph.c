/* pyrometer graph: writes a model or a recording as a graph, and finds where to cut it. */
#include "base/text/units.h"
#include "cli/command.h"
#include "cli/common.h"
#include "cli/graphviz.h"
#include "cli/output.h"
#include "cli/options/model.h"

#include "base/error.h"
#include "report/writers.h"

#include <pyrometer/graph.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define DEFAULT_MODEL "resnet18"

typedef struct graph_values {
    int granularity, level;
    int64_t cuts, depth;
    const char *memory_limit;
    bool no_edges, no_stats;
    pyro_pricing pricing;
    pyro_common common;
} graph_values;

static const char *const granularity_names[] = {"module", "layer", "op", NULL};
static const char *const level_names[] = {"high", "aten", NULL};

static const pyro_option graph_options[] = {
    {.long_name = "granularity",
     .short_name = 'g',
     .kind = PYRO_OPTION_CHOICE,
     .offset = offsetof(graph_values, granularity),
     .metavar = "WHAT",
     .help = "What a node is. module: blocks that the model repeats, and leaf modules elsewhere; "
             "layer: leaf modules, and operators outside of them; op: operators.",
     .default_text = "module; layer for html, which folds modules",
     .choices = granularity_names},
    {.long_name = "level",
     .kind = PYRO_OPTION_CHOICE,
     .offset = offsetof(graph_values, level),
     .metavar = "LEVEL",
     .help = "Which operators to show. high: as called from Python, if the recording has that; "
             "aten: every operator that ran.",
     .default_text = "high",
     .choices = level_names},
    {.long_name = "cuts",
     .kind = PYRO_OPTION_INTEGER,
     .offset = offsetof(graph_values, cuts),
     .metavar = "K",
     .help = "Show each possible cut between two nodes with the bytes that cross it, and the best "
             "split into K parts: the slowest part is as fast as possible, the others are "
             "balanced.",
     .minimum = 1,
     .maximum = 1000000},
    {.long_name = "memory-limit",
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(graph_values, memory_limit),
     .metavar = "SIZE",
     .help = "Most memory that a part of --cuts may need, such as 500M or 8G: its parameters plus "
             "the peak of its other tensors."},
    {.long_name = "depth",
     .kind = PYRO_OPTION_INTEGER,
     .offset = offsetof(graph_values, depth),
     .metavar = "N",
     .help = "In drawings (svg, dot), draw repeated blocks separately if their path has at most N "
             "names: 2 expands layers.0, layers.1 and so on. Other repeated blocks are drawn once, "
             "with their count.",
     .default_text = "0",
     .minimum = 0,
     .maximum = 1000000},
    {.long_name = "no-edges",
     .kind = PYRO_OPTION_FLAG,
     .offset = offsetof(graph_values, no_edges),
     .help = "Omit the edges."},
    {.long_name = "no-stats",
     .kind = PYRO_OPTION_FLAG,
     .offset = offsetof(graph_values, no_stats),
     .help = "Omit the totals."},
    {.long_name = NULL},
};

static const pyro_option output_options[] = {
    {.long_name = "format",
     .kind = PYRO_OPTION_FORMAT,
     .offset = offsetof(graph_values, common) + offsetof(pyro_common, format_name),
     .metavar = "FORMAT",
     .help = "Output format: {formats}.",
     .default_text = "text, or by the extension of --output"},
    {.long_name = "output",
     .short_name = 'o',
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(graph_values, common) + offsetof(pyro_common, output),
     .metavar = "FILE",
     .help = "Write to FILE. Its extension ({extensions}) selects the format. An error leaves no "
             "partial file.",
     .default_text = "standard output",
     .completion = PYRO_COMPLETE_FILE,
     .writes = PYRO_WRITES_FILE},
    {.long_name = "quiet",
     .short_name = 'q',
     .kind = PYRO_OPTION_FLAG,
     .offset = offsetof(graph_values, common) + offsetof(pyro_common, quiet),
     .help = "Do not report which file was written."},
    {.long_name = "help",
     .short_name = 'h',
     .kind = PYRO_OPTION_FLAG,
     .offset = offsetof(graph_values, common) + offsetof(pyro_common, help),
     .help = "Show this help."},
    {.long_name = NULL},
};

static const pyro_option_group graph_groups[] = {
    {"Graph:", graph_options, 0},
    {"Sizes of a model (not of a recording):", pyro_size_options, offsetof(graph_values, pricing)},
    {"One token of a language model:", pyro_decode_options, offsetof(graph_values, pricing)},
    {"Python:", pyro_python_options, offsetof(graph_values, pricing)},
    {"Output:", output_options, 0},
    {NULL, NULL, 0},
};

static int open_model(pyro_program **program, const char *spec, const graph_values *values,
                      pyro_error *error)
{
    pyro_priced priced;
    int status = pyro_price_model(&priced, spec, &values->pricing, error);

    if (status != PYRO_OK)
        return status;
    status = pyro_program_of_model(program, priced.cost, error);
    pyro_priced_free(&priced);
    return status;
}

static int open_recording(pyro_program **program, const char *path, pyro_error *error)
{
    pyro_trace *trace = NULL;
    int status = pyro_trace_open(&trace, path, NULL, error);

    if (status == PYRO_OK)
        status = pyro_program_of_trace(program, trace, error);
    pyro_trace_close(trace);
    if (status != PYRO_OK)
        pyro_error_where(error, path, NULL);
    return status;
}

/* Recognizes a recording by its first bytes. "-" and model names are not files to open. */
static bool is_recording(const char *spec)
{
    char magic[8] = "";
    struct stat info;
    bool regular = stat(spec, &info) == 0 && S_ISREG(info.st_mode);
    FILE *file = regular ? fopen(spec, "rb") : NULL;
    bool is_one = file && fread(magic, 1, sizeof magic, file) == sizeof magic &&
                  memcmp(magic, "PYROREC1", sizeof magic) == 0;

    if (file)
        fclose(file);
    return is_one;
}

static int write_graph(const pyro_dataflow *graph, const pyro_cuts *cuts,
                       const graph_values *values)
{
    int format = values->common.format;
    pyro_graph_report report = {.format = format == PYRO_GRAPH_SVG ? PYRO_GRAPH_DOT
                                                                   : (pyro_graph_format)format,
                                .no_edges = values->no_edges,
                                .no_stats = values->no_stats,
                                .cuts = cuts,
                                .depth = values->depth,
                                .for_picture = format == PYRO_GRAPH_SVG};
    pyro_buf svg = PYRO_BUF_INIT;
    pyro_error error;
    char *text = NULL;
    size_t size = 0;
    int exit_code;

    pyro_error_clear(&error);
    if (pyro_report_graph(&text, &size, graph, &report, &error) != PYRO_OK)
        return pyro_common_fail(NULL, &error);
    if (format != PYRO_GRAPH_SVG)
        exit_code = pyro_common_write(&values->common, text, size);
    else if (pyro_graphviz_svg(&svg, text, size, &error) == PYRO_OK)
        exit_code = pyro_common_write(&values->common, svg.data, svg.length);
    else
        exit_code = pyro_common_fail(NULL, &error);
    pyro_buf_free(&svg);
    pyro_free(text);
    return exit_code;
}

/* A page folds layers into modules itself. */
static pyro_granularity granularity_of(const graph_values *values)
{
    if (values->granularity >= 0)
        return (pyro_granularity)values->granularity;
    return values->common.page ? PYRO_GRANULARITY_LAYER : PYRO_GRANULARITY_MODULE;
}

static int build_and_write(const pyro_program *program, const graph_values *values,
                           int64_t memory_limit)
{
    pyro_dataflow_options options = {granularity_of(values), (pyro_op_level)values->level};
    pyro_dataflow *graph = NULL;
    pyro_cuts cuts = {0};
    pyro_error error;
    int exit_code;

    pyro_error_clear(&error);
    int status = pyro_dataflow_build(&graph, program, &options, &error);
    if (status == PYRO_OK && values->cuts > 0)
        status = pyro_cuts_find(&cuts, graph, values->cuts, memory_limit, &error);
    exit_code = status == PYRO_OK ? write_graph(graph, values->cuts > 0 ? &cuts : NULL, values)
                                  : pyro_common_fail(NULL, &error);
    pyro_cuts_free(&cuts);
    pyro_dataflow_free(graph);
    return exit_code;
}

static int graph_of(const char *spec, const graph_values *values)
{
    uint64_t memory_limit = 0;
    pyro_program *program = NULL;
    pyro_error error;
    int format = values->common.format, exit_code, status;

    if (values->memory_limit && !pyro_parse_size(values->memory_limit, &memory_limit))
        return pyro_common_complain("--memory-limit: \"%.60s\" is not a size; write 500M or 8G",
                                    values->memory_limit);
    if (values->depth > 0 && format != PYRO_GRAPH_SVG && format != PYRO_GRAPH_DOT)
        return pyro_common_complain("--depth is for drawings: use it with --format svg or dot");
    if (values->memory_limit && values->cuts == 0)
        return pyro_common_complain("--memory-limit requires --cuts, the number of parts");
    pyro_error_clear(&error);
    status = is_recording(spec) ? open_recording(&program, spec, &error)
                                : open_model(&program, spec, values, &error);
    if (status != PYRO_OK)
        return pyro_common_fail(spec, &error);
    exit_code = build_and_write(program, values, (int64_t)memory_limit);
    pyro_program_free(program);
    return exit_code;
}

static int run_graph(const pyro_command *command, int argc, char **argv)
{
    graph_values values = {
        .granularity = -1, .pricing = PYRO_PRICING_INIT, .common = PYRO_COMMON_INIT};
    pyro_words operands = {0};
    int exit_code;

    if (pyro_common_parse(command, argc, argv, &values, &values.common, &operands, &exit_code)) {
        const char *spec = operands.count ? operands.items[0] : DEFAULT_MODEL;

        values.common.subject = spec;
        if (operands.count > 1)
            exit_code = pyro_common_complain("graph takes one model or recording, not %zu (see "
                                             "pyrometer graph --help)",
                                             operands.count);
        else
            exit_code = graph_of(spec, &values);
    }
    pyro_words_free(&operands);
    pyro_options_free(command->groups, &values);
    return exit_code;
}

static const pyro_example graph_examples[] = {
    {"pyrometer graph resnet18",
     "Blocks and layers of a built-in model, and the tensors between them."},
    {"pyrometer graph model.pt2 --granularity layer -o model.svg",
     "Draw the graph, with Graphviz."},
    {"pyrometer graph model.pt2 -o model.html",
     "Show the graph in a browser; a click unfolds a module."},
    {"pyrometer graph run.pyro --granularity op --format json",
     "Operators that ran, with their times, as JSON."},
    {"pyrometer graph run.pyro --cuts 4 --memory-limit 8G",
     "Where to cut the model for four devices with 8 GiB each."},
    {NULL, NULL},
};

const pyro_command cmd_graph = {
    .name = "graph",
    .summary = "show a model as a graph of modules or operators; find where to cut it",
    .usage = "[MODEL | FILE.pyro] [OPTION...]",
    .description =
        "Writes a model as a graph. Nodes are modules or operators with their parameters, FLOPs, "
        "bytes and, from a recording, their time (median and 95th percentile over the passes). "
        "Edges are the tensors that pass from one node to another, traced through views, in-place "
        "operators and code between modules.\n\n"
        "MODEL is a file, name, id, folder or function, as for pyrometer cost. FILE.pyro is a "
        "recording with storages, made by pyrometer.Profiler or pyrometer.capture(..., "
        "storages=True).\n\n"
        "--cuts K shows for each cut between two nodes the bytes that cross it and the time on "
        "both sides (FLOPs if nothing was timed), and splits the model into K consecutive "
        "parts.\n\n"
        "Drawings (svg, dot) group nodes by module and colour them by cost. Repeated blocks are "
        "drawn once, with their count; --depth expands them.",
    .examples = graph_examples,
    .groups = graph_groups,
    .operands = PYRO_COMPLETE_MODEL,
    .report = PYRO_REPORT_GRAPH,
    .run = run_graph,
};

/* The tables of pyrometer trace's options: which results, of which part, and where to. */
#include "cli/trace/options.h"

/* In the order of pyro_trace_view without its first, the overview; NULL-terminated. */
enum {
    VIEW_COUNT = 1
#define PYRO_TABLE(...) +1
#include <pyrometer/tables.def>
};
static const char *const view_names[VIEW_COUNT] = {
#define PYRO_TABLE(id, number, by, ...) [number - 1] = by,
#include <pyrometer/tables.def>
};

/* In the order of pyro_phase, which begins with "other". */
static const char *const phase_names[] = {"forward", "backward", "optimizer", NULL};

static const pyro_option table_options[] = {
    {.long_name = "by",
     .kind = PYRO_OPTION_CHOICE,
     .offset = offsetof(trace_values, view),
     .metavar = "WHAT",
     .help = "Show one table instead of the overview. For CSV: the table to write.",
     .default_text = "the overview",
     .choices = view_names},
    {.long_name = "top",
     .kind = PYRO_OPTION_INTEGER,
     .offset = offsetof(trace_values, top),
     .metavar = "N",
     .help = "Number of rows in text tables; 0 shows all. JSON and CSV always have all rows.",
     .default_text = "20; 3 to 5 in the overview",
     .minimum = 0,
     .maximum = 1000000000},
    {.long_name = "depth",
     .kind = PYRO_OPTION_INTEGER,
     .offset = offsetof(trace_values, depth),
     .metavar = "N",
     .help = "Sum layers nested deeper than N into their ancestor; layer1.0.conv1 has depth 3.",
     .default_text = "every layer separately",
     .minimum = 0,
     .maximum = 1000000},
    {.long_name = NULL},
};

static const pyro_option choice_options[] = {
    {.long_name = "step",
     .kind = PYRO_OPTION_INTEGER,
     .offset = offsetof(trace_values, step),
     .metavar = "N",
     .help = "Show only the step with this number.",
     .default_text = "all",
     .minimum = 0,
     .maximum = 2147483647},
    {.long_name = "phase",
     .kind = PYRO_OPTION_CHOICE,
     .offset = offsetof(trace_values, phase),
     .metavar = "PHASE",
     .help = "Show only the device work of this phase.",
     .default_text = "all",
     .choices = phase_names},
    {.long_name = "filter",
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(trace_values, filter),
     .metavar = "REGEX",
     .help = "Show only ops, kernels and layers whose name matches (POSIX extended)."},
    {.long_name = "ignore",
     .kind = PYRO_OPTION_LIST,
     .offset = offsetof(trace_values, ignored),
     .metavar = "ID",
     .help = "Leave out the finding with this id, as in --by finding --format csv."},
    {.long_name = NULL},
};

static const pyro_option name_options[] = {
    {.long_name = "model",
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(trace_values, model),
     .metavar = "MODEL",
     .help = "Model that ran, as for pyrometer cost. Gives layers their dotted names if the trace "
             "has only class names.",
     .completion = PYRO_COMPLETE_MODEL},
    {.long_name = "layers-from",
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(trace_values, layers_from),
     .metavar = "REGEX",
     .help = "Take layers from user annotations (record_function). The first group of the regular "
             "expression is the dotted path, as in 'fwd\\|(.*)'."},
    {.long_name = "annotations",
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(trace_values, annotations),
     .metavar = "FILE",
     .help = "Layers of the nodes of CUDA graphs, as torch writes them "
             "(kernel_annotations_rank0_*.json, or a pickle of plain data).",
     .default_text = "such a file beside the trace or one folder above",
     .completion = PYRO_COMPLETE_FILE},
    {.long_name = "provenance",
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(trace_values, provenance),
     .metavar = "DIR",
     .help =
         "Where kernels of torch.compile come from: a folder or file that TORCH_TRACE or a debug "
         "trace of Inductor wrote.",
     .default_text = "such files beside the trace",
     .completion = PYRO_COMPLETE_FILE},
    {.long_name = "steps-from",
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(trace_values, steps_from),
     .metavar = "REGEX",
     .help = "Take steps from annotations whose name matches, else from ops, else from Python "
             "frames. Digits in the first group are the step's number, as in 'iteration ([0-9]+)'.",
     .default_text = "ProfilerStep#N, else inferred"},
    {.long_name = NULL},
};

static const pyro_option output_options[] = {
    {.long_name = "folded",
     .kind = PYRO_OPTION_FLAG,
     .offset = offsetof(trace_values, folded),
     .help = "Write folded stacks, \"outer;inner;kernel nanoseconds\", for flame-graph tools."},
    {.long_name = "chrome",
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(trace_values, chrome),
     .metavar = "FILE",
     .help = "Also write a trace for Perfetto and chrome://tracing, limited by --step, --phase and "
             "--filter, with counters of queue length, copy bandwidth and memory.",
     .completion = PYRO_COMPLETE_FILE,
     .writes = PYRO_WRITES_FILE},
    {.long_name = "perfetto",
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(trace_values, perfetto),
     .metavar = "FILE",
     .help = "Also write a trace in Perfetto's own format (.pftrace) for ui.perfetto.dev, limited "
             "as --chrome is: layers as nested tracks, overlapping kernels beside each other, "
             "arrows from launches to kernels, counters.",
     .completion = PYRO_COMPLETE_FILE,
     .writes = PYRO_WRITES_FILE},
    {.long_name = "strict",
     .kind = PYRO_OPTION_FLAG,
     .offset = offsetof(trace_values, strict),
     .help = "Exit with 1 when a file is damaged. The result is still written."},
    {.long_name = "check",
     .kind = PYRO_OPTION_FLAG,
     .offset = offsetof(trace_values, check),
     .help =
         "List known defects of the trace with their causes (--by defect): lost kernels, missing "
         "launches, clocks that disagree, damage. Exit with 1 if one makes numbers wrong."},
    {.long_name = "peaks",
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(trace_values, peaks),
     .metavar = "FILE",
     .help = "Peak rates that pyrometer doctor --calibrate measured on the machine of the trace.",
     .default_text = "those of this machine",
     .completion = PYRO_COMPLETE_FILE},
    {.long_name = "threads",
     .kind = PYRO_OPTION_INTEGER,
     .offset = offsetof(trace_values, threads),
     .metavar = "N",
     .help = "Number of threads that read; 0 means one per core.",
     .default_text = "0",
     .minimum = 0,
     .maximum = 1024},
    {.long_name = NULL},
};

const pyro_option_group pyro_trace_option_groups[] = {
    {"Tables:", table_options, 0},
    {"Filters:", choice_options, 0},
    {"Layers and steps:", name_options, 0},
    {"Reading and other outputs:", output_options, 0},
    {"History:", pyro_history_store_options, offsetof(trace_values, history)},
    {"Output:", pyro_common_options, offsetof(trace_values, common)},
    {NULL, NULL, 0},
};

/* pyrometer top: shows a growing recording in the terminal. */
#include "cli/command.h"
#include "cli/common.h"
#include "cli/output.h"
#include "cli/top/screen.h"
#include "cli/top/terminal.h"

#include "base/error.h"
#include "base/text/units.h"

#include <string.h>

#define DEFAULT_LAST_NS INT64_C(10000000000)
#define SHORTEST_LAST_NS INT64_C(100000000)
#define LONGEST_LAST_NS INT64_C(3600000000000)

typedef struct top_values {
    const char *last;
    double interval_s;
    int table;
    bool once;
    pyro_common common;
} top_values;

static const char *const table_names[] = {"layer", "op", "kernel", NULL};

static const pyro_option top_options[] = {
    {.long_name = "by",
     .kind = PYRO_OPTION_CHOICE,
     .offset = offsetof(top_values, table),
     .metavar = "TABLE",
     .help = "Table to show first; l, o and k switch between them.",
     .default_text = "layer",
     .choices = table_names},
    {.long_name = "last",
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(top_values, last),
     .metavar = "TIME",
     .help = "Show this much of the end of the recording (500ms, 30s, 2min); + and - change it.",
     .default_text = "10s"},
    {.long_name = "interval",
     .kind = PYRO_OPTION_NUMBER,
     .offset = offsetof(top_values, interval_s),
     .metavar = "SECONDS",
     .help = "Time between two readings.",
     .default_text = "1",
     .minimum = 0.1,
     .maximum = 3600},
    {.long_name = "once",
     .kind = PYRO_OPTION_FLAG,
     .offset = offsetof(top_values, once),
     .help = "Print one reading and exit, as without a terminal."},
    {.long_name = "help",
     .short_name = 'h',
     .kind = PYRO_OPTION_FLAG,
     .offset = offsetof(top_values, common.help),
     .help = "Show this help."},
    {.long_name = NULL},
};

static const pyro_option_group top_groups[] = {
    {"Options:", top_options, 0},
    {NULL, NULL, 0},
};

static int print_once(top_view *view)
{
    pyro_buf buf = PYRO_BUF_INIT;
    pyro_error error;
    int status;

    pyro_error_clear(&error);
    view->columns = pyro_output_width(true);
    status = top_screen(&buf, view, &error);
    if (status != PYRO_OK)
        pyro_common_fail(view->path, &error);
    else if (pyro_output_stdout(buf.data, buf.length, &error) != PYRO_OK)
        status = pyro_common_fail(NULL, &error);
    pyro_buf_free(&buf);
    return status == PYRO_OK ? PYRO_EXIT_FINE : PYRO_EXIT_ERROR;
}

/* Applies a key; false: the user wants to end. */
static bool apply_key(top_view *view, int key)
{
    switch (key) {
    case 'q':
    case 'Q':
    case TOP_END:
        return false;
    case 'l':
        view->table = TOP_LAYERS;
        break;
    case 'o':
        view->table = TOP_OPS;
        break;
    case 'k':
        view->table = TOP_KERNELS;
        break;
    case ' ':
    case 'p':
        view->is_paused = !view->is_paused;
        break;
    case '+':
        view->last_ns = view->last_ns > LONGEST_LAST_NS / 2 ? LONGEST_LAST_NS : 2 * view->last_ns;
        break;
    case '-':
        view->last_ns = view->last_ns < 2 * SHORTEST_LAST_NS ? SHORTEST_LAST_NS : view->last_ns / 2;
        break;
    default:
        break;
    }
    return true;
}

/* A file that cannot be read any more, as during its replacement, is reported on the screen. */
static void draw(top_view *view)
{
    top_size size = top_terminal_size();
    pyro_buf buf = PYRO_BUF_INIT;
    pyro_error error;

    pyro_error_clear(&error);
    view->columns = size.columns;
    view->rows = size.rows;
    if (top_screen(&buf, view, &error) != PYRO_OK) {
        pyro_buf_reset(&buf);
        pyro_buf_addf(&buf, "%s: %s\n\nq quit", view->path, error.message);
    }
    if (!buf.failed)
        top_terminal_draw(&buf);
    pyro_buf_free(&buf);
}

static int follow(top_view *view, int64_t interval_ms)
{
    int key = TOP_TIMEOUT;

    if (!top_terminal_begin())
        return print_once(view);
    view->shows_keys = true;
    do {
        if (!view->is_paused || key != TOP_TIMEOUT)
            draw(view);
        key = top_terminal_wait(interval_ms);
    } while (apply_key(view, key));
    top_terminal_end();
    return PYRO_EXIT_FINE;
}

static int show(const top_values *values, const pyro_words *files)
{
    top_view view = {.last_ns = DEFAULT_LAST_NS, .table = (top_table)values->table};
    pyro_buf buf = PYRO_BUF_INIT;
    pyro_error error;
    int status;

    if (files->count != 1)
        return pyro_common_complain("top needs one recording: pyrometer top FILE.pyro "
                                    "(see pyrometer top --help)");
    if (values->last && (!pyro_parse_duration(values->last, &view.last_ns) ||
                         view.last_ns < SHORTEST_LAST_NS || view.last_ns > LONGEST_LAST_NS))
        return pyro_common_complain("--last: \"%.60s\" is not a time between 100ms and 1h "
                                    "(see pyrometer top --help)",
                                    values->last);
    view.path = files->items[0];
    if (values->once || !top_terminal_is_there())
        return print_once(&view);
    /* An error goes to the normal screen. */
    pyro_error_clear(&error);
    view.columns = top_terminal_size().columns;
    status = top_screen(&buf, &view, &error);
    pyro_buf_free(&buf);
    return status == PYRO_OK ? follow(&view, (int64_t)(values->interval_s * 1000))
                             : pyro_common_fail(view.path, &error);
}

static int run_top(const pyro_command *command, int argc, char **argv)
{
    top_values values = {.interval_s = 1};
    pyro_words files = {0};
    int exit_code;

    if (pyro_common_parse(command, argc, argv, &values, &values.common, &files, &exit_code))
        exit_code = show(&values, &files);
    pyro_words_free(&files);
    pyro_options_free(command->groups, &values);
    return exit_code;
}

static const pyro_example top_examples[] = {
    {"pyrometer top train.pyro",
     "Follow a program that pyrometer run records in another terminal."},
    {"pyrometer top train.pyro --by op --last 60s", "Ops of the last minute."},
    {"pyrometer top train.pyro --once", "One reading, for a script or a log."},
    {NULL, NULL},
};

const pyro_command cmd_top = {
    .name = "top",
    .summary = "show a growing recording in the terminal",
    .usage = "FILE.pyro [OPTION...]",
    .description =
        "Shows where the time of the last seconds of a recording went, while pyrometer run or "
        "pyrometer.capture() writes it, or afterwards: layers, ops or kernels by their own time, steps, "
        "device use and memory. Own time is device time where a device worked, else host time.\n\n"
        "Only the last part of the file is read (--last), so the cost does not grow with the "
        "recording. Keys: l layers, o ops, k kernels, + and - for a longer or shorter part, space to "
        "pause, q to quit. Without a terminal it prints one reading and exits.",
    .examples = top_examples,
    .groups = top_groups,
    .operands = PYRO_COMPLETE_FILE,
    .report = PYRO_REPORT_NONE,
    .run = run_top,
};

/* Writes the account of lost time: every cause with its time, and where the host was. */
#include "report/trace/view.h"

#include "report/cost/rows.h"
#include "report/text.h"

enum { PLACES_PER_CAUSE = 3 };

#define COLUMNS(columns) columns, sizeof columns / sizeof *columns

const char *pyro_cause_label(pyro_cause cause, bool on_host)
{
    static const char *const labels[PYRO_CAUSE_COUNT] = {
        [PYRO_CAUSE_COMPUTE] = "device work",
        [PYRO_CAUSE_COMMUNICATION] = "communication alone",
        [PYRO_CAUSE_PEER_WAIT] = "waiting for a rank",
        [PYRO_CAUSE_COPY] = "copies alone",
        [PYRO_CAUSE_PYTHON] = "host in Python",
        [PYRO_CAUSE_OPS] = "host in ops",
        [PYRO_CAUSE_DATA_LOADING] = "data loading",
        [PYRO_CAUSE_LAUNCH_LATENCY] = "launch latency",
        [PYRO_CAUSE_QUEUED] = "queued, not started",
        [PYRO_CAUSE_UNRECORDED] = "work not in file",
        [PYRO_CAUSE_BEFORE_FIRST] = "before first kernel",
        [PYRO_CAUSE_AFTER_LAST] = "after last kernel",
        [PYRO_CAUSE_UNKNOWN] = "launch not in file",
    };
    static const char *const on_host_only[PYRO_CAUSE_COUNT] = {
        [PYRO_CAUSE_COMMUNICATION] = "communication",
        [PYRO_CAUSE_PYTHON] = "outside ops",
        [PYRO_CAUSE_OPS] = "in ops",
    };

    if (on_host && on_host_only[cause])
        return on_host_only[cause];
    return labels[cause];
}

int64_t pyro_cause_total_ns(const pyro_analysis *analysis, pyro_cause cause)
{
    int64_t total_ns = 0;

    for (size_t i = 0; i < analysis->cause_count; i++)
        if (analysis->causes[i].cause == cause)
            total_ns += analysis->causes[i].time_ns;
    return total_ns;
}

/* "train.py(12): step, aten::mm, layer1.0" as far as known. */
static void add_place(pyro_table *table, const pyro_cause_place *place)
{
    const char *texts[] = {place->line, place->op, place->layer};
    pyro_buf text = PYRO_BUF_INIT;

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i][0] != '\0')
            pyro_buf_addf(&text, "%s%s", text.length > 0 ? ", " : "", texts[i]);
    pyro_table_cell(table, text.length > 0 ? text.data : "-");
    table->failed = table->failed || text.failed;
    pyro_buf_free(&text);
}

static bool has_place(const pyro_cause_place *place)
{
    return place->line[0] != '\0' || place->op[0] != '\0' || place->layer[0] != '\0';
}

static void add_places(pyro_trace_writer *w, pyro_table *table, pyro_cause cause, int64_t whole_ns,
                       size_t most)
{
    const pyro_analysis *analysis = w->analysis;
    size_t shown = 0;

    for (size_t i = 0; i < analysis->cause_place_count && shown < most; i++) {
        const pyro_cause_place *place = &analysis->cause_places[i];

        if (place->cause != cause || !has_place(place))
            continue;
        pyro_table_cell(table, "");
        pyro_cell_duration(table, place->time_ns);
        pyro_cell_share(table, place->time_ns, whole_ns);
        add_place(table, place);
        shown++;
    }
}

/* The causes of all steps together; JSON and CSV have them by step. */
void pyro_write_trace_causes(pyro_trace_writer *w)
{
    static const pyro_table_column columns[] = {
        {"Cause", false, false},
        {"Time", true, false},
        {"Share", true, false},
        {"Where the host was", false, true},
    };
    int64_t whole_ns = 0, time_ns;
    size_t most = PLACES_PER_CAUSE;
    pyro_table table;

    if (w->options->verbose || w->options->top < 0)
        most = w->analysis->cause_place_count;
    for (int cause = 0; cause < PYRO_CAUSE_COUNT; cause++)
        whole_ns += pyro_cause_total_ns(w->analysis, (pyro_cause)cause);
    pyro_text_heading(
        w->buf, "\nWhere the time went, by cause (parts that do not overlap):", w->options->color);
    pyro_table_init(&table, COLUMNS(columns));
    for (int cause = 0; cause < PYRO_CAUSE_COUNT; cause++) {
        time_ns = pyro_cause_total_ns(w->analysis, (pyro_cause)cause);
        if (time_ns == 0)
            continue;
        pyro_table_cell(&table, pyro_cause_label((pyro_cause)cause, w->on_host));
        pyro_cell_duration(&table, time_ns);
        pyro_cell_share(&table, time_ns, whole_ns);
        pyro_table_cell(&table, "");
        add_places(w, &table, (pyro_cause)cause, whole_ns, most);
    }
    pyro_table_rule(&table);
    pyro_table_cell(&table, "All");
    pyro_cell_duration(&table, whole_ns);
    pyro_cell_share(&table, whole_ns, whole_ns);
    pyro_table_cell(&table, "");
    pyro_trace_draw(w, &table);
}

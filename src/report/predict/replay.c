/* Writes the ops of a trace that can be replayed, or the script that replays some of them. */
#include "report/predict/replay.h"

#include "base/error.h"
#include "base/text/table.h"
#include "base/text/units.h"
#include "report/csv.h"
#include "report/text.h"
#include "report/trace/view.h"
#include "report/writers.h"

static size_t last_shown(const pyro_replay_report *report)
{
    size_t count = report->replay->count;
    return report->last < count ? report->last + 1 : count;
}

int pyro_write_replay_text(pyro_buf *buf, const pyro_report_request *request)
{
    static const pyro_table_column columns[] = {
        {"N", true, false},       {"Op", false, true},   {"Shapes", false, true},
        {"Calls", true, false},   {"Time", true, false}, {"Median", true, false},
        {"Replay", false, false},
    };
    const pyro_replay_report *report = request->replay;
    char cell[PYRO_UNIT_TEXT];
    pyro_table table;

    pyro_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = report->first; i < last_shown(report); i++) {
        const pyro_replay_op *op = &report->replay->ops[i];
        pyro_table_cellf(&table, "%zu", i + 1);
        pyro_table_cell(&table, op->name);
        pyro_cell_shapes(&table, op->dims);
        pyro_table_cell(&table, pyro_format_exact(cell, op->calls));
        pyro_table_cell(&table, pyro_format_duration(cell, op->total_ns));
        pyro_table_cell(&table, pyro_format_duration(cell, op->median_ns));
        pyro_table_cell(&table, op->rejected[0] ? "no" : "yes");
    }
    pyro_table_write(&table, buf, 2, request->options->width, request->options->color);
    pyro_table_free(&table);
    for (size_t i = report->first; i < last_shown(report); i++)
        if (report->replay->ops[i].rejected[0])
            pyro_buf_addf(buf, "  %zu cannot be rebuilt: %s\n", i + 1,
                          report->replay->ops[i].rejected);
    if (last_shown(report) < report->replay->count)
        pyro_buf_addf(buf, "  ... %zu more ops; --top 0 shows all\n",
                      report->replay->count - last_shown(report));
    return PYRO_OK;
}

int pyro_write_replay_json(pyro_buf *buf, const pyro_report_request *request)
{
    const pyro_replay_report *report = request->replay;
    pyro_json_writer writer;

    pyro_json_writer_init(&writer, buf, 2);
    pyro_json_begin_object(&writer);
    pyro_json_member_string(&writer, "schema", "pyrometer.replay/1");
    pyro_json_member_string(&writer, "file", report->file);
    pyro_json_member_boolean(&writer, "on_device", report->replay->on_device);
    pyro_json_key(&writer, "ops");
    pyro_json_begin_array(&writer);
    for (size_t i = report->first; i < last_shown(report); i++) {
        const pyro_replay_op *op = &report->replay->ops[i];
        pyro_json_begin_object(&writer);
        pyro_json_member_integer(&writer, "number", (int64_t)i + 1);
        pyro_json_member_string(&writer, "name", op->name);
        pyro_json_member_string(&writer, "shapes", op->dims);
        pyro_json_member_integer(&writer, "calls", op->calls);
        pyro_json_member_integer(&writer, "total_ns", op->total_ns);
        pyro_json_member_integer(&writer, "median_ns", op->median_ns);
        pyro_json_member_string(&writer, "rejected", op->rejected[0] ? op->rejected : NULL);
        pyro_json_end_object(&writer);
    }
    pyro_json_end_array(&writer);
    pyro_json_end_object(&writer);
    pyro_buf_addc(buf, '\n');
    return PYRO_OK;
}

int pyro_write_replay_csv(pyro_buf *buf, const pyro_report_request *request)
{
    const pyro_replay_report *report = request->replay;

    pyro_csv_header(buf, "number,name,shapes,calls,total_ns,median_ns,rejected");
    for (size_t i = report->first; i < last_shown(report); i++) {
        const pyro_replay_op *op = &report->replay->ops[i];
        pyro_csv_integer(buf, (int64_t)i + 1, false);
        pyro_csv_text(buf, op->name, false);
        pyro_csv_text(buf, op->dims, false);
        pyro_csv_integer(buf, op->calls, false);
        pyro_csv_integer(buf, op->total_ns, false);
        pyro_csv_integer(buf, op->median_ns, false);
        pyro_csv_text(buf, op->rejected, true);
    }
    return PYRO_OK;
}

/* Fails if no op is left, with the reason of the first. */
int pyro_write_replay_python(pyro_buf *buf, const pyro_report_request *request)
{
    const pyro_replay_report *report = request->replay;
    size_t usable = 0;

    for (size_t i = report->first; i < last_shown(report); i++)
        usable += !report->replay->ops[i].rejected[0];
    if (!usable && report->first < report->replay->count)
        return pyro_fail(request->error, PYRO_ERROR_UNSUPPORTED, "%.60s cannot be rebuilt: %s",
                         report->replay->ops[report->first].name,
                         report->replay->ops[report->first].rejected);
    pyro_replay_write(buf, report->replay, report->first, report->last);
    return PYRO_OK;
}

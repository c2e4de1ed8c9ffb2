/* Writes whether a model can be traced: its price and operators without one, or the failing line. */
#include "base/text/units.h"
#include "report/csv.h"
#include "report/text.h"
#include "report/writers.h"

#include <string.h>

static const char *text_or_empty(const char *text)
{
    return text ? text : "";
}

static void write_break(pyro_buf *buf, const pyro_trace_break *broken)
{
    bool traced = strcmp(text_or_empty(broken->stage), "trace") == 0;

    pyro_buf_adds(buf, traced ? ": cannot be traced\n" : ": fails before it can be traced\n");
    if (broken->file) {
        pyro_buf_adds(buf, "  at ");
        pyro_text_clean(buf, broken->file);
        pyro_buf_addf(buf, ":%lld, in ", (long long)broken->line);
        pyro_text_clean(buf, text_or_empty(broken->function));
        pyro_buf_adds(buf, "\n      ");
        pyro_text_clean(buf, text_or_empty(broken->code));
        pyro_buf_addc(buf, '\n');
    }
    pyro_buf_adds(buf, "  ");
    pyro_text_clean(buf, text_or_empty(broken->type));
    pyro_buf_adds(buf, ": ");
    pyro_text_clean(buf, text_or_empty(broken->message));
    pyro_buf_addc(buf, '\n');
    if (text_or_empty(broken->hint)[0] != '\0')
        pyro_text_wrap(buf, broken->hint, 2, 2, PYRO_TEXT_WIDTH);
}

int pyro_write_traceable_text(pyro_buf *buf, const pyro_report_request *request)
{
    const pyro_cost *cost = request->traceable->cost;
    char macs[PYRO_UNIT_TEXT], params[PYRO_UNIT_TEXT];
    size_t count;

    pyro_text_clean(buf, request->traceable->model);
    if (!cost) {
        write_break(buf, request->traceable->broken);
        return PYRO_OK;
    }
    const pyro_uncounted *uncounted = pyro_cost_uncounted(cost, &count);
    const pyro_cost_row *total = pyro_cost_total(cost);
    pyro_buf_addf(buf, ": can be traced: %lld operators, %s MACs, %s parameters\n",
                  (long long)total->operators, pyro_format_count(macs, total->work.macs),
                  pyro_format_count(params, total->work.params));
    for (size_t i = 0; i < count; i++)
        pyro_buf_addf(buf, "  not priced: %s x%lld (%s)\n", uncounted[i].op,
                      (long long)uncounted[i].count, uncounted[i].reason);
    return PYRO_OK;
}

static void write_cost_members(pyro_json_writer *writer, const pyro_cost *cost)
{
    const pyro_cost_row *total = pyro_cost_total(cost);
    size_t count;
    const pyro_uncounted *uncounted = pyro_cost_uncounted(cost, &count);

    pyro_json_member_integer(writer, "operators", total->operators);
    pyro_json_member_integer(writer, "macs", total->work.macs);
    pyro_json_member_integer(writer, "params", total->work.params);
    pyro_json_key(writer, "uncounted");
    pyro_json_begin_array(writer);
    for (size_t i = 0; i < count; i++) {
        pyro_json_begin_object_inline(writer);
        pyro_json_member_string(writer, "op", uncounted[i].op);
        pyro_json_member_integer(writer, "count", uncounted[i].count);
        pyro_json_member_string(writer, "reason", uncounted[i].reason);
        pyro_json_end_object(writer);
    }
    pyro_json_end_array(writer);
}

static void write_break_members(pyro_json_writer *writer, const pyro_trace_break *broken)
{
    pyro_json_begin_object(writer);
    pyro_json_member_string(writer, "stage", broken->stage);
    pyro_json_member_string(writer, "type", broken->type);
    pyro_json_member_string(writer, "message", broken->message);
    pyro_json_member_string(writer, "hint", broken->hint);
    pyro_json_member_string(writer, "file", broken->file);
    pyro_json_member_integer(writer, "line", broken->line);
    pyro_json_member_string(writer, "function", broken->function);
    pyro_json_member_string(writer, "code", broken->code);
    pyro_json_end_object(writer);
}

int pyro_write_traceable_json(pyro_buf *buf, const pyro_report_request *request)
{
    const pyro_traceable *result = request->traceable;
    pyro_json_writer writer;

    pyro_json_writer_init(&writer, buf, 2);
    pyro_json_begin_object(&writer);
    pyro_json_member_string(&writer, "schema", "pyrometer.models.check/1");
    pyro_json_member_string(&writer, "model", result->model);
    pyro_json_member_boolean(&writer, "traceable", result->cost != NULL);
    if (result->cost)
        write_cost_members(&writer, result->cost);
    pyro_json_key(&writer, "error");
    if (result->cost)
        pyro_json_null(&writer);
    else
        write_break_members(&writer, result->broken);
    pyro_json_end_object(&writer);
    pyro_buf_addc(buf, '\n');
    return PYRO_OK;
}

int pyro_write_traceable_csv(pyro_buf *buf, const pyro_report_request *request)
{
    const pyro_traceable *result = request->traceable;
    const pyro_trace_break *broken = result->broken;
    const pyro_cost_row *total = result->cost ? pyro_cost_total(result->cost) : NULL;

    pyro_csv_header(buf, "model,traceable,operators,macs,params,stage,type,message,file,line,code");
    pyro_csv_text(buf, result->model, false);
    pyro_csv_text(buf, total ? "yes" : "no", false);
    pyro_csv_integer(buf, total ? total->operators : 0, false);
    pyro_csv_integer(buf, total ? total->work.macs : 0, false);
    pyro_csv_integer(buf, total ? total->work.params : 0, false);
    pyro_csv_text(buf, text_or_empty(broken->stage), false);
    pyro_csv_text(buf, text_or_empty(broken->type), false);
    pyro_csv_text(buf, text_or_empty(broken->message), false);
    pyro_csv_text(buf, text_or_empty(broken->file), false);
    pyro_csv_integer(buf, broken->line, false);
    pyro_csv_text(buf, text_or_empty(broken->code), true);
    return PYRO_OK;
}

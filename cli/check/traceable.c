/* Writes the result of `models check`: traceable or not, operators without price, failing line. */
#include "cli/check/traceable.h"

#include "cli/options/model.h"

#include "base/error.h"
#include "base/json/write.h"
#include "base/text/units.h"
#include "report/csv.h"
#include "report/text.h"

#include <string.h>

static const char *text_or_empty(const char *text)
{
    return text ? text : "";
}

static int open_checked(pyro_priced *out, const char *spec, const pyro_helper_export *exported,
                        const char *input_shape, pyro_error *error)
{
    int64_t dims[PYRO_DIMS_MAX];
    size_t rank;
    int status;

    if (exported->archive.length > 0)
        status = pyro_model_open_memory(&out->model, exported->archive.data,
                                        exported->archive.length, spec, error);
    else
        status = pyro_model_open(&out->model, spec, error);
    if (status == PYRO_OK && exported->archive.length == 0 && input_shape) {
        status = pyro_parse_dims(input_shape, "--input-shape", dims, &rank, error);
        if (status == PYRO_OK)
            status = pyro_model_set_shape(out->model, NULL, dims, rank, error);
    }
    if (status == PYRO_OK)
        status = pyro_cost_compute(&out->cost, out->model, NULL, error);
    return status;
}

static void write_text(pyro_buf *buf, const char *spec, const pyro_cost *cost,
                       const pyro_helper_break *broken)
{
    char macs[PYRO_UNIT_TEXT], params[PYRO_UNIT_TEXT];
    size_t count;

    pyro_text_clean(buf, spec);
    if (!cost) {
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
        return;
    }
    const pyro_uncounted *uncounted = pyro_cost_uncounted(cost, &count);
    const pyro_cost_row *total = pyro_cost_total(cost);
    pyro_buf_addf(buf, ": can be traced: %lld operators, %s MACs, %s parameters\n",
                  (long long)total->operators, pyro_format_count(macs, total->work.macs),
                  pyro_format_count(params, total->work.params));
    for (size_t i = 0; i < count; i++)
        pyro_buf_addf(buf, "  not priced: %s x%lld (%s)\n", uncounted[i].op,
                      (long long)uncounted[i].count, uncounted[i].reason);
}

static void write_json(pyro_buf *buf, const char *spec, const pyro_cost *cost,
                       const pyro_helper_break *broken)
{
    pyro_json_writer writer;
    size_t count = 0;

    pyro_json_writer_init(&writer, buf, 2);
    pyro_json_begin_object(&writer);
    pyro_json_member_string(&writer, "schema", "pyrometer.models.check/1");
    pyro_json_member_string(&writer, "model", spec);
    pyro_json_member_boolean(&writer, "traceable", cost != NULL);
    if (cost) {
        const pyro_uncounted *uncounted = pyro_cost_uncounted(cost, &count);
        const pyro_cost_row *total = pyro_cost_total(cost);

        pyro_json_member_integer(&writer, "operators", total->operators);
        pyro_json_member_integer(&writer, "macs", total->work.macs);
        pyro_json_member_integer(&writer, "params", total->work.params);
        pyro_json_key(&writer, "uncounted");
        pyro_json_begin_array(&writer);
        for (size_t i = 0; i < count; i++) {
            pyro_json_begin_object_inline(&writer);
            pyro_json_member_string(&writer, "op", uncounted[i].op);
            pyro_json_member_integer(&writer, "count", uncounted[i].count);
            pyro_json_member_string(&writer, "reason", uncounted[i].reason);
            pyro_json_end_object(&writer);
        }
        pyro_json_end_array(&writer);
    }
    pyro_json_key(&writer, "error");
    if (cost) {
        pyro_json_null(&writer);
    } else {
        pyro_json_begin_object(&writer);
        pyro_json_member_string(&writer, "stage", broken->stage);
        pyro_json_member_string(&writer, "type", broken->type);
        pyro_json_member_string(&writer, "message", broken->message);
        pyro_json_member_string(&writer, "hint", broken->hint);
        pyro_json_member_string(&writer, "file", broken->file);
        pyro_json_member_integer(&writer, "line", broken->line);
        pyro_json_member_string(&writer, "function", broken->function);
        pyro_json_member_string(&writer, "code", broken->code);
        pyro_json_end_object(&writer);
    }
    pyro_json_end_object(&writer);
    pyro_buf_addc(buf, '\n');
}

static void write_csv(pyro_buf *buf, const char *spec, const pyro_cost *cost,
                      const pyro_helper_break *broken)
{
    const pyro_cost_row *total = cost ? pyro_cost_total(cost) : NULL;

    pyro_csv_header(buf, "model,traceable,operators,macs,params,stage,type,message,file,line,code");
    pyro_csv_text(buf, spec, false);
    pyro_csv_text(buf, cost ? "yes" : "no", false);
    pyro_csv_integer(buf, total ? total->operators : 0, false);
    pyro_csv_integer(buf, total ? total->work.macs : 0, false);
    pyro_csv_integer(buf, total ? total->work.params : 0, false);
    pyro_csv_text(buf, text_or_empty(broken->stage), false);
    pyro_csv_text(buf, text_or_empty(broken->type), false);
    pyro_csv_text(buf, text_or_empty(broken->message), false);
    pyro_csv_text(buf, text_or_empty(broken->file), false);
    pyro_csv_integer(buf, broken->line, false);
    pyro_csv_text(buf, text_or_empty(broken->code), true);
}

int pyro_trace_check_write(const char *spec, const pyro_helper_export *exported,
                           const char *input_shape, const pyro_common *common)
{
    pyro_report_options options = pyro_common_report(common);
    pyro_priced priced = {0};
    pyro_buf buf = PYRO_BUF_INIT;
    pyro_error error;
    int exit_code;

    pyro_error_clear(&error);
    if (!exported->untraceable &&
        open_checked(&priced, spec, exported, input_shape, &error) != PYRO_OK) {
        pyro_priced_free(&priced);
        return pyro_common_fail(spec, &error);
    }
    if (options.format == PYRO_FORMAT_JSON)
        write_json(&buf, spec, priced.cost, &exported->broken);
    else if (options.format == PYRO_FORMAT_CSV)
        write_csv(&buf, spec, priced.cost, &exported->broken);
    else
        write_text(&buf, spec, priced.cost, &exported->broken);
    exit_code = buf.failed ? pyro_common_complain("out of memory")
                           : pyro_common_write(common, buf.data, buf.length);
    pyro_buf_free(&buf);
    pyro_priced_free(&priced);
    if (exit_code == PYRO_EXIT_FINE && exported->untraceable)
        return PYRO_EXIT_POLICY;
    return exit_code;
}

/* Writes the list of named models: a table, JSON (schema pyrometer.models/1) or CSV. */
#include "report/csv.h"
#include "report/text.h"
#include "report/writers.h"

#include "base/error.h"
#include "base/text/table.h"
#include "base/text/units.h"

#include <stdlib.h>
#include <string.h>

static bool may_change(const pyro_facts *facts, const char *input, size_t axis)
{
    for (size_t i = 0; i < facts->dim_count; i++)
        if (facts->dims[i].axis == axis && strcmp(facts->dims[i].input, input) == 0)
            return true;
    return false;
}

/* "1x3x224x224" and the number of further inputs; `marked`: adds * to sizes that may change. */
static void add_input(pyro_buf *buf, const pyro_facts *facts, bool marked)
{
    const pyro_default_shape *shape = facts->shapes;

    if (facts->shape_count == 0)
        return;
    for (size_t i = 0; i < shape->rank; i++)
        pyro_buf_addf(buf, "%s%lld%s", i == 0 ? "" : "x", (long long)shape->dims[i],
                      marked && may_change(facts, shape->input, i) ? "*" : "");
    pyro_buf_adds(buf, shape->rank == 0 ? "scalar" : "");
    if (facts->shape_count > 1)
        pyro_buf_addf(buf, " +%zu", facts->shape_count - 1);
}

static bool named_before(const pyro_facts *facts, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (strcmp(facts->dims[i].what, facts->dims[index].what) == 0)
            return true;
    return false;
}

/* "batch, height, width": each kind of size that may change, once. */
static void add_kinds(pyro_buf *buf, const pyro_facts *facts)
{
    size_t start = buf->length;

    for (size_t i = 0; i < facts->dim_count; i++)
        if (!named_before(facts, i))
            pyro_buf_addf(buf, "%s%s", buf->length == start ? "" : ", ", facts->dims[i].what);
}

static void add_row(pyro_table *table, const pyro_catalog_entry *entry, bool verbose)
{
    const pyro_facts *facts = entry->facts;
    pyro_buf input = PYRO_BUF_INIT, kinds = PYRO_BUF_INIT, name = PYRO_BUF_INIT;
    char text[PYRO_UNIT_TEXT];

    pyro_text_clean(&name, facts->name);
    pyro_buf_adds(&name, entry->is_own ? " (own)" : "");
    pyro_table_cell(table, name.data);
    pyro_table_cell(table, facts->params >= 0 ? pyro_format_count(text, facts->params) : "-");
    pyro_table_cell(table, entry->macs >= 0 ? pyro_format_count(text, entry->macs) : "-");
    add_input(&input, facts, true);
    pyro_table_cell(table, input.length > 0 ? input.data : "-");
    add_kinds(&kinds, facts);
    pyro_table_cell(table, facts->task);
    if (verbose) {
        pyro_table_cell(table, facts->family);
        pyro_table_cell(table, kinds.data);
    }
    table->failed = table->failed || input.failed || kinds.failed || name.failed;
    pyro_buf_free(&input);
    pyro_buf_free(&kinds);
    pyro_buf_free(&name);
}

static void write_footer(pyro_buf *buf, const pyro_report_request *request)
{
    const pyro_catalog_entry *const *entries = request->models.entries;
    size_t own = 0;

    pyro_buf_addf(buf,
                  "\n%zu of %zu models. MACs are for one forward pass at that input; * marks the "
                  "sizes\nthat may change.\n",
                  request->models.count, pyro_catalog_count(request->models.catalog));
    for (size_t i = 0; i < request->models.count; i++) {
        const pyro_catalog_entry *entry = entries[i];

        own += entry->is_own;
        if (entry->hides_builtin)
            pyro_buf_addf(buf, "%s hides the built-in model of that name.\n", entry->facts->name);
        if (entry->problem) {
            pyro_buf_addf(buf, "%s cannot be used: ", entry->facts->name);
            pyro_text_clean(buf, entry->problem);
            pyro_buf_addc(buf, '\n');
        }
    }
    if (own > 0)
        pyro_buf_adds(buf, "(own): added by you; pyrometer models remove NAME deletes it.\n");
    if (!request->options->quiet && request->models.count > 0)
        pyro_buf_addf(buf, "\nNext:\n  pyrometer cost %s\n", entries[0]->facts->name);
}

int pyro_write_models_text(pyro_buf *buf, const pyro_report_request *request)
{
    /* The last two columns are for --verbose only. */
    static const pyro_table_column columns[] = {
        {"Model", false, false},      {"Params", true, false}, {"MACs", true, false},
        {"Input", false, false},      {"Task", false, true},   {"Family", false, false},
        {"May change", false, false},
    };
    const pyro_report_options *options = request->options;
    size_t count = sizeof columns / sizeof columns[0] - (options->verbose ? 0 : 2);
    pyro_table table;

    pyro_table_init(&table, columns, count);
    for (size_t i = 0; i < request->models.count; i++)
        add_row(&table, request->models.entries[i], options->verbose);
    pyro_table_write(&table, buf, 0, options->width, options->color);
    pyro_table_free(&table);
    write_footer(buf, request);
    return PYRO_OK;
}

static void write_inputs(pyro_json_writer *writer, const pyro_facts *facts)
{
    pyro_json_key(writer, "input");
    pyro_json_begin_array_inline(writer);
    for (size_t i = 0; i < facts->shape_count; i++) {
        const pyro_default_shape *shape = &facts->shapes[i];

        pyro_json_begin_object(writer);
        pyro_json_member_string(writer, "name", shape->input);
        pyro_json_key(writer, "shape");
        pyro_json_begin_array(writer);
        for (size_t axis = 0; axis < shape->rank; axis++)
            pyro_json_integer(writer, shape->dims[axis]);
        pyro_json_end_array(writer);
        pyro_json_end_object(writer);
    }
    pyro_json_end_array(writer);
}

static void write_dims(pyro_json_writer *writer, const pyro_facts *facts)
{
    pyro_json_key(writer, "dims");
    pyro_json_begin_array(writer);
    for (size_t i = 0; i < facts->dim_count; i++) {
        const pyro_dim *dim = &facts->dims[i];

        pyro_json_begin_object_inline(writer);
        pyro_json_member_string(writer, "what", dim->what);
        pyro_json_member_string(writer, "input", dim->input);
        pyro_json_member_integer(writer, "axis", (int64_t)dim->axis);
        pyro_json_member_integer(writer, "min", dim->min);
        pyro_json_member_amount(writer, "max", dim->max == INT64_MAX ? -1 : dim->max);
        pyro_json_member_integer(writer, "multiple", dim->multiple);
        pyro_json_end_object(writer);
    }
    pyro_json_end_array(writer);
}

static void write_entry(pyro_json_writer *writer, const pyro_catalog_entry *entry)
{
    const pyro_facts *facts = entry->facts;

    pyro_json_begin_object(writer);
    pyro_json_member_string(writer, "name", facts->name);
    pyro_json_member_string(writer, "display_name", facts->display_name);
    pyro_json_member_string(writer, "family", facts->family);
    pyro_json_member_string(writer, "task", facts->task);
    pyro_json_member_amount(writer, "params", facts->params);
    pyro_json_member_amount(writer, "published_params", facts->published_params);
    pyro_json_member_string(writer, "params_source", facts->params_source);
    pyro_json_member_amount(writer, "macs", entry->macs);
    write_inputs(writer, facts);
    write_dims(writer, facts);
    pyro_json_member_boolean(writer, "decode", entry->has_decode);
    pyro_json_key(writer, "source");
    pyro_json_begin_object_inline(writer);
    pyro_json_member_string(writer, "package", facts->package);
    pyro_json_member_string(writer, "version", facts->version);
    pyro_json_member_string(writer, "builder", facts->builder);
    pyro_json_end_object(writer);
    pyro_json_member_boolean(writer, "own", entry->is_own);
    pyro_json_member_boolean(writer, "hides_builtin", entry->hides_builtin);
    pyro_json_key(writer, "problem");
    pyro_json_string(writer, entry->problem);
    pyro_json_end_object(writer);
}

int pyro_write_models_json(pyro_buf *buf, const pyro_report_request *request)
{
    pyro_json_writer writer;

    pyro_json_writer_init(&writer, buf, 2);
    pyro_json_begin_object(&writer);
    pyro_json_member_string(&writer, "schema", "pyrometer.models/1");
    pyro_json_key(&writer, "models");
    pyro_json_begin_array(&writer);
    for (size_t i = 0; i < request->models.count; i++)
        write_entry(&writer, request->models.entries[i]);
    pyro_json_end_array(&writer);
    pyro_json_end_object(&writer);
    pyro_buf_addc(buf, '\n');
    return PYRO_OK;
}

/* An empty field when the count is unknown. */
static void csv_count(pyro_buf *buf, int64_t value)
{
    if (value >= 0)
        pyro_csv_integer(buf, value, false);
    else
        pyro_csv_text(buf, "", false);
}

int pyro_write_models_csv(pyro_buf *buf, const pyro_report_request *request)
{
    pyro_csv_header(buf, "name,display_name,family,task,params,published_params,params_source,macs,"
                         "input,may_change,decode,package,version,builder,own");
    for (size_t i = 0; i < request->models.count; i++) {
        const pyro_catalog_entry *entry = request->models.entries[i];
        const pyro_facts *facts = entry->facts;
        pyro_buf input = PYRO_BUF_INIT, kinds = PYRO_BUF_INIT;

        add_input(&input, facts, false);
        add_kinds(&kinds, facts);
        pyro_csv_text(buf, facts->name, false);
        pyro_csv_text(buf, facts->display_name, false);
        pyro_csv_text(buf, facts->family, false);
        pyro_csv_text(buf, facts->task, false);
        csv_count(buf, facts->params);
        csv_count(buf, facts->published_params);
        pyro_csv_text(buf, facts->params_source, false);
        csv_count(buf, entry->macs);
        pyro_csv_text(buf, pyro_text_part(buf, &input), false);
        pyro_csv_text(buf, pyro_text_part(buf, &kinds), false);
        pyro_csv_text(buf, entry->has_decode ? "yes" : "no", false);
        pyro_csv_text(buf, facts->package, false);
        pyro_csv_text(buf, facts->version, false);
        pyro_csv_text(buf, facts->builder, false);
        pyro_csv_text(buf, entry->is_own ? "yes" : "no", true);
        pyro_buf_free(&input);
        pyro_buf_free(&kinds);
    }
    return PYRO_OK;
}

/* Writes optional parts of the text: the module tree and the coverage. */
#include "report/cost/rows.h"
#include "report/text.h"
#include "report/writers.h"

#include "base/text/table.h"
#include "base/text/units.h"

#include <string.h>

/* The last part of a dotted path: the name of a module in its parent. */
static const char *last_part(const char *path)
{
    const char *dot = strrchr(path, '.');

    return dot && dot[1] != '\0' ? dot + 1 : path;
}

/* Indent of a module's name, and its width with the indent. */
static size_t module_indent(const pyro_cost_row *row)
{
    enum { DEEPEST = 20 };

    return 2 * (row->depth < DEEPEST ? row->depth : DEEPEST);
}

static const char *module_label(const pyro_cost_row *row)
{
    return row->depth == 0 ? row->name : last_part(row->name);
}

static void add_module(pyro_table *table, const pyro_cost_row *row, bool with_class)
{
    char text[PYRO_UNIT_TEXT];
    pyro_buf name = PYRO_BUF_INIT;

    pyro_buf_fill(&name, ' ', module_indent(row));
    pyro_buf_adds(&name, module_label(row));
    pyro_table_cell(table, name.data);
    table->failed = table->failed || name.failed;
    pyro_buf_free(&name);
    pyro_table_cell(table, pyro_format_count(text, row->work.params));
    pyro_table_cell(table, pyro_format_count(text, row->work.macs));
    pyro_table_cell(table, pyro_format_count(text, row->work.flops));
    pyro_table_cell(table, pyro_format_bytes(text, row->memory_bytes));
    pyro_table_cellf(table, "%.1f", row->arithmetic_intensity);
    if (with_class)
        pyro_table_cell(table, row->class_name);
}

static bool is_shown(const pyro_cost *cost, const pyro_cost_row *module)
{
    int depth = pyro_cost_depth(cost);

    return depth < 0 || module->depth <= (size_t)depth;
}

void pyro_write_module_tree(pyro_buf *buf, const pyro_cost *cost,
                            const pyro_report_options *options)
{
    /* The class comes last, and only if eight letters of it fit. */
    enum { OTHER_COLUMNS = 48, CLASS_COLUMN = 10 };
    static const pyro_table_column columns[] = {
        {"Module", false, true}, {"Params", true, false},  {"MACs", true, false},
        {"FLOPs", true, false},  {"Traffic", true, false}, {"AI", true, false},
        {"Class", false, true},
    };
    size_t count, longest = 0, column_count = sizeof columns / sizeof columns[0];
    const pyro_cost_row *modules = pyro_cost_modules(cost, &count);
    bool with_class;
    pyro_table table;

    if (!modules) {
        buf->failed = true;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (!is_shown(cost, &modules[i]))
            continue;
        size_t length = module_indent(&modules[i]) + strlen(module_label(&modules[i]));
        longest = length > longest ? length : longest;
    }
    with_class = longest + OTHER_COLUMNS + CLASS_COLUMN <= (size_t)options->width;
    pyro_text_heading(buf, "\nModule Tree (rows include submodules):", options->color);
    pyro_table_init(&table, columns, with_class ? column_count : column_count - 1);
    for (size_t i = 0; i < count; i++)
        if (is_shown(cost, &modules[i]))
            add_module(&table, &modules[i], with_class);
    pyro_table_write(&table, buf, 2, options->width, options->color);
    pyro_table_free(&table);
}

void pyro_write_coverage(pyro_buf *buf, const pyro_cost *cost, int width, bool color)
{
    static const pyro_table_column columns[] = {
        {"Operator", false, true}, {"Count", true, false}, {"Why", false, true}};
    int64_t operators = pyro_cost_total(cost)->operators;
    size_t count;
    const pyro_uncounted *uncounted = pyro_cost_uncounted(cost, &count);
    char share[PYRO_UNIT_TEXT];
    int64_t missing = 0;
    pyro_table table;

    if (count == 0) {
        pyro_buf_addf(buf, "  all %lld operator%s priced\n", (long long)operators,
                      operators == 1 ? "" : "s");
        return;
    }
    for (size_t i = 0; i < count; i++)
        missing += uncounted[i].count;
    pyro_format_share(share, (double)(operators - missing), (double)operators);
    pyro_buf_addf(buf,
                  "  %lld of %lld operators priced (%s); NOT COUNTED, so totals are too low:\n",
                  (long long)(operators - missing), (long long)operators,
                  strcmp(share, "100.0%") == 0 ? ">99.9%" : share);
    pyro_table_init(&table, columns, sizeof columns / sizeof columns[0]);
    for (size_t i = 0; i < count; i++) {
        pyro_table_cell(&table, uncounted[i].op);
        pyro_table_cellf(&table, "%lld", (long long)uncounted[i].count);
        pyro_table_cell(&table, uncounted[i].reason);
    }
    pyro_table_write(&table, buf, 2, width, color);
    pyro_table_free(&table);
}

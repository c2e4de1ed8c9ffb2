/* Writes headings and cells for the text tables of a trace. */
#include "report/trace/view.h"

#include "base/text/units.h"
#include "report/text.h"

void pyro_trace_heading(pyro_trace_writer *w, const char *what, const char *order, size_t shown,
                        size_t count)
{
    pyro_buf heading = PYRO_BUF_INIT;

    pyro_buf_addf(&heading, "\n%s", what);
    if (shown < count)
        pyro_buf_addf(&heading, " (top %zu of %zu%s%s)", shown, count, order ? " by " : "",
                      order ? order : "");
    pyro_buf_addc(&heading, ':');
    pyro_text_heading(w->buf, pyro_text_part(w->buf, &heading), w->options->color);
    pyro_buf_free(&heading);
}

void pyro_trace_draw(pyro_trace_writer *w, pyro_table *table)
{
    pyro_table_write(table, w->buf, 2, w->options->width, w->options->color);
    pyro_table_free(table);
}

void pyro_cell_duration(pyro_table *table, int64_t duration_ns)
{
    char text[PYRO_UNIT_TEXT];

    pyro_table_cell(table, duration_ns == 0 ? "-" : pyro_format_duration(text, duration_ns));
}

void pyro_cell_share(pyro_table *table, int64_t part, int64_t whole)
{
    char text[PYRO_UNIT_TEXT];

    pyro_table_cell(table, pyro_format_share(text, (double)part, (double)whole));
}

void pyro_cell_count(pyro_table *table, int64_t count)
{
    char text[PYRO_UNIT_TEXT];

    pyro_table_cell(table, count < 0 ? "-" : pyro_format_exact(text, count));
}

void pyro_cell_layer(const pyro_trace_writer *w, pyro_table *table, const char *path)
{
    pyro_buf text = PYRO_BUF_INIT;

    pyro_text_path(&text, path[0] != '\0' ? path : "-", (size_t)w->options->width / 3);
    pyro_table_cell(table, text.data);
    table->failed = table->failed || text.failed;
    pyro_buf_free(&text);
}

void pyro_cell_rate(pyro_table *table, double per_s)
{
    char text[PYRO_UNIT_TEXT];

    pyro_table_cell(table,
                    per_s > 0 && per_s < 9e18 ? pyro_format_count(text, (int64_t)per_s) : "-");
}

void pyro_cell_shapes(pyro_table *table, const char *shapes)
{
    pyro_buf text = PYRO_BUF_INIT;
    bool inside = false;

    for (const char *at = shapes; *at != '\0'; at++) {
        if (*at >= '0' && *at <= '9') {
            if (!inside && text.length > 0)
                pyro_buf_adds(&text, ", ");
            pyro_buf_addc(&text, *at);
            inside = true;
        } else if (*at == ',' && inside) {
            pyro_buf_addc(&text, 'x');
        } else if (*at == '[' || *at == ']') {
            inside = false;
        }
    }
    pyro_table_cell(table, text.data);
    table->failed = table->failed || text.failed;
    pyro_buf_free(&text);
}

/* Writes a fusion as text: before and after, the kinds of groups, and those that save most. */
#include "base/text/table.h"
#include "base/text/units.h"
#include "report/text.h"
#include "report/writers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 10, MEMBERS_SHOWN = 8 };

static const char *layer_name(const char *layer)
{
    return layer[0] != '\0' ? layer : "(model)";
}

static void write_table(pyro_buf *buf, pyro_table *table, const pyro_report_options *options)
{
    pyro_table_write(table, buf, 2, options->width, options->color);
    buf->failed |= table->failed;
    pyro_table_free(table);
}

/* "-41.3%"; "-" without anything before. */
static void cell_change(pyro_table *table, double before, double after)
{
    if (before > 0)
        pyro_table_cellf(table, "%+.1f%%", 100 * (after / before - 1));
    else
        pyro_table_cell(table, "-");
}

static void write_totals(pyro_buf *buf, const pyro_fusion *fusion,
                         const pyro_report_options *options)
{
    static const pyro_table_column columns[] = {{"", false, false},
                                                {"Before", true, false},
                                                {"After", true, false},
                                                {"Change", true, false}};
    const pyro_fuse_totals *before = &fusion->before, *after = &fusion->after;
    char text[PYRO_UNIT_TEXT];
    pyro_table table;

    pyro_table_init(&table, columns, sizeof columns / sizeof *columns);
    pyro_table_cell(&table, "Kernels");
    pyro_table_cell(&table, pyro_format_exact(text, before->kernels));
    pyro_table_cell(&table, pyro_format_exact(text, after->kernels));
    cell_change(&table, (double)before->kernels, (double)after->kernels);
    pyro_table_cell(&table, "Bytes read and written");
    pyro_table_cell(&table, pyro_format_bytes(text, before->bytes));
    pyro_table_cell(&table, pyro_format_bytes(text, after->bytes));
    cell_change(&table, (double)before->bytes, (double)after->bytes);
    pyro_table_cell(&table, "FLOPs per byte");
    pyro_table_cellf(&table, "%.1f", before->arithmetic_intensity);
    pyro_table_cellf(&table, "%.1f", after->arithmetic_intensity);
    cell_change(&table, before->arithmetic_intensity, after->arithmetic_intensity);
    write_table(buf, &table, options);
}

static void write_kinds(pyro_buf *buf, const pyro_fusion *fusion,
                        const pyro_report_options *options)
{
    static const pyro_table_column columns[] = {
        {"Kind", false, false},        {"Groups", true, false},      {"Operators", true, false},
        {"Bytes before", true, false}, {"Bytes after", true, false}, {"Saved", true, false}};
    struct {
        int64_t groups, members, before, after;
    } kinds[PYRO_FUSED_KIND_COUNT] = {0};
    char text[PYRO_UNIT_TEXT];
    pyro_table table;

    for (size_t i = 0; i < fusion->group_count; i++) {
        const pyro_fused_group *group = &fusion->groups[i];

        kinds[group->kind].groups++;
        kinds[group->kind].members += (int64_t)group->member_count;
        kinds[group->kind].before += group->bytes_before;
        kinds[group->kind].after += group->bytes_after;
    }
    pyro_buf_addc(buf, '\n');
    pyro_text_heading(buf, "Groups by kind:", options->color);
    pyro_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (int kind = PYRO_FUSED_KIND_COUNT - 1; kind >= 0; kind--) {
        if (!kinds[kind].groups)
            continue;
        pyro_table_cell(&table, pyro_fused_kind_name((pyro_fused_kind)kind));
        pyro_table_cell(&table, pyro_format_exact(text, kinds[kind].groups));
        pyro_table_cell(&table, pyro_format_exact(text, kinds[kind].members));
        pyro_table_cell(&table, pyro_format_bytes(text, kinds[kind].before));
        pyro_table_cell(&table, pyro_format_bytes(text, kinds[kind].after));
        pyro_table_cell(&table,
                        pyro_format_share(text, (double)(kinds[kind].before - kinds[kind].after),
                                          (double)kinds[kind].before));
    }
    write_table(buf, &table, options);
}

static int by_saving(const void *left, const void *right)
{
    const pyro_fused_group *a = *(const pyro_fused_group *const *)left;
    const pyro_fused_group *b = *(const pyro_fused_group *const *)right;
    int64_t of_a = a->bytes_before - a->bytes_after, of_b = b->bytes_before - b->bytes_after;

    if (of_a != of_b)
        return of_a < of_b ? 1 : -1;
    return a->members[0] < b->members[0] ? -1 : 1;
}

/* "Conv2D, BatchNorm, ReLU" */
static void name_members(pyro_buf *buf, const pyro_fusion *fusion, const pyro_fused_group *group)
{
    size_t count;
    const pyro_cost_node *nodes = pyro_cost_nodes(fusion->cost, &count);

    for (size_t i = 0; i < group->member_count && i < MEMBERS_SHOWN; i++)
        pyro_buf_addf(buf, "%s%s", i ? ", " : "", nodes[group->members[i]].type);
    if (group->member_count > MEMBERS_SHOWN)
        pyro_buf_addf(buf, " and %zu more", group->member_count - MEMBERS_SHOWN);
}

static void add_group(pyro_table *table, const pyro_fusion *fusion, const pyro_fused_group *group)
{
    pyro_buf text = PYRO_BUF_INIT, path = PYRO_BUF_INIT;
    char bytes[PYRO_UNIT_TEXT];

    pyro_text_clean(&path, layer_name(group->layer));
    pyro_table_cell(table, path.failed ? NULL : path.data);
    pyro_table_cell(table, pyro_fused_kind_name(group->kind));
    pyro_table_cell(table, pyro_format_bytes(bytes, group->bytes_before - group->bytes_after));
    name_members(&text, fusion, group);
    pyro_buf_reset(&path);
    pyro_text_clean(&path, text.failed || !text.data ? "" : text.data);
    pyro_table_cell(table, path.failed ? NULL : path.data);
    table->failed |= path.failed || text.failed;
    pyro_buf_free(&text);
    pyro_buf_free(&path);
}

static void write_groups(pyro_buf *buf, const pyro_fusion *fusion,
                         const pyro_report_options *options)
{
    static const pyro_table_column columns[] = {{"Layer", false, false},
                                                {"Kind", false, false},
                                                {"Bytes saved", true, false},
                                                {"Operators", false, true}};
    const pyro_fused_group **rows = calloc(fusion->group_count + 1, sizeof *rows);
    size_t fused = 0;
    pyro_table table;

    buf->failed |= !rows;
    for (size_t i = 0; rows && i < fusion->group_count; i++)
        if (fusion->groups[i].kind != PYRO_FUSED_SINGLE)
            rows[fused++] = &fusion->groups[i];
    size_t most = options->verbose || options->top < 0 ? fused
                  : options->top > 0                   ? (size_t)options->top
                                                       : ROWS;
    size_t shown = fused < most ? fused : most;
    if (rows && fused) {
        if (!options->verbose)
            qsort(rows, fused, sizeof *rows, by_saving);
        pyro_buf_addc(buf, '\n');
        pyro_buf_addf(buf, "Fused groups (%zu of %zu%s):\n", shown, fused,
                      options->verbose ? "" : " by bytes saved");
        pyro_table_init(&table, columns, sizeof columns / sizeof *columns);
        for (size_t i = 0; i < shown; i++)
            add_group(&table, fusion, rows[i]);
        write_table(buf, &table, options);
    }
    free(rows);
}

int pyro_write_fusion_text(pyro_buf *buf, const pyro_report_request *request)
{
    const pyro_fusion *fusion = request->fusion;
    const pyro_report_options *options = request->options;
    pyro_buf title = PYRO_BUF_INIT, clean = PYRO_BUF_INIT;

    pyro_text_clean(&clean, pyro_model_name(pyro_cost_model(fusion->cost)));
    pyro_buf_addf(&title, "Fusion of %s (%s), strategy %s", pyro_text_part(buf, &clean),
                  pyro_cost_dtype(fusion->cost), pyro_fuse_strategy_name(fusion->strategy));
    pyro_text_banner(buf, pyro_text_part(buf, &title), options->width, options->color);
    pyro_buf_free(&title);
    pyro_buf_free(&clean);
    write_totals(buf, fusion, options);
    write_kinds(buf, fusion, options);
    write_groups(buf, fusion, options);
    return PYRO_OK;
}

/* Writes maps as text: chips side by side, then layers, measured times, tokens per second. */
#include "base/text/table.h"
#include "base/text/units.h"
#include "report/text.h"
#include "report/writers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 10 };

static void write_table(pyro_buf *buf, pyro_table *table, const pyro_report_options *options)
{
    pyro_table_write(table, buf, 2, options->width, options->color);
    buf->failed |= table->failed;
    pyro_table_free(table);
}

static void cell_time(pyro_table *table, double ns)
{
    char text[PYRO_UNIT_TEXT];
    pyro_table_cell(table, ns >= 0 ? pyro_format_duration(text, (int64_t)ns) : "-");
}

/* "1.2-1.9 ms": both ends in the unit of the larger one. */
static void cell_range(pyro_table *table, double low, double high)
{
    char from[PYRO_UNIT_TEXT], to[PYRO_UNIT_TEXT];
    pyro_table_cellf(table, "%s - %s", pyro_format_duration(from, (int64_t)low),
                     pyro_format_duration(to, (int64_t)high));
}

static void cell_share(pyro_table *table, double share)
{
    if (share >= 0)
        pyro_table_cellf(table, "%.0f%%", 100 * share);
    else
        pyro_table_cell(table, "-");
}

static void cell_energy(pyro_table *table, double joules)
{
    if (joules < 0)
        pyro_table_cell(table, "-");
    else if (joules < 1)
        pyro_table_cellf(table, "%.3g mJ", 1e3 * joules);
    else
        pyro_table_cellf(table, "%.3g J", joules);
}

/* By how much the prediction is off, as a share of the measured time. */
static double error_of(const pyro_map_row *row)
{
    return row->measured_ns > 0 ? row->time_ns / row->measured_ns - 1 : 0;
}

/* How the prediction compares: its error, or on another chip how much faster that is. */
static void cell_error(pyro_table *table, const pyro_map_row *row, bool is_measured)
{
    if (row->measured_ns > 0 && !is_measured)
        pyro_table_cellf(table, "%.2fx faster", row->measured_ns / fmax(row->time_ns, 1));
    else if (row->measured_ns > 0)
        pyro_table_cellf(table, "%+.0f%%", 100 * error_of(row));
    else
        pyro_table_cell(table, "-");
}

static bool has_measured(const pyro_mapping *map)
{
    return map->chip_count > 0 && map->chips[0].total.measured_ns >= 0;
}

static void add_chip(pyro_table *table, const pyro_mapping *map, const pyro_map_chip *chip)
{
    pyro_table_cell(table, map->model);
    pyro_table_cell(table, chip->name);
    cell_time(table, chip->total.time_ns);
    cell_range(table, chip->total.low_ns, chip->total.high_ns);
    if (has_measured(map)) {
        cell_time(table, chip->total.measured_ns);
        cell_error(table, &chip->total, chip->is_measured);
    } else {
        pyro_table_cell(table, pyro_map_bound_name(chip->total.bound));
        cell_energy(table, chip->total.energy_joules);
    }
}

static void write_chips(pyro_buf *buf, const pyro_report_request *request)
{
    pyro_table_column columns[] = {{"Model", false, true},  {"Chip", false, false},
                                   {"Time", true, false},   {"80% range", true, false},
                                   {"Bound", false, false}, {"Energy", true, false}};
    pyro_table table;

    if (has_measured(request->map.maps[0])) {
        columns[4] = (pyro_table_column){"Measured", true, false};
        columns[5] = (pyro_table_column){"Error", true, false};
    }
    pyro_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (size_t m = 0; m < request->map.count; m++)
        for (size_t c = 0; c < request->map.maps[m]->chip_count; c++)
            add_chip(&table, request->map.maps[m], &request->map.maps[m]->chips[c]);
    write_table(buf, &table, request->options);
}

static void add_limits(pyro_table *table, const pyro_mapping *map, const pyro_map_chip *chip)
{
    char text[PYRO_UNIT_TEXT];

    pyro_table_cell(table, map->model);
    pyro_table_cell(table, chip->name);
    cell_time(table, chip->total.least_ns);
    cell_share(table, chip->total.utilisation);
    if (chip->memory_bytes <= 0)
        pyro_table_cell(table, "-");
    else
        pyro_table_cellf(table, "%s%s", pyro_format_bytes(text, chip->memory_bytes),
                         chip->fits ? "" : " (too much)");
    if (chip->saturating_batch > 0)
        pyro_table_cellf(table, "%s%lld", chip->is_saturated ? "" : "over ",
                         (long long)chip->saturating_batch);
    else
        pyro_table_cell(table, "-");
}

/* The lower bound, how much of the peak is used, whether it fits, and which batch fills the chip. */
static void write_limits(pyro_buf *buf, const pyro_report_request *request)
{
    static const pyro_table_column columns[] = {
        {"Model", false, true}, {"Chip", false, false},  {"At least", true, false},
        {"Peak", true, false},  {"Memory", true, false}, {"Saturates at", true, false}};
    pyro_table table;

    pyro_buf_adds(buf, "\nLimits:\n");
    pyro_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (size_t m = 0; m < request->map.count; m++)
        for (size_t c = 0; c < request->map.maps[m]->chip_count; c++)
            add_limits(&table, request->map.maps[m], &request->map.maps[m]->chips[c]);
    write_table(buf, &table, request->options);
}

/* Which kinds of work take the time; beside a run, which of them are predicted badly. */
static void write_kinds(pyro_buf *buf, const pyro_map_chip *chip,
                        const pyro_report_options *options)
{
    static const pyro_table_column columns[] = {{"Kind of work", false, false},
                                                {"Kernels", true, false},
                                                {"Time", true, false},
                                                {"Share", true, false},
                                                {"Measured", true, false}};
    char text[PYRO_UNIT_TEXT];
    pyro_table table;

    pyro_buf_addf(buf, "\nKinds of work on %s (time of the device):\n", chip->name);
    pyro_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < chip->kind_count; i++) {
        const pyro_map_kind *kind = &chip->kinds[i];
        pyro_table_cell(&table, kind->kind);
        pyro_table_cellf(&table, "%.0f", kind->kernels);
        cell_time(&table, kind->time_ns);
        pyro_table_cell(&table, pyro_format_share(text, kind->time_ns, chip->device_ns));
        cell_time(&table, kind->measured_ns);
    }
    write_table(buf, &table, options);
}

static void write_known(pyro_buf *buf, const pyro_mapping *map)
{
    for (size_t i = 0; i < map->chip_count; i++) {
        const pyro_map_chip *chip = &map->chips[i];
        double all = 0;
        const char *between = " ";
        for (int o = 0; o < PYRO_MAP_ORIGIN_COUNT; o++)
            all += chip->known_ns[o];
        pyro_buf_addf(buf, "  %s:", chip->name);
        for (int o = 0; all > 0 && o < PYRO_MAP_ORIGIN_COUNT; o++) {
            if (chip->known_ns[o] <= 0)
                continue;
            pyro_buf_addf(buf, "%s%.0f%% %s", between, 100 * chip->known_ns[o] / all,
                          pyro_map_origin_name((pyro_map_origin)o));
            between = ", ";
        }
        if (chip->launch_ns > chip->device_ns)
            pyro_buf_addf(buf,
                          "; the host takes %.3g us per op, so the chip works %.0f%% of the time",
                          chip->launch_ns / 1e3 / fmax(chip->total.kernels, 1),
                          100 * chip->device_ns / chip->launch_ns);
        if (chip->communication_ns > 0)
            pyro_buf_addf(buf, "; %.0f%% communication",
                          100 * chip->communication_ns / chip->total.time_ns);
        pyro_buf_addc(buf, '\n');
    }
}

static void write_best(pyro_buf *buf, const pyro_mapping *map)
{
    if (map->chip_count < 2 || map->best_by_time < 0)
        return;
    pyro_buf_addf(buf, "Best by time: %s", map->chips[map->best_by_time].name);
    if (map->best_by_energy >= 0)
        pyro_buf_addf(buf, "; by energy: %s", map->chips[map->best_by_energy].name);
    if (map->best_by_price >= 0)
        pyro_buf_addf(buf, "; by price: %s (%.2f per million samples)",
                      map->chips[map->best_by_price].name,
                      map->chips[map->best_by_price].price_per_million);
    pyro_buf_adds(buf, ".\n");
}

static int by_time(const void *left, const void *right)
{
    const pyro_map_row *a = *(const pyro_map_row *const *)left;
    const pyro_map_row *b = *(const pyro_map_row *const *)right;
    return (a->time_ns < b->time_ns) - (a->time_ns > b->time_ns);
}

/* Most time off first: a small layer with a large error matters little. */
static int by_error(const void *left, const void *right)
{
    const pyro_map_row *a = *(const pyro_map_row *const *)left;
    const pyro_map_row *b = *(const pyro_map_row *const *)right;
    double of_a = fabs(a->time_ns - a->measured_ns), of_b = fabs(b->time_ns - b->measured_ns);
    return (of_a < of_b) - (of_a > of_b);
}

static void add_layer(pyro_table *table, const pyro_map_row *row, const pyro_map_chip *chip)
{
    char text[PYRO_UNIT_TEXT];
    pyro_buf name = PYRO_BUF_INIT;

    pyro_text_clean(&name, row->name);
    pyro_table_cell(table, name.failed ? NULL : name.data);
    cell_time(table, row->time_ns);
    cell_range(table, row->low_ns, row->high_ns);
    if (chip->total.measured_ns >= 0) {
        cell_time(table, row->measured_ns);
        cell_error(table, row, chip->is_measured);
    } else {
        pyro_table_cell(table, pyro_format_share(text, row->time_ns, chip->total.time_ns));
        cell_time(table, row->least_ns);
    }
    pyro_table_cell(table, pyro_map_bound_name(row->bound));
    cell_share(table, row->utilisation);
    table->failed |= name.failed;
    pyro_buf_free(&name);
}

/* The layers that take longest, or those that are predicted worst. */
static void write_layers(pyro_buf *buf, const pyro_map_chip *chip, bool worst,
                         const pyro_report_options *options)
{
    bool measured = chip->total.measured_ns >= 0;
    pyro_table_column columns[] = {{"Layer", false, true},     {"Time", true, false},
                                   {"80% range", true, false}, {"Share", true, false},
                                   {"At least", true, false},  {"Bound", false, false},
                                   {"Peak", true, false}};
    const pyro_map_row **rows = calloc(chip->layer_count + 1, sizeof *rows);
    size_t count = 0;
    pyro_table table;

    buf->failed |= !rows;
    for (size_t i = 0; rows && i < chip->layer_count; i++)
        if (worst ? chip->layers[i].measured_ns > 0 : chip->layers[i].time_ns > 0)
            rows[count++] = &chip->layers[i];
    if (!rows || !count) {
        free(rows);
        return;
    }
    if (!options->verbose || worst)
        qsort(rows, count, sizeof *rows, worst ? by_error : by_time);
    size_t most = options->verbose || options->top < 0 ? count
                  : options->top > 0                   ? (size_t)options->top
                                                       : ROWS;
    most = worst ? ROWS : most;
    size_t shown = count < most ? count : most;
    if (measured) {
        columns[3].title = "Measured";
        columns[4].title = "Error";
    }
    pyro_buf_addf(buf, "\nLayers on %s (%zu of %zu, %s):\n", chip->name, shown, count,
                  worst ? "largest differences" : "by time");
    pyro_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < shown; i++)
        add_layer(&table, rows[i], chip);
    write_table(buf, &table, options);
    free(rows);
}

static void cell_rate(pyro_table *table, double rate)
{
    char text[PYRO_UNIT_TEXT];
    pyro_table_cell(table, rate > 0 ? pyro_format_count(text, (int64_t)rate) : "-");
}

static void write_tokens(pyro_buf *buf, const pyro_mapping *map, const pyro_report_options *options)
{
    static const pyro_table_column columns[] = {
        {"Chip", false, false},   {"Context", true, false}, {"Sequences", true, false},
        {"Prefill", true, false}, {"Decode", true, false},  {"ms per token", true, false},
        {"Fits", false, false}};
    pyro_table table;

    if (!map->chip_count || !map->chips[0].token_count)
        return;
    pyro_buf_adds(buf, "\nTokens per second, all sequences together (time of the device, as with "
                       "CUDA graphs):\n");
    pyro_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (size_t c = 0; c < map->chip_count; c++)
        for (size_t i = 0; i < map->chips[c].token_count; i++) {
            const pyro_map_tokens *row = &map->chips[c].tokens[i];
            pyro_table_cell(&table, map->chips[c].name);
            pyro_table_cellf(&table, "%lld", (long long)row->context);
            pyro_table_cellf(&table, "%lld", (long long)row->sequences);
            cell_rate(&table, row->prefill_per_s);
            cell_rate(&table, row->decode_per_s);
            if (row->decode_ms >= 0)
                pyro_table_cellf(&table, "%.2f", row->decode_ms);
            else
                pyro_table_cell(&table, "-");
            pyro_table_cell(&table, row->fits ? "yes" : "no");
        }
    write_table(buf, &table, options);
}

static void write_title(pyro_buf *buf, const pyro_report_request *request)
{
    const pyro_mapping *map = request->map.maps[0];
    pyro_buf title = PYRO_BUF_INIT, clean = PYRO_BUF_INIT;

    pyro_text_clean(&clean, request->map.count == 1 ? map->model : "models");
    pyro_buf_addf(&title, "Prediction of %s, %s", pyro_text_part(buf, &clean), map->phase);
    if (map->dtype[0])
        pyro_buf_addf(&title, ", %s", map->dtype);
    if (map->batch > 0)
        pyro_buf_addf(&title, ", batch %lld", (long long)map->batch);
    if (map->sequence > 0)
        pyro_buf_addf(&title, " x %lld token%s", (long long)map->sequence,
                      map->sequence == 1 ? "" : "s");
    if (map->gpus > 1)
        pyro_buf_addf(&title, ", %d devices (%s)", map->gpus, pyro_parallel_name(map->parallel));
    if (map->fused)
        pyro_buf_adds(&title, ", fused");
    if (map->measured_on[0])
        pyro_buf_addf(&title, ", measured on %s", map->measured_on);
    pyro_text_banner(buf, pyro_text_part(buf, &title), request->options->width,
                     request->options->color);
    pyro_buf_free(&title);
    pyro_buf_free(&clean);
}

static void write_details(pyro_buf *buf, const pyro_mapping *map,
                          const pyro_report_options *options)
{
    const pyro_map_chip *chip = map->chip_count ? &map->chips[0] : NULL;
    if (!options->quiet) {
        pyro_buf_adds(buf, "\nHow much of the time is known from what:\n");
        write_known(buf, map);
    }
    write_best(buf, map);
    if (!chip)
        return;
    if (options->verbose)
        write_kinds(buf, chip, options);
    write_layers(buf, chip, false, options);
    if (chip->total.measured_ns >= 0 && chip->is_measured)
        write_layers(buf, chip, true, options);
    write_tokens(buf, map, options);
}

int pyro_write_map_text(pyro_buf *buf, const pyro_report_request *request)
{
    if (!request->map.count)
        return PYRO_OK;
    write_title(buf, request);
    write_chips(buf, request);
    if (!request->options->quiet)
        write_limits(buf, request);
    if (request->map.count == 1)
        write_details(buf, request->map.maps[0], request->options);
    for (size_t i = 0; request->map.count > 1 && i < request->map.count; i++) {
        pyro_buf_addf(buf, "%s: ", request->map.maps[i]->model);
        write_best(buf, request->map.maps[i]);
        if (request->map.maps[i]->chip_count < 2)
            pyro_buf_addc(buf, '\n');
    }
    return PYRO_OK;
}

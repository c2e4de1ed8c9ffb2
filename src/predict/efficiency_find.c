/*
 * Lookups. Rows are added up on four levels, from their own bucket to a curve of time over size per
 * kind and type; the first level that has samples gives the estimate, and its distance the range.
 */
#include "predict/efficiency_table.h"

#include "base/error.h"
#include "hardware/hardware.h"
#include "predict/describe.h"
#include "predict/peaks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    LEVEL_BUCKET,  /* all sizes in the same half octave */
    LEVEL_NEAR,    /* all sizes within two octaves */
    LEVEL_AMOUNTS, /* FLOPs and bytes in the same octave */
    LEVEL_CURVE,   /* the same kind and type; a cell per octave of size */
    LEVEL_KIND,    /* the same kind with other types */
    ANY_DTYPE = 31,
    HIGHEST_OCTAVE = 63
};

/* log2 of the spread that one sample is taken to have, by level. */
static const double spread_of_level[] = {0.15, 0.35, 0.45, 0.5, 0.8};
/* More per octave between the work and the nearest samples of a curve. */
#define SPREAD_PER_OCTAVE 0.15
/* How many samples that assumption counts for. */
#define ASSUMED_SAMPLES 2
/* Of a normal distribution, 80% lies within this many standard deviations. */
#define RANGE_80 1.2816
/* Work of a kind that was never seen small is taken to have at most this much overhead. */
#define MOST_OVERHEAD_NS 5000.0
/* No kernel of a GPU is shorter. */
#define LEAST_KERNEL_NS 1200.0
/* FLOPs per byte at which work of an unknown chip is bound by both. */
#define COMMON_BALANCE 8.0

/* Sizes of keys: the number of parts shows in the bytes. */
enum { KEY_SIZES = PYRO_SIZE_BYTES + 1 };

/* Packs a key exactly: 12 bits of chip, 4 of kind, 5 of type, 4 of form, 3 of level, 7 of a size. */
static uint64_t key_of(uint32_t chip, int kind, int dtype, int form, int level,
                       const uint8_t sizes[PYRO_SIZE_COUNT])
{
    uint64_t key = (uint64_t)chip << 51 | (uint64_t)kind << 47 | (uint64_t)dtype << 42 |
                   (uint64_t)form << 38 | (uint64_t)level << 35;
    for (int i = 0; i < KEY_SIZES; i++)
        key |= (uint64_t)sizes[i] << 7 * i;
    return key;
}

static uint64_t bucket_key(uint32_t chip, int kind, int dtype, int form, int level,
                           const uint8_t sizes[PYRO_SIZE_COUNT])
{
    uint8_t coarse[PYRO_SIZE_COUNT] = {0};
    for (int i = 0; i < KEY_SIZES; i++) {
        bool is_amount = i == PYRO_SIZE_FLOPS || i == PYRO_SIZE_BYTES;
        if (sizes[i] == PYRO_SIZE_NONE || level == LEVEL_BUCKET)
            coarse[i] = sizes[i];
        else if (level == LEVEL_NEAR)
            coarse[i] = sizes[i] / 4;
        else if (is_amount)
            coarse[i] = sizes[i] / 2;
    }
    return key_of(chip, kind, dtype, form, level, coarse);
}

static uint64_t curve_key(uint32_t chip, int kind, int dtype, int octave)
{
    uint8_t sizes[PYRO_SIZE_COUNT] = {(uint8_t)octave};
    return key_of(chip, kind, dtype, 0, LEVEL_CURVE, sizes);
}

/* log2 of the FLOPs per byte at which work is bound by both. */
static double balance_log(const pyro_chip *chip, int dtype)
{
    double balance = COMMON_BALANCE;
    if (chip && pyro_chip_bytes_per_s(chip) > 0 && pyro_peak_of_type(chip, dtype) > 0)
        balance = pyro_peak_of_type(chip, dtype) / pyro_chip_bytes_per_s(chip);
    return log2(balance);
}

/* log2 of an amount of work in bytes: FLOPs count as the bytes that take as long on the chip. */
static double size_log(const pyro_efficiency_chip_facts *facts, int dtype, double flops_log,
                       double bytes_log)
{
    return fmax(flops_log - facts->balance_log[dtype], bytes_log);
}

static int octave_of(double size)
{
    return size < 0 ? 0 : size > HIGHEST_OCTAVE ? HIGHEST_OCTAVE : (int)size;
}

static bool add_to_cell(pyro_efficiency_table *table, uint64_t key,
                        const pyro_efficiency_cell *added)
{
    uint32_t at = pyro_map_get(&table->cell_of_key, key);
    if (at == PYRO_MAP_NONE) {
        at = (uint32_t)table->cell_count;
        if (!pyro_grow(&table->cells, &table->cell_capacity, table->cell_count + 1,
                       sizeof *table->cells) ||
            !pyro_map_put(&table->cell_of_key, key, at))
            return false;
        table->cells[table->cell_count++] = (pyro_efficiency_cell){0};
    }
    pyro_efficiency_cell *cell = &table->cells[at];
    cell->samples += added->samples;
    cell->time += added->time;
    cell->size += added->size;
    cell->ratio_squares += added->ratio_squares;
    return true;
}

static bool add_to_curve(pyro_efficiency_table *table, uint32_t chip, int kind, int dtype,
                         int octave, const pyro_efficiency_cell *added)
{
    uint64_t key = curve_key(chip, kind, dtype, 0);
    uint32_t at = pyro_map_get(&table->curve_of_key, key);
    if (at == PYRO_MAP_NONE) {
        at = (uint32_t)table->curve_count;
        if (!pyro_grow(&table->octaves, &table->curve_capacity, table->curve_count + 1,
                       sizeof *table->octaves) ||
            !pyro_map_put(&table->curve_of_key, key, at))
            return false;
        table->octaves[table->curve_count++] = 0;
    }
    table->octaves[at] |= UINT64_C(1) << octave;
    return add_to_cell(table, curve_key(chip, kind, dtype, octave), added);
}

static bool prepare_row(pyro_efficiency_table *table, const pyro_efficiency_row *row)
{
    pyro_efficiency_chip_facts *facts = &table->facts[row->chip];
    double samples = (double)row->samples, unit = PYRO_LOG_UNIT;
    double time = (double)row->time_log / unit;
    double size = size_log(facts, row->dtype,
                           (double)row->size_logs[PYRO_SIZE_FLOPS] / unit / samples,
                           (double)row->size_logs[PYRO_SIZE_BYTES] / unit / samples);
    pyro_efficiency_cell cell = {.samples = samples,
                                 .time = time,
                                 .size = size * samples,
                                 .ratio_squares = (double)row->time_log_squares / unit / unit -
                                                  2 * size * time + samples * size * size};
    double *least = &facts->least_log[row->kind];
    *least = fmin(*least, time / samples);
    for (int level = LEVEL_BUCKET; level <= LEVEL_AMOUNTS; level++)
        if (!add_to_cell(table,
                         bucket_key(row->chip, row->kind, row->dtype, row->form, level, row->sizes),
                         &cell))
            return false;
    int octave = octave_of(size);
    return add_to_curve(table, row->chip, row->kind, row->dtype, octave, &cell) &&
           add_to_curve(table, row->chip, row->kind, ANY_DTYPE, octave, &cell);
}

static const pyro_chip *find_chip(const char *name)
{
    for (size_t i = 0; i < pyro_chip_count; i++)
        if (strcmp(pyro_chips[i].name, name) == 0)
            return &pyro_chips[i];
    return NULL;
}

static void forget(pyro_efficiency_table *table)
{
    table->cell_count = table->curve_count = 0;
    pyro_map_free(&table->cell_of_key);
    pyro_map_free(&table->curve_of_key);
    table->cell_of_key = table->curve_of_key = (pyro_map)PYRO_MAP_INIT;
    free(table->facts);
    table->facts = NULL;
    free(table->near_rows);
    free(table->near_first);
    table->near_rows = NULL;
    table->near_first = NULL;
}

int pyro_efficiency_prepare(pyro_efficiency_table *table, pyro_error *error)
{
    forget(table);
    table->facts = calloc(table->chips.count + 1, sizeof *table->facts);
    if (!table->facts)
        return pyro_fail_memory(error);
    for (size_t i = 0; i < table->chips.count; i++) {
        pyro_efficiency_chip_facts *facts = &table->facts[i];
        facts->chip = find_chip(pyro_efficiency_chip(table, i));
        for (size_t k = 0; k < sizeof facts->least_log / sizeof *facts->least_log; k++)
            facts->least_log[k] = log2(MOST_OVERHEAD_NS);
        for (int dtype = 0; dtype < PYRO_EFFICIENCY_DTYPES; dtype++)
            facts->balance_log[dtype] = balance_log(facts->chip, dtype);
    }
    for (size_t i = 0; i < table->count; i++)
        if (!prepare_row(table, &table->rows[i]))
            return pyro_fail_memory(error);
    return pyro_efficiency_prepare_near(table, error);
}

/* An estimate in logarithms of 2. */
typedef struct estimate {
    double time, spread, samples;
    int level;
} estimate;

static const pyro_efficiency_cell *find_cell(const pyro_efficiency_table *table, uint64_t key)
{
    uint32_t at = pyro_map_get(&table->cell_of_key, key);
    return at == PYRO_MAP_NONE ? NULL : &table->cells[at];
}

static double spread_of(const pyro_efficiency_cell *cell, double assumed)
{
    double mean = (cell->time - cell->size) / cell->samples;
    double variance = fmax(cell->ratio_squares / cell->samples - mean * mean, 0);
    return sqrt((variance * cell->samples + assumed * assumed * ASSUMED_SAMPLES) /
                (cell->samples + ASSUMED_SAMPLES));
}

/* The time at another size than the cell's: the part beyond the least time grows with it. */
static double time_at(const pyro_efficiency_cell *cell, double size, double least)
{
    double time = cell->time / cell->samples;
    return time + (1 - exp2(least - time)) * (size - cell->size / cell->samples);
}

/* Between the nearest octaves that have samples, below and above. */
static bool follow_curve(const pyro_efficiency_table *table, uint32_t chip, int kind, int dtype,
                         double size, estimate *out)
{
    double least = table->facts[chip].least_log[kind], distance;
    uint32_t at = pyro_map_get(&table->curve_of_key, curve_key(chip, kind, dtype, 0));
    if (at == PYRO_MAP_NONE)
        return false;
    int octave = octave_of(size);
    uint64_t below = table->octaves[at] & (UINT64_MAX >> (HIGHEST_OCTAVE - octave));
    uint64_t above = table->octaves[at] & ~(UINT64_MAX >> (HIGHEST_OCTAVE - octave));
    int low = below ? HIGHEST_OCTAVE - __builtin_clzll(below) : -1;
    int high = above ? __builtin_ctzll(above) : -1;
    const pyro_efficiency_cell *a = low < 0 ? NULL
                                            : find_cell(table, curve_key(chip, kind, dtype, low));
    const pyro_efficiency_cell *b = high < 0 ? NULL
                                             : find_cell(table, curve_key(chip, kind, dtype, high));
    double size_a = a ? a->size / a->samples : 0, size_b = b ? b->size / b->samples : 0;
    if (a && b && size_b > size_a && size > size_a) {
        double part = (size - size_a) / (size_b - size_a);
        out->time = (1 - part) * a->time / a->samples + part * b->time / b->samples;
        distance = fmin(size - size_a, size_b - size);
    } else {
        out->time = time_at(a ? a : b, size, least);
        distance = fabs(size - (a ? size_a : size_b));
    }
    const pyro_efficiency_cell *near = a && (!b || size - size_a <= size_b - size) ? a : b;
    out->spread = spread_of(near, spread_of_level[out->level]) +
                  SPREAD_PER_OCTAVE * fmax(distance - 1, 0);
    out->samples = near->samples;
    return true;
}

/* From similar rows: the level says how far away the nearest one is. */
static bool look_near(const pyro_efficiency_table *table, uint32_t chip, int kind, int dtype,
                      const struct pyro_op_work *work, estimate *out)
{
    struct pyro_near_estimate near;
    if (!pyro_efficiency_find_near(table, chip, kind, dtype, work, &near))
        return false;
    out->time = near.time_log;
    out->spread = near.spread;
    out->samples = near.samples;
    out->level = near.is_other_type  ? LEVEL_KIND
                 : near.distance < 2 ? LEVEL_NEAR
                 : near.distance < 6 ? LEVEL_AMOUNTS
                                     : LEVEL_CURVE;
    return true;
}

static bool look_up(const pyro_efficiency_table *table, uint32_t chip, int kind, int dtype,
                    const struct pyro_op_work *work, double size, estimate *out)
{
    uint8_t sizes[PYRO_SIZE_COUNT];
    pyro_efficiency_sizes(sizes, work);
    for (out->level = LEVEL_BUCKET; out->level <= LEVEL_AMOUNTS; out->level++) {
        const pyro_efficiency_cell *cell = find_cell(
            table, bucket_key(chip, kind, dtype, work->form, out->level, sizes));
        if (!cell && out->level == LEVEL_BUCKET && look_near(table, chip, kind, dtype, work, out))
            return true;
        if (!cell)
            continue;
        out->time = time_at(cell, size, table->facts[chip].least_log[kind]);
        out->spread = spread_of(cell, spread_of_level[out->level]);
        out->samples = cell->samples;
        return true;
    }
    out->level = LEVEL_CURVE;
    if (follow_curve(table, chip, kind, dtype, size, out))
        return true;
    out->level = LEVEL_KIND;
    return follow_curve(table, chip, kind, ANY_DTYPE, size, out);
}

/* Gradients of a kind that was never seen take the share of the peak that the forward takes. */
static bool look_up_kinds(const pyro_efficiency_table *table, uint32_t chip, pyro_work_kind *kind,
                          int dtype, const struct pyro_op_work *work, double size, estimate *out)
{
    if (look_up(table, chip, *kind, dtype, work, size, out))
        return true;
    pyro_work_kind forward = pyro_work_kind_of_forward(*kind);
    if (forward == *kind)
        return false;
    *kind = forward;
    return look_up(table, chip, forward, dtype, work, size, out);
}

bool pyro_efficiency_find(const pyro_efficiency_table *table, const struct pyro_op_work *work,
                          const char *chip, struct pyro_efficiency *out)
{
    uint32_t id = table->facts ? pyro_intern_find(&table->chips, chip, strlen(chip))
                               : PYRO_INTERN_NONE;
    pyro_work_kind kind = pyro_work_kind_from_name(work->kind);
    int dtype = pyro_efficiency_dtype(work->dtype);
    estimate found;

    *out = (struct pyro_efficiency){.compute_share = -1, .memory_share = -1};
    if (id == PYRO_INTERN_NONE || kind == PYRO_WORK_KIND_COUNT || dtype < 0 ||
        work->form >= PYRO_FORM_COUNT)
        return false;
    const pyro_efficiency_chip_facts *facts = &table->facts[id];
    double flops = (double)work->flops, bytes = (double)work->bytes;
    double size = size_log(facts, dtype, log2(fmax(flops, 1)), log2(fmax(bytes, 1)));
    if (!look_up_kinds(table, id, &kind, dtype, work, size, &found))
        return false;
    double peak = facts->chip ? pyro_peak_of_type(facts->chip, dtype) : 0;
    double bandwidth = facts->chip ? pyro_chip_bytes_per_s(facts->chip) : 0;
    out->time_ns = fmax(exp2(found.time), facts->chip ? LEAST_KERNEL_NS : 1);
    if (peak > 0)
        out->time_ns = fmax(out->time_ns, 1e9 * flops / peak);
    /* At least a tenth is left for the work, so that shares stay finite. */
    out->overhead_ns = fmin(exp2(facts->least_log[kind]), 0.9 * out->time_ns);
    double work_s = (out->time_ns - out->overhead_ns) / 1e9;
    if (peak > 0 && flops > 0)
        out->compute_share = flops / work_s / peak;
    if (bandwidth > 0 && bytes > 0)
        out->memory_share = bytes / work_s / bandwidth;
    out->low = exp2(-RANGE_80 * found.spread);
    out->high = exp2(RANGE_80 * found.spread);
    out->samples = (uint64_t)found.samples;
    out->level = found.level;
    return true;
}

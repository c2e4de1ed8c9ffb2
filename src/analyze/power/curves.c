/* Sorts samples of GPUs into curves, and reads values, areas and intervals from them. */
#include "analyze/power/curves.h"

#include "base/containers/buf.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Times and values beyond these are damage; differences of times within do not overflow. */
#define FARTHEST_NS (INT64_C(1) << 61)
#define LARGEST 1e18

typedef struct value_names {
    uint32_t counter, series; /* PYRO_INTERN_NONE: not in the trace */
} value_names;

static void find_names(value_names names[PYRO_GPU_VALUE_COUNT], const pyro_trace *trace)
{
    static const char *const texts[][2] = {
#define VALUE(id, counter, series) {counter, series},
        PYRO_GPU_VALUES(VALUE)
#undef VALUE
    };
    for (int i = 0; i < PYRO_GPU_VALUE_COUNT; i++) {
        names[i].counter = pyro_intern_find(&trace->names, texts[i][0], strlen(texts[i][0]));
        names[i].series = pyro_intern_find(&trace->names, texts[i][1], strlen(texts[i][1]));
    }
}

static int find_value(const value_names *names, const pyro_counter_sample *sample)
{
    for (int i = 0; i < PYRO_GPU_VALUE_COUNT; i++)
        if (names[i].counter == sample->name && names[i].series == sample->series)
            return i;
    return -1;
}

static bool is_sound(const pyro_counter_sample *sample)
{
    return sample->time_ns > -FARTHEST_NS && sample->time_ns < FARTHEST_NS && sample->value >= 0 &&
           sample->value < LARGEST;
}

static pyro_gpu_curves *find_device(pyro_all_curves *all, int64_t device)
{
    for (size_t i = 0; i < all->count; i++)
        if (all->items[i].device == device)
            return &all->items[i];
    if (!pyro_grow(&all->items, &all->capacity, all->count + 1, sizeof *all->items))
        return NULL;
    all->items[all->count] = (pyro_gpu_curves){.device = device};
    return &all->items[all->count++];
}

static bool add_point(pyro_all_curves *all, const pyro_trace *trace, int value,
                      const pyro_counter_sample *sample)
{
    uint64_t pid = trace->tracks[sample->track].pid;
    pyro_gpu_curves *device = find_device(all, pid >> 63 ? -1 : (int64_t)pid);
    if (!device)
        return false;
    pyro_curve *curve = &device->values[value];
    if (!pyro_grow(&curve->points, &curve->capacity, curve->count + 1, sizeof *curve->points))
        return false;
    curve->points[curve->count++] = (pyro_curve_point){sample->time_ns, sample->value};
    return true;
}

static int by_time(const void *left, const void *right)
{
    const pyro_curve_point *a = left, *b = right;
    return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

static int by_device(const void *left, const void *right)
{
    const pyro_gpu_curves *a = left, *b = right;
    return (a->device > b->device) - (a->device < b->device);
}

static void sort_curve(pyro_curve *curve)
{
    for (size_t i = 1; i < curve->count; i++)
        if (curve->points[i].time_ns < curve->points[i - 1].time_ns) {
            qsort(curve->points, curve->count, sizeof *curve->points, by_time);
            return;
        }
}

bool pyro_curves_read(pyro_all_curves *all, const pyro_trace *trace)
{
    value_names names[PYRO_GPU_VALUE_COUNT];
    find_names(names, trace);
    for (size_t i = 0; i < trace->counter_count; i++) {
        int value = is_sound(&trace->counters[i]) ? find_value(names, &trace->counters[i]) : -1;
        if (value >= 0 && !add_point(all, trace, value, &trace->counters[i]))
            return false;
    }
    if (all->count)
        qsort(all->items, all->count, sizeof *all->items, by_device);
    for (size_t i = 0; i < all->count; i++)
        for (int value = 0; value < PYRO_GPU_VALUE_COUNT; value++)
            sort_curve(&all->items[i].values[value]);
    return true;
}

void pyro_curves_free(pyro_all_curves *all)
{
    for (size_t i = 0; i < all->count; i++)
        for (int value = 0; value < PYRO_GPU_VALUE_COUNT; value++)
            free(all->items[i].values[value].points);
    free(all->items);
    *all = (pyro_all_curves){0};
}

int64_t pyro_curve_interval_ns(const pyro_curve *curve)
{
    if (curve->count < 2)
        return 0;
    return (curve->points[curve->count - 1].time_ns - curve->points[0].time_ns) /
           (int64_t)(curve->count - 1);
}

int64_t pyro_curve_update_ns(const pyro_curve *curve)
{
    int64_t first_ns = 0, last_ns = 0, changes = 0;
    for (size_t i = 1; i < curve->count; i++) {
        if (curve->points[i].value == curve->points[i - 1].value)
            continue;
        last_ns = curve->points[i].time_ns;
        first_ns = changes++ ? first_ns : last_ns;
    }
    return changes > 1 ? (last_ns - first_ns) / (changes - 1) : 0;
}

size_t pyro_curve_find(const pyro_curve *curve, int64_t time_ns)
{
    size_t low = 0, high = curve->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (curve->points[middle].time_ns < time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static double on_line(const pyro_curve_point *a, const pyro_curve_point *b, int64_t time_ns)
{
    double whole_ns = (double)b->time_ns - (double)a->time_ns;
    double part_ns = (double)time_ns - (double)a->time_ns;
    return whole_ns > 0 ? a->value + (b->value - a->value) * part_ns / whole_ns : b->value;
}

double pyro_curve_at(const pyro_curve *curve, int64_t time_ns)
{
    const pyro_curve_point *points = curve->points;
    size_t last = curve->count - 1;
    if (curve->count < 2)
        return NAN;
    double slack_ns = (double)pyro_curve_interval_ns(curve);
    if ((double)time_ns < (double)points[0].time_ns - slack_ns ||
        (double)time_ns > (double)points[last].time_ns + slack_ns)
        return NAN;
    size_t after = pyro_curve_find(curve, time_ns);
    after = after == 0 ? 1 : after > last ? last : after;
    return on_line(&points[after - 1], &points[after], time_ns);
}

double pyro_curve_area(const pyro_curve *curve, int64_t start_ns, int64_t end_ns)
{
    double value = pyro_curve_at(curve, start_ns), end = pyro_curve_at(curve, end_ns), area = 0;
    int64_t time_ns = start_ns;
    if (isnan(value) || isnan(end))
        return NAN;
    for (size_t i = pyro_curve_find(curve, start_ns);
         i < curve->count && curve->points[i].time_ns < end_ns; i++) {
        const pyro_curve_point *point = &curve->points[i];
        area += (value + point->value) / 2 * (double)(point->time_ns - time_ns);
        time_ns = point->time_ns;
        value = point->value;
    }
    area += (value + end) / 2 * (double)(end_ns - time_ns);
    return area / 1e9;
}

/* Parses thresholds such as "latency:100ms" and checks results against them. */
#include "base/error.h"
#include "base/text/suggest.h"

#include <pyrometer/bench.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum quantity { TIME, RATE, BYTES } quantity;
typedef enum statistic { MEAN, PERCENTILE, LARGEST, SMALLEST } statistic;

/* Names before the colon. The first row with a name's metric is the number that is checked. */
static const struct {
    const char *name, *metric;
    statistic of;
    quantity quantity;
    int percentile; /* index in pyro_summary.percentiles */
} gated[] = {
    {"latency", "latency", MEAN, TIME, 0},     {"mean", "latency", MEAN, TIME, 0},
    {"p50", "latency", PERCENTILE, TIME, 0},   {"median", "latency", PERCENTILE, TIME, 0},
    {"p95", "latency", PERCENTILE, TIME, 1},   {"p99", "latency", PERCENTILE, TIME, 2},
    {"p99.9", "latency", PERCENTILE, TIME, 3}, {"max", "latency", LARGEST, TIME, 0},
    {"min", "latency", SMALLEST, TIME, 0},     {"throughput", "throughput", MEAN, RATE, 0},
    {"memory", "memory", LARGEST, BYTES, 0},   {"user", "user", MEAN, TIME, 0},
    {"system", "system", MEAN, TIME, 0},
};

enum { GATED_COUNT = sizeof gated / sizeof *gated };

/*
 * Units by quantity, and their value in the unit of the samples (ms, one per second, bytes). A rate
 * counts something; `counts` names it, because each of these is a separate number.
 */
typedef enum counted { ANYTHING, SAMPLES, RUNS, REQUESTS, TOKENS, IMAGES } counted;

static const struct {
    const char *name;
    quantity quantity;
    double factor;
    counted counts;
} units[] = {
    {"ns", TIME, 1e-6, ANYTHING},
    {"us", TIME, 1e-3, ANYTHING},
    {"ms", TIME, 1, ANYTHING},
    {"s", TIME, 1e3, ANYTHING},
    {"min", TIME, 6e4, ANYTHING},
    {"/s", RATE, 1, ANYTHING},
    {"samples/s", RATE, 1, SAMPLES},
    {"items/s", RATE, 1, SAMPLES},
    {"runs/s", RATE, 1, RUNS},
    {"requests/s", RATE, 1, REQUESTS},
    {"tokens/s", RATE, 1, TOKENS},
    {"images/s", RATE, 1, IMAGES},
    {"B", BYTES, 1, ANYTHING},
    {"KB", BYTES, 1e3, ANYTHING},
    {"MB", BYTES, 1e6, ANYTHING},
    {"GB", BYTES, 1e9, ANYTHING},
    {"TB", BYTES, 1e12, ANYTHING},
    {"KiB", BYTES, 1024, ANYTHING},
    {"MiB", BYTES, 1048576, ANYTHING},
    {"GiB", BYTES, 1073741824, ANYTHING},
    {"TiB", BYTES, 1099511627776.0, ANYTHING},
};

enum { UNIT_COUNT = sizeof units / sizeof *units };

static int fail_metric(const char *name, const char *text, pyro_error *error)
{
    pyro_suggestion suggestion = PYRO_SUGGESTION(name);

    for (int i = 0; i < GATED_COUNT; i++)
        pyro_suggestion_offer(&suggestion, gated[i].name);
    if (suggestion.nearest)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                         "threshold %.60s: unknown metric; did you mean %s?", text,
                         suggestion.nearest);
    return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                     "threshold %.60s: unknown metric (latency, p50, p95, p99, p99.9, max, min, "
                     "throughput, memory, user, system)",
                     text);
}

static int read_limit(pyro_threshold *out, const char *number, quantity wanted, pyro_error *error)
{
    static const char *const examples[] = {"100ms", "1000samples/s", "2GiB"};
    char *unit;
    double value = strtod(number, &unit);

    if (unit == number || !isfinite(value) || value < 0 || number[0] == '+')
        return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                         "threshold %.60s: missing number after the colon", out->text);
    for (int i = 0; i < UNIT_COUNT; i++) {
        if (units[i].quantity == wanted && strcmp(units[i].name, unit) == 0) {
            out->unit = i;
            out->limit = value * units[i].factor;
            return PYRO_OK;
        }
    }
    if (unit[0] == '\0')
        return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                         "threshold %.60s: the unit is missing; for example %s", out->text,
                         examples[wanted]);
    return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                     "threshold %.60s: unknown unit %.20s; for example %s", out->text, unit,
                     examples[wanted]);
}

int pyro_threshold_parse(pyro_threshold *out, const char *text, pyro_error *error)
{
    const char *colon = strchr(text, ':');
    char name[sizeof out->text];

    memset(out, 0, sizeof *out);
    if (!colon || colon == text || strlen(text) >= sizeof out->text)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                         "threshold %.60s: expected metric:limit, such as latency:100ms", text);
    strcpy(out->text, text);
    memcpy(name, text, (size_t)(colon - text));
    name[colon - text] = '\0';
    for (int i = 0; i < GATED_COUNT; i++) {
        if (strcmp(gated[i].name, name) == 0) {
            out->kind = i;
            return read_limit(out, colon + 1, gated[i].quantity, error);
        }
    }
    return fail_metric(name, text, error);
}

/* Sets the number that is checked, and its interval. */
static void measure(pyro_gate_row *row, const pyro_metric *metric, int kind)
{
    const pyro_summary *summary = &metric->summary;

    if (!metric->samples) {
        row->value = metric->value;
        row->interval = summary->mean_interval.confidence > 0
                            ? summary->mean_interval
                            : (pyro_interval){metric->value, metric->value, 1};
        return;
    }
    switch (gated[kind].of) {
    case MEAN:
        row->value = summary->mean;
        row->interval = summary->mean_interval;
        break;
    case PERCENTILE: {
        const pyro_percentile *percentile = &summary->percentiles[gated[kind].percentile];

        row->value = percentile->value;
        row->interval = percentile->interval;
        if (!percentile->enough)
            row->reason = "n is too small for this percentile";
        break;
    }
    case LARGEST:
    case SMALLEST:
        row->value = gated[kind].of == LARGEST ? summary->max : summary->min;
        row->interval = (pyro_interval){row->value, row->value, 1};
        break;
    }
}

/*
 * The number of a result that counts this, to be multiplied by *scale; NULL if the result has none.
 * A run of a command is a run; a call of a model is a request. Both handle `items` samples.
 */
static const pyro_metric *find_rate(const pyro_bench_result *result, counted counts, double *scale)
{
    bool command = strcmp(result->engine, "command") == 0;

    *scale = 1;
    if (counts == TOKENS)
        return pyro_bench_metric(result, "tokens_per_second");
    if (counts == IMAGES)
        return pyro_bench_metric(result, "images_per_second");
    if (counts == (command ? REQUESTS : RUNS))
        return NULL;
    if ((counts == RUNS || counts == REQUESTS) && result->items > 0)
        *scale = 1 / result->items;
    return pyro_bench_metric(result, "throughput");
}

static bool has_unit(const pyro_bench_result *result, int unit)
{
    bool command = strcmp(result->engine, "command") == 0;
    counted counts = units[unit].counts;
    double scale;

    /* Rates derived from latency are known before anything was measured. */
    if (counts == ANYTHING || counts == SAMPLES || counts == (command ? RUNS : REQUESTS))
        return true;
    return find_rate(result, counts, &scale) != NULL;
}

int pyro_threshold_verify(const pyro_threshold *threshold, const pyro_bench_result *result,
                          pyro_error *error)
{
    char known[128] = "";

    if (units[threshold->unit].quantity != RATE || has_unit(result, threshold->unit))
        return PYRO_OK;
    for (int i = 0; i < UNIT_COUNT; i++) {
        if (units[i].quantity != RATE || units[i].counts == ANYTHING || !has_unit(result, i) ||
            strcmp(units[i].name, "items/s") == 0)
            continue;
        size_t length = strlen(known);
        snprintf(known + length, sizeof known - length, "%s%s", length > 0 ? ", " : "",
                 units[i].name);
    }
    return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                     "threshold %.60s: %.100s has no number in %s; it has %s", threshold->text,
                     result->name, units[threshold->unit].name, known);
}

/* Tokens and images per second have no samples; they vary as much as the throughput does. */
static void measure_rate(pyro_gate_row *row, const pyro_metric *metric,
                         const pyro_bench_result *result, int kind, double scale)
{
    const pyro_metric *throughput = pyro_bench_metric(result, "throughput");

    measure(row, metric, kind);
    if (!metric->samples && metric != throughput && throughput && !throughput->samples &&
        throughput->value > 0 && throughput->summary.mean_interval.confidence > 0) {
        row->interval = throughput->summary.mean_interval;
        scale = metric->value / throughput->value;
        row->interval.low *= scale;
        row->interval.high *= scale;
        return;
    }
    row->value *= scale;
    row->interval.low *= scale;
    row->interval.high *= scale;
}

static const pyro_metric *find_metric(const pyro_threshold *threshold,
                                      const pyro_bench_result *result, double *scale)
{
    *scale = 1;
    return gated[threshold->kind].quantity == RATE
               ? find_rate(result, units[threshold->unit].counts, scale)
               : pyro_bench_metric(result, gated[threshold->kind].metric);
}

pyro_gate_row pyro_threshold_check(const pyro_threshold *threshold, const pyro_bench_result *result)
{
    double scale;
    const pyro_metric *metric = find_metric(threshold, result, &scale);
    pyro_gate_row row = {.threshold = threshold,
                         .result = result,
                         .unit = "",
                         .value = NAN,
                         .interval = {NAN, NAN, 0.95},
                         .gate = PYRO_GATE_CANNOT_TELL};

    if (!metric || (!metric->samples && isnan(metric->value))) {
        row.reason = pyro_threshold_verify(threshold, result, NULL) == PYRO_OK
                         ? "it was not measured"
                         : "there is no number in this unit";
        return row;
    }
    bool rate = gated[threshold->kind].quantity == RATE;
    bool named = rate && units[threshold->unit].counts != ANYTHING;
    row.unit = named ? units[threshold->unit].name : metric->unit;
    if (rate)
        measure_rate(&row, metric, result, threshold->kind, scale);
    else
        measure(&row, metric, threshold->kind);
    /* Signs are turned so that less is better. */
    double sign = metric->higher_is_better ? -1 : 1, limit = sign * threshold->limit;
    double worst = sign > 0 ? row.interval.high : -row.interval.low;
    double best = sign > 0 ? row.interval.low : -row.interval.high;
    if (best > limit)
        row.gate = PYRO_GATE_FAILED;
    else if (!row.reason && worst <= limit)
        row.gate = PYRO_GATE_PASSED;
    else if (!row.reason)
        row.reason = isnan(worst) ? "too few samples for an interval"
                                  : "the limit lies inside of the interval";
    if (row.gate == PYRO_GATE_FAILED)
        row.reason = NULL;
    return row;
}

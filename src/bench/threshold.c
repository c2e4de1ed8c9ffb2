/* Thresholds: "latency:100ms" and what becomes of it beside a result. */
#include "base/error.h"
#include "base/suggest.h"

#include <pyrometer/bench.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum quantity { TIME, RATE, BYTES } quantity;
typedef enum statistic { MEAN, PERCENTILE, LARGEST, SMALLEST } statistic;

/* What can stand before the colon. The first row of a name's metric is what it gates. */
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

/* Units by quantity, and what they are in the unit of the samples (ms, a second, bytes). */
static const struct {
    const char *name;
    quantity quantity;
    double factor;
} units[] = {
    {"ns", TIME, 1e-6},      {"us", TIME, 1e-3},         {"ms", TIME, 1},
    {"s", TIME, 1e3},        {"min", TIME, 6e4},         {"/s", RATE, 1},
    {"samples/s", RATE, 1},  {"runs/s", RATE, 1},        {"items/s", RATE, 1},
    {"requests/s", RATE, 1}, {"images/s", RATE, 1},      {"tokens/s", RATE, 1},
    {"B", BYTES, 1},         {"KB", BYTES, 1e3},         {"MB", BYTES, 1e6},
    {"GB", BYTES, 1e9},      {"TB", BYTES, 1e12},        {"KiB", BYTES, 1024},
    {"MiB", BYTES, 1048576}, {"GiB", BYTES, 1073741824}, {"TiB", BYTES, 1099511627776.0},
};

static int fail_metric(const char *name, const char *text, pyro_error *error)
{
    pyro_suggestion suggestion = PYRO_SUGGESTION(name);

    for (int i = 0; i < GATED_COUNT; i++)
        pyro_suggestion_offer(&suggestion, gated[i].name);
    if (suggestion.nearest != NULL)
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
        return pyro_fail(error, PYRO_ERROR_ARGUMENT, "threshold %.60s: no number behind the colon",
                         out->text);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (units[i].quantity == wanted && strcmp(units[i].name, unit) == 0) {
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
    if (colon == NULL || colon == text || strlen(text) >= sizeof out->text)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                         "threshold %.60s: not metric:limit, such as latency:100ms", text);
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

/* The number that is gated, and between which two it lies. */
static void measure(pyro_gate_row *row, const pyro_metric *metric, int kind)
{
    const pyro_summary *summary = &metric->summary;

    if (metric->samples == NULL) {
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

pyro_gate_row pyro_threshold_check(const pyro_threshold *threshold, const pyro_bench_result *result)
{
    const pyro_metric *metric = pyro_bench_metric(result, gated[threshold->kind].metric);
    pyro_gate_row row = {.threshold = threshold,
                         .result = result,
                         .unit = "",
                         .value = NAN,
                         .interval = {NAN, NAN, 0.95},
                         .gate = PYRO_GATE_CANNOT_TELL};

    if (metric == NULL || (metric->samples == NULL && isnan(metric->value))) {
        row.reason = "it was not measured";
        return row;
    }
    row.unit = metric->unit;
    measure(&row, metric, threshold->kind);
    /* Signs are turned so that less is better. */
    double sign = metric->higher_is_better ? -1 : 1, limit = sign * threshold->limit;
    double worst = sign > 0 ? row.interval.high : -row.interval.low;
    double best = sign > 0 ? row.interval.low : -row.interval.high;
    if (best > limit)
        row.gate = PYRO_GATE_FAILED;
    else if (row.reason == NULL && worst <= limit)
        row.gate = PYRO_GATE_PASSED;
    else if (row.reason == NULL)
        row.reason = isnan(worst) ? "too few samples for an interval"
                                  : "the limit lies inside of the interval";
    if (row.gate == PYRO_GATE_FAILED)
        row.reason = NULL;
    return row;
}

/* Writes results as JSON with every sample, in the format that pyro_bench_open reads. */
#include "report/bench/bench.h"

#include <math.h>
#include <string.h>

static void write_interval(pyro_json_writer *w, const char *key, const pyro_interval *interval)
{
    pyro_json_key(w, key);
    pyro_json_begin_array_inline(w);
    pyro_json_number(w, interval->low);
    pyro_json_number(w, interval->high);
    pyro_json_end_array(w);
}

static void write_numbers(pyro_json_writer *w, const char *key, const double *values, size_t count)
{
    pyro_json_key(w, key);
    pyro_json_begin_array_inline(w);
    for (size_t i = 0; i < count; i++)
        pyro_json_number(w, values[i]);
    pyro_json_end_array(w);
}

static void write_percentiles(pyro_json_writer *w, const pyro_summary *summary)
{
    pyro_json_key(w, "percentiles");
    pyro_json_begin_object(w);
    for (size_t i = 0; i < PYRO_PERCENTILE_COUNT; i++) {
        const pyro_percentile *percentile = &summary->percentiles[i];

        pyro_json_key(w, percentile->name);
        pyro_json_begin_object_inline(w);
        pyro_json_member_number(w, "value", percentile->value);
        write_interval(w, "interval", &percentile->interval);
        pyro_json_member_boolean(w, "enough", percentile->enough);
        pyro_json_member_integer(w, "needs", (int64_t)percentile->needs);
        pyro_json_end_object(w);
    }
    pyro_json_end_object(w);
}

static void write_summary(pyro_json_writer *w, const pyro_summary *summary)
{
    pyro_json_member_number(w, "mean", summary->mean);
    write_interval(w, "mean_interval", &summary->mean_interval);
    pyro_json_member_number(w, "confidence", summary->mean_interval.confidence);
    pyro_json_member_number(w, "stddev", summary->stddev);
    pyro_json_member_number(w, "cv", summary->cv);
    pyro_json_member_number(w, "min", summary->min);
    pyro_json_member_number(w, "max", summary->max);
    pyro_json_member_number(w, "mad", summary->mad);
    write_percentiles(w, summary);
    pyro_json_member_integer(w, "outliers", (int64_t)summary->outliers);
    pyro_json_member_integer(w, "outliers_severe", (int64_t)summary->outliers_severe);
    pyro_json_member_number(w, "autocorrelation", summary->autocorrelation);
}

static void write_metric(pyro_json_writer *w, const pyro_metric *metric)
{
    pyro_json_begin_object(w);
    pyro_json_member_string(w, "name", metric->name);
    pyro_json_member_string(w, "unit", metric->unit);
    pyro_json_member_string(w, "better", metric->higher_is_better ? "higher" : "lower");
    pyro_json_member_integer(w, "n", (int64_t)metric->count);
    if (metric->samples) {
        write_summary(w, &metric->summary);
        write_numbers(w, "samples", metric->samples, metric->count);
    } else {
        pyro_json_member_number(w, "value", metric->value);
        if (metric->summary.mean_interval.confidence > 0)
            write_interval(w, "interval", &metric->summary.mean_interval);
    }
    pyro_json_end_object(w);
}

static void write_pairs(pyro_json_writer *w, const char *key, const pyro_pair *pairs, size_t count)
{
    pyro_json_key(w, key);
    pyro_json_begin_object(w);
    for (size_t i = 0; i < count; i++)
        pyro_json_member_string(w, pairs[i].name, pairs[i].value);
    pyro_json_end_object(w);
}

static void write_texts(pyro_json_writer *w, const char *const *texts, size_t count)
{
    pyro_json_begin_array_inline(w);
    for (size_t i = 0; i < count; i++)
        pyro_json_string(w, texts[i]);
    pyro_json_end_array(w);
}

static void write_tables(pyro_json_writer *w, const pyro_bench_result *result)
{
    pyro_json_key(w, "tables");
    pyro_json_begin_array(w);
    for (size_t i = 0; i < result->table_count; i++) {
        const pyro_bench_table *table = &result->tables[i];

        pyro_json_begin_object(w);
        pyro_json_member_string(w, "title", table->title);
        pyro_json_key(w, "columns");
        write_texts(w, table->columns, table->column_count);
        pyro_json_key(w, "rows");
        pyro_json_begin_array(w);
        for (size_t row = 0; row < table->row_count; row++)
            write_texts(w, table->cells + row * table->column_count, table->column_count);
        pyro_json_end_array(w);
        pyro_json_end_object(w);
    }
    pyro_json_end_array(w);
}

static void write_gpu(pyro_json_writer *w, const pyro_gpu_record *gpu)
{
    char reasons[160];

    pyro_json_key(w, "gpu");
    if (gpu->looks == 0) {
        pyro_json_null(w);
        return;
    }
    pyro_json_begin_object(w);
    pyro_json_member_number(w, "clock_mhz", gpu->clock_mhz);
    pyro_json_member_number(w, "clock_min_mhz", gpu->clock_min_mhz);
    pyro_json_member_number(w, "clock_max_mhz", gpu->clock_max_mhz);
    pyro_json_member_number(w, "clock_limit_mhz", gpu->clock_limit_mhz);
    pyro_json_member_number(w, "memory_clock_mhz", gpu->memory_clock_mhz);
    pyro_json_member_number(w, "power_cap_w", gpu->power_cap_w);
    pyro_json_member_number(w, "power_default_cap_w", gpu->power_default_cap_w);
    pyro_json_member_number(w, "power_w", gpu->power_w);
    pyro_json_member_number(w, "temperature_c", gpu->temperature_c);
    pyro_json_member_integer(w, "looks", gpu->looks);
    pyro_json_member_integer(w, "throttled_looks", gpu->throttled_looks);
    pyro_json_member_integer(w, "reasons_mask", gpu->reasons);
    pyro_json_member_string(w, "reasons",
                            pyro_gpu_reasons(reasons, sizeof reasons, (uint64_t)gpu->reasons));
    pyro_json_end_object(w);
}

static void write_result(pyro_json_writer *w, const pyro_bench_result *result)
{
    pyro_json_begin_object(w);
    pyro_json_member_string(w, "name", result->name);
    pyro_json_member_string(w, "engine", result->engine);
    pyro_json_member_string(w, "command", result->command);
    write_pairs(w, "parameters", result->parameters, result->parameter_count);
    pyro_json_member_string(w, "status", result->status);
    pyro_json_member_string(w, "message", result->message);
    pyro_json_member_string(w, "loop", result->loop);
    pyro_json_member_number(w, "rate_per_s", result->rate_per_s);
    pyro_json_member_number(w, "items", result->items);
    pyro_json_member_number(w, "calls_per_second", pyro_bench_calls_per_s(result));
    pyro_json_member_string(w, "replicate",
                            result->replicate == PYRO_REPLICATE_PROCESS ? "process" : "iteration");
    pyro_json_key(w, "processes");
    pyro_json_begin_array_inline(w);
    for (size_t i = 0; i < result->process_count; i++)
        pyro_json_integer(w, result->processes[i]);
    pyro_json_end_array(w);
    pyro_json_member_integer(w, "warmup_runs", (int64_t)result->warmup_count);
    pyro_json_member_boolean(w, "warmup_settled", result->warmup_settled);
    write_numbers(w, "warmup_samples", result->warmup_ms, result->warmup_count);
    pyro_json_member_number(w, "shell_ms", result->shell_ms);
    pyro_json_member_integer(w, "failures", (int64_t)result->failures);
    pyro_json_member_integer(w, "discarded", result->discarded);
    pyro_json_member_integer(w, "throttled", result->throttled);
    write_gpu(w, &result->gpu);
    pyro_json_key(w, "metrics");
    pyro_json_begin_array(w);
    for (size_t i = 0; i < result->metric_count; i++)
        write_metric(w, &result->metrics[i]);
    pyro_json_end_array(w);
    if (result->fact_count > 0)
        write_pairs(w, "facts", result->facts, result->fact_count);
    if (result->table_count > 0)
        write_tables(w, result);
    pyro_json_end_object(w);
}

static void write_environment(pyro_json_writer *w, const pyro_environment *environment)
{
    pyro_json_key(w, "environment");
    pyro_json_begin_object(w);
    pyro_json_member_string(w, "architecture", environment->architecture);
    pyro_json_member_string(w, "cpu_model", environment->cpu_model);
    pyro_json_member_integer(w, "cpu_count", environment->cpu_count);
    pyro_json_member_integer(w, "usable_cpus", environment->usable_cpus);
    pyro_json_member_string(w, "governor", environment->governor);
    pyro_json_member_string(w, "threads", environment->threads);
    pyro_json_member_integer(w, "memory_bytes", environment->memory_bytes);
    pyro_json_member_string(w, "gpu", environment->gpu);
    pyro_json_member_string(w, "gpu_driver", environment->gpu_driver);
    pyro_json_member_string(w, "gpu_clocks", environment->gpu_clocks);
    pyro_json_member_string(w, "kernel", environment->kernel);
    pyro_json_member_string(w, "system", environment->system);
    pyro_json_member_string(w, "commit", environment->commit);
    pyro_json_member_number(w, "load_1m_before", environment->load_1m_before);
    pyro_json_member_number(w, "load_1m_after", environment->load_1m_after);
    pyro_json_member_number(w, "other_cpus", environment->other_cpus);
    pyro_json_member_integer(w, "swap_used_bytes", environment->swap_used_bytes);
    pyro_json_member_integer(w, "swapped_pages", environment->swapped_pages);
    pyro_json_member_integer(w, "throttled", environment->throttled);
    pyro_json_member_number(w, "noise", environment->noise);
    write_pairs(w, "extra", environment->extra, environment->extra_count);
    pyro_json_end_object(w);
}

static void write_gates(pyro_json_writer *w, const pyro_bench_report *report)
{
    pyro_json_key(w, "thresholds");
    pyro_json_begin_array(w);
    for (size_t i = 0; i < report->gate_count; i++) {
        const pyro_gate_row *row = &report->gates[i];

        pyro_json_begin_object(w);
        pyro_json_member_string(w, "threshold", row->threshold->text);
        pyro_json_member_string(w, "benchmark", row->result->name);
        pyro_json_member_string(w, "unit", row->unit);
        pyro_json_member_number(w, "limit", row->threshold->limit);
        pyro_json_member_number(w, "value", row->value);
        write_interval(w, "interval", &row->interval);
        pyro_json_member_string(w, "verdict", pyro_gate_name(row->gate));
        pyro_json_member_string(w, "reason", row->reason);
        pyro_json_end_object(w);
    }
    pyro_json_end_array(w);
}

static void write_verdict_rows(pyro_json_writer *w, const pyro_comparison *comparison)
{
    pyro_json_member_string(w, "verdict", pyro_verdict_name(comparison->overall));
    pyro_json_member_strings(w, "notes", comparison->notes, comparison->note_count);
    pyro_json_key(w, "metrics");
    pyro_json_begin_array(w);
    for (size_t i = 0; i < comparison->row_count; i++) {
        const pyro_verdict_row *row = &comparison->rows[i];

        pyro_json_begin_object(w);
        pyro_json_member_string(w, "benchmark", row->benchmark);
        pyro_json_member_string(w, "metric", row->metric);
        pyro_json_member_string(w, "unit", row->unit);
        pyro_json_member_string(w, "verdict", pyro_verdict_name(row->verdict));
        pyro_json_member_number(w, "base", row->base);
        pyro_json_member_number(w, "current", row->current);
        pyro_json_member_number(w, "change", row->change);
        write_interval(w, "interval", &row->interval);
        pyro_json_member_number(w, "confidence", row->interval.confidence);
        pyro_json_member_number(w, "delta", row->delta);
        pyro_json_member_number(w, "p", row->p);
        pyro_json_member_integer(w, "base_n", (int64_t)row->base_count);
        pyro_json_member_integer(w, "current_n", (int64_t)row->current_count);
        pyro_json_member_string(w, "replicate", row->processes ? "process" : "iteration");
        pyro_json_member_string(w, "reason", row->reason);
        pyro_json_end_object(w);
    }
    pyro_json_end_array(w);
}

int pyro_write_verdict_json(pyro_buf *buf, const pyro_report_request *request)
{
    pyro_json_writer writer;

    pyro_json_writer_init(&writer, buf, 2);
    pyro_json_begin_object(&writer);
    pyro_json_member_string(&writer, "schema", "pyrometer.verdict/1");
    write_verdict_rows(&writer, request->verdict);
    pyro_json_end_object(&writer);
    pyro_buf_addc(buf, '\n');
    return PYRO_OK;
}

int pyro_write_bench_json(pyro_buf *buf, const pyro_report_request *request)
{
    const pyro_bench_report *report = request->bench.report;
    const pyro_bench *bench = report->bench;
    pyro_json_writer writer, *w = &writer;

    pyro_json_writer_init(w, buf, 2);
    pyro_json_begin_object(w);
    pyro_json_member_string(w, "schema", PYRO_BENCH_SCHEMA);
    pyro_json_member_string(w, "tool", bench->tool);
    pyro_json_member_string(w, "created", bench->created);
    pyro_json_member_integer(w, "seed", (int64_t)bench->seed);
    pyro_json_member_string(w, "order", bench->order);
    if (bench->rounds)
        pyro_json_member_string(w, "rounds", bench->rounds);
    pyro_json_member_boolean(w, "interrupted", bench->interrupted);
    write_environment(w, &bench->environment);
    pyro_json_member_strings(w, "warnings", bench->warnings, bench->warning_count);
    pyro_json_key(w, "benchmarks");
    pyro_json_begin_array(w);
    for (size_t i = 0; i < bench->result_count; i++)
        write_result(w, &bench->results[i]);
    pyro_json_end_array(w);
    write_gates(w, report);
    if (report->comparison) {
        pyro_json_key(w, "comparison");
        pyro_json_begin_object(w);
        write_verdict_rows(w, report->comparison);
        pyro_json_end_object(w);
    }
    pyro_json_end_object(w);
    pyro_buf_addc(buf, '\n');
    return PYRO_OK;
}

/* Chooses the writer of benchmark results, and holds what several of them need. */
#include "report/bench/bench.h"

#include "base/error.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *pyro_format_amount(char text[PYRO_UNIT_TEXT], double value, const char *unit)
{
    char count[PYRO_UNIT_TEXT];

    if (!isfinite(value))
        snprintf(text, PYRO_UNIT_TEXT, "-");
    else if (strcmp(unit, "ms") == 0 && value < 9e12)
        pyro_format_duration(text, llround(value * 1e6));
    else if (strcmp(unit, "bytes") == 0 && value < 9e18)
        pyro_format_bytes(text, llround(value));
    else if (strcmp(unit, "share") == 0)
        snprintf(text, PYRO_UNIT_TEXT, "%.1f%%", value * 100);
    else if (fabs(value) >= 1e4 && fabs(value) < 9e18)
        snprintf(text, PYRO_UNIT_TEXT, "%.14s%s%.14s", pyro_format_count(count, llround(value)),
                 strncmp(unit, "FLOP", 4) == 0 || strcmp(unit, "MAC") == 0 ? "" : " ", unit);
    else
        snprintf(text, PYRO_UNIT_TEXT, "%.4g %.16s", value, unit);
    return text;
}

char *pyro_format_change(char text[PYRO_UNIT_TEXT], double change)
{
    if (!isfinite(change))
        snprintf(text, PYRO_UNIT_TEXT, "-");
    else
        snprintf(text, PYRO_UNIT_TEXT, "%+.1f%%", change * 100);
    return text;
}

void pyro_add_metric_name(pyro_buf *buf, const char *name)
{
    static const struct {
        const char *name, *shown;
    } short_forms[] = {
        {"cpu", "CPU"},   {"gpu", "GPU"},          {"flops", "FLOPs"},
        {"macs", "MACs"}, {"flop_rate", "FLOP/s"},
    };

    for (size_t i = 0; i < sizeof short_forms / sizeof *short_forms; i++)
        if (strcmp(name, short_forms[i].name) == 0) {
            pyro_buf_adds(buf, short_forms[i].shown);
            return;
        }
    for (const char *at = name; *at != '\0'; at++) {
        bool first = at == name && *at >= 'a' && *at <= 'z';

        pyro_buf_addc(buf, first ? (char)(*at - 'a' + 'A') : *at == '_' ? ' ' : *at);
    }
}

double pyro_metric_middle(const pyro_metric *metric)
{
    return metric->samples != NULL ? metric->summary.mean : metric->value;
}

const char *pyro_gate_name(pyro_gate gate)
{
    static const char *const names[] = {"passed", "failed", "cannot tell"};

    return names[gate];
}

static int compare_means(const void *a, const void *b)
{
    const pyro_bench_result *first = ((const pyro_ranking *)a)->result;
    const pyro_bench_result *second = ((const pyro_ranking *)b)->result;
    double x = pyro_bench_metric(first, "latency")->summary.mean;
    double y = pyro_bench_metric(second, "latency")->summary.mean;

    return (x > y) - (x < y);
}

int pyro_rank_results(pyro_ranking **out, size_t *count, const pyro_bench *bench, pyro_error *error)
{
    pyro_ranking *ranking = calloc(bench->result_count + 1, sizeof *ranking);
    int status = PYRO_OK;

    *count = 0;
    *out = ranking;
    if (ranking == NULL)
        return pyro_fail_memory(error);
    for (size_t i = 0; i < bench->result_count; i++) {
        const pyro_metric *latency = pyro_bench_metric(&bench->results[i], "latency");

        if (latency != NULL && latency->count > 0)
            ranking[(*count)++].result = &bench->results[i];
    }
    qsort(ranking, *count, sizeof *ranking, compare_means);
    for (size_t i = 0; i < *count && status == PYRO_OK; i++)
        status = pyro_bench_speed_ratio(&ranking[i].ratio, ranking[0].result, ranking[i].result,
                                        bench->seed, error);
    return status;
}

static int finish(char **out, size_t *size, pyro_buf *buf, int status, pyro_error *error)
{
    *out = status == PYRO_OK ? pyro_buf_detach(buf, size) : NULL;
    pyro_buf_free(buf);
    if (status == PYRO_OK && *out == NULL)
        return pyro_fail_memory(error);
    return status;
}

int pyro_report_bench(char **out, size_t *size, const pyro_bench_report *report,
                      pyro_bench_format format, const pyro_report_options *options,
                      pyro_error *error)
{
    static const pyro_report_options plain = {.width = 0};
    pyro_buf buf = PYRO_BUF_INIT;
    int status = PYRO_OK;

    switch (format) {
    case PYRO_BENCH_TEXT:
        status = pyro_write_bench_text(&buf, report, options != NULL ? options : &plain, error);
        break;
    case PYRO_BENCH_JSON:
        pyro_write_bench_json(&buf, report);
        break;
    case PYRO_BENCH_CSV:
        pyro_write_bench_csv(&buf, report);
        break;
    case PYRO_BENCH_MARKDOWN:
        status = pyro_write_bench_markdown(&buf, report, error);
        break;
    case PYRO_BENCH_HTML:
        status = pyro_write_bench_html(&buf, report, error);
        break;
    case PYRO_BENCH_JUNIT:
        pyro_write_bench_junit(&buf, report);
        break;
    case PYRO_BENCH_GITHUB:
        pyro_write_bench_github(&buf, report);
        break;
    }
    return finish(out, size, &buf, status, error);
}

int pyro_report_verdict(char **out, size_t *size, const pyro_comparison *comparison,
                        const pyro_report_options *options, pyro_error *error)
{
    pyro_buf buf = PYRO_BUF_INIT;

    if (options->format == PYRO_FORMAT_JSON) {
        pyro_json_writer writer;

        pyro_json_writer_init(&writer, &buf, 2);
        pyro_json_begin_object(&writer);
        pyro_json_member_string(&writer, "schema", "pyrometer.verdict/1");
        pyro_write_verdict_rows(&writer, comparison);
        pyro_json_end_object(&writer);
        pyro_buf_addc(&buf, '\n');
    } else if (options->format == PYRO_FORMAT_CSV) {
        pyro_write_verdict_csv(&buf, comparison);
    } else {
        pyro_write_verdict_text(&buf, comparison, options);
    }
    return finish(out, size, &buf, PYRO_OK, error);
}

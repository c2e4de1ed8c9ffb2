/* Fuzzes the reader of benchmark results: valid input can be written, read again and compared. */
#include <pyrometer/report.h>

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pyro_bench *bench, *again;
    pyro_comparison *comparison;
    pyro_bench_report report = {0};
    pyro_error error;
    char *text;
    size_t length;

    pyro_error_clear(&error);
    if (pyro_bench_parse(&bench, data, size, &error) != PYRO_OK)
        return 0;
    report.bench = bench;
    if (pyro_report_bench(&text, &length, &report, PYRO_BENCH_JSON, NULL, &error) != PYRO_OK ||
        pyro_bench_parse(&again, text, length, &error) != PYRO_OK ||
        pyro_bench_compare(&comparison, bench, again, NULL, &error) != PYRO_OK)
        abort();
    /* A result has not regressed against itself. */
    if (comparison->regressed)
        abort();
    pyro_free(text);
    if (pyro_report_bench(&text, &length, &report, PYRO_BENCH_HTML, NULL, &error) != PYRO_OK)
        abort();
    pyro_free(text);
    pyro_comparison_free(comparison);
    pyro_bench_free(again);
    pyro_bench_free(bench);
    return 0;
}

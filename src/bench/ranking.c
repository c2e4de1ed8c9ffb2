/* Sorts results by mean latency, and computes the ratio of the fastest to each. */
#include "bench/ranking.h"

#include "base/error.h"

#include <stdlib.h>

static int compare_means(const void *a, const void *b)
{
    const pyro_bench_result *first = ((const pyro_ranking *)a)->result;
    const pyro_bench_result *second = ((const pyro_ranking *)b)->result;
    double x = pyro_bench_metric(first, "latency")->summary.mean;
    double y = pyro_bench_metric(second, "latency")->summary.mean;

    return (x > y) - (x < y);
}

int pyro_bench_rank(pyro_ranking **out, size_t *count, const pyro_bench *bench, pyro_error *error)
{
    pyro_ranking *ranking = calloc(bench->result_count + 1, sizeof *ranking);
    int status = PYRO_OK;

    *count = 0;
    *out = ranking;
    if (!ranking)
        return pyro_fail_memory(error);
    for (size_t i = 0; i < bench->result_count; i++) {
        const pyro_metric *latency = pyro_bench_metric(&bench->results[i], "latency");

        if (latency && latency->count > 0)
            ranking[(*count)++].result = &bench->results[i];
    }
    qsort(ranking, *count, sizeof *ranking, compare_means);
    for (size_t i = 0; i < *count && status == PYRO_OK; i++)
        status = pyro_bench_speed_ratio(&ranking[i].ratio, ranking[0].result, ranking[i].result,
                                        bench->seed, error);
    return status;
}

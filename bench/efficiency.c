/* Measures lookups in a table of a million learnt efficiencies: rows that it has, and others. In CPU
 * time, so that other work on the machine does not count. */
#include "predict/efficiency.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROWS = 1000000, LOOKUPS = 1000000 };

static int64_t cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static uint64_t next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

static struct pyro_op_work random_work(uint64_t *state)
{
    static const char *const kinds[] = {"gemm", "conv", "attention", "norm", "elementwise"};
    static const char *const dtypes[] = {"bfloat16", "float16", "float32", "tf32"};
    int64_t m = (int64_t)(next(state) >> (44 + next(state) % 18));
    int64_t n = (int64_t)(next(state) >> (46 + next(state) % 16));
    int64_t k = (int64_t)(next(state) >> (46 + next(state) % 16));
    m += !m, n += !n, k += !k;
    return (struct pyro_op_work){.kind = kinds[next(state) % 5],
                                 .dtype = dtypes[next(state) % 4],
                                 .flops = 2 * (uint64_t)m * (uint64_t)n * (uint64_t)k,
                                 .bytes = 2 * (uint64_t)(m * k + n * k + m * n),
                                 .m = m,
                                 .n = n,
                                 .k = k};
}

static void measure(const pyro_efficiency_table *table, const char *what, uint64_t seed)
{
    static struct pyro_op_work works[LOOKUPS];
    int64_t levels[5] = {0};
    for (size_t i = 0; i < LOOKUPS; i++)
        works[i] = random_work(&seed);
    int64_t start_ns = cpu_ns(), found_count = 0;
    for (size_t i = 0; i < LOOKUPS; i++) {
        struct pyro_efficiency found;
        if (pyro_efficiency_find(table, &works[i], "H200 SXM", &found)) {
            found_count++;
            levels[found.level]++;
        }
    }
    double each_ns = (double)(cpu_ns() - start_ns) / LOOKUPS;
    printf("%s: %.0f ns per lookup, %lld found (levels %lld %lld %lld %lld %lld)\n", what, each_ns,
           (long long)found_count, (long long)levels[0], (long long)levels[1], (long long)levels[2],
           (long long)levels[3], (long long)levels[4]);
}

int main(void)
{
    pyro_efficiency_table *table = pyro_efficiency_new();
    uint64_t seed = 88172645463325252u, other = 1234567890123456789u;
    uint64_t state = seed;
    size_t count = 0;
    while (table && count < ROWS) {
        struct pyro_op_work work = random_work(&state);
        if (pyro_efficiency_add(table, &work, "H200 SXM", "cuda 13.0",
                                (int64_t)(2000 + work.flops / 500000 + work.bytes / 3000), NULL))
            return 1;
        pyro_efficiency_rows(table, &count);
    }
    int64_t start_ns = cpu_ns();
    if (!table || pyro_efficiency_prepare(table, NULL) != PYRO_OK)
        return 1;
    printf("%zu rows, prepared in %.0f ms\n", count, (double)(cpu_ns() - start_ns) / 1e6);
    measure(table, "rows of the table", seed);
    measure(table, "other sizes", other);
    pyro_efficiency_free(table);
    return 0;
}

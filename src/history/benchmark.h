/* The parameters in the name of a stored benchmark: "resnet50 batch_size=8 precision=bf16". */
#ifndef PYRO_HISTORY_BENCHMARK_H
#define PYRO_HISTORY_BENCHMARK_H

#include "base/containers/buf.h"

#include <stddef.h>

/* The value of a parameter and its length, which may have spaces; NULL: not found. */
const char *pyro_benchmark_parameter(const char *benchmark, const char *name, size_t *length);
/* Requests that one call serves: batch_size, batch, or the first dim of the first input; else 1. */
size_t pyro_benchmark_batch(const char *benchmark);
/* Calls that one replica serves at the same time. */
size_t pyro_benchmark_concurrency(const char *benchmark);
/* Adds the name without the batch: equal for benchmarks that differ in nothing else. */
void pyro_benchmark_add_family(pyro_buf *buf, const char *benchmark);

#endif

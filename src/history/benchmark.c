/* Reads the parameters in the name of a stored benchmark. */
#include "history/benchmark.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* "key=" at the beginning of a text. */
static bool is_parameter(const char *text)
{
    size_t length = 0;

    while (isalnum((unsigned char)text[length]) || text[length] == '_')
        length++;
    return length > 0 && text[length] == '=';
}

/* The space before the next parameter, or the end. */
static const char *next_parameter(const char *text)
{
    for (const char *at = strchr(text, ' '); at; at = strchr(at + 1, ' '))
        if (is_parameter(at + 1))
            return at;
    return text + strlen(text);
}

const char *pyro_benchmark_parameter(const char *benchmark, const char *name, size_t *length)
{
    size_t name_length = strlen(name);

    for (const char *at = next_parameter(benchmark); *at != '\0'; at = next_parameter(at + 1))
        if (strncmp(at + 1, name, name_length) == 0 && at[1 + name_length] == '=') {
            const char *value = at + 2 + name_length;

            *length = (size_t)(next_parameter(value) - value);
            return value;
        }
    return NULL;
}

static size_t count_at(const char *text, size_t otherwise)
{
    long long value = text && isdigit((unsigned char)*text) ? strtoll(text, NULL, 10) : 0;

    return value > 0 && value <= 1000000 ? (size_t)value : otherwise;
}

/* Dim 0 of the first tensor that has dims: "mask: bool[], x: float32[8, 3]" is 8. */
static size_t batch_of_inputs(const char *benchmark)
{
    size_t length, batch = 0;
    const char *inputs = pyro_benchmark_parameter(benchmark, "inputs", &length);

    for (size_t i = 0; inputs && i < length && batch == 0; i++)
        if (inputs[i] == '[')
            batch = count_at(inputs + i + 1, 0);
    return batch > 0 ? batch : 1;
}

size_t pyro_benchmark_batch(const char *benchmark)
{
    size_t length;
    const char *value = pyro_benchmark_parameter(benchmark, "batch_size", &length);

    if (!value)
        value = pyro_benchmark_parameter(benchmark, "batch", &length);
    return value ? count_at(value, 1) : batch_of_inputs(benchmark);
}

size_t pyro_benchmark_concurrency(const char *benchmark)
{
    size_t length;

    return count_at(pyro_benchmark_parameter(benchmark, "concurrency", &length), 1);
}

/* The same text, with N for every first dim that is the batch. */
static void add_without_batch(pyro_buf *buf, const char *text, size_t length, size_t batch)
{
    for (size_t i = 0; i < length; i++) {
        pyro_buf_addc(buf, text[i]);
        if (text[i] != '[' || count_at(text + i + 1, 0) != batch)
            continue;
        pyro_buf_addc(buf, 'N');
        while (i + 1 < length && isdigit((unsigned char)text[i + 1]))
            i++;
    }
}

void pyro_benchmark_add_family(pyro_buf *buf, const char *benchmark)
{
    size_t batch = pyro_benchmark_batch(benchmark);

    for (const char *at = benchmark, *end; *at != '\0'; at = end) {
        end = next_parameter(at + 1);
        if (strncmp(at, " batch_size=", 12) == 0 || strncmp(at, " batch=", 7) == 0)
            continue;
        if (strncmp(at, " inputs=", 8) == 0)
            add_without_batch(buf, at, (size_t)(end - at), batch);
        else
            pyro_buf_add(buf, at, (size_t)(end - at));
    }
}

/* Adds facts and tables to a result: what an engine found besides numbers. */
#include "bench/results/results.h"

#include "base/error.h"

#include <string.h>

int pyro_bench_add_fact(pyro_bench *bench, size_t result, const char *name, const char *value,
                        pyro_error *error)
{
    return pyro_bench_add_pair(bench, &bench->results[result].facts,
                               &bench->results[result].fact_count, name, value, error);
}

static int copy_texts(pyro_bench *bench, const char **out, const char *const *texts, size_t count,
                      pyro_error *error)
{
    int status = PYRO_OK;

    for (size_t i = 0; i < count && status == PYRO_OK; i++)
        status = pyro_bench_set_text(bench, &out[i], texts[i], error);
    return status;
}

int pyro_bench_add_table(pyro_bench *bench, size_t index, const char *title,
                         const char *const *columns, size_t column_count, pyro_error *error)
{
    pyro_bench_result *result = &bench->results[index];
    pyro_arena *arena = &bench->store->arena;

    if (result->table_count >= PYRO_BENCH_TABLES_MAX || column_count == 0 ||
        column_count > PYRO_BENCH_COLUMNS_MAX)
        return pyro_fail(error, PYRO_ERROR_LIMIT, "%.60s: too many tables or columns", title);
    if (!pyro_arena_append(arena, &result->tables, result->table_count, sizeof *result->tables))
        return pyro_fail_memory(error);
    pyro_bench_table *table = &result->tables[result->table_count];
    *table = (pyro_bench_table){.column_count = column_count};
    table->columns = pyro_arena_array(arena, column_count, sizeof *table->columns);
    if (!table->columns)
        return pyro_fail_memory(error);
    int status = pyro_bench_set_text(bench, &table->title, title, error);
    if (status == PYRO_OK)
        status = copy_texts(bench, table->columns, columns, column_count, error);
    result->table_count += status == PYRO_OK;
    return status;
}

int pyro_bench_add_row(pyro_bench *bench, size_t index, const char *const *cells, pyro_error *error)
{
    pyro_bench_result *result = &bench->results[index];

    if (result->table_count == 0)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT, "row added before any table");
    pyro_bench_table *table = &result->tables[result->table_count - 1];
    if (table->row_count >= PYRO_BENCH_ROWS_MAX)
        return pyro_fail(error, PYRO_ERROR_LIMIT, "%.60s: too many rows", table->title);
    if (!pyro_arena_append(&bench->store->arena, &table->cells, table->row_count,
                           table->column_count * sizeof *table->cells))
        return pyro_fail_memory(error);
    int status = copy_texts(bench, table->cells + table->row_count * table->column_count, cells,
                            table->column_count, error);
    table->row_count += status == PYRO_OK;
    return status;
}

/* Makes a table smaller: leaves out rows that similar ones predict. */
#include "predict/efficiency_table.h"

#include "base/error.h"

#include <stdlib.h>

int pyro_efficiency_thin(pyro_efficiency_table *table, double tolerance, pyro_error *error)
{
    size_t count = table->count;
    bool *predicted = calloc(count + 1, sizeof *predicted);
    int status = predicted ? pyro_efficiency_prepare(table, error) : pyro_fail_memory(error);

    if (status == PYRO_OK) {
        pyro_efficiency_find_predicted(table, tolerance, predicted);
        pyro_map_free(&table->by_key);
        table->by_key = (pyro_map)PYRO_MAP_INIT;
        table->count = 0;
    }
    for (size_t i = 0; status == PYRO_OK && i < count; i++) {
        pyro_efficiency_row row = table->rows[i]; /* moves down to its new place */
        if (!predicted[i])
            status = pyro_efficiency_add_row(table, &row, error);
    }
    free(predicted);
    return status;
}

/* Selects and sorts the catalog entries that match a query. */
#include "read/catalog.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

static int compare_amounts(int64_t a, int64_t b, const char *name_a, const char *name_b)
{
    if (a != b)
        return a > b ? -1 : 1;
    return strcmp(name_a, name_b);
}

static int compare_params(const void *a, const void *b)
{
    const pyro_facts *first = (*(const pyro_catalog_entry *const *)a)->facts;
    const pyro_facts *second = (*(const pyro_catalog_entry *const *)b)->facts;

    return compare_amounts(first->params, second->params, first->name, second->name);
}

static int compare_macs(const void *a, const void *b)
{
    const pyro_catalog_entry *first = *(const pyro_catalog_entry *const *)a;
    const pyro_catalog_entry *second = *(const pyro_catalog_entry *const *)b;

    return compare_amounts(first->macs, second->macs, first->facts->name, second->facts->name);
}

/* The matching entries, in order; the caller frees *out. */
int pyro_catalog_query(const pyro_catalog_entry ***out, size_t *count, const pyro_catalog *catalog,
                       const pyro_models_query *query, pyro_error *error)
{
    const pyro_catalog_entry *entry;
    const pyro_catalog_entry **entries = malloc((pyro_catalog_count(catalog) + 1) *
                                                sizeof *entries);

    *out = entries;
    *count = 0;
    if (!entries)
        return pyro_fail_memory(error);
    for (size_t i = 0; (entry = pyro_catalog_at(catalog, i)); i++)
        if (pyro_catalog_matches(entry, query->pattern, query->family, query->task))
            entries[(*count)++] = entry;
    if (query->sort != PYRO_MODELS_BY_NAME)
        qsort(entries, *count, sizeof *entries,
              query->sort == PYRO_MODELS_BY_PARAMS ? compare_params : compare_macs);
    return PYRO_OK;
}

/* Caches distant enclosing events, so that the search visits each event at most once. */
#include "analyze/enclosing.h"

#include <stdlib.h>

uint32_t pyro_enclosing_find_far(pyro_enclosing *enclosing, const pyro_joins *joins,
                                 size_t event_count, uint32_t event, uint32_t outer,
                                 pyro_enclosing_test *test, const void *user)
{
    uint32_t end, found;
    /* Without memory for the cache, every search walks the whole way. */
    if (!enclosing->known)
        enclosing->known = calloc(event_count, sizeof *enclosing->known);
    for (end = outer; end != PYRO_NO_EVENT; end = joins->parent[end])
        if (test(user, end) || (enclosing->known && enclosing->known[end]))
            break;
    if (end == PYRO_NO_EVENT || test(user, end))
        found = end;
    else
        found = enclosing->known[end] == 1 ? PYRO_NO_EVENT : enclosing->known[end] - 2;
    for (; enclosing->known && event != end; event = joins->parent[event])
        enclosing->known[event] = found == PYRO_NO_EVENT ? 1 : found + 2;
    return found;
}

void pyro_enclosing_free(pyro_enclosing *enclosing)
{
    free(enclosing->known);
    enclosing->known = NULL;
}

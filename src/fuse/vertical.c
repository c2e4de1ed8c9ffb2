/*
 * Joins a kernel with those that make what it reads, if both walk their values alike. A reduction
 * joins only what walks the rows that it reduces, and nothing is read before it is complete.
 */
#include "fuse/groups.h"

/* Small values that are computed again for every value that needs them. */
static bool is_repeated(const pyro_groups *g, uint32_t made, uint32_t reader)
{
    const pyro_group *small = &g->groups[made], *large = &g->groups[reader];
    if (small->elements <= 0 || small->elements > large->elements)
        return false;
    for (uint32_t k = made; k != PYRO_NO_KERNEL; k = g->next[k])
        if (!pyro_groups_keep(g, k, reader) && !pyro_groups_keep(g, k, made))
            return false;
    return true;
}

/* Pointwise work in front of a group. */
static bool fits_before(const pyro_groups *g, uint32_t made, uint32_t reader)
{
    const pyro_group *front = &g->groups[made], *back = &g->groups[reader];
    switch (back->core) {
    case PYRO_CORE_POINTWISE:
        return front->elements == back->elements || is_repeated(g, made, reader);
    case PYRO_CORE_ROWS:
        return front->elements == back->elements || front->elements == back->rows ||
               is_repeated(g, made, reader);
    default: /* nothing runs in front of a contraction, which reads its input many times */
        return false;
    }
}

/* Norms and reductions, with pointwise work or further reductions of the same rows behind them. */
static bool fits_after_rows(const pyro_group *rows, const pyro_group *back)
{
    if (back->core == PYRO_CORE_POINTWISE)
        return back->elements == rows->elements || (rows->rows && back->elements == rows->rows);
    return back->core == PYRO_CORE_ROWS && back->elements == rows->elements &&
           (back->rows == rows->rows || !back->rows || !rows->rows);
}

/* Whether the reader's group may follow the maker's in one kernel. */
static bool fits(const pyro_groups *g, uint32_t made, uint32_t reader)
{
    const pyro_group *front = &g->groups[made], *back = &g->groups[reader];
    switch (front->core) {
    case PYRO_CORE_POINTWISE:
        return fits_before(g, made, reader);
    case PYRO_CORE_ROWS:
        return fits_after_rows(front, back);
    case PYRO_CORE_CONTRACTION:
    case PYRO_CORE_WINDOW:
        return back->core == PYRO_CORE_POINTWISE && back->elements == front->elements;
    default:
        return false;
    }
}

/* Which of both groups the joined one walks like. */
static uint32_t core_of_both(const pyro_groups *g, uint32_t made, uint32_t reader)
{
    const pyro_group *front = &g->groups[made], *back = &g->groups[reader];
    if (front->core == PYRO_CORE_POINTWISE)
        return reader;
    if (back->core == PYRO_CORE_ROWS && front->core == PYRO_CORE_ROWS && back->rows && !front->rows)
        return reader;
    return made;
}

/* The values of a contraction exist only inside its kernel, until all work on them is done. */
static bool hides_result(const pyro_groups *g, uint32_t source, uint32_t made, uint32_t reader)
{
    const pyro_kernel *kernel = &g->kernels->items[source];
    if (kernel->escapes)
        return false;
    for (uint32_t i = 0; i < kernel->reader_count; i++) {
        uint32_t group = pyro_groups_of(g, g->kernels->readers[kernel->first_reader + i]);
        if (group != reader && group != made)
            return false;
    }
    return true;
}

/*
 * Whether the reader's group finds every value of the maker's where it is made. Pointwise values
 * that only both groups read can be made again wherever they are read; all others cannot.
 */
static bool keeps_places(const pyro_groups *g, uint32_t made, uint32_t reader)
{
    bool is_pointwise = g->groups[made].core == PYRO_CORE_POINTWISE;
    for (uint32_t k = reader; k != PYRO_NO_KERNEL; k = g->next[k]) {
        const pyro_kernel *kernel = &g->kernels->items[k];
        for (uint32_t i = 0; i < kernel->use_count; i++) {
            const pyro_kernel_use *use = &g->kernels->uses[kernel->first_use + i];
            if (use->source == PYRO_NO_KERNEL || use->is_in_place ||
                pyro_groups_of(g, use->source) != made)
                continue;
            if (!is_pointwise || !hides_result(g, use->source, made, reader))
                return false;
        }
    }
    return true;
}

static void join_sources(pyro_groups *g, uint32_t kernel, bool keeps_results)
{
    const pyro_kernel *reader = &g->kernels->items[kernel];
    for (uint32_t i = 0; i < reader->use_count; i++) {
        uint32_t source = g->kernels->uses[reader->first_use + i].source;
        if (source == PYRO_NO_KERNEL)
            continue;
        uint32_t made = pyro_groups_of(g, source), group = pyro_groups_of(g, kernel);
        if (made == group || !fits(g, made, group))
            continue;
        bool is_hidden = hides_result(g, source, made, group);
        bool needs_hiding = !keeps_results || g->groups[made].core == PYRO_CORE_CONTRACTION ||
                            g->groups[made].core == PYRO_CORE_WINDOW;
        if ((needs_hiding && !is_hidden) || !keeps_places(g, made, group) ||
            !pyro_groups_can_join(g, made, group))
            continue;
        pyro_groups_join(g, made, group, core_of_both(g, made, group));
    }
}

/* A value with several readers disappears only once these are one group: hence two rounds. */
void pyro_fuse_vertical(pyro_groups *groups, bool keeps_results)
{
    for (int round = 0; round < 2; round++)
        for (uint32_t k = 0; k < groups->kernels->count; k++)
            join_sources(groups, k, keeps_results);
}

/* Sums up pieces of memory over steps. */
#include "graph/memory/lifetimes.h"

#include "base/checked.h"
#include "base/containers/buf.h"
#include <stdlib.h>
#include <string.h>

size_t pyro_lifetimes_add(pyro_lifetimes *lifetimes, pyro_piece piece)
{
    if (piece.bytes <= 0)
        return SIZE_MAX;
    if (!pyro_grow(&lifetimes->pieces, &lifetimes->capacity, lifetimes->count + 1,
                   sizeof *lifetimes->pieces)) {
        lifetimes->out_of_memory = true;
        return SIZE_MAX;
    }
    lifetimes->pieces[lifetimes->count] = piece;
    return lifetimes->count++;
}

bool pyro_lifetimes_run(const pyro_lifetimes *lifetimes, int64_t *curve, size_t steps, size_t *peak)
{
    int64_t alive = 0;
    memset(curve, 0, steps * sizeof *curve);
    /* First the changes per step, then their running sum. */
    for (size_t i = 0; i < lifetimes->count; i++) {
        const pyro_piece *piece = &lifetimes->pieces[i];
        if (piece->first >= steps || piece->last < piece->first)
            continue;
        if (!pyro_add_i64(curve[piece->first], piece->bytes, &curve[piece->first]))
            return false;
        if (piece->last + 1 < steps &&
            !pyro_sub_i64(curve[piece->last + 1], piece->bytes, &curve[piece->last + 1]))
            return false;
    }
    *peak = 0;
    for (size_t s = 0; s < steps; s++) {
        if (!pyro_add_i64(alive, curve[s], &alive))
            return false;
        curve[s] = alive;
        if (alive > curve[*peak])
            *peak = s;
    }
    return true;
}

void pyro_lifetimes_free(pyro_lifetimes *lifetimes)
{
    free(lifetimes->pieces);
    memset(lifetimes, 0, sizeof *lifetimes);
}

/* What all parts of the computation share: sums of work, notes, and their failures. */
#include "base/checked.h"
#include "base/containers/buf.h"
#include "base/error.h"
#include "graph/train/train.h"

int pyro_train_too_large(pyro_error *error)
{
    return pyro_fail(error, PYRO_ERROR_LIMIT, "the cost of training does not fit in 64 bits");
}

bool pyro_train_note(pyro_train *train, const char *text)
{
    if (!pyro_grow(&train->notes, &train->note_capacity, train->note_count + 1,
                   sizeof *train->notes))
        return false;
    train->notes[train->note_count++] = text;
    return true;
}

bool pyro_work_add(pyro_work *sum, const pyro_work *work)
{
    return pyro_add_i64(sum->macs, work->macs, &sum->macs) &&
           pyro_add_i64(sum->flops, work->flops, &sum->flops) &&
           pyro_add_i64(sum->activation_read_bytes, work->activation_read_bytes,
                        &sum->activation_read_bytes) &&
           pyro_add_i64(sum->weight_read_bytes, work->weight_read_bytes, &sum->weight_read_bytes) &&
           pyro_add_i64(sum->written_bytes, work->written_bytes, &sum->written_bytes) &&
           pyro_add_i64(sum->params, work->params, &sum->params);
}

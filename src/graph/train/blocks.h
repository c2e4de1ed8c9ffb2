/* The blocks of a model: what checkpointing runs again, and what pipelines and shards are cut into. */
#ifndef PYRO_GRAPH_TRAIN_BLOCKS_H
#define PYRO_GRAPH_TRAIN_BLOCKS_H

#include "graph/model.h"
#include <stdbool.h>

/*
 * Sets block_of by module: the outermost module around it that repeats, or 0. `found` says whether
 * there are any.
 */
int pyro_find_blocks(const pyro_model *model, uint32_t *block_of, bool *found, pyro_error *error);

#endif

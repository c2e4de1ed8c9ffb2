/* Chooses which calls become nodes at a granularity. */
#ifndef PYRO_DATAFLOW_GRANULARITY_H
#define PYRO_DATAFLOW_GRANULARITY_H

#include "dataflow/program.h"

/*
 * By call: the call that is its node (itself or one around it), or PYRO_NONE. The caller frees it;
 * NULL when memory is out.
 */
uint32_t *pyro_choose_calls(const pyro_program *program, const pyro_dataflow_options *options);

#endif

/* Reads and views values, for steps of files and of recordings. */
#ifndef PYRO_DATAFLOW_VIEWS_H
#define PYRO_DATAFLOW_VIEWS_H

#include "dataflow/program.h"
#include "dataflow/tracker.h"

/* The last step uses what a tensor holds. False when memory is out, as below. */
bool pyro_views_read(pyro_program *program, pyro_tracker *tracker, const pyro_tensor_use *tensor);
/*
 * The last step makes a view, some bytes of a tensor. Fills the levels of the view's value, which
 * is added next.
 */
bool pyro_views_show(pyro_program *program, pyro_tracker *tracker, const pyro_tensor_use *tensor,
                     const pyro_region *bytes, pyro_flow_value *view);

#endif

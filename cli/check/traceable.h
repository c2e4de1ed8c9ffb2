/* Writes the result of `models check`: whether a model can be traced and priced. */
#ifndef PYRO_CLI_CHECK_TRACEABLE_H
#define PYRO_CLI_CHECK_TRACEABLE_H

#include "cli/common.h"
#include "cli/python/helper.h"

/*
 * Writes the result for a file (`exported` holds no archive and is not untraceable) or for a model
 * that the helper exported. Returns 1 if it cannot be traced, 2 if a file cannot be read.
 */
int pyro_trace_check_write(const char *spec, const pyro_helper_export *exported,
                           const char *input_shape, const pyro_common *common);

#endif

/* What `models check` says of a model: whether it can be traced and priced. */
#ifndef PYRO_CLI_CHECK_TRACEABLE_H
#define PYRO_CLI_CHECK_TRACEABLE_H

#include "cli/common.h"
#include "cli/python/helper.h"

/*
 * Writes the result for a file (`exported` holds no archive and is not untraceable) or for what the
 * helper exported; the exit code: 1 where it cannot be traced, 2 where a file cannot be read.
 */
int pyro_trace_check_write(const char *spec, const pyro_helper_export *exported,
                           const char *input_shape, const pyro_common *common);

#endif

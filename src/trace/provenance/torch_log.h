/* Readers of single files about compiled code. */
#ifndef PYRO_TRACE_PROVENANCE_TORCH_LOG_H
#define PYRO_TRACE_PROVENANCE_TORCH_LOG_H

#include "base/source/source.h"
#include "trace/provenance/compilation.h"

/*
 * torch_log.c: reads a log that TORCH_TRACE made: lines "V1117 18:12:58.433000 5409 file.py:1624]
 * {...}", each with its payload in the lines behind it that begin with a tab. Skips damaged and
 * unknown parts. Returns PYRO_ERROR_FORMAT for a file that is no such log.
 */
int pyro_provenance_read_log(pyro_provenance *all, pyro_source *source, pyro_error *error);

#endif

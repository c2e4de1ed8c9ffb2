/*
 * NVTX ranges, for tools that listen to them (Nsight Systems, Nsight Compute). Such a tool names its
 * library in NVTX_INJECTION64_PATH; without one, ranges cost next to nothing. Needs no header.
 */
#ifndef PYRO_DEVICE_NVTX_H
#define PYRO_DEVICE_NVTX_H

#include <stdbool.h>

/* Loads the tool's library, once per process. Whether a tool listens. */
bool pyro_nvtx_load(void);
/* Begins a range on this thread, and ends the innermost one. */
void pyro_nvtx_push(const char *name);
void pyro_nvtx_pop(void);

#endif

/* Names the chip and the library that a trace comes from. */
#ifndef PYRO_PREDICT_CHIP_OF_TRACE_H
#define PYRO_PREDICT_CHIP_OF_TRACE_H

#include "predict/efficiency.h"
#include "trace/trace.h"

/* "H200 SXM", or "Neoverse-N1, 2 threads" for a trace without device work. PYRO_ERROR_UNSUPPORTED
 * with the reason if it is unknown. */
int pyro_chip_of_trace(char name[PYRO_EFFICIENCY_TEXT], const pyro_trace *trace, bool on_device,
                       pyro_error *error);
/* "cuda 13.0", "hip 6.4", "torch 2.11"; "unknown". */
void pyro_library_of_trace(char name[PYRO_EFFICIENCY_TEXT], const pyro_trace *trace);

#endif

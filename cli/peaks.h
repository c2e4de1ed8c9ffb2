/* What `pyrometer doctor --calibrate` measured on this machine. */
#ifndef PYRO_CLI_PEAKS_H
#define PYRO_CLI_PEAKS_H

#include <pyrometer/trace.h>

/* False when nothing was measured here, or the file cannot be read. */
bool pyro_peaks_load(pyro_peaks *peaks);

#endif

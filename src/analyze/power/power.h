/* Power and energy of steps, from samples of the GPU. */
#ifndef PYRO_ANALYZE_POWER_POWER_H
#define PYRO_ANALYZE_POWER_POWER_H

#include "analyze/analyze.h"

/* Fills result->power and its summary; needs the finished steps and serving steps. */
int pyro_make_power(pyro_analysis_context *context);

#endif

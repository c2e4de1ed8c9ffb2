/* Peak rates of a chip for the types of efficiencies. */
#ifndef PYRO_PREDICT_PEAKS_H
#define PYRO_PREDICT_PEAKS_H

#include "hardware/hardware.h"
#include "predict/efficiency.h"

/* FLOP/s for a pyro_dtype or PYRO_DTYPE_TF32. float32 means plain cores here, which hardware.h
 * replaces by tensor cores. */
static inline double pyro_peak_of_type(const pyro_chip *chip, int dtype)
{
    if (dtype == PYRO_DTYPE_FLOAT32)
        return chip->fp32_tflops * 1e12;
    return pyro_chip_peak_flops_per_s(chip, dtype == PYRO_DTYPE_TF32 ? PYRO_DTYPE_FLOAT32
                                                                     : (pyro_dtype)dtype);
}

#endif

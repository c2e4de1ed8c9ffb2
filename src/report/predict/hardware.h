/* Chips to list or to compare. */
#ifndef PYRO_REPORT_PREDICT_HARDWARE_H
#define PYRO_REPORT_PREDICT_HARDWARE_H

#include <pyrometer/hardware.h>
#include <stdbool.h>

typedef struct pyro_hardware_report {
    const pyro_chip *const *chips;
    size_t count;
    bool is_chosen; /* by name: they are compared */
} pyro_hardware_report;

#endif

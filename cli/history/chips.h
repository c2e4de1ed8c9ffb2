/* What the rows of a plan would need on other chips. */
#ifndef PYRO_CLI_HISTORY_CHIPS_H
#define PYRO_CLI_HISTORY_CHIPS_H

#include "cli/history/history.h"

typedef struct pyro_history_chips {
    pyro_capacity_chip *items; /* row by row, the chips of --on in their order */
    size_t count;
    struct pyro_predicted_ratio *predicted; /* the items use its texts */
} pyro_history_chips;

/* Nothing without --on. Close it, also after a failure. */
int pyro_history_chips_open(pyro_history_chips *out, const pyro_history_values *values,
                            const pyro_history_reading *reading, const pyro_capacity_rows *plan,
                            const pyro_capacity_request *request, pyro_error *error);
void pyro_history_chips_close(pyro_history_chips *chips);

#endif

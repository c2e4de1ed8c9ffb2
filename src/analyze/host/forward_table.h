/* The layers of a forward pass with their own time, device time and work. */
#ifndef PYRO_ANALYZE_HOST_FORWARD_TABLE_H
#define PYRO_ANALYZE_HOST_FORWARD_TABLE_H

#include <pyrometer/trace.h>

typedef struct pyro_forward_row {
    const pyro_layer_time_row *time;
    int64_t device_ns, flops; /* its own, without the layers that it called; flops -1 unknown */
} pyro_forward_row;

typedef struct pyro_forward_table {
    pyro_forward_row *rows; /* children before parents */
    size_t count;
    pyro_forward_row total; /* its time has the wall time of the whole */
    int64_t overlap_ns;     /* excess of the rows over it: they ran on several threads */
    bool on_device;         /* something ran on a device */
    /* Owners of the data in the rows. */
    pyro_layer_time_row total_time;
    pyro_analysis *analysis;
    pyro_layer_ops *ops;
} pyro_forward_table;

/* The trace must outlive the table. Call pyro_forward_table_free() also after a failure. */
int pyro_forward_table_make(pyro_forward_table *out, pyro_trace *trace, pyro_error *error);
void pyro_forward_table_free(pyro_forward_table *table);

#endif

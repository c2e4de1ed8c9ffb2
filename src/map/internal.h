/* Internal interface of the mapping of work onto chips; one file per part. */
#ifndef PYRO_MAP_INTERNAL_H
#define PYRO_MAP_INTERNAL_H

#include "base/containers/arena.h"
#include "hardware/hardware.h"
#include "predict/describe.h"
#include "predict/efficiency.h"

#include <pyrometer/map.h>

/* Work of one kind in a layer, that runs `times` times per step. */
typedef struct pyro_map_item {
    struct pyro_op_work work; /* of one run; its texts are static */
    uint32_t layer;
    bool is_backward; /* of training: communication can overlap with it */
    bool is_split; /* tensor parallelism splits it */
    double times, kernels; /* kernels: launched per run */
    double measured_ns; /* of all runs; -1: unknown */
    double reduced_bytes; /* tensor parallelism sums so many bytes of all devices behind a run */
} pyro_map_item;

/* What is mapped: a model at its sizes, or a recorded run. */
typedef struct pyro_map_work {
    pyro_arena arena;
    pyro_map_item *items;
    size_t count, capacity;
    const char **layers; /* names */
    size_t layer_count;
    int64_t memory_bytes, weight_bytes, gradient_bytes, state_bytes; /* 0: unknown */
    int64_t samples; /* of a step: the batch; 0: unknown */
    int64_t sequence; /* tokens per sample; 0: none */
    double unpriced_ns; /* measured time without known work */
    const char *dtype;
} pyro_map_work;

/* A chip of a mapper. */
typedef struct pyro_mapped_chip {
    pyro_chip chip; /* scaled by clock and cap; of "host": measured rates */
    char name[PYRO_EFFICIENCY_TEXT];
    char key[PYRO_EFFICIENCY_TEXT]; /* of rows in both tables */
    bool is_host, is_known; /* is_known: the data sheet has figures */
    pyro_rates rates;       /* measured; zeros: not measured */
    double host_ns; /* of the host per op; 0 on the host itself, where ops contain it */
} pyro_mapped_chip;

struct pyro_mapper {
    pyro_chip_list *list;
    pyro_efficiency_table *learnt, *calibrated; /* NULL: not to be used */
    bool has_old_table; /* the user's table is of an older version: it is not used */
    pyro_mapped_chip *chips;
    size_t count;
};

/* The time of one run of an item. */
typedef struct pyro_map_estimate {
    double time_ns, spread; /* spread: standard deviation of the logarithm */
    double least_ns;
    pyro_map_bound bound;
    pyro_map_origin origin;
} pyro_map_estimate;

/* Predicts one run of work on a chip (estimate.c). */
pyro_map_estimate pyro_map_estimate_work(const pyro_mapper *mapper, const pyro_mapped_chip *chip,
                                         const struct pyro_op_work *work);

/* The work of a model at its current sizes (model_work.c), and of a recorded run (run_work.c). */
int pyro_map_work_of_model(pyro_map_work *out, pyro_model *model,
                           const pyro_cost_options *cost_options, const pyro_map_options *options,
                           pyro_error *error);
int pyro_map_work_of_trace(pyro_map_work *out, pyro_trace *trace, char chip[PYRO_EFFICIENCY_TEXT],
                           pyro_error *error);
bool pyro_map_work_add(pyro_map_work *work, const pyro_map_item *item);
void pyro_map_work_free(pyro_map_work *work);

/* Predicts all work on a chip; the rows are in the arena (totals.c). */
bool pyro_map_work_on(pyro_map_chip *out, pyro_arena *arena, const pyro_mapper *mapper, size_t chip,
                      const pyro_map_work *work, const pyro_map_options *options);

/* Time and memory of several devices (parallel.c). */
void pyro_map_parallel(pyro_map_chip *out, const pyro_mapped_chip *chip, const pyro_map_work *work,
                       const pyro_map_options *options, double backward_ns);
/* The part of an item that one device does. */
struct pyro_op_work pyro_map_share(const pyro_map_item *item, const pyro_map_options *options);

/* The memory of a map, and the chip of the run beside it (map.c). */
pyro_arena *pyro_map_arena(pyro_mapping *map);
int pyro_map_name_measured(pyro_mapping *map, const char *chip, pyro_error *error);

/* Reads the measured kernels of a pyrometer.peaks/2 file into a table, and names the processor as
 * learnt rows do; "" if the file has none (calibration.c). */
int pyro_calibration_read(pyro_efficiency_table *table, const char *path,
                          char processor[PYRO_EFFICIENCY_TEXT], pyro_error *error);

#endif

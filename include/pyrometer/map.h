/*
 * Maps work onto chips: how long a model or a recorded run takes on a chip, layer by layer, with a
 * range, what bounds it, energy, and whether it fits. Learnt efficiencies come first, then rates
 * that `pyrometer doctor --calibrate` measured, then data sheets (docs/reference/map.md).
 */
#ifndef PYROMETER_MAP_H
#define PYROMETER_MAP_H

#include <pyrometer/hardware.h>
#include <pyrometer/report.h>
#include <pyrometer/trace.h>
#include <pyrometer/train_cost.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum pyro_parallel {
    PYRO_PARALLEL_NONE,
    PYRO_PARALLEL_DATA,    /* every device has the model; gradients are summed */
    PYRO_PARALLEL_SHARDED, /* as DATA; weights, gradients and states are spread (FSDP, ZeRO-3) */
    PYRO_PARALLEL_TENSOR,  /* products are split; their results are summed twice per block */
    PYRO_PARALLEL_PIPELINE /* layers are split into stages */
} pyro_parallel;
PYRO_API const char *pyro_parallel_name(pyro_parallel parallel);

/* What limits a layer or a step. */
typedef enum pyro_map_bound {
    PYRO_MAP_COMPUTE,
    PYRO_MAP_MEMORY,
    PYRO_MAP_LAUNCH, /* kernels too short to hide what the host needs to start them */
    PYRO_MAP_COMMUNICATION,
    PYRO_MAP_BOUND_COUNT
} pyro_map_bound;
PYRO_API const char *pyro_map_bound_name(pyro_map_bound bound);

/* Where an estimate comes from, best first. */
typedef enum pyro_map_origin {
    PYRO_MAP_LEARNT,
    PYRO_MAP_CALIBRATED,
    PYRO_MAP_DATA_SHEET,
    PYRO_MAP_ORIGIN_COUNT
} pyro_map_origin;
PYRO_API const char *pyro_map_origin_name(pyro_map_origin origin);

/* Chips, and what is known about them. */
typedef struct pyro_mapper pyro_mapper;

typedef struct pyro_mapper_options {
    const char *table; /* learnt efficiencies; NULL: the shipped and the user's table */
    const char
        *peaks; /* of pyrometer.peaks/2; NULL: the user's file of this host, if there is one */
    const char *chips; /* own rows; NULL: the user's file, if there is one */
    bool without_learnt, without_calibration; /* ignore them */
    double clock_share; /* of the boost clock, at which the chips run; 0: 1 */
    double power_cap_watts; /* 0: the chip's own */
    double host_ns; /* of the host per op; 0: 10 us, or a longer measured launch */
} pyro_mapper_options;

/*
 * Prepares chips by name, as pyrometer hardware has them; "host" is this machine as
 * `pyrometer doctor --calibrate` measured it. PYRO_ERROR_ARGUMENT if a name is unknown.
 */
PYRO_API int pyro_mapper_new(pyro_mapper **out, const char *const *names, size_t count,
                             const pyro_mapper_options *options, pyro_error *error);
PYRO_API void pyro_mapper_free(pyro_mapper *mapper); /* accepts NULL */
/* True: the user's table of learnt efficiencies is of an older version, and was left out. */
PYRO_API bool pyro_mapper_has_old_table(const pyro_mapper *mapper);
PYRO_API size_t pyro_mapper_count(const pyro_mapper *mapper);

/* A layer, or the whole. Times are of one step; -1: unknown. */
typedef struct pyro_map_row {
    const char *name;
    double time_ns, low_ns, high_ns; /* 80% of measurements lie between low and high */
    double least_ns;    /* no run is faster: FLOPs at the peak, bytes beyond the last cache */
    double measured_ns; /* of a recorded run */
    double utilisation; /* FLOPs over time and peak, 0 to 1 */
    double energy_joules;
    double flops, bytes;
    double kernels;
    pyro_map_bound bound;
} pyro_map_row;

/* The part of a kind of work: "gemm", "norm". Times as in pyro_map_row. */
typedef struct pyro_map_kind {
    const char *kind;
    double time_ns, measured_ns;
    double kernels;
} pyro_map_kind;

/* Tokens per second of a language model. */
typedef struct pyro_map_tokens {
    int64_t context, sequences; /* tokens per sequence; sequences at once */
    double prefill_per_s, decode_per_s; /* of all sequences together; -1: unknown */
    double decode_ms; /* per token of a sequence */
    bool fits;
} pyro_map_tokens;

/* A model or run on a chip. */
typedef struct pyro_map_chip {
    const char *name;
    bool is_measured; /* the recorded run beside it ran on this chip, as far as is known */
    pyro_map_row total;
    pyro_map_row *layers; /* in the order of the model */
    size_t layer_count;
    pyro_map_kind *kinds; /* that occur, longest first */
    size_t kind_count;
    double device_ns, launch_ns, communication_ns; /* total.time_ns is made of them */
    double known_ns[PYRO_MAP_ORIGIN_COUNT]; /* device_ns by origin */
    double unpriced_ns; /* measured, of ops without known work: not in the total */
    int64_t memory_bytes, available_bytes; /* needed per device; 0: unknown */
    bool fits;
    int64_t saturating_batch; /* from which more samples per second are not to be had; 0: unknown */
    bool is_saturated; /* false: larger batches were not tried, or do not fit */
    double samples_per_s;
    double price_per_hour, price_per_million; /* samples; 0: no price is known */
    pyro_map_tokens *tokens;
    size_t token_count;
} pyro_map_chip;

typedef struct pyro_mapping {
    const char *model, *dtype, *phase; /* phase: "inference", "training", "decode", "run" */
    int64_t batch; /* 0: unknown */
    int64_t sequence; /* tokens per sample of a language model; 0: none */
    int gpus;
    pyro_parallel parallel;
    bool fused;
    pyro_map_chip *chips; /* in the order of the mapper */
    size_t chip_count;
    /* Index of the chip that is best, of those that fit; -1: none. */
    int best_by_time, best_by_energy, best_by_price;
    const char *measured_on; /* chip of the recorded run; "" */
    struct pyro_map_store *store; /* internal */
} pyro_mapping;

typedef struct pyro_map_options {
    bool train;
    pyro_train_options training;
    bool fused; /* as `pyrometer fuse --strategy max` groups kernels */
    bool tf32; /* products of float32 use tensor cores */
    bool graphs; /* CUDA graphs start ops: the host's time per op does not count */
    int gpus; /* 0: 1 */
    pyro_parallel parallel;
    bool find_saturation; /* prices the model at more batch sizes */
    const double *prices_per_hour; /* by chip; NULL: none */
} pyro_map_options;

/* Predicts a model at its current sizes. */
PYRO_API int pyro_map_model(pyro_mapping **out, const pyro_mapper *mapper, pyro_model *model,
                            const pyro_cost_options *cost_options, const pyro_map_options *options,
                            pyro_error *error);
/* Predicts the ops of a recorded run, with its measured times beside. */
PYRO_API int pyro_map_trace(pyro_mapping **out, const pyro_mapper *mapper, pyro_trace *trace,
                            const pyro_map_options *options, pyro_error *error);
/* Adds the times of a recorded run of the model to its layers: those of one call. */
PYRO_API int pyro_map_against(pyro_mapping *map, pyro_model *model, pyro_trace *trace,
                              pyro_error *error);
/*
 * Adds tokens per second to the map of a language model. `decode` is its graph of one token, or
 * NULL: then only prefill is predicted. Changes the sizes of both.
 */
PYRO_API int pyro_map_language(pyro_mapping *map, const pyro_mapper *mapper, pyro_model *model,
                               pyro_model *decode, const pyro_cost_options *cost_options,
                               const pyro_map_options *options, pyro_error *error);
PYRO_API void pyro_mapping_free(pyro_mapping *map); /* accepts NULL */

/* Several maps in one report; free *out with pyro_free(). */
PYRO_API int pyro_report_map(char **out, size_t *size, const pyro_mapping *const *maps,
                             size_t count, const pyro_report_options *options, pyro_error *error);

#ifdef __cplusplus
}
#endif
#endif

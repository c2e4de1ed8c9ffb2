/* Internal interface of `fit`; one file per part. */
#ifndef PYRO_FIT_FIT_H
#define PYRO_FIT_FIT_H

#include "base/containers/arena.h"
#include "graph/cost/cost.h"
#include "graph/memory/lifetimes.h"
#include "graph/train/train.h"
#include "hardware/hardware.h"
#include <pyrometer/fit.h>

#define FIT_NONE UINT32_MAX

/* How tensor parallelism divides a parameter. */
typedef enum fit_split {
    FIT_WHOLE,
    FIT_COLUMNS, /* by outputs of its product */
    FIT_ROWS, /* by inputs */
    FIT_VOCABULARY
} fit_split;

typedef struct fit_parameter {
    int64_t values;
    int64_t rows; /* size of dim 0; 1 without dims */
    int64_t weight_bytes, master_bytes, gradient_bytes, state_bytes;
    int64_t adapter_in, adapter_out; /* values of LoRA's two matrices */
    int64_t adapter_rank;
    int64_t adapter_weight_bytes;
    int64_t experts; /* that it holds in dim 0; 0: none */
    int64_t units; /* that are split: heads, features or rows of a table */
    int64_t other_units; /* heads of keys and of values each, if they lie behind the queries */
    uint8_t split;
    bool is_parameter; /* else a buffer or constant, which no one divides */
    bool along_rows; /* tensor parallelism divides dim 0 */
    bool is_product; /* of a linear layer: quantisation stores it in fewer bits */
    bool forced_whole; /* a norm reads what it makes */
    uint32_t first_node, last_node; /* that use it; FIT_NONE: none */
    uint32_t block; /* of the model; 0: outside of blocks */
} fit_parameter;

/* What flows through a value of the main graph. */
typedef struct fit_value {
    int64_t units; /* into how many units tensor parallelism may divide it; 0: it is whole */
    uint32_t producer; /* the parameter whose product made it; FIT_NONE: none */
    uint32_t parameter; /* that it is, or is a view of; FIT_NONE: none */
    bool is_logit; /* made by the head */
} fit_value;

/* A tensor that tensor or expert parallelism sends. */
typedef struct fit_transfer {
    uint32_t node;
    int64_t bytes; /* of all rows that experts get, else of the tensor */
    int64_t reduced_bytes; /* that an all-reduce sums */
    bool is_expert;
} fit_transfer;

/* A model at its sizes: what fit needs of it, for any layout. */
typedef struct fit_load {
    pyro_arena arena;
    pyro_model *model;
    pyro_train *train; /* NULL: inference */
    pyro_cost *cost; /* owned without train */
    pyro_lifetimes lifetimes; /* of inference */
    const pyro_lifetimes *pieces;
    size_t step_count;
    fit_parameter *parameters;
    fit_value *values;
    uint32_t *block_of; /* by module */
    uint32_t *block_of_node; /* 1 + its order among the blocks; 0: outside */
    size_t block_count;
    uint32_t *attention_nodes;
    size_t attention_count;
    fit_transfer *transfers;
    size_t transfer_count, transfer_capacity;
    int64_t heads, cache_heads; /* 0: unknown */
    int64_t attention_cache_values; /* per token, as attention reads them */
    int64_t experts;
    int64_t batch, sequence;
    int64_t input_bytes;
    int64_t cache_values_per_token;
    int64_t element_bytes; /* of most activations */
    bool generates; /* a language model with a cache: only last logits are computed */
} fit_load;

/* What a rank computation takes beside a layout. */
typedef struct fit_setting {
    int64_t concurrent, micro_batches;
    double cache_value_bytes;
    double product_value_bytes; /* of quantised products; 0: as they are */
    bool offloads_states; /* to the host */
    int64_t reserve_bytes, memory_bytes;
    double link_bytes_per_s, driver_share;
} fit_setting;

/* Reads a model at its current sizes. Free it even if it fails (load.c). */
int fit_load_read(fit_load *out, pyro_model *model, const pyro_cost_options *cost,
                  const pyro_train_options *train, pyro_error *error);
void fit_load_free(fit_load *load);
/* Finds what tensor and expert parallelism divide (split.c). */
int fit_find_splits(fit_load *load, pyro_error *error);

/* Values of a parameter on one rank (shares.c): its tensor part, and what sharding leaves of it. */
int64_t fit_local_values(const fit_parameter *parameter, const pyro_layout *layout);
int64_t fit_local_adapter(const fit_parameter *parameter, const pyro_layout *layout);
int64_t fit_sharded_values(const fit_parameter *parameter, const pyro_layout *layout,
                           pyro_sharding sharding);
int64_t fit_sharded_adapter(const fit_parameter *parameter, const pyro_layout *layout,
                            pyro_sharding sharding);
/* `amount` x part / whole, rounded up; INT64_MAX if it does not fit. */
int64_t fit_scale(int64_t amount, int64_t part, int64_t whole);
/* The part of `units` that one of `ranks` ranks has: ceil(units / ranks). */
int64_t fit_part(int64_t units, int64_t ranks);
int64_t fit_sum(int64_t a, int64_t b); /* INT64_MAX if it does not fit */

/* The stage of a node, for a pipeline (stages.c). */
int64_t fit_stage_of(const fit_load *load, uint32_t node, int64_t stages);
/* Bytes that the busiest boundary between stages moves forward. */
int fit_boundary_bytes(const fit_load *load, int64_t stages, int64_t *bytes, pyro_error *error);

/* The GPU that holds most (rank.c). */
int fit_rank(pyro_fit_rank *out, const fit_load *load, const pyro_layout *layout,
             const fit_setting *setting, pyro_error *error);
/* Bytes that it sends (traffic.c). */
int fit_traffic(pyro_fit_traffic *out, const fit_load *load, const pyro_layout *layout,
                const fit_setting *setting, int64_t stage, pyro_error *error);

/* What the largest convolution reads and writes: its library may copy that into the layout that it
 * computes in. */
int64_t fit_convolution_bytes(const fit_load *load);

/* The reserve that is assumed. */
#define FIT_CONTEXT_BYTES (INT64_C(600) << 20)
#define FIT_COMMUNICATOR_BYTES (INT64_C(400) << 20)
#define FIT_WORKSPACE_BYTES (INT64_C(64) << 20)
#define FIT_DRIVER_SHARE 0.01
#define FIT_CORRECTED_SHARE 0.07 /* GDDR memory that holds its own check bits */
/* Holes of the allocator: of all, and of the largest allocation, which may fit none of them. Both
 * were chosen by the largest batches of five models on a GPU. */
#define FIT_FRAGMENTATION_SHARE 0.02
#define FIT_LARGEST_SHARE 0.6

/* Finds the cheapest layout (choose.c). `fits` says whether one fits; else `out` comes closest. */
int fit_choose(pyro_layout *out, bool *fits, const fit_load *load, const fit_setting *setting,
               int64_t gpus, pyro_error *error);
int64_t fit_gpus(const pyro_layout *layout);

/* What a computation works with. */
typedef struct fit_run {
    pyro_model *model;
    const pyro_fit_options *options;
    pyro_fit *fit;
    fit_load load;
    fit_setting setting; /* without the chip's numbers */
} fit_run;

/* The largest sizes that fit an answer's chip (largest.c). */
int fit_find_largest(fit_run *run, pyro_fit_answer *answer, pyro_error *error);
/* What further measures would save (levers.c). */
int fit_find_levers(fit_run *run, pyro_fit_answer *answer, pyro_error *error);
/* The chips of the options (chips.c). */
int fit_find_chips(fit_run *run, pyro_error *error);
/* What is assumed, in words (assumptions.c). */
int fit_describe(fit_run *run, pyro_error *error);
/* The setting of an answer's chip and layout (setting.c). */
fit_setting fit_setting_of(const fit_run *run, const pyro_fit_answer *answer);
/* The concurrency and micro-batches of a setting at a load's sizes. */
void fit_set_amounts(fit_setting *setting, const fit_load *load, const pyro_fit_options *options,
                     const pyro_layout *layout);

struct pyro_fit_store {
    pyro_arena arena;
};

#endif

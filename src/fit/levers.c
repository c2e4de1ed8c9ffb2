/* What further measures would save: each is computed like the answer itself, one change at a time. */
#include "base/error.h"
#include "fit/fit.h"

enum {
    MOST_LEVERS = 12,
    MOST_TENSOR_RANKS = 8,
    LEAST_SHARE = 1000 /* what saves less than a thousandth is not worth a line */
};

/* Bytes per value of quantised weights, with a 16-bit scale per 128 values. */
#define BYTES_OF_8_BITS (1.0 + 2.0 / 128)
#define BYTES_OF_4_BITS (0.5 + 2.0 / 128)

typedef struct levers {
    fit_run *run;
    pyro_fit_answer *answer;
    pyro_error *error;
    int status;
} levers;

static void add(levers *l, const char *name, const char *how, int64_t total_bytes)
{
    pyro_fit_answer *answer = l->answer;
    int64_t saved = answer->rank.total_bytes - total_bytes;
    if (l->status != PYRO_OK || saved <= answer->rank.total_bytes / LEAST_SHARE ||
        answer->lever_count == MOST_LEVERS)
        return;
    answer->levers[answer->lever_count++] = (pyro_fit_lever){.name = name,
                                                             .how = how,
                                                             .saved_bytes = saved,
                                                             .total_bytes = total_bytes,
                                                             .fits = total_bytes <=
                                                                     answer->memory_bytes};
}

static int64_t total_with(levers *l, const fit_load *load, const pyro_layout *layout,
                          const fit_setting *setting)
{
    pyro_fit_rank rank = {0};
    if (l->status == PYRO_OK)
        l->status = fit_rank(&rank, load, layout, setting, l->error);
    return rank.total_bytes;
}

static void try_layout(levers *l, const char *name, const char *how, pyro_layout layout)
{
    fit_setting setting = fit_setting_of(l->run, l->answer);
    fit_set_amounts(&setting, &l->run->load, l->run->options, &layout);
    add(l, name, how, total_with(l, &l->run->load, &layout, &setting));
}

static void try_setting(levers *l, const char *name, const char *how, const fit_setting *setting)
{
    add(l, name, how, total_with(l, &l->run->load, &l->answer->layout, setting));
}

/* Other options of training need the lives of its tensors again. */
static void try_training(levers *l, const char *name, const char *how,
                         const pyro_train_options *options)
{
    fit_run *run = l->run;
    fit_setting setting = fit_setting_of(run, l->answer);
    fit_load load;
    if (l->status != PYRO_OK)
        return;
    l->status = fit_load_read(&load, run->model, run->options->cost, options, l->error);
    add(l, name, how, total_with(l, &load, &l->answer->layout, &setting));
    fit_load_free(&load);
}

static void try_shardings(levers *l)
{
    static const struct {
        pyro_sharding sharding;
        const char *name, *how;
    } steps[] = {
        {PYRO_SHARDING_ZERO1, "ZeRO 1: optimizer states", "zero1"},
        {PYRO_SHARDING_ZERO2, "ZeRO 2: gradients too", "zero2"},
        {PYRO_SHARDING_FSDP, "FSDP: weights too", "fsdp"},
    };
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        pyro_layout layout = l->answer->layout;
        if (layout.data <= 1 || layout.sharding >= steps[i].sharding ||
            layout.sharding >= PYRO_SHARDING_ZERO3)
            continue;
        layout.sharding = steps[i].sharding;
        try_layout(l, steps[i].name, steps[i].how, layout);
    }
}

static void try_tensor_ranks(levers *l)
{
    pyro_layout layout = l->answer->layout;
    if (layout.tensor > 1 && !layout.sequence && l->run->load.train) {
        layout.sequence = true;
        try_layout(l, "sequence parallelism", "sp", layout);
        layout.sequence = false;
    }
    layout.tensor *= 2;
    if (layout.tensor <= MOST_TENSOR_RANKS && l->run->load.transfer_count)
        try_layout(l, "twice the tensor ranks", "tp x 2", layout);
}

static void try_trainings(levers *l)
{
    const pyro_train_options *given = l->run->options->train;
    fit_setting setting = fit_setting_of(l->run, l->answer);
    pyro_train_options changed = *given;
    if (given->checkpoint == PYRO_CHECKPOINT_NONE) {
        changed.checkpoint = PYRO_CHECKPOINT_BLOCKS;
        try_training(l, "activation checkpointing", "--checkpoint blocks", &changed);
        changed = *given;
    }
    if (given->optimizer == PYRO_OPTIMIZER_ADAM || given->optimizer == PYRO_OPTIMIZER_ADAMW) {
        changed.optimizer = PYRO_OPTIMIZER_ADAM8BIT;
        try_training(l, "8-bit optimizer states", "--optimizer adam8bit", &changed);
        changed = *given;
    }
    if (given->precision != PYRO_PRECISION_BF16) {
        changed.precision = PYRO_PRECISION_BF16;
        try_training(l, "bfloat16 for everything", "--precision bf16", &changed);
        changed = *given;
    }
    if (!given->lora) {
        changed.lora = "16:.";
        changed.freeze = NULL;
        try_training(l, "LoRA adapters of rank 16", "--lora 16:.", &changed);
    }
    setting.offloads_states = true;
    try_setting(l, "optimizer on the host", "offloading", &setting);
}

static void try_serving(levers *l)
{
    fit_setting setting = fit_setting_of(l->run, l->answer);
    setting.product_value_bytes = BYTES_OF_8_BITS;
    try_setting(l, "linear layers in 8 bits", "quantisation", &setting);
    setting.product_value_bytes = BYTES_OF_4_BITS;
    try_setting(l, "linear layers in 4 bits", "quantisation", &setting);
    setting.product_value_bytes = 0;
    if (setting.cache_value_bytes > 1) {
        setting.cache_value_bytes = 1;
        try_setting(l, "KV cache in 8 bits", "--kv-cache fp8", &setting);
    }
}

int fit_find_levers(fit_run *run, pyro_fit_answer *answer, pyro_error *error)
{
    levers l = {.run = run, .answer = answer, .error = error};
    answer->levers = pyro_arena_array(&run->fit->store->arena, MOST_LEVERS, sizeof *answer->levers);
    if (!answer->levers)
        return pyro_fail_memory(error);
    if (run->load.train)
        try_trainings(&l);
    else
        try_serving(&l);
    if (run->load.train)
        try_shardings(&l);
    try_tensor_ranks(&l);
    return l.status;
}

/* Reads the options of training. */
#include "cli/options/train.h"

#include "base/error.h"

/* In the order of the enums of train_cost.h; a precision of the file is the default. */
static const char *const optimizer_names[] = {"sgd",  "adam",     "adamw", "adafactor",
                                              "lion", "adam8bit", NULL};
static const char *const checkpoint_names[] = {"none", "blocks", "full", NULL};
static const char *const precision_names[] = {"fp32", "bf16-mixed", "bf16", "fp8", NULL};

const pyro_option pyro_train_option_table[] = {
    {.long_name = "train",
     .kind = PYRO_OPTION_FLAG,
     .offset = offsetof(pyro_training, train),
     .help = "Price a training step: forward, backward and optimizer, gradients, optimizer states "
             "and the peak of memory."},
    {.long_name = "optimizer",
     .kind = PYRO_OPTION_CHOICE,
     .offset = offsetof(pyro_training, optimizer),
     .metavar = "NAME",
     .help = "With --train: the optimizer.",
     .default_text = "adamw",
     .choices = optimizer_names},
    {.long_name = "checkpoint",
     .kind = PYRO_OPTION_CHOICE,
     .offset = offsetof(pyro_training, checkpoint),
     .metavar = "WHAT",
     .help = "With --train: activation checkpointing. blocks runs each repeated block again before "
             "its backward; full also runs what lies between the blocks again.",
     .default_text = "none",
     .choices = checkpoint_names},
    {.long_name = "precision",
     .kind = PYRO_OPTION_CHOICE,
     .offset = offsetof(pyro_training, precision),
     .metavar = "NAME",
     .help = "With --train: element types. bf16-mixed keeps float32 parameters and runs products "
             "in bfloat16, as torch.autocast does; fp8 also runs linear layers in 8 bits.",
     .default_text = "as in the file",
     .choices = precision_names},
    {.long_name = "freeze",
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(pyro_training, freeze),
     .metavar = "REGEX",
     .help = "With --train: parameters whose path matches are not trained: '^encoder|embed'."},
    {.long_name = "lora",
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(pyro_training, lora),
     .metavar = "RANK:REGEX",
     .help = "With --train: train low-rank adapters beside the linear layers whose weight's path "
             "matches, and nothing else: 16:q_proj|v_proj."},
    {.long_name = NULL},
};

int pyro_training_read(pyro_train_options *out, const pyro_training *training, pyro_error *error)
{
    const char *alone = training->optimizer >= 0    ? "--optimizer"
                        : training->checkpoint >= 0 ? "--checkpoint"
                        : training->precision >= 0  ? "--precision"
                        : training->freeze          ? "--freeze"
                        : training->lora            ? "--lora"
                                                    : NULL;

    if (!training->train && alone)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT, "%s requires --train", alone);
    *out = (pyro_train_options){
        .optimizer = training->optimizer >= 0 ? (pyro_optimizer)training->optimizer
                                              : PYRO_OPTIMIZER_ADAMW,
        .checkpoint = training->checkpoint >= 0 ? (pyro_checkpoint)training->checkpoint
                                                : PYRO_CHECKPOINT_NONE,
        .precision = (pyro_precision)(training->precision + 1),
        .freeze = training->freeze,
        .lora = training->lora,
    };
    return PYRO_OK;
}

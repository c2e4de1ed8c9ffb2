/* Options of training: the commands that price or fit a training step share them. */
#ifndef PYRO_CLI_OPTIONS_TRAIN_H
#define PYRO_CLI_OPTIONS_TRAIN_H

#include "cli/options/options.h"

#include <pyrometer/train_cost.h>

/* Values of pyro_train_option_table. */
typedef struct pyro_training {
    bool train;
    int optimizer, checkpoint, precision; /* -1: not given */
    const char *freeze, *lora;
} pyro_training;

#define PYRO_TRAINING_INIT {.optimizer = -1, .checkpoint = -1, .precision = -1}

extern const pyro_option pyro_train_option_table[];

/* The options for the library. PYRO_ERROR_ARGUMENT if some are given without --train. */
int pyro_training_read(pyro_train_options *out, const pyro_training *training, pyro_error *error);

#endif

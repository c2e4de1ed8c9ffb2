/* Names of the options of training, and the regular expressions in them. */
#include "base/error.h"
#include "graph/train/train.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const optimizers[] = {
#define OPTIMIZER(id, name, ...) [PYRO_OPTIMIZER_##id] = name,
#include "graph/train/optimizers.def"
#undef OPTIMIZER
};
static const char *const checkpoints[] = {"none", "blocks", "full"};
static const char *const precisions[] = {"file", "fp32", "bf16-mixed", "bf16", "fp8"};
static const char *const phases[] = {"forward", "backward", "recompute", "optimizer"};

const char *pyro_optimizer_name(pyro_optimizer optimizer)
{
    return optimizers[optimizer];
}

const char *pyro_checkpoint_name(pyro_checkpoint checkpoint)
{
    return checkpoints[checkpoint];
}

const char *pyro_precision_name(pyro_precision precision)
{
    return precisions[precision];
}

const char *pyro_train_phase_name(pyro_train_phase phase)
{
    return phases[phase];
}

/* The index of a name; negative, with the valid names, if it is unknown. */
static int find(const char *what, const char *const *names, size_t count, const char *name,
                pyro_error *error)
{
    char valid[200];
    size_t length = 0;
    for (size_t i = 0; i < count; i++)
        if (!strcmp(names[i], name))
            return (int)i;
    for (size_t i = 0; i < count && length < sizeof valid; i++)
        length += (size_t)snprintf(valid + length, sizeof valid - length, "%s%s", i ? ", " : "",
                                   names[i]);
    return pyro_fail(error, PYRO_ERROR_ARGUMENT, "unknown %s '%.100s' (one of: %s)", what, name,
                     valid);
}

int pyro_optimizer_parse(pyro_optimizer *out, const char *name, pyro_error *error)
{
    int found = find("optimizer", optimizers, PYRO_OPTIMIZER_COUNT, name, error);
    if (found >= 0)
        *out = (pyro_optimizer)found;
    return found < 0 ? found : PYRO_OK;
}

int pyro_checkpoint_parse(pyro_checkpoint *out, const char *name, pyro_error *error)
{
    int found = find("checkpointing", checkpoints, PYRO_CHECKPOINT_COUNT, name, error);
    if (found >= 0)
        *out = (pyro_checkpoint)found;
    return found < 0 ? found : PYRO_OK;
}

int pyro_precision_parse(pyro_precision *out, const char *name, pyro_error *error)
{
    int found = find("precision", precisions, PYRO_PRECISION_COUNT, name, error);
    if (found >= 0)
        *out = (pyro_precision)found;
    return found < 0 ? found : PYRO_OK;
}

static int compile(regex_t *regex, bool *compiled, const char *option, const char *pattern,
                   pyro_error *error)
{
    char reason[200];
    int code = regcomp(regex, pattern, REG_EXTENDED | REG_NOSUB);
    *compiled = code == 0;
    if (code == 0)
        return PYRO_OK;
    regerror(code, regex, reason, sizeof reason);
    return pyro_fail(error, PYRO_ERROR_ARGUMENT, "%s: '%.200s' is not a regular expression: %s",
                     option, pattern, reason);
}

/* "8:q_proj|v_proj" */
static int read_lora(pyro_train *train, const char *text, pyro_error *error)
{
    char *end;
    long rank = strtol(text, &end, 10);
    if (end == text || *end != ':' || end[1] == 0 || rank < 1 || rank > 65536)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                         "lora: '%.200s' is not RANK:REGEX such as 8:q_proj|v_proj", text);
    train->lora_rank = rank;
    return compile(&train->lora, &train->has_lora, "lora", end + 1, error);
}

int pyro_train_read_options(pyro_train *train, const pyro_train_options *options, pyro_error *error)
{
    int status = PYRO_OK;
    train->options = options ? *options : (pyro_train_options){0};
    if ((unsigned)train->options.optimizer >= PYRO_OPTIMIZER_COUNT ||
        (unsigned)train->options.checkpoint >= PYRO_CHECKPOINT_COUNT ||
        (unsigned)train->options.precision >= PYRO_PRECISION_COUNT)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT, "invalid option of training");
    if (train->options.freeze)
        status = compile(&train->freeze, &train->has_freeze, "freeze", train->options.freeze,
                         error);
    if (status == PYRO_OK && train->options.lora)
        status = read_lora(train, train->options.lora, error);
    return status;
}

/* Classifies events by name: the conventions of PyTorch, NCCL and others. */
#include "trace/joins/internal.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static bool begins_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* "AddmmBackward0", "CompiledFunctionBackward": the word and perhaps digits at the end. */
static bool ends_in_backward(const char *name)
{
    static const char word[] = "Backward";
    size_t length = strlen(name), word_length = sizeof word - 1;
    while (length && isdigit((unsigned char)name[length - 1]))
        length--;
    return length > word_length && !memcmp(name + length - word_length, word, word_length);
}

bool pyro_is_loader_name(const char *name)
{
    static const char range[] = "enumerate(DataLoader)", next[] = ": __next__";
    size_t length = strlen(name), tail = sizeof next - 1;
    if (begins_with(name, range))
        return true;
    return length > tail && !strcmp(name + length - tail, next) && strstr(name, "dataloader.py(");
}

bool pyro_is_compiling_name(const char *name)
{
    static const char mark[] = "(dynamo_timed)";
    size_t length = strlen(name), mark_length = sizeof mark - 1;
    return !strcmp(name, "dynamo") || !strcmp(name, "entire_frame_compile") ||
           (length > mark_length && !strcmp(name + length - mark_length, mark));
}

/* Frames of the optimizers' code, for traces without annotated optimizer steps. */
static bool is_optimizer_frame(const char *name)
{
    const char *file = strstr(name, "torch/optim/");
    if (!file || !strncmp(file, "torch/optim/lr_scheduler", 24))
        return false;
    const char *function = strstr(file, "): ");
    return function && (!strcmp(function, "): step") || !strcmp(function, "): zero_grad"));
}

pyro_name_class pyro_classify_name(const char *name)
{
    static const struct {
        const char *prefix;
        pyro_name_class name_class;
    } prefixes[] = {
        {"nn.Module: ", PYRO_NAME_LAYER_FRAME},
        {"ProfilerStep#", PYRO_NAME_STEP},
        {"Optimizer.step#", PYRO_NAME_OPTIMIZER},
        {"Optimizer.zero_grad#", PYRO_NAME_OPTIMIZER},
        {"aten::_foreach_copy", PYRO_NAME_PLAIN}, /* also fills the inputs of CUDA graphs */
        {"aten::_foreach_", PYRO_NAME_OPTIMIZER_OP},
        {"aten::_fused_ada", PYRO_NAME_OPTIMIZER_OP},
        {"aten::_fused_sgd", PYRO_NAME_OPTIMIZER_OP},
        {"torch.distributed.ddp.reducer::", PYRO_NAME_REDUCER},
        {"DistributedDataParallel.forward", PYRO_NAME_FORWARD_RANGE},
        {"FullyShardedDataParallel.forward", PYRO_NAME_FORWARD_RANGE},
    };
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (begins_with(name, prefixes[i].prefix))
            return prefixes[i].name_class;
    if (begins_with(name, "autograd::engine::evaluate_function"))
        return strstr(name, "AccumulateGrad") ? PYRO_NAME_ACCUMULATE : PYRO_NAME_EVALUATE;
    if (!strcmp(name, "torch::autograd::AccumulateGrad") || !strcmp(name, "AccumulateGrad"))
        return PYRO_NAME_ACCUMULATE;
    if (ends_in_backward(name))
        return PYRO_NAME_BACKWARD;
    if (pyro_is_loader_name(name))
        return PYRO_NAME_LOADER;
    return is_optimizer_frame(name) ? PYRO_NAME_OPTIMIZER : PYRO_NAME_PLAIN;
}

/* "aten::_log_softmax" and "evaluate_function: LogSoftmaxBackward0" both become "logsoftmax". */
static const char *skip_name_space(const char *name)
{
    const char *begin = name;
    for (const char *at = name; *at; at++)
        if (*at == ':' || *at == ' ')
            begin = at + 1;
    return begin;
}

bool pyro_names_are_forward_and_backward(const char *forward, const char *backward)
{
    forward = skip_name_space(forward);
    backward = skip_name_space(backward);
    for (;; forward++, backward++) {
        while (*forward == '_')
            forward++;
        while (*backward == '_')
            backward++;
        if (!*forward)
            return begins_with(backward, "Backward");
        if (tolower((unsigned char)*forward) != tolower((unsigned char)*backward))
            return false;
    }
}

/* Length of a C++ kernel's name, without its template arguments and parameters. */
static size_t kernel_name_length(const char *name)
{
    static const char anonymous[] = "(anonymous namespace)";
    size_t i = 0;
    while (name[i] && name[i] != '<') {
        if (begins_with(name + i, anonymous))
            i += sizeof anonymous - 2;
        else if (name[i] == '(')
            break;
        i++;
    }
    return i;
}

/* Whether a text begins with this word, which has small letters. */
static bool begins_with_word(const char *text, size_t length, const char *word)
{
    if ((text[0] | 0x20) != word[0])
        return false;
    size_t word_length = strlen(word);
    return word_length <= length && !strncasecmp(text, word, word_length);
}

/* Whether one of the words below begins with these two letters. */
static bool may_begin(char first, char second)
{
    switch (first | 0x20) {
    case 'n':
        return (second | 0x20) == 'c' || (second | 0x20) == 'v';
    case 'r':
        return (second | 0x20) == 'c' || (second | 0x20) == 'e' || (second | 0x20) == 'o';
    case 'm':
        return (second | 0x20) == 's' || (second | 0x20) == 'u';
    case 'o':
        return (second | 0x20) == 'n';
    case 'c':
        return (second | 0x20) == 'r';
    case 'a':
        return (second | 0x20) == 'l';
    case 'd':
        return (second | 0x20) == 'e';
    case 'e':
        return (second | 0x20) == 'p';
    case 's':
        return (second | 0x20) == 'y';
    case 'u':
        return (second | 0x20) == 's';
    default:
        return false;
    }
}

bool pyro_is_collective_kernel(const char *name)
{
    static const char *const words[] = {
        "nccl",        "rccl",           "msccl",         "oneccl",        "cross_device_reduce",
        "all_reduce",  "allreduce",      "all_gather",    "allgather",     "all_to_all",
        "alltoall",    "reduce_scatter", "reducescatter", "nvshmem",       "rocshmem",
        "multimem_",   "deep_ep::",      "symm_mem",      "ep::internode", "ep::intranode",
        "userbuffers",
    };
    /* Compilers name a fused kernel after the ops around it: it does not communicate itself. */
    if (begins_with(name, "triton_"))
        return false;
    size_t length = kernel_name_length(name);
    for (size_t at = 0; at < length; at++) {
        if (!may_begin(name[at], name[at + 1]))
            continue;
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            if (begins_with_word(name + at, length - at, words[i]))
                return true;
    }
    return false;
}

/* The names of ops that detectors look for. */
#include "analyze/findings/op_words.h"

#include <string.h>

#define INDEX PYRO_WORD_INDEX
#define VIEW PYRO_WORD_VIEW
#define LAYER PYRO_WORD_LAYER
#define PRODUCT PYRO_WORD_BATCHED_PRODUCT
#define TYPED PYRO_WORD_TYPED

static const struct {
    const char *name;
    unsigned words;
} rows[] = {
    {"select", INDEX | VIEW},
    {"slice", INDEX | VIEW},
    {"narrow", INDEX | VIEW},
    {"index", INDEX},
    {"index_select", INDEX},
    {"gather", INDEX},
    {"take", INDEX},
    {"item", PYRO_WORD_ITEM},
    {"_local_scalar_dense", PYRO_WORD_ITEM},
    {"is_nonzero", PYRO_WORD_ITEM},
    {"matmul", PRODUCT},
    {"bmm", PRODUCT},
    {"baddbmm", PRODUCT},
    {"einsum", PRODUCT},
    {"softmax", PYRO_WORD_SOFTMAX},
    {"_softmax", PYRO_WORD_SOFTMAX},
    {"_safe_softmax", PYRO_WORD_SOFTMAX},
    {"linear", LAYER},
    {"addmm", LAYER},
    {"mm", LAYER},
    {"conv1d", LAYER},
    {"conv2d", LAYER},
    {"conv3d", LAYER},
    {"layer_norm", LAYER},
    {"batch_norm", LAYER},
    {"embedding", LAYER},
    {"topk", LAYER},
    {"view", VIEW},
    {"reshape", VIEW},
    {"transpose", VIEW},
    {"permute", VIEW},
    {"t", VIEW},
    {"unsqueeze", VIEW},
    {"squeeze", VIEW},
    {"expand", VIEW},
    {"expand_as", VIEW},
    {"detach", VIEW},
    {"alias", VIEW},
    {"flatten", VIEW},
    {"unflatten", VIEW},
    {"split", VIEW},
    {"chunk", VIEW},
    {"lift_fresh", VIEW},
    {"clone", PYRO_WORD_CLONE},
    {"cpu", PYRO_WORD_CONVERSION},
    {"cuda", PYRO_WORD_CONVERSION},
    {"to", PYRO_WORD_CONVERSION | TYPED},
    {"_to_copy", PYRO_WORD_CONVERSION | TYPED},
    {"zeros", TYPED},
    {"ones", TYPED},
    {"empty", TYPED},
    {"rand", TYPED},
    {"randn", TYPED},
    {"zeros_like", TYPED},
    {"ones_like", TYPED},
};

unsigned pyro_op_words(const char *name)
{
    unsigned words = PYRO_WORD_KNOWN;
    if (strncmp(name, "aten::", 6))
        return words;
    name += 6;
    size_t length = strlen(name);
    /* "add_", but not "__and__" */
    if (length > 2 && name[length - 1] == '_' && name[length - 2] != '_')
        words |= PYRO_WORD_IN_PLACE;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(name, rows[i].name))
            return words | rows[i].words;
    return words;
}

/* What the names of ops say to the detectors that look at the order of ops. */
#ifndef PYRO_ANALYZE_FINDINGS_OP_WORDS_H
#define PYRO_ANALYZE_FINDINGS_OP_WORDS_H

enum {
    PYRO_WORD_INDEX = 1,           /* takes elements or rows of a tensor */
    PYRO_WORD_ITEM = 2,            /* fetches a number */
    PYRO_WORD_BATCHED_PRODUCT = 4, /* may multiply the scores of an attention */
    PYRO_WORD_SOFTMAX = 8,
    PYRO_WORD_LAYER = 16, /* work of layers, which is no part of one attention */
    PYRO_WORD_VIEW = 32,
    PYRO_WORD_CONVERSION = 64, /* to another type or device */
    PYRO_WORD_CLONE = 128,
    PYRO_WORD_IN_PLACE = 256,
    PYRO_WORD_TYPED = 512, /* makes a tensor of a type that it is asked for */
    PYRO_WORD_KNOWN = 1 << 15
};

/* PYRO_WORD_* of an op's name, with PYRO_WORD_KNOWN. */
unsigned pyro_op_words(const char *name);

#endif

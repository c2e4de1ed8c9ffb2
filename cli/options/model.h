/* The options that say which sizes a model has and how it is priced; cost and diff share them. */
#ifndef PYRO_CLI_OPTIONS_MODEL_H
#define PYRO_CLI_OPTIONS_MODEL_H

#include "cli/options/options.h"

#include <pyrometer/cost.h>

/* Values of pyro_size_options, pyro_pricing_options and pyro_python_options. */
typedef struct pyro_pricing {
    const char *input_shape;
    pyro_words inputs; /* NAME=2,128 */
    int64_t batch;     /* 0: as in the file */
    int64_t sequence, prefill, past; /* 0: not given; past is -1 then */
    bool decode;
    pyro_words sizes; /* SYMBOL=N */
    int64_t depth;     /* negative: layers are not rolled up */
    const char *dtype;
    int convention;
    double ridge;
    const char *python; /* NULL: the default one */
} pyro_pricing;

#define PYRO_PRICING_INIT {.past = -1, .depth = -1, .ridge = 50}

extern const pyro_option pyro_size_options[];
extern const pyro_option pyro_pricing_options[];
extern const pyro_option pyro_python_options[];

enum { PYRO_DIMS_MAX = 64 };

/* Reads "1,3,224,224" (or "1x3x224x224"); `option` names it in errors. */
int pyro_parse_dims(const char *text, const char *option, int64_t dims[PYRO_DIMS_MAX], size_t *rank,
                    pyro_error *error);

/* The models that a command is given; the words of comma lists live in `text`. */
typedef struct pyro_model_words {
    pyro_words specs;
    pyro_words text;
} pyro_model_words;

/* From an option's values, which may be comma lists, and operands. False when memory is out. */
bool pyro_model_words_collect(pyro_model_words *models, const pyro_words *values,
                              const pyro_words *operands, const char *default_model);
void pyro_model_words_free(pyro_model_words *models);

/* A model and its cost, which go together. */
typedef struct pyro_priced {
    pyro_model *model;
    pyro_cost *cost;
} pyro_priced;

/* Opens a model, gives it its sizes and prices it. Nothing is left open when it fails. */
int pyro_price_model(pyro_priced *out, const char *spec, const pyro_pricing *pricing,
                     pyro_error *error);
void pyro_priced_free(pyro_priced *priced);

#endif

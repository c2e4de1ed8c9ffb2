/* Options for the sizes of a model and its pricing. The commands that take models share them. */
#ifndef PYRO_CLI_OPTIONS_MODEL_H
#define PYRO_CLI_OPTIONS_MODEL_H

#include "cli/options/options.h"

#include <pyrometer/cost.h>

/* Values of pyro_size_options, pyro_decode_options, pyro_pricing_options and pyro_python_options. */
typedef struct pyro_pricing {
    const char *input_shape;
    pyro_words inputs; /* NAME=2,128 */
    int64_t batch;     /* 0: as in the file */
    int64_t sequence, prefill, past; /* not given: 0; past: -1 */
    bool decode;
    pyro_words sizes; /* SYMBOL=N */
    int64_t depth;     /* negative: layers are not rolled up */
    const char *dtype;
    int convention;
    double ridge;      /* 0: that of the chip `on`, else 50 */
    const char *on;    /* a chip; NULL: none */
    const char *python; /* NULL: the default Python */
} pyro_pricing;

#define PYRO_PRICING_INIT {.past = -1, .depth = -1, .ridge = 0}

extern const pyro_option pyro_size_options[];
extern const pyro_option pyro_decode_options[];
extern const pyro_option pyro_pricing_options[];
extern const pyro_option pyro_python_options[];

enum { PYRO_DIMS_MAX = 64 };

/* Reads "1,3,224,224" (or "1x3x224x224"); errors name `option`. */
int pyro_parse_dims(const char *text, const char *option, int64_t dims[PYRO_DIMS_MAX], size_t *rank,
                    pyro_error *error);

/* The models on the command line; `text` holds the words of comma-separated lists. */
typedef struct pyro_model_words {
    pyro_words specs;
    pyro_words text;
} pyro_model_words;

/* Collects operands and an option's values, which may be comma lists. False: out of memory. */
bool pyro_model_words_collect(pyro_model_words *models, const pyro_words *values,
                              const pyro_words *operands, const char *default_model);
void pyro_model_words_free(pyro_model_words *models);

/* A model and its cost. */
typedef struct pyro_priced {
    pyro_model *model;
    pyro_cost *cost;
} pyro_priced;

/* Opens a model and sets its sizes; `cost_options` gets those of the pricing. */
int pyro_open_sized(pyro_model **out, const char *spec, const pyro_pricing *pricing,
                    pyro_cost_options *cost_options, pyro_error *error);
/* Opens a model, sets its sizes and prices it. Leaves nothing open on failure. */
int pyro_price_model(pyro_priced *out, const char *spec, const pyro_pricing *pricing,
                     pyro_error *error);
void pyro_priced_free(pyro_priced *priced);

#endif

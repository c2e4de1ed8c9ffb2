/* The options that say which sizes a model has and how it is priced; cost and diff share them. */
#ifndef PYRO_CLI_PRICING_H
#define PYRO_CLI_PRICING_H

#include "options.h"

#include <pyrometer/cost.h>

/* Values of pyro_size_options and pyro_pricing_options. */
typedef struct pyro_pricing {
    const char *input_shape;
    pyro_words inputs; /* NAME=2,128 */
    int64_t batch;     /* 0: as in the file */
    pyro_words sizes;  /* SYMBOL=N */
    int64_t depth;     /* negative: layers are not rolled up */
    const char *dtype;
    int convention;
    double ridge;
} pyro_pricing;

#define PYRO_PRICING_INIT {.depth = -1, .ridge = 50}

extern const pyro_option pyro_size_options[];
extern const pyro_option pyro_pricing_options[];

/* A model and its cost, which go together. */
typedef struct pyro_priced {
    pyro_model *model;
    pyro_cost *cost;
} pyro_priced;

/* Opens a model, gives it its sizes and prices it. Nothing is left open when it fails. */
int pyro_price(pyro_priced *out, const char *spec, const pyro_pricing *pricing, pyro_error *error);
void pyro_priced_free(pyro_priced *priced);

#endif

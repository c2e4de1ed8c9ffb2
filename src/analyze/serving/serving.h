/* Serving steps: their load, rates and work. */
#ifndef PYRO_ANALYZE_SERVING_SERVING_H
#define PYRO_ANALYZE_SERVING_SERVING_H

#include "analyze/analyze.h"
#include "graph/dtype.h"

/* Attention of one device; 0 where unknown. */
typedef struct pyro_attention_shape {
    int64_t heads, kv_heads, head_size, layers;
    pyro_dtype dtype; /* of keys and values */
} pyro_attention_shape;

/* What a model costs beside attention. */
typedef struct pyro_served_model {
    pyro_attention_shape attention; /* of the whole model */
    double flops_per_token; /* without attention and without the head */
    double flops_per_request; /* of the head, which sees a request's last token */
    double weight_bytes; /* that a step reads; in the type that the trace uses */
} pyro_served_model;

/* From the shapes of attention ops in the steps; layers stays 0 without such ops. */
int pyro_attention_of_trace(pyro_analysis_context *context, pyro_attention_shape *shape);
/* From a language model; false, and all 0, if the model does not show it. */
bool pyro_read_served_model(pyro_model *model, pyro_dtype dtype, pyro_served_model *served);

/* Fills result->serving and its summary; needs the finished steps. */
int pyro_make_serving(pyro_analysis_context *context);

#endif

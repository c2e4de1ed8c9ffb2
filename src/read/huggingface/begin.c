/* What all families have in common: element types, quantisation, open sizes, the kind of head. */
#include "base/error.h"
#include "read/huggingface/family.h"
#include <string.h>

static pyro_dtype stated_dtype(const hf_config *config)
{
    const char *name = hf_text(config, "dtype", hf_text(config, "torch_dtype", ""));
    hf_config outer = *config;
    outer.prefix = "";
    if (!*name)
        name = hf_text(&outer, "dtype", hf_text(&outer, "torch_dtype", "float32"));
    pyro_dtype dtype = pyro_dtype_from_name(name);
    return dtype == PYRO_DTYPE_UNKNOWN ? PYRO_DTYPE_FLOAT32 : dtype;
}

/* The type of linear weights by quantization_config; unknown methods are refused. */
static int read_quantization(hf_builder *b, const hf_config *config)
{
    hf_config outer = *config;
    if (!hf_find(&outer, "quantization_config"))
        outer.prefix = "";
    b->linear_dtype = b->dtype;
    if (!hf_find(&outer, "quantization_config"))
        return PYRO_OK;
    const char *method = hf_text(&outer, "quantization_config.quant_method", "");
    bool four = hf_truth(&outer, "quantization_config.load_in_4bit", false);
    int64_t bits = hf_number(&outer, "quantization_config.bits", four ? 4 : 8);
    if (!strcmp(method, "fp8") || !strcmp(method, "fbgemm_fp8"))
        b->linear_dtype = PYRO_DTYPE_FLOAT8_E4M3FN;
    else if (!strcmp(method, "gptq") || !strcmp(method, "awq") || !strcmp(method, "bitsandbytes"))
        b->linear_dtype = bits == 4 ? PYRO_DTYPE_INT4 : PYRO_DTYPE_INT8;
    else
        return pyro_fail(config->error, PYRO_ERROR_UNSUPPORTED,
                         "the quantisation method '%.60s' is unknown; export the model instead",
                         method);
    return pyro_model_note(b->model,
                           "quantization_config (%.40s): the weights of linear layers are %s; "
                           "scales are not counted",
                           method, pyro_dtype_name(b->linear_dtype))
               ? PYRO_OK
               : pyro_fail_memory(config->error);
}

int hf_begin(hf_builder *b, pyro_model *model, const hf_config *config, bool decode,
             pyro_error *error)
{
    *b = (hf_builder){.model = model, .error = error, .decode = decode};
    b->dtype = stated_dtype(config);
    int status = read_quantization(b, config);
    if (status < 0)
        return status;
    b->batch = hf_size(b, "batch");
    b->sequence = decode ? 1 : hf_size(b, "sequence");
    b->past = decode ? hf_size(b, "past") : 0;
    return b->status;
}

int hf_end(hf_builder *b, const pyro_dim *dims, size_t dim_count, const pyro_default_shape *shapes,
           size_t shape_count, pyro_error *error)
{
    pyro_model *model = b->model;
    model->facts.dims = dims;
    model->facts.dim_count = dim_count;
    for (size_t i = 0; i < model->exprs.symbol_count; i++)
        model->exprs.symbols[i].min = 1;
    pyro_exprs_settle(&model->exprs);
    int status = b->status;
    for (size_t i = 0; i < shape_count && status == PYRO_OK; i++)
        status = pyro_model_default_shape(model, shapes[i].input, shapes[i].dims, shapes[i].rank,
                                          error);
    return status;
}

int hf_end_text(hf_builder *b, pyro_error *error)
{
    static const pyro_dim prefill[] = {
        {"batch", "batch", "input_ids", 0, 1, INT64_MAX, 1},
        {"sequence", "sequence", "input_ids", 1, 1, INT64_MAX, 1},
    };
    static const pyro_dim decode[] = {
        {"batch", "batch", "input_ids", 0, 1, INT64_MAX, 1},
        {"past", "past", "past_tokens", 1, 1, INT64_MAX, 1},
    };
    static const int64_t tokens[2] = {1, 128}, past[2] = {1, 1024};
    static const pyro_default_shape shapes[] = {{"input_ids", 2, tokens}},
                                    decode_shapes[] = {{"past_tokens", 2, past}};
    if (!b->decode)
        return hf_end(b, prefill, 2, shapes, 1, error);
    const pyro_size sizes[2] = {b->batch, b->past};
    hf_input(b, "past_tokens", PYRO_DTYPE_INT64, 2, sizes);
    return hf_end(b, decode, 2, decode_shapes, 1, error);
}

const char *hf_head_kind(const hf_config *config)
{
    hf_config outer = *config;
    outer.prefix = "";
    const char *name = hf_item(&outer, "architectures", 0);
    const char *head = strstr(name, "For");
    if (head)
        return head;
    const char *language = strstr(name, "LMHeadModel");
    size_t length = strlen(name);
    if (language)
        return language;
    return length > 5 && !strcmp(name + length - 5, "Model") ? "Model" : name;
}

int hf_unknown_head(const hf_config *config)
{
    hf_config outer = *config;
    outer.prefix = "";
    return pyro_fail(config->error, PYRO_ERROR_UNSUPPORTED,
                     "the architecture '%.80s' is not one whose graph follows from its "
                     "configuration; Python has to build it",
                     hf_item(&outer, "architectures", 0));
}

int hf_no_decode(const hf_config *config)
{
    return pyro_fail(config->error, PYRO_ERROR_UNSUPPORTED,
                     "the model type '%.60s' has no decoding step with a cache",
                     config->model_type);
}

const char *hf_activation(const char *name)
{
    return strstr(name, "gelu") ? "aten.gelu" : strstr(name, "relu") ? "aten.relu" : "aten.silu";
}

int64_t hf_labels(const hf_config *config)
{
    enum { ASSUMED = 2, MOST = 1 << 24 };
    int64_t labels = hf_number(config, "num_labels", 0);
    const hf_entry *names = hf_find(config, "id2label");
    if (labels < 1 && names && names->kind == HF_OBJECT)
        labels = names->integer;
    return labels >= 1 && labels <= MOST ? labels : ASSUMED;
}

/* Tells forms of work apart, and counts rows and columns of norms, softmax and reductions. */
#include "graph/call.h"
#include "predict/describe.h"

#include <string.h>

/* Vector loads need rows that begin at multiples of so many bytes. */
enum { ALIGNMENT = 16 };

static const char *const names[PYRO_FORM_COUNT] = {
    [PYRO_FORM_PLAIN] = "plain",
    [PYRO_FORM_UNALIGNED] = "unaligned",
    [PYRO_FORM_POINTWISE] = "pointwise",
    [PYRO_FORM_GROUPED] = "grouped",
    [PYRO_FORM_GRADIENT] = "gradient",
    [PYRO_FORM_STATISTICS] = "statistics",
    [PYRO_FORM_STATISTICS_GRADIENT] = "statistics_gradient",
    [PYRO_FORM_SCALE] = "scale",
    [PYRO_FORM_COLUMNS] = "columns",
    [PYRO_FORM_WINDOW] = "window",
    [PYRO_FORM_ORDER] = "order",
    [PYRO_FORM_SCATTER] = "scatter",
    [PYRO_FORM_FILL] = "fill",
    [PYRO_FORM_ANY] = "any",
};

const char *pyro_work_form_name(pyro_work_form form)
{
    return form < PYRO_FORM_COUNT ? names[form] : "";
}

pyro_work_form pyro_work_form_from_name(const char *name)
{
    int form = 0;
    while (form < PYRO_FORM_COUNT && strcmp(names[form], name) != 0)
        form++;
    return (pyro_work_form)form;
}

pyro_work_form pyro_work_form_of_backward(pyro_work_kind kind, pyro_work_form form)
{
    if (kind == PYRO_WORK_EMBEDDING)
        return PYRO_FORM_SCATTER;
    if (kind != PYRO_WORK_NORM)
        return form;
    return form == PYRO_FORM_PLAIN ? PYRO_FORM_GRADIENT : PYRO_FORM_STATISTICS_GRADIENT;
}

static bool is_one_of(const char *label, const char *const *labels)
{
    while (*labels && strcmp(label, *labels) != 0)
        labels++;
    return *labels != NULL;
}

/* The first tensor that is given. */
static const pyro_tensor *first_of(const pyro_call *call)
{
    const pyro_tensor *first = pyro_call_first_tensor(call);
    return first && first->dims && first->rank && first->elements > 0 ? first : NULL;
}

static void set_rows(struct pyro_op_work *work, const pyro_tensor *tensor, int64_t rows)
{
    if (rows > 0 && rows <= tensor->elements) {
        work->m = rows;
        work->n = tensor->elements / rows;
    }
}

/* The tokens of a layer are never a row of its memory; those of other products may be. */
static pyro_work_form form_of_product(const struct pyro_op_work *work, const pyro_call *call)
{
    int64_t width = pyro_dtype_bytes(pyro_dtype_from_name(work->dtype));
    int64_t step = width > 0 && width < ALIGNMENT ? ALIGNMENT / width : 1;
    bool is_layer = !strstr(call->op->label, "MatMul");
    bool is_aligned = work->n % step == 0 && work->k % step == 0 &&
                      (is_layer || work->m / (work->parts > 0 ? work->parts : 1) % step == 0);
    return is_aligned ? PYRO_FORM_PLAIN : PYRO_FORM_UNALIGNED;
}

static pyro_work_form form_of_convolution(const struct pyro_op_work *work, const pyro_call *call,
                                          bool backward)
{
    const pyro_tensor *weight = pyro_call_tensor(call, "weight", backward ? 2 : 1);
    if (work->parts > 1)
        return PYRO_FORM_GROUPED;
    if (!weight || weight->rank < 2)
        return PYRO_FORM_PLAIN;
    for (size_t i = 2; i < weight->rank; i++)
        if (weight->dims[i] != 1)
            return PYRO_FORM_PLAIN;
    return PYRO_FORM_POINTWISE;
}

/* A mean per sample and channel, per sample and group of channels, or per channel of a batch. */
static pyro_work_form form_of_norm(struct pyro_op_work *work, const pyro_call *call, bool backward)
{
    const char *label = call->op->label;
    const pyro_tensor *tensor = first_of(call);
    pyro_work_form form = PYRO_FORM_STATISTICS;

    if (!tensor || tensor->rank < 2)
        return backward ? PYRO_FORM_GRADIENT : PYRO_FORM_PLAIN;
    int64_t samples = tensor->dims[0], channels = tensor->dims[1];
    if (strncmp(label, "Batch", 5) == 0) {
        bool knows = !backward && !pyro_call_integer(call, "training", 5, 0);
        form = knows ? PYRO_FORM_SCALE : form;
        set_rows(work, tensor, knows ? samples * channels : channels);
    } else if (strncmp(label, "Group", 5) == 0) {
        const pyro_tensor *mean = backward ? pyro_call_tensor(call, "mean", 2) : NULL;
        int64_t groups = pyro_call_integer(call, "num_groups", 1, 0);
        groups = groups > 0 ? groups : pyro_call_integer(call, "group", 6, 0);
        set_rows(work, tensor,
                 mean                                   ? mean->elements
                 : groups > 0 && channels % groups == 0 ? samples * groups
                                                        : 0);
    } else if (strncmp(label, "Instance", 8) == 0) {
        set_rows(work, tensor, samples * channels);
    } else {
        int64_t last = tensor->dims[tensor->rank - 1];
        set_rows(work, tensor, last > 0 ? tensor->elements / last : 0);
        form = PYRO_FORM_PLAIN;
    }
    return backward ? pyro_work_form_of_backward(PYRO_WORK_NORM, form) : form;
}

static pyro_work_form form_of_reduction(struct pyro_op_work *work, const pyro_call *call)
{
    static const char *const orders[] = {"Sort",   "Argsort",  "Topk",      "Msort", "Search",
                                         "Median", "Kthvalue", "Nanmedian", NULL};
    const pyro_tensor *tensor = first_of(call);
    const pyro_tensor *output = call->output_count ? &call->outputs[0] : NULL;

    if (call->op->category == PYRO_CATEGORY_POOLING)
        return PYRO_FORM_WINDOW;
    if (is_one_of(call->op->label, orders) || strncmp(call->op->label, "Cum", 3) == 0)
        return PYRO_FORM_ORDER;
    if (!tensor || !output || output->elements <= 0)
        return PYRO_FORM_PLAIN;
    set_rows(work, tensor, output->elements);
    int64_t last = tensor->dims[tensor->rank - 1];
    bool keeps_columns = output->rank > 0 && last > 1 && output->elements < tensor->elements &&
                         output->dims[output->rank - 1] == last;
    return keeps_columns ? PYRO_FORM_COLUMNS : PYRO_FORM_PLAIN;
}

static pyro_work_form form_of(struct pyro_op_work *work, pyro_work_kind kind, const pyro_call *call)
{
    static const char *const fills[] = {"Create", "Random", "ForeachZero", NULL};
    const char *label = call->op->label;
    bool backward = strstr(label, "Backward") != NULL;
    const pyro_tensor *tensor = first_of(call);

    switch (kind) {
    case PYRO_WORK_GEMM:
    case PYRO_WORK_GEMV:
        return form_of_product(work, call);
    case PYRO_WORK_CONV:
    case PYRO_WORK_CONV_BACKWARD:
        return form_of_convolution(work, call, backward);
    case PYRO_WORK_NORM:
        return form_of_norm(work, call, backward);
    case PYRO_WORK_SOFTMAX:
        if (tensor && tensor->dims[tensor->rank - 1] > 0)
            set_rows(work, tensor, tensor->elements / tensor->dims[tensor->rank - 1]);
        return PYRO_FORM_PLAIN;
    case PYRO_WORK_REDUCTION:
        return form_of_reduction(work, call);
    case PYRO_WORK_ELEMENTWISE:
        return call->op->category == PYRO_CATEGORY_RESAMPLING ? PYRO_FORM_WINDOW : PYRO_FORM_PLAIN;
    case PYRO_WORK_EMBEDDING:
        return backward || strcmp(label, "Scatter") == 0 ? PYRO_FORM_SCATTER : PYRO_FORM_PLAIN;
    case PYRO_WORK_COPY:
        return is_one_of(label, fills) ? PYRO_FORM_FILL : PYRO_FORM_PLAIN;
    default:
        return PYRO_FORM_PLAIN;
    }
}

void pyro_work_set_form(struct pyro_op_work *work, pyro_work_kind kind, const pyro_call *call)
{
    work->form = (uint8_t)form_of(work, kind, call);
}

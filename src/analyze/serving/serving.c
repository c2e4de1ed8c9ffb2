/*
 * Analyses serving steps: what each computed, how fast, and how much of the device's peak rates it
 * used. Loads come from the engines' annotations, sizes of attention from shapes in the trace or from
 * the model, other work from the model. What is missing is noted and stays unknown.
 */
#include "analyze/serving/serving.h"

#include "analyze/intervals.h"
#include "base/error.h"
#include "hardware/hardware.h"

typedef struct pricing {
    pyro_attention_shape attention; /* of one device */
    pyro_served_model model; /* of the whole model */
    bool has_attention, has_model;
    double devices; /* that share the model */
    double peak_flops_per_s, peak_bytes_per_s; /* 0 unknown */
} pricing;

static const char *const kinds[] = {"prefill", "decode", "mixed", "verify", "draft"};

static int64_t add_known(int64_t a, int64_t b)
{
    return a < 0 || b < 0 ? -1 : pyro_add_ns(a, b);
}

/* Pairs of queries and keys under a causal mask: a request's last query sees all its keys. If the
 * sum of sq x sk is missing, no keys were cached before. */
static int64_t count_pairs(const pyro_serving_load *load)
{
    int64_t all = load->sqsk >= 0 ? load->sqsk : load->sqsq;
    if (load->requests == 0)
        return 0;
    if (all < 0 || load->sqsq < 0 || load->sq < 0 || load->sqsq < load->sq)
        return -1;
    int64_t masked = (load->sqsq - load->sq) / 2;
    return all > masked ? all - masked : 0;
}

static int64_t to_count(double amount)
{
    return amount >= 0 && amount < 9e18 ? (int64_t)amount : -1;
}

static void price_attention(const pricing *prices, const pyro_serving_mark *mark,
                            pyro_serving_step *row)
{
    const pyro_attention_shape *shape = &prices->attention;
    int64_t pairs = add_known(count_pairs(&mark->context), count_pairs(&mark->generation));
    if (prices->has_attention && pairs >= 0)
        row->attention_flops = to_count(4.0 * (double)shape->heads * (double)shape->head_size *
                                        (double)shape->layers * (double)pairs);
}

/* How long the step itself took: the work before it may not be in the file. */
static double seconds_of(const pyro_serving_step *row)
{
    return (double)(row->span_ns - row->waited_ns) / 1e9;
}

static void price_model(const pricing *prices, const pyro_serving_mark *mark,
                        pyro_serving_step *row)
{
    const pyro_attention_shape *shape = &prices->attention;
    int64_t keys = add_known(mark->context.sk, mark->generation.sk);
    double seconds = seconds_of(row);
    if (!prices->has_model || row->tokens < 0 || row->requests < 0)
        return;
    if (row->attention_flops >= 0)
        row->flops = to_count((prices->model.flops_per_token * (double)row->tokens +
                               prices->model.flops_per_request * (double)row->requests) /
                                  prices->devices +
                              (double)row->attention_flops);
    if (keys >= 0 && prices->has_attention)
        row->bytes = to_count(prices->model.weight_bytes / prices->devices +
                              2.0 * (double)keys * (double)shape->kv_heads *
                                  (double)shape->head_size * (double)shape->layers *
                                  (double)pyro_dtype_bytes(shape->dtype));
    if (row->flops >= 0 && prices->peak_flops_per_s > 0 && seconds > 0)
        row->peak_share = (double)row->flops / seconds / prices->peak_flops_per_s;
    if (row->bytes >= 0 && prices->peak_bytes_per_s > 0 && seconds > 0)
        row->bandwidth_share = (double)row->bytes / seconds / prices->peak_bytes_per_s;
}

static void fill_row(const pricing *prices, const pyro_step_row *step, int64_t waited_ns,
                     const pyro_serving_mark *mark, pyro_serving_step *row)
{
    bool is_split = mark->context.requests >= 0 && mark->generation.requests >= 0;
    *row = (pyro_serving_step){
        .kind = kinds[mark->kind],
        .number = step->number,
        .start_ns = step->start_ns,
        .span_ns = step->span_ns,
        .busy_ns = step->span_ns - step->idle_ns,
        .waited_ns = waited_ns,
        .context_requests = is_split ? mark->context.requests : -1,
        .generation_requests = is_split ? mark->generation.requests : -1,
        .requests = is_split ? add_known(mark->context.requests, mark->generation.requests)
                             : mark->context.requests,
        .context_tokens = mark->context.sq,
        .generation_tokens = mark->generation.sq,
        .tokens = add_known(mark->context.sq, mark->generation.sq),
        .tokens_per_s = -1,
        .attention_flops = -1,
        .flops = -1,
        .bytes = -1,
        .peak_share = -1,
        .bandwidth_share = -1,
    };
    if (row->tokens >= 0 && seconds_of(row) > 0)
        row->tokens_per_s = (double)row->tokens / seconds_of(row);
    price_attention(prices, mark, row);
    price_model(prices, mark, row);
}

/* What decides a step's size: its requests in decode; where no step decodes, its tokens. */
static int64_t load_of(const pyro_serving_step *row, bool decodes)
{
    return decodes ? row->generation_requests : row->tokens;
}

/* The longest stretch of steps with at least nine tenths of the largest load. */
static void find_steady(pyro_serving_step *rows, size_t count, pyro_serving_summary *summary)
{
    size_t begin = 0, best = 0, best_count = 0;
    int64_t most = 0;
    bool decodes = false;
    for (size_t i = 0; i < count; i++)
        decodes |= rows[i].generation_requests > 0;
    for (size_t i = 0; i < count; i++)
        most = load_of(&rows[i], decodes) > most ? load_of(&rows[i], decodes) : most;
    for (size_t i = 0; i < count; i++) {
        if (load_of(&rows[i], decodes) < most - most / 10)
            begin = i + 1;
        else if (i + 1 - begin > best_count) {
            best = begin;
            best_count = i + 1 - begin;
        }
    }
    int64_t tokens = 0, generated = 0, span_ns = 0;
    for (size_t i = best; i < best + best_count; i++) {
        rows[i].steady = true;
        tokens = add_known(tokens, rows[i].tokens);
        generated = add_known(generated, rows[i].generation_tokens);
        span_ns = pyro_add_ns(span_ns, rows[i].span_ns - rows[i].waited_ns);
    }
    summary->steady_steps = (int64_t)best_count;
    if (!most || !best_count || span_ns <= 0)
        return;
    summary->steady_first = rows[best].number;
    summary->steady_last = rows[best + best_count - 1].number;
    summary->steady_tokens_per_s = tokens < 0 ? -1 : (double)tokens * 1e9 / (double)span_ns;
    summary->steady_generation_tokens_per_s = generated < 0
                                                  ? -1
                                                  : (double)generated * 1e9 / (double)span_ns;
}

/* Engines split a model over devices; heads in the trace tell over how many. */
static void find_devices(const pyro_analysis_context *context, pricing *prices)
{
    int64_t all = prices->model.attention.heads, here = prices->attention.heads;
    prices->devices = 1;
    if (here > 0 && all > here && all % here == 0)
        prices->devices = (double)(all / here);
    else if (here <= 0 && context->trace->world_size > 1)
        prices->has_model = false; /* no way to know */
}

static int find_prices(pyro_analysis_context *context, pricing *prices)
{
    pyro_model *model = context->options->model;
    pyro_serving_summary *summary = &context->result->serving_summary;
    int status = pyro_attention_of_trace(context, &prices->attention);
    if (status)
        return status;
    pyro_dtype dtype = prices->attention.dtype;
    if (dtype == PYRO_DTYPE_UNKNOWN || !pyro_dtype_is_floating(dtype))
        dtype = PYRO_DTYPE_BFLOAT16;
    prices->has_model = model && pyro_read_served_model(model, dtype, &prices->model);
    if (prices->has_model)
        find_devices(context, prices);
    summary->shapes_from = "trace";
    if (!prices->attention.layers && prices->has_model) {
        prices->attention = prices->model.attention;
        summary->shapes_from = "model";
    }
    if (prices->attention.dtype == PYRO_DTYPE_UNKNOWN)
        prices->attention.dtype = dtype;
    prices->has_attention = prices->attention.layers > 0;
    prices->peak_flops_per_s = pyro_context_peak(context, true, (uint8_t)dtype);
    prices->peak_bytes_per_s = context->chip ? pyro_chip_bytes_per_s(context->chip) : 0;
    if (!prices->has_attention) {
        summary->shapes_from = "";
        return PYRO_OK;
    }
    summary->heads = prices->attention.heads;
    summary->kv_heads = prices->attention.kv_heads;
    summary->head_size = prices->attention.head_size;
    summary->layers = prices->attention.layers;
    return PYRO_OK;
}

/* Rates over the peak tell that the wrong model was given. */
static int note_implausible(pyro_analysis_context *context)
{
    const pyro_analysis *result = context->result;
    for (size_t i = 0; i < result->serving_count; i++)
        if (result->serving[i].peak_share > 1 || result->serving[i].bandwidth_share > 1)
            return pyro_context_note(context,
                                     "serving: step %lld would exceed the chip's peak rates; "
                                     "is --model the model that ran?",
                                     (long long)result->serving[i].number);
    return PYRO_OK;
}

static int note_missing(pyro_analysis_context *context, const pricing *prices)
{
    const pyro_analysis *result = context->result;
    bool has_sums = false;
    for (size_t i = 0; i < result->serving_count; i++) {
        const pyro_serving_mark *mark = &context->joins->serving[result->serving[i].number];
        has_sums |= count_pairs(&mark->context) >= 0 && count_pairs(&mark->generation) >= 0;
    }
    if (!has_sums)
        return pyro_context_note(context,
                                 "serving: the annotations hold no sums of sq and sk, so attention "
                                 "has no FLOPs; record with detailed annotations");
    if (!prices->has_attention)
        return pyro_context_note(context,
                                 "serving: heads and head size are unknown, so attention has no "
                                 "FLOPs; give --model, or record shapes");
    if (!prices->has_model)
        return pyro_context_note(context, "serving: MFU and bandwidth use need %s",
                                 context->options->model
                                     ? "a language model that one device runs, or shapes in the "
                                       "trace that show how it is split"
                                     : "the weights: give --model");
    return note_implausible(context);
}

static int64_t waited_in(const pyro_analysis *result, int64_t step)
{
    for (size_t i = 0; i < result->cause_count; i++)
        if (result->causes[i].step == step && result->causes[i].cause == PYRO_CAUSE_UNRECORDED)
            return result->causes[i].time_ns;
    return 0;
}

/* Says what rates leave out, where it is more than a tenth of the steps. */
static int note_waits(pyro_analysis_context *context)
{
    const pyro_analysis *result = context->result;
    int64_t waited_ns = 0, span_ns = 0;
    for (size_t i = 0; i < result->serving_count; i++) {
        waited_ns = pyro_add_ns(waited_ns, result->serving[i].waited_ns);
        span_ns = pyro_add_ns(span_ns, result->serving[i].span_ns);
    }
    if (waited_ns <= span_ns / 10)
        return PYRO_OK;
    return pyro_context_note(context,
                             "serving: times and rates leave out %.1f ms in which the host waited "
                             "for work that is not in the file",
                             (double)waited_ns / 1e6);
}

int pyro_make_serving(pyro_analysis_context *context)
{
    const pyro_joins *joins = context->joins;
    pyro_analysis *result = context->result;
    pricing prices = {0};
    result->serving_summary = (pyro_serving_summary){.engine = "",
                                                     .shapes_from = "",
                                                     .heads = -1,
                                                     .kv_heads = -1,
                                                     .head_size = -1,
                                                     .layers = -1,
                                                     .steady_first = -1,
                                                     .steady_last = -1,
                                                     .steady_tokens_per_s = -1,
                                                     .steady_generation_tokens_per_s = -1};
    if (joins->step_source != PYRO_STEPS_SERVING)
        return PYRO_OK;
    pyro_serving_step *rows = pyro_arena_array(context->arena, result->step_count, sizeof *rows);
    if (!rows)
        return pyro_fail_memory(context->error);
    int status = find_prices(context, &prices);
    if (status)
        return status;
    for (size_t i = 0; i < result->step_count; i++)
        fill_row(&prices, &result->steps[i], waited_in(result, result->steps[i].number),
                 &joins->serving[result->steps[i].number], &rows[i]);
    result->serving = rows;
    result->serving_count = result->step_count;
    result->serving_summary.engine = joins->serving[0].is_sglang ? "SGLang" : "vLLM";
    find_steady(rows, result->serving_count, &result->serving_summary);
    status = note_waits(context);
    return status ? status : note_missing(context, &prices);
}

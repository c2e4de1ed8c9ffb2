/* Computes whether a model fits: reads it once, then answers for every chip. */
#include "fit/fit.h"

#include "base/error.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_GPUS = 1024, MOST_GIVEN_GPUS = 1000000 };

static const struct {
    const char *name, *title;
} parts[] = {
    [PYRO_FIT_WEIGHTS] = {"weights", "Weights"},
    [PYRO_FIT_MASTER_WEIGHTS] = {"master_weights", "Master weights"},
    [PYRO_FIT_GRADIENTS] = {"gradients", "Gradients"},
    [PYRO_FIT_OPTIMIZER_STATES] = {"optimizer_states", "Optimizer states"},
    [PYRO_FIT_OPTIMIZER_SCRATCH] = {"optimizer_scratch", "Optimizer scratch"},
    [PYRO_FIT_ACTIVATIONS] = {"activations", "Activations"},
    [PYRO_FIT_KV_CACHE] = {"kv_cache", "KV cache"},
    [PYRO_FIT_BUFFERS] = {"buffers", "Buffers"},
    [PYRO_FIT_RESERVE] = {"reserve", "Reserve"},
};

const char *pyro_fit_part_name(pyro_fit_part part)
{
    return parts[part].name;
}

const char *pyro_fit_part_title(pyro_fit_part part)
{
    return parts[part].title;
}

/* The options that are wrong whatever the model is. */
static int check_options(const pyro_fit_options *options, pyro_error *error)
{
    const char *alone = !options->train           ? NULL
                        : options->concurrent > 0 ? "--concurrent"
                        : options->cache_dtype    ? "--kv-cache"
                                                  : NULL;
    if (alone)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                         "%s is for inference: training has no key-value cache", alone);
    if (!options->train && options->micro_batches > 0)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT, "--micro-batches requires --train");
    if (options->gpus < 0 || options->gpus > MOST_GIVEN_GPUS)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT, "--gpus must be 1 to %d", MOST_GIVEN_GPUS);
    return PYRO_OK;
}

/* Completes a layout by the number of GPUs, and checks it against the model. */
static int complete_layout(const fit_run *run, pyro_layout *layout, bool given_data,
                           pyro_error *error)
{
    int64_t gpus = run->options->gpus, replica = layout->tensor * layout->pipeline;
    if (gpus && !given_data && gpus % replica == 0)
        layout->data = gpus / replica;
    if (gpus && fit_gpus(layout) != gpus)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                         "the layout has tp %lld x pp %lld x dp %lld = %lld GPUs, not %lld",
                         (long long)layout->tensor, (long long)layout->pipeline,
                         (long long)layout->data, (long long)fit_gpus(layout), (long long)gpus);
    if (layout->sharding != PYRO_SHARDING_NONE && layout->data == 1 && !gpus && !given_data)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                         "%s divides the model among GPUs: give their number with --gpus or dp=N",
                         pyro_sharding_name(layout->sharding));
    if (layout->pipeline > 1 && layout->pipeline > (int64_t)run->load.block_count)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                         "a pipeline of %lld stages needs as many blocks; the model has %zu",
                         (long long)layout->pipeline, run->load.block_count);
    if (layout->expert > 1 && !run->load.experts)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT, "ep=%lld: the model has no experts",
                         (long long)layout->expert);
    if (layout->expert > 1 && layout->expert > run->load.experts)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT, "ep=%lld: the model has only %lld experts",
                         (long long)layout->expert, (long long)run->load.experts);
    if (layout->tensor * layout->data % layout->expert)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT, "ep=%lld does not divide tp x dp = %lld",
                         (long long)layout->expert, (long long)(layout->tensor * layout->data));
    if (run->load.heads && layout->tensor > run->load.heads)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                         "tp=%lld is more than the model's %lld attention heads",
                         (long long)layout->tensor, (long long)run->load.heads);
    return PYRO_OK;
}

/* The fewest GPUs, as powers of two, that hold the model. */
static int find_fewest(fit_run *run, const pyro_fit_answer *answer, pyro_layout *layout,
                       int64_t *gpus, pyro_error *error)
{
    fit_setting setting = fit_setting_of(run, answer);
    pyro_layout tried;
    bool fits = false;
    int status = PYRO_OK;
    *gpus = 0;
    for (int64_t count = 1; status == PYRO_OK && !fits && count <= MOST_GPUS; count *= 2) {
        status = fit_choose(&tried, &fits, &run->load, &setting, count, error);
        *layout = tried;
        *gpus = fits ? count : 0;
    }
    return status;
}

static int choose_layout(fit_run *run, pyro_fit_answer *answer, pyro_error *error)
{
    const char *text = run->options->parallel;
    int64_t gpus = run->options->gpus, found;
    fit_setting setting;
    bool given_data, fits;
    answer->layout = (pyro_layout){.tensor = 1, .pipeline = 1, .data = 1, .expert = 1};
    if (text && strcmp(text, "auto") != 0) {
        int status = pyro_layout_parse(&answer->layout, &given_data, text, error);
        return status < 0 ? status : complete_layout(run, &answer->layout, given_data, error);
    }
    if (!text && gpus <= 1)
        return PYRO_OK;
    answer->chosen = true;
    if (!gpus)
        return find_fewest(run, answer, &answer->layout, &found, error);
    setting = fit_setting_of(run, answer);
    return fit_choose(&answer->layout, &fits, &run->load, &setting, gpus, error);
}

/* Says where the peak is. */
static int name_peak(fit_run *run, pyro_fit_answer *answer, pyro_error *error)
{
    const pyro_graph *graph = run->load.model->graph;
    const pyro_train *train = run->load.train;
    size_t step = answer->rank.peak_step;
    const char *phase = "forward", *node = "", *layer = "";
    if (train && step < train->curve_count) {
        phase = pyro_train_phase_name(train->curve[step].phase);
        node = train->curve[step].node;
        layer = train->curve[step].layer;
    } else if (!train && step < graph->node_count) {
        node = graph->nodes[step].name;
        layer = run->model->modules[graph->nodes[step].module].path;
    }
    answer->peak = pyro_arena_format(&run->fit->store->arena, "%s%s%s%s%s%s", phase,
                                     *node ? " of " : "", node, *layer ? " (" : "", layer,
                                     *layer ? ")" : "");
    return answer->peak ? PYRO_OK : pyro_fail_memory(error);
}

static int answer_for(fit_run *run, pyro_fit_answer *answer, pyro_error *error)
{
    int status = choose_layout(run, answer, error);
    fit_setting setting = fit_setting_of(run, answer);
    if (status == PYRO_OK)
        status = fit_rank(&answer->rank, &run->load, &answer->layout, &setting, error);
    if (status < 0)
        return status;
    run->fit->micro_batches = setting.micro_batches;
    answer->gpus = fit_gpus(&answer->layout);
    answer->margin_bytes = answer->memory_bytes - answer->rank.total_bytes;
    answer->fits = answer->margin_bytes >= 0;
    answer->largest_batch = answer->largest_sequence = answer->largest_concurrent = -1;
    status = name_peak(run, answer, error);
    if (status < 0 || run->options->without_search)
        return status;
    if (!answer->fits)
        status = find_fewest(run, answer, &answer->enough, &answer->enough_gpus, error);
    if (status == PYRO_OK)
        status = fit_find_levers(run, answer, error);
    return status == PYRO_OK ? fit_find_largest(run, answer, error) : status;
}

static int read_cache_dtype(fit_run *run, pyro_error *error)
{
    const char *name = run->options->cache_dtype;
    pyro_dtype dtype = pyro_dtype_from_name(name ? name : pyro_cost_dtype(run->load.cost));
    int64_t bytes = 0;
    if (name && (dtype == PYRO_DTYPE_UNKNOWN || dtype == PYRO_DTYPE_BOOL))
        return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                         "\"%.40s\" is no type of a cache: use bfloat16, float16, fp8, int8, fp4 "
                         "or another element type",
                         name);
    run->fit->cache_dtype = "";
    if (run->load.train || !run->load.generates)
        return PYRO_OK;
    if (dtype == PYRO_DTYPE_UNKNOWN || !pyro_dtype_storage(dtype, 1024, &bytes))
        bytes = 2048;
    run->setting.cache_value_bytes = (double)bytes / 1024;
    run->fit->cache_dtype = pyro_dtype_name(dtype);
    run->fit->cache_bytes_per_token = (int64_t)((double)run->load.cache_values_per_token *
                                                run->setting.cache_value_bytes);
    return PYRO_OK;
}

static void fill_head(fit_run *run)
{
    pyro_fit *fit = run->fit;
    const fit_load *load = &run->load;
    fit->model = pyro_model_name(run->model);
    fit->dtype = pyro_cost_dtype(load->cost);
    fit->training = load->train != NULL;
    if (run->options->train)
        fit->train = *run->options->train;
    fit->batch = load->batch;
    fit->sequence = load->sequence;
    fit->heads = load->heads;
    fit->cache_heads = load->cache_heads;
    fit->parameters = pyro_cost_total(load->cost)->work.params;
    fit->concurrent = run->options->concurrent ? run->options->concurrent
                      : load->batch > 0        ? load->batch
                                               : 1;
}

/* Copies what the caller or the load owns, so that the result outlives both. */
static int keep_texts(fit_run *run, pyro_error *error)
{
    pyro_fit *fit = run->fit;
    const char **texts[] = {&fit->model, &fit->dtype, &fit->train.freeze, &fit->train.lora};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (*texts[i]) {
            *texts[i] = pyro_arena_text(&fit->store->arena, *texts[i], strlen(*texts[i]));
            if (!*texts[i])
                return pyro_fail_memory(error);
        }
    return PYRO_OK;
}

static int compute(fit_run *run, pyro_error *error)
{
    int status = check_options(run->options, error);
    if (status == PYRO_OK)
        status = fit_find_chips(run, error);
    if (status == PYRO_OK)
        status = fit_load_read(&run->load, run->model, run->options->cost, run->options->train,
                               error);
    if (status == PYRO_OK)
        status = read_cache_dtype(run, error);
    if (status != PYRO_OK)
        return status;
    run->setting.reserve_bytes = run->options->reserve_bytes;
    fill_head(run);
    for (size_t i = 0; status == PYRO_OK && i < run->fit->answer_count; i++)
        status = answer_for(run, &run->fit->answers[i], error);
    if (status == PYRO_OK)
        status = keep_texts(run, error);
    return status == PYRO_OK ? fit_describe(run, error) : status;
}

int pyro_fit_compute(pyro_fit **out, pyro_model *model, const pyro_fit_options *options,
                     pyro_error *error)
{
    pyro_fit *fit = calloc(1, sizeof *fit);
    struct pyro_fit_store *store = calloc(1, sizeof *store);
    if (!fit || !store) {
        free(fit);
        free(store);
        return pyro_fail_memory(error);
    }
    pyro_arena_init(&store->arena);
    fit->store = store;
    fit_run run = {.model = model, .options = options, .fit = fit};
    int status = compute(&run, error);
    fit_load_free(&run.load);
    if (status < 0) {
        pyro_fit_free(fit);
        return status;
    }
    *out = fit;
    return PYRO_OK;
}

void pyro_fit_free(pyro_fit *fit)
{
    if (!fit)
        return;
    pyro_arena_free(&fit->store->arena);
    free(fit->store);
    free(fit);
}

/* Says in words what the numbers assume, and what padding adds. */
#include "base/error.h"
#include "fit/fit.h"
#include <stdarg.h>
#include <stdio.h>

enum { MOST_TEXTS = 24, TEXT_BYTES = 400, NODE_GPUS = 8 };

typedef struct texts {
    fit_run *run;
    const char ***items;
    size_t *count;
    bool failed;
} texts;

__attribute__((format(printf, 2, 3))) static void say(texts *t, const char *format, ...)
{
    char text[TEXT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (*t->count >= MOST_TEXTS)
        return;
    const char *copy = pyro_arena_format(&t->run->fit->store->arena, "%s", text);
    t->failed |= !copy;
    if (copy)
        (*t->items)[(*t->count)++] = copy;
}

static long long mebibytes(int64_t bytes)
{
    return (long long)(bytes >> 20);
}

static void assume_reserve(texts *t, const pyro_layout *layout)
{
    int64_t given = t->run->options->reserve_bytes;
    double share = t->run->fit->answers[0].driver_share;
    if (given >= 0) {
        say(t,
            "reserve: %lld MiB as given for driver, CUDA context and NCCL; for fragmentation %.0f%% "
            "of activations and gradients, and %.0f%% of the largest allocation",
            mebibytes(given), 100 * FIT_FRAGMENTATION_SHARE, 100 * FIT_LARGEST_SHARE);
    } else {
        say(t,
            "reserve: %lld MiB for the CUDA context, %.0f%% of the memory for %s%s; for "
            "fragmentation %.0f%% of activations and gradients, and %.0f%% of the largest "
            "allocation; --reserve replaces the first%s",
            mebibytes(FIT_CONTEXT_BYTES), 100 * share,
            share > FIT_DRIVER_SHARE ? "the driver and error correction" : "the driver",
            fit_gpus(layout) > 1 ? ", 400 MiB for NCCL per kind of parallelism" : "",
            100 * FIT_FRAGMENTATION_SHARE, 100 * FIT_LARGEST_SHARE,
            fit_gpus(layout) > 1 ? " three" : " two");
    }
    if (fit_gpus(layout) > NODE_GPUS)
        say(t, "communication: the time is that of the link inside a node; the network between "
               "nodes is slower");
    say(t, "buffers: %lld MiB for workspaces of kernels%s", mebibytes(FIT_WORKSPACE_BYTES),
        layout->data <= 1 || !t->run->load.train ? ""
        : layout->sharding >= PYRO_SHARDING_ZERO3
            ? ", the gathered weights of two blocks and of what is outside of blocks, and the "
              "gradients of one block"
        : layout->sharding >= PYRO_SHARDING_ZERO1
            ? ", and the gradients of one block"
            : ", and DistributedDataParallel's buckets, a copy of the gradients");
}

static void assume_training(texts *t, const pyro_layout *layout)
{
    say(t, "training: the loss is computed from the model's outputs without memory of its own; "
           "gradients are set to None before each step");
    if (t->run->fit->micro_batches > 1)
        say(t,
            "pipeline: one forward, one backward (1F1B) with %lld micro-batches; a stage keeps "
            "the activations of as many micro-batches as there are stages from it to the last",
            (long long)t->run->fit->micro_batches);
    if (layout->tensor > 1 && !layout->sequence)
        say(t, "tensor parallelism: activations between split products are whole on every GPU; "
               "sequence parallelism (sp) divides them");
}

static void assume_inference(texts *t)
{
    const fit_load *load = &t->run->load;
    if (!load->generates)
        return;
    say(t, "KV cache: paged in blocks of %d tokens; sliding windows are not used to shorten it",
        PYRO_FIT_BLOCK_TOKENS);
    say(t, "activations: one forward pass over the batch (a prefill), without splitting prompts "
           "into chunks; logits of the last token of each sequence");
}

static void note_padding(texts *t, const pyro_layout *layout)
{
    const fit_load *load = &t->run->load;
    int64_t ranks = layout->tensor, heads = load->heads, cache = load->cache_heads;
    if (ranks > 1 && heads > 0 && heads % ranks)
        say(t, "%lld attention heads on %lld ranks are padded to %lld", (long long)heads,
            (long long)ranks, (long long)(fit_part(heads, ranks) * ranks));
    if (ranks > 1 && cache > 0 && cache != heads && cache % ranks)
        say(t, "%lld key and value heads on %lld ranks: every rank holds %lld", (long long)cache,
            (long long)ranks, (long long)fit_part(cache, ranks));
    for (size_t i = 0; ranks > 1 && i < load->model->parameter_count; i++) {
        const fit_parameter *p = &load->parameters[i];
        int64_t multiple = PYRO_FIT_VOCABULARY_MULTIPLE * ranks;
        if (p->split != FIT_VOCABULARY || p->units % multiple == 0)
            continue;
        say(t, "a vocabulary of %lld words is padded to %lld, a multiple of %d x %lld",
            (long long)p->units, (long long)(fit_part(p->units, multiple) * multiple),
            PYRO_FIT_VOCABULARY_MULTIPLE, (long long)ranks);
        break;
    }
    if (ranks > 1 && !load->transfer_count)
        say(t, "tensor parallelism divides linear layers and tables only: this model has none "
               "that are worth it");
    if (load->experts && layout->expert > 1 && load->experts % layout->expert)
        say(t, "%lld experts on %lld ranks: some ranks hold %lld", (long long)load->experts,
            (long long)layout->expert, (long long)fit_part(load->experts, layout->expert));
}

static void note_model(texts *t)
{
    size_t count;
    const char *const *notes = t->run->load.train ? pyro_train_notes(t->run->load.train, &count)
                                                  : pyro_cost_notes(t->run->load.cost, &count);
    const fit_load *load = &t->run->load;
    for (size_t i = 0; i < count; i++)
        say(t, "%s", notes[i]);
    if (!load->model->graph->node_count)
        say(t, "the file has weights but no operators: activations are not included");
    if (load->sequence > 0 && !load->cache_values_per_token && !load->train &&
        load->attention_count)
        say(t, "the file does not say what a key-value cache would hold: it is not included");
}

int fit_describe(fit_run *run, pyro_error *error)
{
    pyro_fit *fit = run->fit;
    pyro_arena *arena = &fit->store->arena;
    texts assumptions = {run, &fit->assumptions, &fit->assumption_count, false};
    texts notes = {run, &fit->notes, &fit->note_count, false};
    const pyro_layout *layout = &fit->answers[0].layout;
    fit->assumptions = pyro_arena_array(arena, MOST_TEXTS, sizeof *fit->assumptions);
    fit->notes = pyro_arena_array(arena, MOST_TEXTS, sizeof *fit->notes);
    if (!fit->assumptions || !fit->notes)
        return pyro_fail_memory(error);
    if (run->load.train)
        assume_training(&assumptions, layout);
    else
        assume_inference(&assumptions);
    assume_reserve(&assumptions, layout);
    note_padding(&notes, layout);
    note_model(&notes);
    return assumptions.failed || notes.failed ? pyro_fail_memory(error) : PYRO_OK;
}

/*
 * Bytes per GPU in 30 layouts of two language models, against the formulas of docs/reference/fit.md,
 * which are computed here from the sizes of the architectures alone.
 */
#include "fail_alloc.h"
#include "unit.h"

#include <pyrometer/fit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct architecture {
    const char *name;
    int64_t layers, hidden, heads, cache_heads, head_size, inner, vocabulary, experts;
} architecture;

static const architecture llama = {"llama3_8b", 32, 4096, 32, 8, 128, 14336, 128256, 0};
static const architecture mixtral = {"mixtral_8x7b", 32, 4096, 32, 8, 128, 14336, 32000, 8};

typedef struct combination {
    const architecture *of;
    int64_t tensor, pipeline, data, expert;
    const char *sharding;
} combination;

static const combination combinations[] = {
    {&llama, 1, 1, 1, 1, ""},        {&llama, 2, 1, 1, 1, ""},
    {&llama, 8, 1, 1, 1, ""},        {&llama, 16, 1, 1, 1, ""},
    {&llama, 3, 1, 1, 1, ""},        {&llama, 1, 2, 1, 1, ""},
    {&llama, 1, 5, 1, 1, ""},        {&llama, 1, 1, 8, 1, ""},
    {&llama, 1, 1, 8, 1, "zero1"},   {&llama, 1, 1, 8, 1, "zero2"},
    {&llama, 1, 1, 8, 1, "zero3"},   {&llama, 1, 1, 8, 1, "fsdp"},
    {&llama, 1, 1, 7, 1, "zero1"},   {&llama, 1, 1, 7, 1, "zero3"},
    {&llama, 1, 1, 7, 1, "fsdp"},    {&llama, 2, 2, 2, 1, ""},
    {&llama, 8, 2, 4, 1, "zero1"},   {&llama, 8, 1, 3, 1, "fsdp"},
    {&llama, 16, 1, 5, 1, "fsdp"},   {&llama, 4, 4, 2, 1, "zero2"},
    {&mixtral, 1, 1, 1, 1, ""},      {&mixtral, 8, 1, 1, 1, ""},
    {&mixtral, 8, 1, 1, 8, ""},      {&mixtral, 1, 1, 8, 8, ""},
    {&mixtral, 1, 1, 8, 4, "zero1"}, {&mixtral, 2, 1, 8, 4, "zero2"},
    {&mixtral, 1, 1, 16, 8, "fsdp"}, {&mixtral, 2, 2, 4, 8, "zero1"},
    {&mixtral, 1, 4, 4, 2, "zero3"}, {&mixtral, 3, 1, 4, 3, "zero1"},
    {&mixtral, 1, 1, 6, 3, "fsdp"},  {&mixtral, 3, 2, 1, 1, ""},
};

enum { COUNT = sizeof combinations / sizeof *combinations, TOKENS = 256, BYTES = 2 };

static int64_t up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* A parameter on one rank: its values, its rows, and the ranks that hold the same. */
typedef struct tensor {
    int64_t rows, columns, copies;
} tensor;

/* The parameters of a stage, outside of blocks and of each of its blocks. */
typedef struct stage {
    tensor outside[4], block[16];
    int outside_count, block_count;
    int64_t layers;
} stage;

static void fill_block(stage *s, const combination *c)
{
    const architecture *m = c->of;
    int64_t queries = up(m->heads, c->tensor) * m->head_size;
    int64_t keys = up(m->cache_heads, c->tensor) * m->head_size;
    const tensor attention[] = {{queries, m->hidden, c->data}, {keys, m->hidden, c->data},
                                {keys, m->hidden, c->data},    {m->hidden, queries, c->data},
                                {m->hidden, 1, c->data},       {m->hidden, 1, c->data}};
    memcpy(s->block, attention, sizeof attention);
    s->block_count = 6;
    if (!m->experts) {
        int64_t inner = up(m->inner, c->tensor);
        s->block[s->block_count++] = (tensor){inner, m->hidden, c->data};
        s->block[s->block_count++] = (tensor){inner, m->hidden, c->data};
        s->block[s->block_count++] = (tensor){m->hidden, inner, c->data};
        return;
    }
    /* Experts lie on the ranks of tensor x data; without ep each is divided like a layer. */
    bool spread = c->expert > 1;
    int64_t experts = spread ? up(m->experts, c->expert) : m->experts;
    int64_t copies = spread ? c->data * c->tensor / c->expert : c->data;
    int64_t both = spread ? 2 * m->inner : up(2 * m->inner, c->tensor);
    int64_t inner = spread ? m->inner : up(m->inner, c->tensor);
    s->block[s->block_count++] = (tensor){m->experts, m->hidden, c->data}; /* the router */
    s->block[s->block_count++] = (tensor){experts, both * m->hidden, copies};
    s->block[s->block_count++] = (tensor){experts, inner * m->hidden, copies};
}

static stage stage_of(const combination *c, int64_t index)
{
    const architecture *m = c->of;
    stage s = {0};
    int64_t words = c->tensor > 1 ? up(m->vocabulary, 128 * c->tensor) * 128 : m->vocabulary;
    for (int64_t layer = 0; layer < m->layers; layer++)
        s.layers += layer * c->pipeline / m->layers == index;
    fill_block(&s, c);
    if (index == 0)
        s.outside[s.outside_count++] = (tensor){words, m->hidden, c->data};
    if (index == c->pipeline - 1) {
        s.outside[s.outside_count++] = (tensor){words, m->hidden, c->data};
        s.outside[s.outside_count++] = (tensor){m->hidden, 1, c->data};
    }
    return s;
}

/* Values that a rank keeps of a tensor, if this part of it is divided. */
static int64_t kept(const tensor *t, const char *sharding, bool divided)
{
    if (!divided)
        return t->rows * t->columns;
    if (!strcmp(sharding, "fsdp"))
        return up(t->rows, t->copies) * t->columns;
    return up(t->rows * t->columns, t->copies);
}

static int64_t sum(const stage *s, const char *sharding, bool divided, int64_t *outside,
                   int64_t *block)
{
    *outside = *block = 0;
    for (int i = 0; i < s->outside_count; i++)
        *outside += kept(&s->outside[i], sharding, divided);
    for (int i = 0; i < s->block_count; i++)
        *block += kept(&s->block[i], sharding, divided);
    return *outside + s->layers * *block;
}

static pyro_fit *fit(const combination *c, const pyro_train_options *train)
{
    char layout[96];
    const char *chips[] = {"h100"};
    pyro_cost_options cost = {.dtype = "bfloat16", .depth = -1};
    snprintf(layout, sizeof layout, "tp=%lld,pp=%lld,dp=%lld,ep=%lld%s%s", (long long)c->tensor,
             (long long)c->pipeline, (long long)c->data, (long long)c->expert,
             *c->sharding ? "," : "", c->sharding);
    pyro_fit_options options = {.chips = chips,
                                .chip_count = 1,
                                .parallel = layout,
                                .cost = &cost,
                                .train = train,
                                .reserve_bytes = -1,
                                .concurrent = train ? 0 : 3,
                                .without_search = true};
    pyro_model *model;
    pyro_fit *result;
    assert_int_equal(pyro_model_open(&model, c->of->name, NULL), PYRO_OK);
    assert_int_equal(pyro_model_set_kind(model, "sequence", TOKENS + 1, NULL), PYRO_OK);
    assert_int_equal(pyro_fit_compute(&result, model, &options, NULL), PYRO_OK);
    pyro_model_close(model);
    return result;
}

static void check_training(const combination *c)
{
    pyro_train_options train = {.optimizer = PYRO_OPTIMIZER_ADAMW,
                                .precision = PYRO_PRECISION_BF16};
    pyro_fit *result = fit(c, &train);
    const pyro_fit_rank *rank = &result->answers[0].rank;
    stage s = stage_of(c, rank->stage);
    int level = !*c->sharding ? 0 : !strcmp(c->sharding, "fsdp") ? 3 : c->sharding[4] - '0';
    int64_t outside, block, whole_outside, whole_block;
    int64_t whole = sum(&s, c->sharding, false, &whole_outside, &whole_block);
    assert_int_equal(rank->held_bytes[PYRO_FIT_GRADIENTS],
                     BYTES * sum(&s, c->sharding, level >= 2, &outside, &block));
    assert_int_equal(rank->held_bytes[PYRO_FIT_OPTIMIZER_STATES],
                     2 * BYTES * sum(&s, c->sharding, level >= 1, &outside, &block));
    /* The tables of rotary positions are buffers, which are on every GPU. */
    int64_t weights = rank->held_bytes[PYRO_FIT_WEIGHTS] -
                      BYTES * sum(&s, c->sharding, level >= 3, &outside, &block);
    assert_true(weights >= 0 && weights <= 64 * 4);
    int64_t most = whole_outside > whole_block ? whole_outside : whole_block;
    int64_t buffers = level >= 3                  ? whole_outside + 2 * whole_block + most
                      : level >= 1 && c->data > 1 ? most
                      : c->data > 1               ? whole
                                                  : 0;
    assert_int_equal(rank->held_bytes[PYRO_FIT_BUFFERS], (64 << 20) + BYTES * buffers);
    int64_t sent = level >= 3 ? 2 * c->pipeline * whole + whole : c->data > 1 ? 2 * whole : 0;
    assert_true(llabs(rank->traffic.data_bytes - up(BYTES * sent * (c->data - 1), c->data)) <= 2);
    int64_t total = 0;
    for (int part = 0; part < PYRO_FIT_PART_COUNT; part++)
        total += rank->peak_bytes[part];
    assert_int_equal(total, rank->total_bytes);
    pyro_fit_free(result);
}

static void check_inference(const combination *c)
{
    if (*c->sharding)
        return;
    pyro_fit *result = fit(c, NULL);
    const pyro_fit_rank *rank = &result->answers[0].rank;
    const architecture *m = c->of;
    stage s = stage_of(c, rank->stage);
    int64_t tokens = up(TOKENS + 1, 16) * 16;
    assert_int_equal(rank->held_bytes[PYRO_FIT_KV_CACHE], 3 * tokens * 2 *
                                                              up(m->cache_heads, c->tensor) *
                                                              m->head_size * s.layers * BYTES);
    /* Two sums per layer and one behind the table of words, each sent as a ring. */
    bool has_table = rank->stage == 0;
    int64_t sums = c->expert > 1 ? s.layers : 2 * s.layers;
    int64_t reduced = (sums + has_table) * (TOKENS + 1) * m->hidden * BYTES;
    assert_true(llabs(rank->traffic.tensor_bytes - up(2 * reduced * (c->tensor - 1), c->tensor)) <=
                2);
    int64_t boundary = c->pipeline > 1 ? (TOKENS + 1) * m->hidden * BYTES : 0;
    assert_true(rank->traffic.pipeline_bytes >= boundary &&
                rank->traffic.pipeline_bytes <= 2 * boundary);
    pyro_fit_free(result);
}

static void test_layouts(void **state)
{
    (void)state;
    assert_true(COUNT >= 30);
    for (size_t i = 0; i < COUNT; i++) {
        check_training(&combinations[i]);
        check_inference(&combinations[i]);
    }
}

/* A layout of one GPU holds what the training step itself holds. */
static void test_one_gpu_is_the_training_step(void **state)
{
    (void)state;
    static const char *const names[] = {"resnet18", "gpt2", "mixtral_8x7b"};
    const char *chips[] = {"80GB"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        pyro_train_options train = {.optimizer = PYRO_OPTIMIZER_ADAMW,
                                    .precision = PYRO_PRECISION_BF16_MIXED,
                                    .lora = i == 1 ? "4:attn" : NULL};
        pyro_fit_options options = {
            .chips = chips, .chip_count = 1, .train = &train, .without_search = true};
        pyro_model *model;
        pyro_train *step;
        pyro_fit *result;
        assert_int_equal(pyro_model_open(&model, names[i], NULL), PYRO_OK);
        assert_int_equal(pyro_train_compute(&step, model, NULL, &train, NULL), PYRO_OK);
        assert_int_equal(pyro_fit_compute(&result, model, &options, NULL), PYRO_OK);
        const pyro_fit_rank *rank = &result->answers[0].rank;
        const pyro_train_total *total = pyro_train_get_total(step);
        assert_int_equal(rank->held_bytes[PYRO_FIT_WEIGHTS], total->weight_bytes);
        assert_int_equal(rank->held_bytes[PYRO_FIT_MASTER_WEIGHTS], total->master_weight_bytes);
        assert_int_equal(rank->held_bytes[PYRO_FIT_GRADIENTS], total->gradient_bytes);
        assert_int_equal(rank->held_bytes[PYRO_FIT_OPTIMIZER_STATES], total->optimizer_state_bytes);
        assert_int_equal(rank->total_bytes - rank->peak_bytes[PYRO_FIT_BUFFERS] -
                             rank->peak_bytes[PYRO_FIT_RESERVE],
                         total->peak_bytes);
        pyro_fit_free(result);
        pyro_train_free(step);
        pyro_model_close(model);
    }
}

static pyro_fit *search(const char *name, const char *chip, const char *parallel, int64_t gpus,
                        const pyro_train_options *train)
{
    const char *chips[] = {chip};
    pyro_fit_options options = {.chips = chips,
                                .chip_count = 1,
                                .parallel = parallel,
                                .gpus = gpus,
                                .train = train,
                                .reserve_bytes = -1};
    pyro_model *model;
    pyro_fit *result;
    assert_int_equal(pyro_model_open(&model, name, NULL), PYRO_OK);
    if (!strncmp(name, "llama", 5))
        assert_int_equal(pyro_model_set_kind(model, "sequence", 4096, NULL), PYRO_OK);
    assert_int_equal(pyro_fit_compute(&result, model, &options, NULL), PYRO_OK);
    pyro_model_close(model);
    return result;
}

/* The largest sizes fit, and one more does not. */
static void test_largest_sizes(void **state)
{
    (void)state;
    const char *chips[] = {"24GB"};
    pyro_train_options train = {.optimizer = PYRO_OPTIMIZER_SGD};
    pyro_fit *result = search("resnet50", "24GB", NULL, 0, &train);
    int64_t batch = result->answers[0].largest_batch;
    assert_true(batch > 100 && result->answers[0].largest_sequence == -1);
    pyro_fit_free(result);
    for (int64_t more = 0; more <= 1; more++) {
        pyro_fit_options options = {.chips = chips,
                                    .chip_count = 1,
                                    .train = &train,
                                    .reserve_bytes = -1,
                                    .without_search = true};
        pyro_model *model;
        assert_int_equal(pyro_model_open(&model, "resnet50", NULL), PYRO_OK);
        assert_int_equal(pyro_model_set_batch(model, batch + more, NULL), PYRO_OK);
        assert_int_equal(pyro_fit_compute(&result, model, &options, NULL), PYRO_OK);
        assert_int_equal(result->answers[0].fits, more == 0);
        pyro_fit_free(result);
        pyro_model_close(model);
    }
}

static void test_cheapest_layout(void **state)
{
    (void)state;
    pyro_train_options train = {.optimizer = PYRO_OPTIMIZER_ADAMW,
                                .precision = PYRO_PRECISION_BF16};
    pyro_fit *result = search("llama3_70b", "h100", "auto", 0, NULL);
    assert_int_equal(result->answers[0].gpus, 2);
    assert_int_equal(result->answers[0].layout.tensor, 2);
    assert_true(result->answers[0].fits);
    pyro_fit_free(result);
    result = search("llama3_8b", "40GB", NULL, 1, &train);
    assert_false(result->answers[0].fits);
    assert_true(result->answers[0].enough_gpus > 1 && result->answers[0].margin_bytes < 0);
    assert_true(result->answers[0].lever_count >= 4);
    pyro_fit_free(result);
    result = search("llama3_8b", "h100", "auto", 8, &train);
    assert_true(result->answers[0].fits && result->answers[0].chosen);
    assert_int_equal(result->answers[0].layout.data, 8);
    pyro_fit_free(result);
}

static void test_wrong_options(void **state)
{
    (void)state;
    static const struct {
        const char *model, *chip, *parallel, *text;
        int64_t gpus;
    } wrong[] = {
        {"gpt2", "h1000", NULL, "no known chip", 0},
        {"gpt2", "0GB", NULL, "no known chip", 0},
        {"gpt2", "h100", "tp=0", "no layout", 0},
        {"gpt2", "h100", "tp=2,,", "no layout", 0},
        {"gpt2", "h100", "tp=99999999999999999999", "no layout", 0},
        {"gpt2", "h100", "tp=2", "not 3", 3},
        {"gpt2", "h100", "ep=2", "no experts", 0},
        {"gpt2", "h100", "pp=13", "12", 0},
        {"gpt2", "h100", "fsdp", "--gpus", 0},
        {"gpt2", "h100", "tp=16", "12 attention heads", 0},
        {"mixtral_8x7b", "h100", "dp=16,ep=16", "only 8 experts", 0},
        {"mixtral_8x7b", "h100", "dp=6,ep=4", "does not divide", 0},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const char *chips[] = {wrong[i].chip};
        pyro_fit_options options = {.chips = chips,
                                    .chip_count = 1,
                                    .gpus = wrong[i].gpus,
                                    .parallel = wrong[i].parallel,
                                    .reserve_bytes = -1};
        pyro_model *model;
        pyro_fit *result = NULL;
        pyro_error error;
        pyro_error_clear(&error);
        assert_int_equal(pyro_model_open(&model, wrong[i].model, NULL), PYRO_OK);
        assert_int_equal(pyro_fit_compute(&result, model, &options, &error), PYRO_ERROR_ARGUMENT);
        assert_non_null(strstr(error.message, wrong[i].text));
        assert_null(result);
        pyro_model_close(model);
    }
}

static void test_failing_allocations(void **state)
{
    (void)state;
    const char *chips[] = {"h100"};
    pyro_train_options train = {.optimizer = PYRO_OPTIMIZER_ADAMW};
    pyro_fit_options options = {
        .chips = chips, .chip_count = 1, .gpus = 2, .train = &train, .reserve_bytes = -1};
    bool done = false;
    for (long count = 0; !done; count += 7) {
        pyro_model *model;
        pyro_fit *result = NULL;
        assert_int_equal(pyro_model_open(&model, "alexnet", NULL), PYRO_OK);
        fail_alloc_after(count);
        int status = pyro_fit_compute(&result, model, &options, NULL);
        done = fail_alloc_failures() == 0;
        fail_alloc_after(-1);
        assert_true(status == PYRO_OK || status == PYRO_ERROR_MEMORY);
        pyro_fit_free(result);
        pyro_model_close(model);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_layouts),       cmocka_unit_test(test_one_gpu_is_the_training_step),
    cmocka_unit_test(test_largest_sizes), cmocka_unit_test(test_cheapest_layout),
    cmocka_unit_test(test_wrong_options), cmocka_unit_test(test_failing_allocations),
};

UNIT_TESTS(tests, NULL, NULL)

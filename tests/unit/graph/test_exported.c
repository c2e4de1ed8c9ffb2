/* Tests of graph/exported.c: masks and repeated heads that only an export of transformers has. */
#include "priced.h"
#include "unit.h"
#include <stdio.h>

#define LLAMA "transformers.models.llama.modeling_llama.LlamaAttention"

enum {
    SIZE = 4, /* float32 */
    HEADS = 8,
    GROUPS = 2,
    REPEATS = HEADS / GROUPS,
    WIDTH = 16,
    KEYS = 10
};

/* Parts of a model; zeros mean a Llama that decodes one token. */
typedef struct given {
    const char *layer_class, *query, *window;
    bool mask_of_input, is_own_repeat, is_read_again;
} given;

/* Compares positions of keys and queries: causal, and within a window if there is one. */
static void add_mask(program *p, const given *given)
{
    program_typed(p, "q", 5, given->query);
    program_typed(p, "k", 5, "10");
    program_node(p, "aten.arange.default", "", "end=1", "%q");
    program_node(p, "aten.arange.default", "", "end=10", "%k");
    if (given->mask_of_input)
        program_node(p, "aten.le.Tensor", "", "self=%x other=%q", "%causal");
    else
        program_node(p, "aten.le.Tensor", "", "self=%k other=%q", "%causal");
    program_typed(p, "causal", 12, "1 1 1 10");
    program_typed(p, "mask", 12, "1 1 1 10");
    if (given->window) {
        char args[64];
        snprintf(args, sizeof args, "self=%%q other=%s", given->window);
        program_typed(p, "first", 5, given->query);
        program_typed(p, "near", 12, "1 1 1 10");
        program_node(p, "aten.sub.Tensor", "", args, "%first");
        program_node(p, "aten.gt.Tensor", "", "self=%k other=%first", "%near");
        program_node(p, "aten.__and__.Tensor", "", "self=%near other=%causal", "%mask");
    } else {
        program_node(p, "aten.expand.default", "", "self=%causal", "%mask");
    }
}

/* "keys" [1, 2, 10, 16] as [1, 8, 10, 16] under the name "keys_all". */
static void repeat_heads(program *p, const char *layer_class, const char *name)
{
    char narrow[32], wide[32], all[32], from[48];
    snprintf(narrow, sizeof narrow, "%s_5", name);
    snprintf(wide, sizeof wide, "%s_wide", name);
    snprintf(all, sizeof all, "%s_all", name);
    program_input(p, name, "1 2 10 16");
    program_tensor(p, narrow, "1 2 1 10 16");
    program_tensor(p, wide, "1 2 4 10 16");
    program_tensor(p, all, "1 8 10 16");
    const char *names[] = {name, narrow, wide, all};
    static const char *const ops[] = {"aten.unsqueeze.default", "aten.expand.default",
                                      "aten.reshape.default"};
    for (size_t i = 0; i < 3; i++) {
        char to[40];
        snprintf(from, sizeof from, "self=%%%s", names[i]);
        snprintf(to, sizeof to, "%%%s", names[i + 1]);
        program_node_in(p, ops[i], "attn", layer_class, from, to);
    }
}

static pyro_cost *price_of(const given *wanted, pyro_model **model)
{
    given given = *wanted;
    given.layer_class = given.layer_class ? given.layer_class : LLAMA;
    given.query = given.query ? given.query : "1";
    char shape[32];
    snprintf(shape, sizeof shape, "1 8 %s 16", given.query);
    program p = {0};
    program_input(&p, "x", "10");
    program_input(&p, "query", shape);
    add_mask(&p, &given);
    repeat_heads(&p, given.layer_class, "keys");
    repeat_heads(&p, given.layer_class, "values");
    program_tensor(&p, "out", shape);
    program_node_in(&p, "aten.scaled_dot_product_attention.default", "attn", given.layer_class,
                    given.is_own_repeat
                        ? "query=%query key=%keys_all value=%values_all"
                        : "query=%query key=%keys_all value=%values_all attn_mask=%mask",
                    "%out");
    if (given.is_read_again) {
        program_tensor(&p, "again", "1 8 10 16");
        program_node(&p, "aten.relu.default", "", "self=%keys_all", "%again");
    }
    *model = open_program(&p);
    return price_full(*model);
}

static void expect(const given *given, bool copies, bool masked)
{
    pyro_model *model;
    pyro_cost *cost = price_of(given, &model);
    const pyro_cost_node *attention = find_node(cost, "out");
    int64_t queries = given->query ? strtoll(given->query, NULL, 10) : 1;
    int64_t cache = 2 * GROUPS * KEYS * WIDTH * SIZE, all = REPEATS * cache;
    int64_t scores = HEADS * queries * KEYS;
    assert_int_equal(find_node(cost, "keys_all")->work.written_bytes, copies ? all / 2 : 0);
    assert_int_equal(find_node(cost, "values_all")->work.written_bytes, copies ? all / 2 : 0);
    assert_int_equal(attention->work.activation_read_bytes,
                     HEADS * queries * WIDTH * SIZE + (copies ? all : cache) +
                         (masked && !given->is_own_repeat ? KEYS : 0));
    assert_int_equal(attention->work.macs, scores * 2 * WIDTH); /* whatever the heads are */
    assert_int_equal(attention->work.flops - 2 * attention->work.macs,
                     scores * (masked && !given->is_own_repeat ? 7 : 6));
    assert_int_equal(find_node(cost, "causal")->work.written_bytes, masked ? KEYS : 0);
    assert_int_equal(find_node(cost, "q")->work.written_bytes, masked ? queries * 8 : 0);
    size_t notes;
    pyro_cost_notes(cost, &notes);
    assert_int_equal(notes, masked ? 0 : 1);
    pyro_cost_free(cost);
    pyro_model_close(model);
}

static void test_a_run_has_no_causal_mask_and_groups_heads(void **unused)
{
    (void)unused;
    expect(&(given){0}, false, false);
    expect(&(given){.query = "10"}, false, false); /* a prompt: as many queries as keys */
    expect(&(given){.layer_class = "transformers_modules.a.b.Attention"}, false, false);
}

static void test_some_queries_over_more_keys_need_a_mask(void **unused)
{
    (void)unused;
    expect(&(given){.query = "3"}, true, true);
}

static void test_a_window_needs_a_mask_from_its_length_on(void **unused)
{
    (void)unused;
    expect(&(given){.window = "11"}, false, false);
    expect(&(given){.window = "10"}, true, true);
}

static void test_a_mask_that_data_flow_into_is_made(void **unused)
{
    (void)unused;
    expect(&(given){.mask_of_input = true}, true, true);
}

static void test_heads_that_the_model_itself_repeats_are_copied(void **unused)
{
    (void)unused;
    expect(&(given){.layer_class = "mine.Attention"}, true, true);
    expect(&(given){.layer_class = "transformersx.Attention"}, true, true);
    expect(&(given){.layer_class = "transformers.models.falcon.modeling_falcon.FalconAttention"},
           true, true);
    expect(&(given){.is_own_repeat = true}, true, true);
}

/* Repeated heads that another op reads are copied. */
static void test_heads_that_are_read_again_are_copied(void **unused)
{
    (void)unused;
    given given = {.is_read_again = true};
    pyro_model *model;
    pyro_cost *cost = price_of(&given, &model);
    assert_int_equal(find_node(cost, "keys_all")->work.written_bytes, HEADS * KEYS * WIDTH * SIZE);
    pyro_cost_free(cost);
    pyro_model_close(model);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_a_run_has_no_causal_mask_and_groups_heads),
    cmocka_unit_test(test_some_queries_over_more_keys_need_a_mask),
    cmocka_unit_test(test_a_window_needs_a_mask_from_its_length_on),
    cmocka_unit_test(test_a_mask_that_data_flow_into_is_made),
    cmocka_unit_test(test_heads_that_the_model_itself_repeats_are_copied),
    cmocka_unit_test(test_heads_that_are_read_again_are_copied),
};

UNIT_TESTS(tests, NULL, NULL)

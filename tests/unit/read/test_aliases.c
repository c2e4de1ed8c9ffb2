/* Tests of read/aliases.c and read/index.c. */
#include "read/catalog.h"
#include "unit.h"

#include <stddef.h>
#include <string.h>

static void test_ids_of_the_same_architecture_are_found(void **state)
{
    static const char *const pairs[][2] = {
        {"meta-llama/Llama-3.1-8B", "llama3_1_8b"},
        {"meta-llama/Meta-Llama-3.1-8B-Instruct", "llama3_1_8b"},
        {"meta-llama/Llama-2-7b-chat-hf", "llama2_7b"},
        {"google/vit-base-patch16-224", "vit_b_16"},
        {"timm/vit_base_patch16_224.augreg2_in21k_ft_in1k", "vit_b_16"},
        {"timm/resnet50.a1_in1k", "resnet50"},
        {"resnet50.a1_in1k", "resnet50"},
        {"ResNet-50", "resnet50"},
        {"facebook/convnext-tiny-224", "convnext_tiny"},
        {"bert-base-uncased", "bert_base"},
        {"bigscience/bloom", "bloom_176b"},
        {"EleutherAI/pythia-1.4b-deduped", "pythia_1_4b"},
        {"hf.co/openai/whisper-tiny", "whisper_tiny"},
        {"openai/whisper-tiny@main", "whisper_tiny"},
        {"google/gemma-3n-E4B-it", "gemma3n_e4b"},
        {"RWKV/rwkv-4-169m-pile", "rwkv_4_169m"},
        {"Qwen/Qwen3-Next-80B-A3B-Instruct", "qwen3_next_80b_a3b"},
        {"Qwen/Qwen3-Coder-Next", "qwen3_next_80b_a3b"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const char *found = pyro_builtin_of_id(pairs[i][0]);

        assert_non_null(found);
        assert_string_equal(found, pairs[i][1]);
    }
}

static void test_other_architectures_are_only_near(void **state)
{
    static const char *const pairs[][2] = {
        {"google/vit-base-patch16-224-in21k", "vit_b_16"},
        {"timm/convnext_tiny.fb_in22k", "convnext_tiny"},
        {"openai/whisper-tiny.en", "whisper_tiny"},
        {"TheBloke/Llama-2-7B-Chat-GPTQ", "llama2_7b"},
        {"timm/inception_v3.tv_in1k", "inception_v3"},
        {"google-bert/bert-base-cased", "bert_base"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        pyro_alias alias;

        assert_null(pyro_builtin_of_id(pairs[i][0]));
        assert_true(pyro_alias_find(&alias, pairs[i][0]));
        assert_false(alias.exact);
        assert_string_equal(alias.model->name, pairs[i][1]);
    }
}

static void test_paths_and_unknown_ids_are_no_aliases(void **state)
{
    static const char *const texts[] = {"",
                                        "./resnet18",
                                        "/tmp/resnet18",
                                        "a/b/resnet18",
                                        "models/resnet18.pt2",
                                        "net.py:build",
                                        "owner/",
                                        "/name",
                                        "meta-llama/Llama-9-Scout-17B-16E",
                                        "-",
                                        "x/-._"};
    char longest[4096];
    pyro_alias alias;

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_false(pyro_alias_find(&alias, texts[i]));
    memset(longest, 'a', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    assert_false(pyro_alias_find(&alias, longest));
    longest[100] = '/';
    assert_false(pyro_alias_find(&alias, longest));
}

static void test_another_image_size_is_told(void **state)
{
    pyro_alias alias;

    (void)state;
    assert_true(pyro_alias_find(&alias, "facebook/convnext-base-384"));
    assert_false(alias.exact);
    assert_int_equal(alias.side, 384);
    assert_true(pyro_alias_find(&alias, "google/vit-base-patch16-384"));
    assert_true(alias.exact);
    assert_string_equal(alias.model->name, "vit_b_16_384");
}

static void test_the_index_knows_models_and_caches(void **state)
{
    pyro_index_model known;

    (void)state;
    assert_true(pyro_index_find("resnet18", &known));
    assert_string_equal(known.family, "resnet");
    assert_int_equal(known.image_side, 224);
    assert_true(known.open_image);
    assert_false(pyro_index_find("resnet5", &known));
    /* 32 layers, 8 heads of 128, keys and values. */
    assert_int_equal(pyro_index_cache_values("llama3_1_8b"), 32 * 8 * 128 * 2);
    assert_int_equal(pyro_index_cache_values("resnet18"), 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_ids_of_the_same_architecture_are_found),
    cmocka_unit_test(test_other_architectures_are_only_near),
    cmocka_unit_test(test_paths_and_unknown_ids_are_no_aliases),
    cmocka_unit_test(test_another_image_size_is_told),
    cmocka_unit_test(test_the_index_knows_models_and_caches),
};

UNIT_TESTS(tests, NULL, NULL)

/* Tests of the user's registry, of stripping programs, and of the list of all models. */
#include "base/containers/buf.h"
#include "base/source/source.h"
#include "fail_alloc.h"
#include "read/catalog.h"
#include "read/pt2/strip.h"
#include "unit.h"
#include <dirent.h>
#include <pyrometer/pyrometer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/pyrometer-test-XXXXXX";

static int set_up(void **unused)
{
    (void)unused;
    return mkdtemp(folder) && setenv("XDG_DATA_HOME", folder, 1) == 0 ? 0 : -1;
}

static int remove_all(void **unused)
{
    (void)unused;
    char command[200];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command) == 0 ? 0 : -1;
}

/* A linear layer over a dynamic batch, with metadata to strip in its node. */
static pyro_buf example(void)
{
    static const char graph[] =
        "{\"graph_module\":{\"graph\":{\"inputs\":[{\"as_tensor\":{\"name\":\"w\"}},{\"as_tensor\":{"
        "\"name\":\"x\"}}],\"outputs\":[{\"as_tensor\":{\"name\":\"y\"}}],\"nodes\":[{\"target\":"
        "\"torch.ops.aten.linear.default\",\"inputs\":[{\"name\":\"input\",\"arg\":{\"as_tensor\":{"
        "\"name\":\"x\"}},\"kind\":1},{\"name\":\"weight\",\"arg\":{\"as_tensor\":{\"name\":\"w\"}},"
        "\"kind\":1}],\"outputs\":[{\"as_tensor\":{\"name\":\"y\"}}],\"metadata\":{\"nn_module_"
        "stack\":\"L__self__,,Net;L__self___fc,fc,Linear\",\"stack_trace\":\"File /home/me/secret."
        "py line 3\"}}],\"tensor_values\":{\"w\":{\"dtype\":7,\"sizes\":[{\"as_int\":16},{\"as_"
        "int\":8}],\"device\":{\"type\":\"cpu\"}},\"x\":{\"dtype\":7,\"sizes\":[{\"as_expr\":{\"expr_"
        "str\":\"s0\",\"hint\":{\"as_int\":2}}},{\"as_int\":8}]},\"y\":{\"dtype\":7,\"sizes\":[{\"as_"
        "expr\":{\"expr_str\":\"s0\",\"hint\":{\"as_int\":2}}},{\"as_int\":16}]}},\"sym_int_values\":"
        "{}},\"signature\":{\"input_specs\":[{\"parameter\":{\"arg\":{\"name\":\"w\"},\"parameter_"
        "name\":\"fc.weight\"}},{\"user_input\":{\"arg\":{\"as_tensor\":{\"name\":\"x\"}}}}],"
        "\"output_specs\":[1,2]},\"module_call_graph\":[{\"fqn\":\"secret\"}]},\"opset_version\":{"
        "\"aten\":10},\"range_constraints\":{\"s0\":{\"min_val\":2,\"max_val\":64}},\"schema_"
        "version\":{\"major\":8,\"minor\":20},\"torch_version\":\"2.13.0\",\"verifiers\":[]}";
    pyro_buf buf = PYRO_BUF_INIT;
    pyro_buf_adds(&buf, graph);
    return buf;
}

static int add(const char *name, bool replace, pyro_error *error)
{
    pyro_buf bytes = example();
    pyro_registry_model model = {.data = bytes.data, .size = bytes.length};
    pyro_registry_options options = {.replace = replace, .builder = "net.py:build"};
    pyro_error_clear(error);
    int status = pyro_registry_add(name, &model, &options, error);
    pyro_buf_free(&bytes);
    return status;
}

static void test_strip(void **unused)
{
    (void)unused;
    pyro_buf bytes = example(), out = PYRO_BUF_INIT, again = PYRO_BUF_INIT;
    pyro_source *source;
    pyro_error error;
    pyro_error_clear(&error);
    assert_int_equal(pyro_source_open_memory(&source, bytes.data, bytes.length, &error), PYRO_OK);
    assert_int_equal(pyro_strip_program(&out, source, &error), PYRO_OK);
    pyro_source_close(source);
    assert_null(strstr(out.data, "secret"));
    assert_null(strstr(out.data, "device"));
    assert_null(strstr(out.data, "verifiers"));
    assert_non_null(strstr(out.data, "L__self___fc,fc,Linear"));
    assert_non_null(strstr(out.data, "\"s0\":{\"min_val\":2,\"max_val\":64}"));
    /* Nothing is left to strip. */
    assert_int_equal(pyro_source_open_memory(&source, out.data, out.length, &error), PYRO_OK);
    assert_int_equal(pyro_strip_program(&again, source, &error), PYRO_OK);
    pyro_source_close(source);
    assert_string_equal(out.data, again.data);
    pyro_buf_free(&bytes);
    pyro_buf_free(&out);
    pyro_buf_free(&again);
}

static void test_names(void **unused)
{
    (void)unused;
    pyro_error error;
    static const char *const wrong[] = {"",    ".x",    "-x",       "a/b",  "../a",    "a b",
                                        "a,b", "x.pt2", "x.decode", "a\nb", "\xc3\xa9"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(add(wrong[i], true, &error), PYRO_ERROR_ARGUMENT);
    char long_name[110];
    memset(long_name, 'a', sizeof long_name);
    long_name[101] = '\0';
    assert_int_equal(add(long_name, true, &error), PYRO_ERROR_ARGUMENT);
    assert_int_equal(add("ResNet_18", false, &error), PYRO_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "resnet18 is a built-in model"));
    assert_true(pyro_catalog_same_name("ResNet-18", "resnet18"));
    assert_true(pyro_catalog_same_name("Qwen2.5 7B", "qwen2_5-7b"));
    assert_true(pyro_catalog_same_name("regnet_x_1_6gf", "RegNet-X-1.6GF"));
    assert_false(pyro_catalog_same_name("regnet_x_1_6gf", "regnet_x_16gf"));
    assert_false(pyro_catalog_same_name("resnet18", "resnet1"));
    assert_false(pyro_catalog_same_name("resnet1", "resnet18"));
}

static void test_add_and_remove(void **unused)
{
    (void)unused;
    pyro_error error;
    pyro_model *model;
    pyro_cost *cost;
    assert_int_equal(add("mine", false, &error), PYRO_OK);
    assert_int_equal(add("mine", false, &error), PYRO_ERROR_ARGUMENT);
    assert_int_equal(add("Mine", true, &error), PYRO_ERROR_ARGUMENT);
    assert_int_equal(add("mine", true, &error), PYRO_OK);

    pyro_error_clear(&error);
    assert_int_equal(pyro_model_open(&model, "MINE", &error), PYRO_OK);
    assert_int_equal(pyro_model_origin(model), PYRO_ORIGIN_OWN);
    const pyro_facts *facts = pyro_model_facts(model);
    assert_string_equal(facts->builder, "net.py:build");
    assert_int_equal(facts->dim_count, 1);
    assert_string_equal(facts->dims[0].what, "batch");
    assert_int_equal(facts->dims[0].min, 1);
    assert_int_equal(facts->dims[0].max, 64);
    assert_int_equal(pyro_model_set_batch(model, 4, &error), PYRO_OK);
    assert_int_equal(pyro_cost_compute(&cost, model, NULL, &error), PYRO_OK);
    assert_int_equal(pyro_cost_total(cost)->work.macs, 4 * 8 * 16);
    assert_int_equal(pyro_cost_total(cost)->work.params, 8 * 16);
    pyro_cost_free(cost);
    assert_int_equal(pyro_model_set_batch(model, 65, &error), PYRO_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "batch cannot be 65: it must be 1 to 64"));
    pyro_model_close(model);

    pyro_error_clear(&error);
    assert_int_equal(pyro_registry_remove("mine", &error), PYRO_OK);
    assert_int_equal(pyro_registry_remove("mine", &error), PYRO_ERROR_NOT_FOUND);
    pyro_error_clear(&error);
    assert_int_equal(pyro_registry_remove("resnet18", &error), PYRO_ERROR_NOT_FOUND);
    assert_non_null(strstr(error.message, "cannot be removed"));
}

static size_t count_files(void)
{
    char *path;
    size_t count = 0;
    assert_int_equal(pyro_registry_folder(&path, NULL), PYRO_OK);
    DIR *files = opendir(path);
    while (files && readdir(files))
        count++;
    if (files)
        closedir(files);
    pyro_free(path);
    return count > 2 ? count - 2 : 0;
}

/* Of many writers of one name exactly one succeeds, and no temporary file is left. */
static void test_at_once(void **unused)
{
    (void)unused;
    int winners = 0;
    pid_t children[8];
    for (int i = 0; i < 8; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) {
            pyro_error error;
            _exit(add("same", false, &error) == PYRO_OK ? 0 : 1);
        }
    }
    for (int i = 0; i < 8; i++) {
        int state;
        waitpid(children[i], &state, 0);
        winners += WIFEXITED(state) && WEXITSTATUS(state) == 0;
    }
    assert_int_equal(winners, 1);
    assert_int_equal(count_files(), 1);
    assert_int_equal(pyro_registry_remove("same", NULL), PYRO_OK);
}

static void test_hiding(void **unused)
{
    (void)unused;
    pyro_error error;
    pyro_model *model;
    pyro_catalog *catalog;
    const pyro_catalog_entry *entry;
    size_t own = 0;
    assert_int_equal(add("resnet18", true, &error), PYRO_OK);
    pyro_error_clear(&error);
    assert_int_equal(pyro_model_open(&model, "resnet18", &error), PYRO_OK);
    assert_int_equal(pyro_model_origin(model), PYRO_ORIGIN_OWN);
    pyro_model_close(model);
    assert_int_equal(pyro_catalog_open(&catalog, &error), PYRO_OK);
    for (size_t i = 0; (entry = pyro_catalog_at(catalog, i)); i++) {
        own += entry->is_own;
        if (entry->is_own)
            assert_true(entry->hides_builtin);
    }
    assert_int_equal(own, 1);
    pyro_catalog_close(catalog);
    assert_int_equal(pyro_registry_remove("resnet18", &error), PYRO_OK);
    assert_int_equal(pyro_model_open(&model, "resnet18", &error), PYRO_OK);
    assert_int_equal(pyro_model_origin(model), PYRO_ORIGIN_BUILTIN);
    pyro_model_close(model);
}

/* All built-in names are distinct, and the facts of each agree with its graph. */
static void test_catalog(void **unused)
{
    (void)unused;
    pyro_error error;
    pyro_catalog *catalog;
    const pyro_catalog_entry *entry, *other;
    pyro_error_clear(&error);
    assert_int_equal(pyro_catalog_open(&catalog, &error), PYRO_OK);
    assert_true(pyro_catalog_count(catalog) >= 100);
    for (size_t i = 0; (entry = pyro_catalog_at(catalog, i)); i++) {
        pyro_model *model;
        pyro_cost *cost;
        assert_null(entry->problem);
        for (size_t j = 0; j < i; j++) {
            other = pyro_catalog_at(catalog, j);
            if (pyro_catalog_same_name(entry->facts->name, other->facts->name))
                fail_msg("%s and %s", entry->facts->name, other->facts->name);
        }
        if (pyro_model_open(&model, entry->facts->name, &error) != PYRO_OK)
            fail_msg("%s: %s", entry->facts->name, error.message);
        if (pyro_cost_compute(&cost, model, NULL, &error) != PYRO_OK)
            fail_msg("%s: %s", entry->facts->name, error.message);
        const pyro_work *work = &pyro_cost_total(cost)->work;
        if (entry->facts->params != work->params)
            fail_msg("%s: %lld parameters, the entry says %lld", entry->facts->name,
                     (long long)work->params, (long long)entry->facts->params);
        if (entry->macs >= 0 && entry->macs != work->macs)
            fail_msg("%s: %lld MACs, the index says %lld", entry->facts->name,
                     (long long)work->macs, (long long)entry->macs);
        assert_true(entry->facts->family[0] && entry->facts->task[0]);
        assert_true(entry->facts->package[0] && entry->facts->builder[0]);
        assert_true(entry->facts->params_source[0]);
        pyro_cost_free(cost);
        pyro_model_close(model);
    }
    pyro_catalog_close(catalog);
}

static void test_matching(void **unused)
{
    (void)unused;
    pyro_facts facts = {.name = "vit_b_16",
                        .display_name = "ViT-B/16",
                        .family = "vit",
                        .task = "image classification"};
    pyro_catalog_entry entry = {.facts = &facts};
    assert_true(pyro_catalog_matches(&entry, NULL, NULL, NULL));
    assert_true(pyro_catalog_matches(&entry, "vit-b", NULL, NULL));
    assert_true(pyro_catalog_matches(&entry, "vit_?_*", "ViT", "image-classification"));
    assert_true(pyro_catalog_matches(&entry, "VITB16", NULL, NULL));
    assert_false(pyro_catalog_matches(&entry, "vit_l*", NULL, NULL));
    assert_false(pyro_catalog_matches(&entry, "vit", "swin", NULL));
    assert_false(pyro_catalog_matches(&entry, NULL, NULL, "image"));
}

static void test_published(void **unused)
{
    (void)unused;
    const pyro_published *row;
    size_t count = 0;
    for (; (row = pyro_published_at(count)); count++)
        assert_true(row->params > 0 && row->milli_gmacs > 0 && strchr(row->weights, '.'));
    assert_true(count > 126);
}

static int open_and_list(void)
{
    pyro_error error;
    pyro_catalog *catalog = NULL;
    int status = add("poor", true, &error);
    if (status == PYRO_OK)
        status = pyro_catalog_open(&catalog, &error);
    pyro_catalog_close(catalog);
    return status;
}

/* Whatever allocation fails, it is reported and no partial file is left. */
static void test_without_memory(void **unused)
{
    (void)unused;
    int status = PYRO_ERROR_MEMORY;
    for (size_t allowed = 0; status != PYRO_OK && allowed < 100000; allowed += allowed / 20 + 1) {
        fail_alloc_after((long)allowed);
        status = open_and_list();
        fail_alloc_after(-1);
        if (status != PYRO_OK)
            assert_int_equal(status, PYRO_ERROR_MEMORY);
        assert_true(count_files() <= 1);
    }
    assert_int_equal(status, PYRO_OK);
    assert_int_equal(pyro_registry_remove("poor", NULL), PYRO_OK);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_strip),          cmocka_unit_test(test_names),
    cmocka_unit_test(test_add_and_remove), cmocka_unit_test(test_at_once),
    cmocka_unit_test(test_hiding),         cmocka_unit_test(test_catalog),
    cmocka_unit_test(test_matching),       cmocka_unit_test(test_published),
    cmocka_unit_test(test_without_memory),
};

UNIT_TESTS(tests, set_up, remove_all)

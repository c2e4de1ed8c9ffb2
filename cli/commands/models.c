/* pyrometer models: lists the models known by name; checks, adds and removes the user's own. */
#include "cli/command.h"
#include "cli/common.h"
#include "cli/python/helper.h"
#include "cli/options/model.h"
#include "cli/check/traceable.h"

#include "base/error.h"

#include <pyrometer/catalog.h>
#include <stdio.h>
#include <string.h>

typedef struct models_values {
    const char *family, *task;
    int sort; /* a pyro_models_sort */
    const char *input_shape;
    const char *python;
    bool force;
    pyro_common common;
} models_values;

/* In the order of pyro_models_sort. */
static const char *const sort_names[] = {"name", "params", "macs", NULL};

static const pyro_option list_options[] = {
    {.long_name = "family",
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(models_values, family),
     .metavar = "NAME",
     .help = "Show only models of this family, such as resnet or llama."},
    {.long_name = "task",
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(models_values, task),
     .metavar = "NAME",
     .help = "Show only models for this task, such as image-classification."},
    {.long_name = "sort",
     .kind = PYRO_OPTION_CHOICE,
     .offset = offsetof(models_values, sort),
     .metavar = "KEY",
     .help = "Sort order: by name, or by params or macs, largest first.",
     .default_text = "name",
     .choices = sort_names},
    {.long_name = NULL},
};

static const pyro_option own_options[] = {
    {.long_name = "input-shape",
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(models_values, input_shape),
     .metavar = "N,N,...",
     .help = "Shape of the input to trace the model with; also its default size for pricing.",
     .default_text = "as in the file, or one that fits the first layer"},
    {.long_name = "force",
     .kind = PYRO_OPTION_FLAG,
     .offset = offsetof(models_values, force),
     .help = "With add: replace your model of that name, or hide the built-in one."},
    {.long_name = "python",
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(models_values, python),
     .metavar = "PROGRAM",
     .help = "Python interpreter with torch and the model's packages.",
     .default_text = "python3 of the environment that holds pyrometer, or on PATH",
     .completion = PYRO_COMPLETE_FILE},
    {.long_name = NULL},
};

static const pyro_option_group models_groups[] = {
    {"List:", list_options, 0},
    {"Your own models:", own_options, 0},
    {"Output:", pyro_common_options, offsetof(models_values, common)},
    {NULL, NULL, 0},
};

/* The alphabetically next family, or task, after `after`; NULL at the end. */
static const char *next_word(const pyro_catalog *catalog, bool tasks, const char *after)
{
    const pyro_catalog_entry *entry;
    const char *next = NULL;

    for (size_t i = 0; (entry = pyro_catalog_at(catalog, i)); i++) {
        const char *word = tasks ? entry->facts->task : entry->facts->family;

        if (strcmp(word, after) > 0 && (!next || strcmp(word, next) < 0))
            next = word;
    }
    return next;
}

/* Every family, or every task, once: "resnet, vgg, ...". */
static void add_words(pyro_buf *buf, const pyro_catalog *catalog, bool tasks)
{
    for (const char *word = ""; (word = next_word(catalog, tasks, word));)
        pyro_buf_addf(buf, "%s%s", buf->length == 0 ? "" : ", ", word);
}

/* True when a model matches; otherwise reports that and lists the valid words. */
static bool any_matches(const pyro_catalog *catalog, const pyro_models_query *query)
{
    const pyro_catalog_entry *entry;
    bool family = false, task = false;
    pyro_buf words = PYRO_BUF_INIT;

    for (size_t i = 0; (entry = pyro_catalog_at(catalog, i)); i++) {
        if (pyro_catalog_matches(entry, query->pattern, query->family, query->task))
            return true;
        family = family || pyro_catalog_matches(entry, NULL, query->family, NULL);
        task = task || pyro_catalog_matches(entry, NULL, NULL, query->task);
    }
    if (!family || !task) {
        add_words(&words, catalog, family);
        pyro_common_complain("unknown %s %s (one of: %s)", family ? "task" : "family",
                             family ? query->task : query->family,
                             words.failed || words.length == 0 ? "none" : words.data);
    } else if (query->pattern && !query->family && !query->task) {
        pyro_model *model = NULL;
        pyro_error error;

        pyro_error_clear(&error);
        if (pyro_model_open(&model, query->pattern, &error) != PYRO_OK)
            pyro_common_fail(query->pattern, &error);
        else
            pyro_common_complain("no model matches %s", query->pattern);
        pyro_model_close(model);
    } else {
        pyro_common_complain("no model matches all of these filters");
    }
    pyro_buf_free(&words);
    return false;
}

static int list_models(const models_values *values, const char *pattern)
{
    pyro_report_options options = pyro_common_report(&values->common);
    pyro_models_query query = {pattern, values->family, values->task,
                               (pyro_models_sort)values->sort};
    pyro_catalog *catalog = NULL;
    char *text = NULL;
    size_t size = 0;
    pyro_error error;
    int exit_code = PYRO_EXIT_ERROR;

    pyro_error_clear(&error);
    if (pyro_catalog_open(&catalog, &error) != PYRO_OK)
        return pyro_common_fail(NULL, &error);
    /* A Hugging Face or timm id is not a part of a name. */
    if (pattern && strchr(pattern, '/') && pyro_builtin_of_id(pattern))
        query.pattern = pyro_builtin_of_id(pattern);
    if (any_matches(catalog, &query)) {
        if (pyro_report_models(&text, &size, catalog, &query, &options, &error) == PYRO_OK)
            exit_code = pyro_common_write(&values->common, text, size);
        else
            pyro_common_fail(NULL, &error);
        pyro_free(text);
    }
    pyro_catalog_close(catalog);
    return exit_code;
}

/* True when Python has to build and export the model. */
static bool is_built(const char *spec)
{
    return pyro_spec_of(spec) != PYRO_SPEC_MODEL;
}

static pyro_helper_request request_for(const models_values *values, const char *spec)
{
    return (pyro_helper_request){
        .python = values->python, .spec = spec, .input_shape = values->input_shape};
}

static int add_model(const models_values *values, const char *name, const char *spec)
{
    int64_t dims[PYRO_DIMS_MAX];
    pyro_registry_options options = {.replace = values->force, .builder = spec};
    pyro_registry_model model = {.path = spec};
    pyro_helper_export exported = {0};
    pyro_error error;
    int status = PYRO_OK, exit_code = PYRO_EXIT_ERROR;

    pyro_error_clear(&error);
    /* Check the name before the export, which takes seconds. */
    if (pyro_registry_check_name(name, values->force, &error) != PYRO_OK)
        return pyro_common_fail(NULL, &error);
    if (is_built(spec)) {
        pyro_helper_request request = request_for(values, spec);

        if (pyro_helper_export_model(&exported, &request, &error) != PYRO_OK) {
            exit_code = pyro_common_fail(spec, &error);
            exit_code = exported.untraceable ? PYRO_EXIT_POLICY : exit_code;
            pyro_helper_export_free(&exported);
            return exit_code;
        }
        model = (pyro_registry_model){.data = exported.archive.data,
                                      .size = exported.archive.length};
        options.builder = exported.builder;
    } else if (values->input_shape) {
        status = pyro_parse_dims(values->input_shape, "--input-shape", dims, &options.rank, &error);
        options.dims = dims;
    }
    if (status == PYRO_OK)
        status = pyro_registry_add(name, &model, &options, &error);
    if (status == PYRO_OK) {
        exit_code = PYRO_EXIT_FINE;
        if (!values->common.quiet)
            fprintf(stderr, "added %s; pyrometer cost %s prices it\n", name, name);
    } else {
        exit_code = pyro_common_fail(name, &error);
    }
    pyro_helper_export_free(&exported);
    return exit_code;
}

static int remove_model(const models_values *values, const char *name)
{
    pyro_error error;

    pyro_error_clear(&error);
    if (pyro_registry_remove(name, &error) != PYRO_OK)
        return pyro_common_fail(NULL, &error);
    if (!values->common.quiet)
        fprintf(stderr, "removed %s\n", name);
    return PYRO_EXIT_FINE;
}

/* Checks a model. A file is already traced, so only reading and pricing it can fail. */
static int check_model(const models_values *values, const char *spec)
{
    pyro_helper_export exported = {0};
    int exit_code = PYRO_EXIT_FINE;
    pyro_error error;

    pyro_error_clear(&error);
    if (is_built(spec)) {
        pyro_helper_request request = request_for(values, spec);

        if (pyro_helper_export_model(&exported, &request, &error) != PYRO_OK &&
            !exported.untraceable) {
            pyro_helper_export_free(&exported);
            return pyro_common_fail(spec, &error);
        }
    }
    exit_code = pyro_trace_check_write(spec, &exported, values->input_shape, &values->common);
    pyro_helper_export_free(&exported);
    return exit_code;
}

/* True when the first operand is `verb`; *exit_code is an error without `count` more operands. */
static bool is_verb(const pyro_words *operands, const char *verb, size_t count, int *exit_code)
{
    if (operands->count == 0 || strcmp(operands->items[0], verb) != 0)
        return false;
    *exit_code = PYRO_EXIT_FINE;
    if (operands->count != count + 1)
        *exit_code = pyro_common_complain("models %s takes %s (see pyrometer models --help)", verb,
                                          count == 2 ? "NAME and FILE.pt2 or module.py:function"
                                          : strcmp(verb, "remove") == 0
                                              ? "NAME"
                                              : "FILE.pt2 or module.py:function");
    return true;
}

static int run_verb(const models_values *values, const pyro_words *operands)
{
    int exit_code;

    if (is_verb(operands, "add", 2, &exit_code))
        return exit_code != 0 ? exit_code
                              : add_model(values, operands->items[1], operands->items[2]);
    if (is_verb(operands, "remove", 1, &exit_code))
        return exit_code != 0 ? exit_code : remove_model(values, operands->items[1]);
    if (is_verb(operands, "check", 1, &exit_code))
        return exit_code != 0 ? exit_code : check_model(values, operands->items[1]);
    if (operands->count > 1)
        return pyro_common_complain("models takes one PATTERN, or check, add or remove (see "
                                    "pyrometer models --help)");
    return list_models(values, operands->count == 1 ? operands->items[0] : NULL);
}

static int run_models(const pyro_command *command, int argc, char **argv)
{
    models_values values = {.common = PYRO_COMMON_INIT};
    pyro_words operands = {0};
    int exit_code;

    if (pyro_common_parse(command, argc, argv, &values, &values.common, &operands, &exit_code))
        exit_code = run_verb(&values, &operands);
    pyro_words_free(&operands);
    pyro_options_free(command->groups, &values);
    return exit_code;
}

static const pyro_example models_examples[] = {
    {"pyrometer models", "All models that can be priced by name."},
    {"pyrometer models resnet --sort macs", "Models with resnet in their name, largest first."},
    {"pyrometer models --task image-classification --format json",
     "All image classifiers, as JSON."},
    {"pyrometer models check my_model.py:build --input-shape 1,3,224,224",
     "Whether the model can be traced; if not, which line fails."},
    {"pyrometer models add mine my_model.py:build",
     "Add a model; pyrometer cost mine then works without Python."},
    {"pyrometer models add mine model.pt2", "Add a model from a file."},
    {"pyrometer models remove mine", "Remove it."},
    {NULL, NULL},
};

const pyro_command cmd_models = {
    .name = "models",
    .summary = "list the models known by name; check and add your own",
    .usage = "[PATTERN] | check MODEL | add NAME MODEL | remove NAME [OPTION...]",
    .description =
        "Lists the models that can be priced by name: the built-in ones, with their dynamic sizes "
        "and the sources of architecture and parameter count, and your own. PATTERN is part of a "
        "name or family, or a glob such as 'vit_*'.\n\n"
        "For check and add, MODEL is the same as for pyrometer cost: a .pt2 file, a name, a folder "
        "with a config.json, or FILE.py:FUNCTION (or package.module:FUNCTION), where FUNCTION "
        "takes no arguments and returns an nn.Module, or the module and a tuple of example inputs. "
        "torch.export runs and traces it in your Python. check reports whether that works; if not, "
        "it names the failing line and exits with 1. add stores the graph, without weights, in "
        "$XDG_DATA_HOME/pyrometer/models (~/.local/share/pyrometer/models); pricing it by name "
        "then needs no Python.",
    .examples = models_examples,
    .groups = models_groups,
    .operands = PYRO_COMPLETE_MODEL,
    .report = PYRO_REPORT_MODELS,
    .run = run_models,
};

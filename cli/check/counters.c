/* Gets the counts of other tools: torchvision's published table, and counters run in Python. */
#include "cli/check/counters.h"

#include "cli/common.h"
#include "cli/python/helper.h"

#include "base/error.h"
#include "base/file.h"
#include "base/json/json.h"
#include "base/json/write.h"
#include "base/text/units.h"

#include <inttypes.h>
#include <pyrometer/catalog.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FLOPS_PER_MILLI_GMAC (2 * INT64_C(1000000))

/* Sets the image size that a number was published for, unless it is the default. */
static int set_published_sizes(pyro_model *model, const pyro_published *published,
                               pyro_error *error)
{
    static const char *const sides[] = {"height", "width"};
    pyro_input input;
    int status = pyro_model_input(model, 0, &input, error);

    for (size_t i = 0; status == PYRO_OK && published->side > 0 && i < 2; i++) {
        size_t axis = input.rank - 2 + i;
        if (input.rank >= 4 && input.dims[axis] != published->side)
            status = pyro_model_facts(model)->dims
                         ? pyro_model_set_kind(model, sides[i], published->side, error)
                         : pyro_fail(error, PYRO_ERROR_ARGUMENT, "its size is fixed");
    }
    if (status == PYRO_OK && published->boxes)
        status = pyro_model_set_kind(model, published->boxes, published->box_count, error);
    return status;
}

/* "vit_l_16" at 512 is the entry vit_l_16_512, where the size of vit_l_16 is fixed. */
static int price_published(pyro_priced *out, const pyro_published *published, pyro_error *error)
{
    pyro_error first;
    char sized[160];
    int status = PYRO_OK;

    for (int attempt = 0; attempt < 2; attempt++) {
        snprintf(sized, sizeof sized, attempt == 0 ? "%s" : "%s_%" PRId64, published->model,
                 published->side);
        pyro_error_clear(&first);
        memset(out, 0, sizeof *out);
        status = pyro_model_open(&out->model, sized, &first);
        if (status == PYRO_OK)
            status = set_published_sizes(out->model, published, &first);
        if (status == PYRO_OK)
            status = pyro_cost_compute(&out->cost, out->model, NULL, &first);
        if (status == PYRO_OK)
            return status;
        pyro_priced_free(out);
        if (attempt == 0 && error)
            *error = first;
    }
    return status;
}

static bool explain_published(pyro_check_session *session, pyro_check_row *row,
                              const pyro_published *published, const pyro_cost *cost)
{
    int64_t difference = row->our_flops - row->their_flops;
    int64_t params = pyro_cost_total(cost)->work.params;
    char text[PYRO_UNIT_TEXT], other[PYRO_UNIT_TEXT];
    bool good = true;

    if (published->boxes)
        good = pyro_check_add_reason(session, row, published->boxes, 0,
                                     "published with %lld %s reaching their head; counted so here",
                                     (long long)published->box_count, published->boxes);
    if (difference != 0 && llabs(difference) * 2 <= FLOPS_PER_MILLI_GMAC)
        good = good && pyro_check_add_reason(session, row, PYRO_CHECK_ROUNDING, difference,
                                             "equal to the three decimals of GMACs that are "
                                             "published");
    if (params != published->params)
        good = good && pyro_check_add_reason(session, row, "parameters", 0,
                                             "%s parameters are published, ours are %s",
                                             pyro_format_exact(text, published->params),
                                             pyro_format_exact(other, params));
    return good;
}

static bool add_published_row(pyro_check_session *session, size_t model,
                              const pyro_published *published)
{
    pyro_check_row *row = pyro_check_add_row(session, model, "torchvision");
    pyro_priced priced;
    pyro_error error;
    bool good = true;

    if (!row)
        return false;
    pyro_error_clear(&error);
    row->detail = published->weights;
    row->their_flops = published->milli_gmacs * FLOPS_PER_MILLI_GMAC;
    if (price_published(&priced, published, &error) != PYRO_OK) {
        row->error = pyro_arena_text(&session->arena, error.message, strlen(error.message));
        return row->error != NULL;
    }
    row->our_flops = 2 * pyro_cost_total(priced.cost)->work.macs;
    good = pyro_check_explain_unpriced(session, row, priced.cost) &&
           explain_published(session, row, published, priced.cost);
    pyro_priced_free(&priced);
    return good;
}

bool pyro_check_add_published(pyro_check_session *session, bool expected)
{
    for (size_t model = 0; model < session->model_count; model++) {
        const char *name = pyro_model_name(session->priced[model].model);
        bool builtin = pyro_model_origin(session->priced[model].model) == PYRO_ORIGIN_BUILTIN;
        const pyro_published *published;
        size_t found = 0;

        for (size_t i = 0; builtin && (published = pyro_published_at(i)); i++) {
            if (strcmp(published->model, name) != 0)
                continue;
            found++;
            if (!add_published_row(session, model, published))
                return false;
        }
        if (found == 0 && expected) {
            pyro_check_row *row = pyro_check_add_row(session, model, "torchvision");
            if (!row)
                return false;
            row->our_flops = 2 * pyro_cost_total(session->priced[model].cost)->work.macs;
            row->error = "torchvision publishes no numbers for it";
        }
    }
    return true;
}

/* Writes how the helper gets the model: from a package, function, folder or file. */
static void write_source(pyro_json_writer *writer, const char *spec, const pyro_priced *priced)
{
    const pyro_facts *facts = pyro_model_facts(priced->model);
    pyro_origin origin = pyro_model_origin(priced->model);
    bool built = pyro_spec_of(spec) != PYRO_SPEC_MODEL;

    /* A builder that is named inside a file is never run. */
    pyro_json_member_string(writer, "package", origin == PYRO_ORIGIN_BUILTIN ? facts->package : "");
    pyro_json_member_string(writer, "builder",
                            built                        ? spec
                            : origin == PYRO_ORIGIN_FILE ? ""
                                                         : facts->builder);
    pyro_json_member_string(writer, "path", origin == PYRO_ORIGIN_FILE && !built ? spec : "");
}

/* Writes a model for the helper: how to build it, and its sizes. */
static int write_model(pyro_json_writer *writer, size_t index, const char *spec,
                       const pyro_priced *priced, pyro_error *error)
{
    char name[24];
    int status = PYRO_OK;

    snprintf(name, sizeof name, "%zu", index);
    pyro_json_begin_object(writer);
    pyro_json_member_string(writer, "name", name);
    write_source(writer, spec, priced);
    pyro_json_member_integer(writer, "params", pyro_cost_total(priced->cost)->work.params);
    pyro_json_key(writer, "inputs");
    pyro_json_begin_array(writer);
    for (size_t i = 0; status == PYRO_OK && i < pyro_model_input_count(priced->model); i++) {
        pyro_input input;

        status = pyro_model_input(priced->model, i, &input, error);
        if (status != PYRO_OK)
            break;
        pyro_json_begin_object(writer);
        pyro_json_member_string(writer, "name", input.name);
        pyro_json_member_string(writer, "dtype", input.dtype);
        pyro_json_key(writer, "shape");
        pyro_json_begin_array(writer);
        for (size_t axis = 0; axis < input.rank; axis++)
            pyro_json_integer(writer, input.dims[axis]);
        pyro_json_end_array(writer);
        pyro_json_end_object(writer);
    }
    pyro_json_end_array(writer);
    pyro_json_end_object(writer);
    return status;
}

static int write_request(const pyro_check_session *session, const char *const *counters,
                         size_t counter_count, const char *path, pyro_error *error)
{
    pyro_buf buf = PYRO_BUF_INIT;
    pyro_json_writer writer;
    int status = PYRO_OK;

    pyro_json_writer_init(&writer, &buf, 0);
    pyro_json_begin_object(&writer);
    pyro_json_member_strings(&writer, "against", counters, counter_count);
    pyro_json_key(&writer, "models");
    pyro_json_begin_array(&writer);
    for (size_t i = 0; status == PYRO_OK && i < session->model_count; i++)
        status = write_model(&writer, i, session->specs[i], &session->priced[i], error);
    pyro_json_end_array(&writer);
    pyro_json_end_object(&writer);
    if (status == PYRO_OK)
        status = buf.failed ? pyro_fail_memory(error)
                            : pyro_file_write_whole(path, buf.data, buf.length, true, error);
    pyro_buf_free(&buf);
    return status;
}

static const char *keep_text(pyro_check_session *session, pyro_json *json)
{
    size_t length;
    const char *text = pyro_json_text(json, &length);

    return text ? pyro_arena_text(&session->arena, text, length) : NULL;
}

/* {"conv": 123, ...}, appended to the operators of a count. */
static bool read_ops(pyro_check_session *session, pyro_json *json, pyro_their_count *theirs)
{
    if (pyro_json_next(json) != PYRO_JSON_OBJECT)
        return false;
    while (pyro_json_next(json) == PYRO_JSON_KEY) {
        pyro_counted_op op = {keep_text(session, json), 0};

        if (!op.name || pyro_json_next(json) != PYRO_JSON_NUMBER ||
            !pyro_json_int(json, &op.count) ||
            !pyro_grow(&theirs->ops, &theirs->op_capacity, theirs->op_count + 1,
                       sizeof *theirs->ops))
            return false;
        theirs->ops[theirs->op_count++] = op;
    }
    return pyro_json_current(json) == PYRO_JSON_OBJECT_END;
}

/* One result; the object has begun. "by_operator" comes before "uncounted". */
static bool read_count(pyro_check_session *session, pyro_json *json, pyro_their_count *theirs)
{
    theirs->op_count = theirs->uncounted_from = 0;
    theirs->error = NULL;
    theirs->counter = "";
    theirs->model = -1;
    while (pyro_json_next(json) == PYRO_JSON_KEY) {
        bool good = true;

        if (PYRO_JSON_IS(json, "model")) {
            size_t length;
            good = pyro_json_next(json) == PYRO_JSON_STRING &&
                   pyro_parse_integer(pyro_json_text(json, &length), &theirs->model);
        } else if (PYRO_JSON_IS(json, "counter")) {
            good = pyro_json_next(json) == PYRO_JSON_STRING &&
                   (theirs->counter = keep_text(session, json));
        } else if (PYRO_JSON_IS(json, "error")) {
            good = pyro_json_next(json) == PYRO_JSON_STRING &&
                   (theirs->error = keep_text(session, json));
        } else if (PYRO_JSON_IS(json, "total")) {
            good = pyro_json_next(json) == PYRO_JSON_NUMBER && pyro_json_int(json, &theirs->total);
        } else if (PYRO_JSON_IS(json, "by_operator")) {
            good = read_ops(session, json, theirs);
            theirs->uncounted_from = theirs->op_count;
        } else if (PYRO_JSON_IS(json, "uncounted")) {
            good = read_ops(session, json, theirs);
        } else {
            good = pyro_json_skip(json);
        }
        if (!good)
            return false;
    }
    return pyro_json_current(json) == PYRO_JSON_OBJECT_END && theirs->model >= 0 &&
           (size_t)theirs->model < session->model_count;
}

static bool add_counted_row(pyro_check_session *session, const pyro_their_count *theirs)
{
    const pyro_cost *cost = session->priced[theirs->model].cost;
    pyro_check_row *row = pyro_check_add_row(session, (size_t)theirs->model, theirs->counter);

    if (!row)
        return false;
    row->our_flops = 2 * pyro_cost_total(cost)->work.macs;
    row->error = theirs->error;
    row->their_flops = theirs->total * (strcmp(theirs->counter, "fvcore") == 0 ? 2 : 1);
    return row->error || pyro_check_explain(session, row, cost, theirs);
}

/* ["torch", "fvcore"] as "torch fvcore". */
static bool read_missing(pyro_json *json, pyro_buf *missing)
{
    size_t length;

    if (pyro_json_next(json) != PYRO_JSON_ARRAY)
        return false;
    while (pyro_json_next(json) == PYRO_JSON_STRING)
        pyro_buf_addf(missing, "%s%s", missing->length == 0 ? "" : " ",
                      pyro_json_text(json, &length));
    return !missing->failed;
}

static bool read_answer(pyro_check_session *session, pyro_json *json, pyro_buf *missing)
{
    pyro_their_count theirs = {0};
    bool good = pyro_json_next(json) == PYRO_JSON_OBJECT;

    while (good && pyro_json_next(json) == PYRO_JSON_KEY) {
        if (PYRO_JSON_IS(json, "missing")) {
            good = read_missing(json, missing);
        } else if (PYRO_JSON_IS(json, "results")) {
            good = pyro_json_next(json) == PYRO_JSON_ARRAY;
            while (good && pyro_json_next(json) == PYRO_JSON_OBJECT)
                good = read_count(session, json, &theirs) && add_counted_row(session, &theirs);
        } else {
            good = pyro_json_skip(json);
        }
    }
    free(theirs.ops);
    return good && pyro_json_current(json) == PYRO_JSON_OBJECT_END;
}

static int ask(pyro_check_session *session, const char *const *counters, size_t counter_count,
               const char *python, pyro_buf *missing, pyro_error *error)
{
    pyro_helper helper;
    pyro_buf text = PYRO_BUF_INIT;
    pyro_source *source = NULL;
    pyro_json *json = NULL;
    int status = pyro_helper_begin(&helper, python, error);

    if (status != PYRO_OK)
        return status;
    char *request = pyro_helper_path(&helper, "request.json");
    const char *arguments[] = {"count", request, NULL};
    status = !request ? pyro_fail_memory(error)
                      : write_request(session, counters, counter_count, request, error);
    if (status == PYRO_OK)
        status = pyro_helper_run(&helper, &text, arguments, error);
    if (status == PYRO_OK)
        status = pyro_source_open_memory(&source, text.data, text.length, error);
    if (status == PYRO_OK)
        status = pyro_json_open(&json, source, NULL, error);
    if (status == PYRO_OK && !read_answer(session, json, missing))
        status = pyro_fail(error, PYRO_ERROR_FORMAT,
                           "cannot parse the result of the Python helper");
    pyro_json_close(json);
    pyro_source_close(source);
    pyro_helper_end(&helper);
    pyro_buf_free(&text);
    free(request);
    return status;
}

bool pyro_check_run_counters(pyro_check_session *session, const char *const *counters,
                             size_t counter_count, const char *python, int *exit_code)
{
    pyro_buf missing = PYRO_BUF_INIT;
    pyro_error error;
    int status;

    pyro_error_clear(&error);
    status = ask(session, counters, counter_count, python, &missing, &error);
    *exit_code = PYRO_EXIT_FINE;
    if (status != PYRO_OK)
        *exit_code = pyro_common_fail(NULL, &error);
    else if (missing.length > 0)
        *exit_code = pyro_helper_complain_missing(python, missing.data);
    pyro_buf_free(&missing);
    return *exit_code == PYRO_EXIT_FINE;
}

/* Exports a user's model through the helper. Reads the archive, or where the code failed. */
#include "cli/python/helper.h"

#include "cli/common.h"

#include "base/error.h"
#include "base/json/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The parts of the helper's result. */
typedef struct answer {
    char *missing, *unusable;
    pyro_helper_export *out;
} answer;

/* Copies the next string; skips other values. False: out of memory. */
static bool read_text(pyro_json *json, char **out)
{
    pyro_json_kind kind = pyro_json_next(json);
    size_t length;

    if (kind == PYRO_JSON_OBJECT || kind == PYRO_JSON_ARRAY)
        return pyro_json_skip(json);
    if (kind != PYRO_JSON_STRING)
        return kind != PYRO_JSON_ERROR;
    free(*out);
    *out = strdup(pyro_json_text(json, &length));
    return *out != NULL;
}

static bool read_broken(pyro_json *json, pyro_trace_break *broken)
{
    const struct {
        const char *key;
        char **text;
    } fields[] = {
        {"stage", &broken->stage}, {"type", &broken->type}, {"message", &broken->message},
        {"hint", &broken->hint},   {"file", &broken->file}, {"function", &broken->function},
        {"code", &broken->code},
    };

    if (pyro_json_next(json) != PYRO_JSON_OBJECT)
        return false;
    while (pyro_json_next(json) == PYRO_JSON_KEY) {
        char **text = NULL;

        for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
            if (pyro_json_is(json, fields[i].key, strlen(fields[i].key)))
                text = fields[i].text;
        if (PYRO_JSON_IS(json, "line")) {
            if (pyro_json_next(json) == PYRO_JSON_NUMBER)
                pyro_json_int(json, &broken->line);
        } else if (!(text ? read_text(json, text) : pyro_json_skip(json))) {
            return false;
        }
    }
    return pyro_json_current(json) == PYRO_JSON_OBJECT_END;
}

/* ["torch", "fvcore"] as "torch fvcore". */
static bool read_words(pyro_json *json, char **out)
{
    pyro_buf words = PYRO_BUF_INIT;
    size_t length;

    if (pyro_json_next(json) != PYRO_JSON_ARRAY)
        return false;
    while (pyro_json_next(json) == PYRO_JSON_STRING)
        pyro_buf_addf(&words, "%s%s", words.length == 0 ? "" : " ", pyro_json_text(json, &length));
    *out = pyro_buf_detach(&words, &length);
    return *out != NULL;
}

static bool read_answer(pyro_json *json, answer *given)
{
    if (pyro_json_next(json) != PYRO_JSON_OBJECT)
        return false;
    while (pyro_json_next(json) == PYRO_JSON_KEY) {
        bool good;

        if (PYRO_JSON_IS(json, "missing"))
            good = read_words(json, &given->missing);
        else if (PYRO_JSON_IS(json, "unusable"))
            good = read_text(json, &given->unusable);
        else if (PYRO_JSON_IS(json, "broken"))
            good = given->out->untraceable = read_broken(json, &given->out->broken);
        else if (PYRO_JSON_IS(json, "label"))
            good = read_text(json, &given->out->label);
        else if (PYRO_JSON_IS(json, "builder"))
            good = read_text(json, &given->out->builder);
        else
            good = pyro_json_skip(json);
        if (!good)
            return false;
    }
    return pyro_json_current(json) == PYRO_JSON_OBJECT_END;
}

static int parse_answer(answer *given, const pyro_buf *text, pyro_error *error)
{
    pyro_source *source = NULL;
    pyro_json *json = NULL;
    int status = pyro_source_open_memory(&source, text->data, text->length, error);

    if (status == PYRO_OK)
        status = pyro_json_open(&json, source, NULL, error);
    if (status == PYRO_OK && !read_answer(json, given))
        status = pyro_fail(error, PYRO_ERROR_FORMAT,
                           "cannot parse the result of the Python helper");
    pyro_json_close(json);
    pyro_source_close(source);
    return status;
}

static int run_export(answer *given, const pyro_helper_request *request, pyro_error *error)
{
    pyro_helper helper;
    pyro_buf text = PYRO_BUF_INIT;
    char *archive = NULL;
    int status = pyro_helper_begin(&helper, request->python, error);

    if (status != PYRO_OK)
        return status;
    archive = pyro_helper_path(&helper, "model.pt2");
    const char *arguments[] = {"export",
                               request->spec,
                               "--archive",
                               archive,
                               request->input_shape ? "--input-shape" : NULL,
                               request->input_shape,
                               NULL};
    status = !archive ? pyro_fail_memory(error) : pyro_helper_run(&helper, &text, arguments, error);
    if (status == PYRO_OK)
        status = parse_answer(given, &text, error);
    if (status == PYRO_OK && !given->missing && !given->unusable && !given->out->untraceable)
        status = pyro_helper_read(&given->out->archive, archive, error);
    pyro_helper_end(&helper);
    pyro_buf_free(&text);
    free(archive);
    return status;
}

/* "cannot be exported at net.py:12 (if x.sum() > 0:): ...; use torch.cond": what, where, remedy. */
static int fail_broken(pyro_error *error, const pyro_trace_break *broken)
{
    bool traced = broken->stage && strcmp(broken->stage, "trace") == 0;
    char place[320] = "";

    if (broken->file) {
        size_t length = strlen(broken->file);

        snprintf(place, sizeof place, " at %s:%lld (%.80s)",
                 broken->file + (length > 120 ? length - 120 : 0), (long long)broken->line,
                 broken->code ? broken->code : "");
    }
    return pyro_fail(error, PYRO_ERROR_UNSUPPORTED, "%s%s: %.60s: %.140s%s%.180s",
                     traced ? "cannot be exported" : "fails", place,
                     broken->type ? broken->type : "error", broken->message ? broken->message : "",
                     broken->hint && broken->hint[0] != '\0' ? "; " : "",
                     broken->hint ? broken->hint : "");
}

/* Strips the file or spec from the helper's message: the caller prints it already. */
static int fail_unusable(pyro_error *error, const char *spec, const char *text)
{
    const char *colon = strrchr(spec, ':');
    size_t place = colon ? (size_t)(colon - spec) : strlen(spec);

    if (strncmp(text, spec, strlen(spec)) == 0 && strncmp(text + strlen(spec), ": ", 2) == 0)
        text += strlen(spec) + 2;
    else if (strncmp(text, spec, place) == 0 && strncmp(text + place, ": ", 2) == 0)
        text += place + 2;
    return pyro_fail(error, PYRO_ERROR_ARGUMENT, "%s", text);
}

int pyro_helper_export_model(pyro_helper_export *out, const pyro_helper_request *request,
                             pyro_error *error)
{
    answer given = {.out = out};
    int status;

    *out = (pyro_helper_export){.archive = PYRO_BUF_INIT};
    status = run_export(&given, request, error);
    if (status == PYRO_OK && given.missing)
        status = pyro_fail(error, PYRO_ERROR_NOT_FOUND,
                           "%.100s has no %.100s; pip install %.100s (or name another Python with "
                           "--python)",
                           request->python ? request->python : "python3", given.missing,
                           given.missing);
    else if (status == PYRO_OK && given.unusable)
        status = fail_unusable(error, request->spec, given.unusable);
    else if (status == PYRO_OK && out->untraceable)
        status = fail_broken(error, &out->broken);
    free(given.missing);
    free(given.unusable);
    return status;
}

void pyro_helper_export_free(pyro_helper_export *exported)
{
    pyro_trace_break *broken = &exported->broken;
    char *const texts[] = {exported->label, exported->builder, broken->stage,
                           broken->type,    broken->message,   broken->hint,
                           broken->file,    broken->function,  broken->code};

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        free(texts[i]);
    pyro_buf_free(&exported->archive);
    *exported = (pyro_helper_export){.archive = PYRO_BUF_INIT};
}

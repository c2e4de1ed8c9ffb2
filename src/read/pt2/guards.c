/*
 * Reads the guards of an exported program: conditions on sizes that tracing relied on. Sizes that
 * break a guard would run other operators than those in the file.
 */
#include "read/pt2/pt2.h"

#include "base/containers/buf.h"
#include <stdlib.h>
#include <string.h>

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && !strcmp(text + length - end_length, end);
}

/*
 * Adds the size that "L['x'].size()[2]" at *at refers to and moves past it; returns false if the
 * model has no such input.
 */
static bool add_input_size(pyro_buf *out, const pyro_model *model, const char **at)
{
    static const char after_name[] = "'].size()[";
    const char *name = *at + 3, *end = strstr(name, after_name);
    char input[256], *rest;
    if (!end || (size_t)(end - name) >= sizeof input)
        return false;
    memcpy(input, name, (size_t)(end - name));
    input[end - name] = '\0';
    const pyro_value *value = pyro_model_find_input(model, input);
    unsigned long dim = strtoul(end + sizeof after_name - 1, &rest, 10);
    if (!value || dim >= value->rank || *rest != ']')
        return false;
    const pyro_expr *expr = pyro_size_expr(model, value->sizes[dim]);
    if (expr)
        pyro_buf_addf(out, "(%s)", expr->text);
    else
        pyro_buf_addf(out, "%lld", (long long)value->sizes[dim]);
    *at = rest + 1;
    return true;
}

/* Rewrites a guard, which is Python, as an expression of symbols; returns false if it cannot. */
static bool translate(pyro_buf *out, const pyro_model *model, const char *text)
{
    for (const char *at = text; *at;) {
        if (!strncmp(at, "L['", 3)) {
            if (!add_input_size(out, model, &at))
                return false;
        } else if (!strncmp(at, " and ", 5)) {
            pyro_buf_adds(out, " & ");
            at += 5;
        } else if (!strncmp(at, " or ", 4)) {
            pyro_buf_adds(out, " | ");
            at += 4;
        } else {
            pyro_buf_addc(out, *at++);
        }
    }
    return !out->failed;
}

static bool add_guard(pt2_reader *reader, const char *text)
{
    pyro_model *model = reader->model;
    pyro_buf expression = PYRO_BUF_INIT;
    bool good = true;
    /* A guard against 0 or 1 is about memory layout: the operators are the same. */
    bool kept = !ends_with(text, " != 1") && !ends_with(text, " != 0") &&
                translate(&expression, model, text);
    if (expression.failed)
        good = pt2_out_of_memory(reader);
    if (good && kept) {
        int64_t index = pyro_exprs_add(&model->exprs, expression.data, expression.length);
        if (index < 0 || !pyro_grow(&model->guards, &model->guard_capacity, model->guard_count + 1,
                                    sizeof *model->guards))
            good = pt2_out_of_memory(reader);
        else if (model->exprs.items[index].understood)
            model->guards[model->guard_count++] = (uint32_t)index;
    }
    pyro_buf_free(&expression);
    return good;
}

bool pt2_guards(pt2_reader *reader)
{
    if (!pt2_expect(reader, PYRO_JSON_ARRAY, "guards"))
        return false;
    while (pt2_next_item(reader)) {
        size_t length;
        const char *text = NULL;
        if (pyro_json_current(reader->json) == PYRO_JSON_STRING)
            text = pyro_json_text(reader->json, &length);
        if (!text) {
            pyro_json_fail(reader->json, "expected a guard, which is text");
            return false;
        }
        if (strlen(text) == length && !add_guard(reader, text))
            return false;
    }
    return !pt2_failed(reader);
}

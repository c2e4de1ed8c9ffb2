/* Helpers that read an exported program's JSON: keys, items, texts, integers and sizes. */
#include "read/pt2/pt2.h"

#include "base/error.h"

#include <string.h>

bool pt2_out_of_memory(pt2_reader *reader)
{
    pyro_fail_memory(reader->error);
    return false;
}

bool pt2_failed(const pt2_reader *reader)
{
    return pyro_json_current(reader->json) == PYRO_JSON_ERROR;
}

/* Texts become C strings: one that contains a NUL is rejected, not truncated. */
static bool is_whole(pt2_reader *reader, const char *what)
{
    if (!pyro_json_has_nul(reader->json))
        return true;
    pyro_json_fail(reader->json, "%s contains a NUL character", what);
    return false;
}

bool pt2_expect(pt2_reader *reader, pyro_json_kind kind, const char *what)
{
    pyro_json_kind got = pyro_json_next(reader->json);
    if (got == kind)
        return kind != PYRO_JSON_STRING || is_whole(reader, what);
    if (got != PYRO_JSON_ERROR)
        pyro_json_fail(reader->json, "expected %s", what);
    return false;
}

bool pt2_next_key(pt2_reader *reader)
{
    return pyro_json_next(reader->json) == PYRO_JSON_KEY && is_whole(reader, "a key");
}

bool pt2_next_item(pt2_reader *reader)
{
    pyro_json_kind kind = pyro_json_next(reader->json);
    return kind != PYRO_JSON_ARRAY_END && kind != PYRO_JSON_ERROR && kind != PYRO_JSON_END;
}

bool pt2_skip(pt2_reader *reader)
{
    return pyro_json_skip(reader->json);
}

bool pt2_integer(pt2_reader *reader, int64_t *out, const char *what)
{
    if (!pt2_expect(reader, PYRO_JSON_NUMBER, what))
        return false;
    if (pyro_json_int(reader->json, out))
        return true;
    pyro_json_fail(reader->json, "%s is not a 64-bit integer", what);
    return false;
}

bool pt2_text(pt2_reader *reader, const char **out, const char *what)
{
    if (!pt2_expect(reader, PYRO_JSON_STRING, what))
        return false;
    size_t length;
    const char *text = pyro_json_text(reader->json, &length);
    uint32_t id = text ? pyro_intern_add(&reader->model->strings, text, length) : PYRO_INTERN_NONE;
    if (id == PYRO_INTERN_NONE)
        return pt2_out_of_memory(reader);
    *out = pyro_intern_text(&reader->model->strings, id);
    return true;
}

/* {"as_int": 2}, {"as_bool": true} or null. */
static bool read_hint(pt2_reader *reader, bool *has_hint, int64_t *hint)
{
    pyro_json_kind kind = pyro_json_next(reader->json);
    if (kind == PYRO_JSON_NULL)
        return true;
    if (kind != PYRO_JSON_OBJECT) {
        if (kind != PYRO_JSON_ERROR)
            pyro_json_fail(reader->json, "expected the hint of an expression");
        return false;
    }
    while (pt2_next_key(reader)) {
        bool is_integer = PYRO_JSON_IS(reader->json, "as_int");
        bool is_boolean = PYRO_JSON_IS(reader->json, "as_bool");
        if (!is_integer && !is_boolean) {
            if (!pt2_skip(reader))
                return false;
            continue;
        }
        kind = pyro_json_next(reader->json);
        *has_hint = is_boolean ? kind == PYRO_JSON_TRUE || kind == PYRO_JSON_FALSE
                               : kind == PYRO_JSON_NUMBER && pyro_json_int(reader->json, hint);
        if (is_boolean)
            *hint = kind == PYRO_JSON_TRUE;
        if (!*has_hint && kind != PYRO_JSON_ERROR)
            pyro_json_fail(reader->json, "the hint of an expression is not an integer");
        if (!*has_hint)
            return false;
    }
    return !pt2_failed(reader);
}

/* {"expr_str": "...", "hint": ...} */
static bool read_expression(pt2_reader *reader, pyro_size *out)
{
    int64_t index = -1, hint = 0;
    bool has_hint = false;
    if (!pt2_expect(reader, PYRO_JSON_OBJECT, "an expression"))
        return false;
    while (pt2_next_key(reader)) {
        if (PYRO_JSON_IS(reader->json, "expr_str")) {
            size_t length;
            if (!pt2_expect(reader, PYRO_JSON_STRING, "the text of an expression"))
                return false;
            const char *text = pyro_json_text(reader->json, &length);
            index = text ? pyro_exprs_add(&reader->model->exprs, text, length) : -1;
            if (index < 0)
                return pt2_out_of_memory(reader);
        } else if (PYRO_JSON_IS(reader->json, "hint")) {
            if (!read_hint(reader, &has_hint, &hint))
                return false;
        } else if (!pt2_skip(reader)) {
            return false;
        }
    }
    if (pt2_failed(reader))
        return false;
    if (index < 0) {
        pyro_json_fail(reader->json, "an expression without a text");
        return false;
    }
    pyro_expr *expr = &reader->model->exprs.items[index];
    if (has_hint && !expr->has_hint) {
        expr->has_hint = true;
        expr->hint = hint;
    }
    *out = ~index;
    return true;
}

/* A negative literal, which is valid only for a number, becomes an expression without symbols. */
static bool negative_at(pt2_reader *reader, bool is_number, pyro_size *out)
{
    size_t length;
    if (!is_number) {
        pyro_json_fail(reader->json, "expected a size of 0 or more");
        return false;
    }
    const char *text = pyro_json_number_text(reader->json, &length);
    int64_t index = pyro_exprs_add(&reader->model->exprs, text, length);
    *out = ~index;
    return index >= 0 || pt2_out_of_memory(reader);
}

bool pt2_size_at(pt2_reader *reader, bool is_number, pyro_size *out)
{
    pyro_json_kind kind = pyro_json_current(reader->json);
    bool found = false;
    if (kind != PYRO_JSON_OBJECT) {
        if (kind != PYRO_JSON_ERROR)
            pyro_json_fail(reader->json, "expected a size");
        return false;
    }
    if (pyro_json_take_integer(reader->json, "\"as_int\": ", "}", out))
        return true;
    while (pt2_next_key(reader)) {
        if (PYRO_JSON_IS(reader->json, "as_int")) {
            if (!pt2_integer(reader, out, "a size"))
                return false;
            if (*out < 0 && !negative_at(reader, is_number, out))
                return false;
            found = true;
        } else if (PYRO_JSON_IS(reader->json, "as_bool")) {
            kind = pyro_json_next(reader->json);
            *out = kind == PYRO_JSON_TRUE;
            found = true;
            if (kind != PYRO_JSON_TRUE && kind != PYRO_JSON_FALSE) {
                pyro_json_fail(reader->json, "expected true or false");
                return false;
            }
        } else if (PYRO_JSON_IS(reader->json, "as_expr")) {
            if (!read_expression(reader, out))
                return false;
            found = true;
        } else if (!pt2_skip(reader)) {
            return false;
        }
    }
    if (!found && !pt2_failed(reader))
        pyro_json_fail(reader->json, "a size that is neither a number nor an expression");
    return found && !pt2_failed(reader);
}

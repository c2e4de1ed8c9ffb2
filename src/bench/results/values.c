/* Reads values of results from JSON: texts, numbers, samples, and objects by member tables. */
#include "bench/results/values.h"

#include "base/containers/buf.h"
#include "base/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Reads a text, or null. */
int pyro_results_string(pyro_results_reader *r, void *target)
{
    size_t length;
    const char **member = target;

    switch (pyro_json_next(r->json)) {
    case PYRO_JSON_NULL:
        *member = NULL;
        return PYRO_OK;
    case PYRO_JSON_STRING: {
        const char *text = pyro_json_text(r->json, &length);

        if (memchr(text, '\0', length))
            return pyro_json_fail(r->json, "NUL character in a text");
        return pyro_bench_copy(r->bench, member, text, length, r->error);
    }
    default:
        return pyro_json_fail(r->json, "expected a text");
    }
}

int pyro_results_required_string(pyro_results_reader *r, void *target)
{
    int status = pyro_results_string(r, target);

    if (status == PYRO_OK && !*(const char **)target)
        return pyro_json_fail(r->json, "expected a text");
    return status;
}

int pyro_results_integer(pyro_results_reader *r, void *target)
{
    if (pyro_json_next(r->json) == PYRO_JSON_NULL)
        return PYRO_OK;
    if (pyro_json_current(r->json) != PYRO_JSON_NUMBER || !pyro_json_int(r->json, target))
        return pyro_json_fail(r->json, "expected a whole number");
    return PYRO_OK;
}

int pyro_results_number(pyro_results_reader *r, void *target)
{
    if (pyro_json_next(r->json) == PYRO_JSON_NULL)
        return PYRO_OK;
    if (pyro_json_current(r->json) != PYRO_JSON_NUMBER || !pyro_json_double(r->json, target) ||
        !isfinite(*(double *)target))
        return pyro_json_fail(r->json, "expected a number");
    return PYRO_OK;
}

/* Reads a measured amount: a number of at least 0. */
static int take_amount(pyro_results_reader *r, double *out)
{
    if (pyro_json_current(r->json) != PYRO_JSON_NUMBER || !pyro_json_double(r->json, out) ||
        !(*out >= 0 && isfinite(*out)))
        return pyro_json_fail(r->json, "expected a number of at least 0");
    return PYRO_OK;
}

int pyro_results_boolean(pyro_results_reader *r, void *target)
{
    pyro_json_kind kind = pyro_json_next(r->json);

    if (kind != PYRO_JSON_TRUE && kind != PYRO_JSON_FALSE)
        return pyro_json_fail(r->json, "expected true or false");
    *(bool *)target = kind == PYRO_JSON_TRUE;
    return PYRO_OK;
}

/* Reads an object: members in the table; skips all others. */
int pyro_results_members(pyro_results_reader *r, const pyro_results_member *members, void *target)
{
    while (pyro_json_next(r->json) == PYRO_JSON_KEY) {
        const pyro_results_member *found = members;
        size_t length;
        const char *key = pyro_json_text(r->json, &length);

        while (found->key && (strlen(found->key) != length || memcmp(found->key, key, length) != 0))
            found++;
        if (!found->key) {
            if (!pyro_json_skip(r->json))
                return pyro_json_status(r->json);
            continue;
        }
        int status = found->read(r, (char *)target + found->offset);
        if (status != PYRO_OK)
            return status;
    }
    return pyro_json_current(r->json) == PYRO_JSON_OBJECT_END
               ? PYRO_OK
               : pyro_json_fail(r->json, "expected }");
}

int pyro_results_object(pyro_results_reader *r, const pyro_results_member *members, void *target)
{
    if (pyro_json_next(r->json) != PYRO_JSON_OBJECT)
        return pyro_json_fail(r->json, "expected an object");
    return pyro_results_members(r, members, target);
}

/* Reads {"name": "value", ...} into pairs; `count` is the length of `pairs`. */
int pyro_results_pairs(pyro_results_reader *r, pyro_pair **pairs, size_t *count)
{
    char name[256];

    if (pyro_json_next(r->json) != PYRO_JSON_OBJECT)
        return pyro_json_fail(r->json, "expected an object");
    while (pyro_json_next(r->json) == PYRO_JSON_KEY) {
        size_t length;
        const char *key = pyro_json_text(r->json, &length);
        const char *value = NULL;

        if (length >= sizeof name || memchr(key, '\0', length))
            return pyro_json_fail(r->json, "name too long");
        memcpy(name, key, length);
        name[length] = '\0';
        int status = pyro_results_required_string(r, &value);
        if (status == PYRO_OK)
            status = pyro_bench_add_pair(r->bench, pairs, count, name, value, r->error);
        if (status != PYRO_OK)
            return status;
    }
    return pyro_json_current(r->json) == PYRO_JSON_OBJECT_END
               ? PYRO_OK
               : pyro_json_fail(r->json, "expected }");
}

/* Reads an array of amounts into the arena. */
int pyro_results_amounts(pyro_results_reader *r, const double **out, size_t *count)
{
    double *values = NULL;
    size_t capacity = 0, length = 0;
    int status = PYRO_OK;

    if (pyro_json_next(r->json) != PYRO_JSON_ARRAY)
        return pyro_json_fail(r->json, "expected an array");
    while (status == PYRO_OK && pyro_json_next(r->json) != PYRO_JSON_ARRAY_END) {
        if (length >= PYRO_BENCH_SAMPLES_MAX)
            status = pyro_json_fail(r->json, "too many samples");
        else if (!pyro_grow(&values, &capacity, length + 1, sizeof *values))
            status = pyro_fail_memory(r->error);
        else
            status = take_amount(r, &values[length++]);
    }
    double *kept = pyro_arena_array(&r->bench->store->arena, length + 1, sizeof *kept);
    if (status == PYRO_OK && !kept)
        status = pyro_fail_memory(r->error);
    if (status == PYRO_OK && length > 0)
        memcpy(kept, values, length * sizeof *kept);
    free(values);
    *out = kept;
    *count = length;
    return status;
}

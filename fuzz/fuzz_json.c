/*
 * Fuzzes the JSON reader: reads every input token by token with a large and with a tiny window and
 * compares the results. Then skips it, and compares the fast scan with the scalar one.
 */
#include "base/json/json.h"
#include "base/json/scan.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct reading {
    uint64_t hash; /* of all tokens */
    pyro_json_kind last;
    pyro_error error;
} reading;

static void add(reading *result, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        result->hash = (result->hash ^ ((const unsigned char *)bytes)[i]) * 1099511628211u;
}

static void add_token(reading *result, pyro_json *json)
{
    pyro_json_kind kind = pyro_json_current(json);
    int64_t offset = pyro_json_offset(json), integer = 0;
    size_t depth = pyro_json_depth(json), length;
    add(result, &kind, sizeof kind);
    add(result, &offset, sizeof offset);
    add(result, &depth, sizeof depth);
    const char *text = pyro_json_text(json, &length);
    if (text[length] != '\0')
        abort();
    add(result, text, length);
    text = pyro_json_number_text(json, &length);
    if (text[length] != '\0')
        abort();
    add(result, text, length);
    double number = 0;
    if (pyro_json_int(json, &integer))
        add(result, &integer, sizeof integer);
    pyro_json_double(json, &number);
    add(result, &number, sizeof number);
}

static pyro_json *open_json(pyro_source **source, const uint8_t *data, size_t size,
                            const pyro_json_options *options, pyro_error *error)
{
    pyro_json *json;
    pyro_error_clear(error);
    if (pyro_source_open_memory(source, data, size, error) != PYRO_OK ||
        pyro_json_open(&json, *source, options, error) != PYRO_OK)
        abort();
    return json;
}

static reading read_all(const uint8_t *data, size_t size, const pyro_json_options *options)
{
    reading result = {.hash = 1469598103934665603u};
    pyro_source *source;
    pyro_json *json = open_json(&source, data, size, options, &result.error);
    do {
        result.last = pyro_json_next(json);
        add_token(&result, json);
    } while (result.last != PYRO_JSON_END && result.last != PYRO_JSON_ERROR);
    if ((result.last == PYRO_JSON_ERROR) != (result.error.code != PYRO_OK) ||
        pyro_json_status(json) != (int)result.error.code)
        abort();
    pyro_json_close(json);
    pyro_source_close(source);
    return result;
}

/* A valid document can also be skipped. */
static void skip_all(const uint8_t *data, size_t size, const pyro_json_options *options, bool sound)
{
    pyro_source *source;
    pyro_error error;
    pyro_json *json = open_json(&source, data, size, options, &error);
    bool skipped = pyro_json_skip(json) && pyro_json_next(json) == PYRO_JSON_END;
    if (sound && !skipped)
        abort();
    pyro_json_close(json);
    pyro_source_close(source);
}

static void compare_scans(const uint8_t *data, size_t size)
{
    char *bytes = malloc(size + PYRO_JSON_PADDING);
    if (!bytes)
        return;
    if (size)
        memcpy(bytes, data, size);
    memset(bytes + size, 0, PYRO_JSON_PADDING);
    pyro_json_nesting fast = {.depth = 1}, scalar = {.depth = 1};
    const char *end = bytes + size;
    if (pyro_json_scan_nested(&fast, bytes, end) !=
            pyro_json_scan_nested_scalar(&scalar, bytes, end) ||
        fast.depth != scalar.depth || fast.curly_depth != scalar.curly_depth)
        abort();
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pyro_json_options large = {.max_depth = 50, .max_token_bytes = 1000, .window_bytes = 1 << 14};
    if (size > 0) {
        large.any_utf8 = data[size - 1] & 1;
        large.nonfinite = data[size - 1] & 2;
    }
    pyro_json_options tiny = large;
    tiny.window_bytes = 64 + size % 61;
    reading first = read_all(data, size, &large), second = read_all(data, size, &tiny);
    if (first.hash != second.hash || first.last != second.last ||
        first.error.code != second.error.code || first.error.offset != second.error.offset ||
        strcmp(first.error.message, second.error.message) != 0)
        abort();
    skip_all(data, size, &tiny, first.last == PYRO_JSON_END);
    compare_scans(data, size);
    return 0;
}

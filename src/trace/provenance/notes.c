/*
 * Reads what our recorder notes about a compiled graph: {"graph": key, "backward": false, "part": 0,
 * "calls": [{"name": ..., "source": "model.py:23", "layers": [[path, bytes, class], ...]}, ...]}.
 * Parts after the first continue the last graph.
 */
#include "trace/provenance/provenance.h"

#include "base/containers/buf.h"
#include "base/error.h"
#include "base/json/json.h"

#define LONGEST_PATH 4096

typedef struct note {
    pyro_provenance *all;
    pyro_json *json;
    bool failed; /* memory is out, or a bound was reached */
    bool is_started; /* the graph was added */
    pyro_buf key, path, class_name;
    int64_t part;
    bool is_backward;
} note;

/* ["blocks.0", 4096, "Block"]; the rest may be missing. */
static void read_owner(note *note)
{
    pyro_json *json = note->json;
    int64_t bytes = -1;
    bool has_path = false;
    pyro_buf_reset(&note->path);
    pyro_buf_reset(&note->class_name);
    for (pyro_json_kind kind; (kind = pyro_json_next(json)) != PYRO_JSON_ARRAY_END;) {
        if (kind == PYRO_JSON_ERROR || kind == PYRO_JSON_END)
            return;
        size_t length;
        const char *text = kind == PYRO_JSON_STRING ? pyro_json_text(json, &length) : NULL;
        if (kind == PYRO_JSON_NUMBER && !pyro_json_int(json, &bytes))
            bytes = -1;
        else if (text && length <= LONGEST_PATH)
            pyro_buf_adds(has_path ? &note->class_name : &note->path, text);
        else if (kind == PYRO_JSON_OBJECT || kind == PYRO_JSON_ARRAY)
            pyro_json_skip(json);
        has_path |= text != NULL;
    }
    const char *path = note->path.length ? note->path.data : "";
    if (has_path)
        note->failed |= !pyro_provenance_add_owner(
            note->all, path, note->path.length,
            note->class_name.length ? note->class_name.data : NULL, bytes);
}

static void read_owners(note *note)
{
    if (pyro_json_next(note->json) != PYRO_JSON_ARRAY)
        return;
    for (pyro_json_kind kind;
         !note->failed && (kind = pyro_json_next(note->json)) != PYRO_JSON_ARRAY_END;) {
        if (kind == PYRO_JSON_ERROR || kind == PYRO_JSON_END)
            return;
        if (kind == PYRO_JSON_ARRAY)
            read_owner(note);
        else if (kind == PYRO_JSON_OBJECT)
            pyro_json_skip(note->json);
    }
}

static void read_call(note *note)
{
    pyro_json *json = note->json;
    bool is_named = false;
    while (!note->failed && pyro_json_next(json) == PYRO_JSON_KEY) {
        size_t length;
        bool is_name = PYRO_JSON_IS(json, "name"), is_source = PYRO_JSON_IS(json, "source");
        if (is_named && PYRO_JSON_IS(json, "layers")) {
            read_owners(note);
            continue;
        }
        pyro_json_kind kind = pyro_json_next(json);
        if (kind == PYRO_JSON_OBJECT || kind == PYRO_JSON_ARRAY) {
            pyro_json_skip(json);
            continue;
        }
        const char *text = kind == PYRO_JSON_STRING ? pyro_json_text(json, &length) : NULL;
        if (text && is_name && !is_named) {
            note->failed |= !pyro_provenance_add_call(note->all, text, length);
            is_named = true;
        } else if (text && is_source && is_named && length <= LONGEST_PATH) {
            note->failed |= !pyro_provenance_set_source(note->all, text, length);
        }
    }
}

static bool start_graph(note *note)
{
    if (note->is_started)
        return true;
    note->is_started = true;
    if (note->part > 0 && note->all->graph_count)
        return true;
    return pyro_provenance_add_graph(note->all, note->key.length ? note->key.data : NULL,
                                     note->is_backward);
}

static void read_calls(note *note)
{
    if (pyro_json_next(note->json) != PYRO_JSON_ARRAY)
        return;
    note->failed |= !start_graph(note);
    for (pyro_json_kind kind;
         !note->failed && (kind = pyro_json_next(note->json)) != PYRO_JSON_ARRAY_END;) {
        if (kind == PYRO_JSON_ERROR || kind == PYRO_JSON_END)
            return;
        if (kind == PYRO_JSON_OBJECT)
            read_call(note);
        else if (kind == PYRO_JSON_ARRAY)
            pyro_json_skip(note->json);
    }
}

static void read_graph(note *note)
{
    pyro_json *json = note->json;
    if (pyro_json_next(json) != PYRO_JSON_OBJECT)
        return;
    while (!note->failed && pyro_json_next(json) == PYRO_JSON_KEY) {
        bool is_key = PYRO_JSON_IS(json, "graph"), is_part = PYRO_JSON_IS(json, "part");
        bool is_backward = PYRO_JSON_IS(json, "backward");
        if (PYRO_JSON_IS(json, "calls")) {
            read_calls(note);
            continue;
        }
        pyro_json_kind kind = pyro_json_next(json);
        if (kind == PYRO_JSON_OBJECT || kind == PYRO_JSON_ARRAY)
            pyro_json_skip(json);
        else if (is_key && kind == PYRO_JSON_STRING && !note->key.length)
            pyro_buf_adds(&note->key, pyro_json_text(json, NULL));
        else if (is_part && kind == PYRO_JSON_NUMBER && !pyro_json_int(json, &note->part))
            note->part = 0;
        else if (is_backward)
            note->is_backward = kind == PYRO_JSON_TRUE;
    }
}

int pyro_provenance_read_note(pyro_provenance *all, const char *text, size_t length,
                              pyro_error *error)
{
    note note = {.all = all};
    pyro_json_options options = {.any_utf8 = true, .max_depth = 16};
    pyro_source *source = NULL;
    pyro_error damage;
    pyro_error_clear(&damage);
    int status = pyro_source_open_memory(&source, text, length, error);
    if (status == PYRO_OK)
        status = pyro_json_open(&note.json, source, &options, &damage);
    if (status == PYRO_OK) {
        read_graph(&note);
        int read = pyro_json_status(note.json);
        all->damaged += read != PYRO_OK && read != PYRO_ERROR_MEMORY;
        note.failed |= read == PYRO_ERROR_MEMORY;
    }
    pyro_json_close(note.json);
    pyro_source_close(source);
    bool no_memory = note.failed || note.key.failed || note.path.failed || note.class_name.failed;
    pyro_buf_free(&note.key);
    pyro_buf_free(&note.path);
    pyro_buf_free(&note.class_name);
    return no_memory ? pyro_fail_memory(error) : status;
}

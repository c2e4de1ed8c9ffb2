/* Opening and closing traces: what kind of input it is, and the columns' life. */
#include "trace/trace.h"

#include "base/containers/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/source/source.h"
#include "trace/recording/devices.h"
#include "trace/recording/marks.h"
#include "trace/kineto/scanner.h"
#include "trace/recording/recording.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

pyro_trace *pyro_trace_new(const char *file)
{
    pyro_trace *trace = calloc(1, sizeof *trace);
    if (!trace)
        return NULL;
    pyro_arena_init(&trace->arena);
    pyro_intern_init(&trace->names, &trace->arena);
    trace->rank = trace->world_size = -1;
    trace->backend = PYRO_NO_ID;
    trace->file = pyro_arena_text(&trace->arena, file, strlen(file));
    if (!trace->file) {
        pyro_trace_close(trace);
        return NULL;
    }
    return trace;
}

void pyro_trace_free_rows(pyro_trace *trace)
{
    free(trace->start_ns);
    free(trace->duration_ns);
    free(trace->name);
    free(trace->correlation);
    free(trace->external_id);
    free(trace->detail);
    free(trace->track);
    free(trace->category);
    free(trace->ops);
    free(trace->kernels);
    free(trace->transfer_bytes);
    free(trace->memory);
    free(trace->collectives);
    free(trace->flows);
    free(trace->tracks);
}

bool pyro_trace_property(pyro_trace *trace, const char *key, const char *value)
{
    uint32_t key_id = pyro_intern_add(&trace->names, key, strlen(key));
    uint32_t value_id = pyro_intern_add(&trace->names, value, strlen(value));
    if (key_id == PYRO_INTERN_NONE || value_id == PYRO_INTERN_NONE)
        return false;
    for (size_t i = 0; i < trace->note_count; i++) {
        if (trace->notes[i].key == key_id) {
            trace->notes[i].value = value_id;
            return true;
        }
    }
    if (!pyro_grow(&trace->notes, &trace->note_capacity, trace->note_count + 1,
                   sizeof *trace->notes))
        return false;
    trace->notes[trace->note_count++] = (pyro_trace_note){key_id, value_id};
    return true;
}

const char *pyro_trace_note_text(const pyro_trace *trace, const char *key)
{
    for (size_t i = 0; i < trace->note_count; i++)
        if (strcmp(pyro_trace_text(trace, trace->notes[i].key), key) == 0)
            return pyro_trace_text(trace, trace->notes[i].value);
    return "";
}

bool pyro_trace_lacks_ops(const pyro_trace *trace)
{
    return strcmp(pyro_trace_note_text(trace, PYRO_NOTE_OPS), PYRO_NOTE_MISSING) == 0;
}

void pyro_trace_close(pyro_trace *trace)
{
    if (!trace)
        return;
    pyro_trace_free_rows(trace);
    free(trace->devices);
    free(trace->notes);
    free(trace->warnings);
    pyro_intern_free(&trace->names);
    pyro_arena_free(&trace->arena);
    free(trace);
}

static int read_source(pyro_trace **out, pyro_source *source, const char *file,
                       const pyro_trace_options *options, pyro_error *error)
{
    pyro_trace *trace = pyro_trace_new(file);
    int status = trace ? PYRO_OK : pyro_fail_memory(error);
    if (status == PYRO_OK) {
        trace->file_bytes = source->size;
        status = pyro_source_open_content(&source, source, error);
    }
    unsigned char magic[PYRO_PEEKED_BYTES];
    size_t peeked = 0;
    if (status == PYRO_OK)
        status = pyro_source_peek(&source, magic, &peeked, error);
    bool is_recording = pyro_recording_is_one(magic, peeked);
    /* Unpacking and scanning can go on at once. */
    if (status == PYRO_OK && !is_recording && !pyro_source_is_seekable(source) &&
        !(options && options->threads == 1))
        status = pyro_source_open_readahead(&source, source, error);
    if (status == PYRO_OK)
        status = is_recording ? pyro_recording_read(trace, source, error)
                              : pyro_kineto_read(trace, source, options, error);
    pyro_source_close(source);
    if (status == PYRO_OK) {
        *out = trace;
    } else {
        pyro_trace_close(trace);
        pyro_error_where(error, file, NULL);
    }
    return status;
}

/* A killed program, or a forked one, did not write what torch.profiler saw. */
static int report_no_ops(pyro_trace *trace, pyro_error *error)
{
    pyro_buf text = PYRO_BUF_INIT;
    const char *before = pyro_trace_note_text(trace, PYRO_NOTE_MISSING);
    pyro_buf_addf(&text,
                  "ops and memory (there is no *" PYRO_DEVICES_SUFFIX
                  " beside it: the program was killed or forked, or the file was not copied)%s%s",
                  before[0] ? ", " : "", before);
    bool fine = !text.failed && pyro_trace_property(trace, PYRO_NOTE_MISSING, text.data) &&
                pyro_trace_property(trace, PYRO_NOTE_OPS, PYRO_NOTE_MISSING);
    pyro_buf_free(&text);
    return fine ? PYRO_OK : pyro_fail_memory(error);
}

/* What a recording does not hold: work of devices, in a file beside it. */
static int add_file_beside(pyro_trace *trace, const char *path, pyro_error *error)
{
    pyro_buf beside = PYRO_BUF_INIT;
    pyro_file_identity file;
    int status = PYRO_OK;
    pyro_buf_addf(&beside, "%s" PYRO_DEVICES_SUFFIX, path);
    if (beside.failed)
        status = pyro_fail_memory(error);
    else if (pyro_file_identify(beside.data, &file))
        status = pyro_trace_join_devices(trace, beside.data, error);
    else if (strcmp(pyro_trace_note_text(trace, PYRO_NOTE_OPS), PYRO_NOTE_OPS_BESIDE) == 0)
        status = report_no_ops(trace, error);
    pyro_marks_forget(trace);
    pyro_buf_free(&beside);
    return status;
}

int pyro_trace_open(pyro_trace **out, const char *path, const pyro_trace_options *options,
                    pyro_error *error)
{
    pyro_source *source;
    *out = NULL;
    int status = pyro_source_open_file(&source, path, error);
    if (status != PYRO_OK)
        return status;
    status = read_source(out, source, strcmp(path, "-") == 0 ? "standard input" : path, options,
                         error);
    if (status == PYRO_OK && (*out)->is_recording)
        status = add_file_beside(*out, path, error);
    if (status != PYRO_OK) {
        pyro_trace_close(*out);
        *out = NULL;
    }
    return status;
}

int pyro_trace_open_memory(pyro_trace **out, const void *data, size_t size, const char *label,
                           const pyro_trace_options *options, pyro_error *error)
{
    pyro_source *source;
    *out = NULL;
    int status = pyro_source_open_memory(&source, data, size, error);
    if (status != PYRO_OK)
        return status;
    return read_source(out, source, label, options, error);
}

const char *pyro_trace_file(const pyro_trace *trace)
{
    return trace->file;
}

bool pyro_trace_has_paths(const pyro_trace *trace)
{
    return trace->has_paths;
}

int64_t pyro_trace_event_count(const pyro_trace *trace)
{
    return trace->file_events;
}

const char *const *pyro_trace_warnings(const pyro_trace *trace, size_t *count)
{
    *count = trace->warning_count;
    return trace->warnings;
}

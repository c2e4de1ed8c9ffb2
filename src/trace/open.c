/*
 * Opens traces: recognises the format of an input by its first bytes, reads it, and adds the device
 * work that is in a file next to a recording.
 */
#include "trace/trace.h"

#include "base/containers/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json/scan.h"
#include "base/source/source.h"
#include "trace/kineto/scanner.h"
#include "trace/recording/devices.h"
#include "trace/recording/marks.h"
#include "trace/recording/recording.h"
#include <string.h>

static int read_recording(pyro_trace *trace, pyro_source *source, const pyro_trace_options *options,
                          pyro_error *error)
{
    return pyro_recording_read(trace, source, options ? options->last_ns : 0, error);
}

/*
 * The trace formats. The first row that recognises the first bytes reads the input, which is
 * already decompressed. A more specific format stands before a more general one.
 */
static const struct {
    const char *name; /* as errors list it */
    bool (*recognise)(const unsigned char *head, size_t size);
    int (*read)(pyro_trace *trace, pyro_source *source, const pyro_trace_options *options,
                pyro_error *error);
    bool reads_ahead; /* decompression may run in a second thread while this reads */
} formats[] = {
    {"pyrometer recording", pyro_recording_recognise, read_recording, false},
    {"Chrome trace JSON", pyro_kineto_recognise, pyro_kineto_read, true},
};

enum { FORMAT_COUNT = sizeof formats / sizeof *formats };

/* What the bytes at the start of a file seem to be. */
static const char *name_content(const unsigned char *bytes, size_t size)
{
    if (size >= 4 && memcmp(bytes, "PK\3\4", 4) == 0)
        return "a zip archive";
    if (size >= 4 && memcmp(bytes, "\177ELF", 4) == 0)
        return "a program or library";
    if (size >= 6 && memcmp(bytes, "SQLite", 6) == 0)
        return "an SQLite database";
    if (size >= 1 && bytes[0] == '<')
        return "HTML or XML";
    for (size_t i = 0; i < size; i++)
        if (bytes[i] < 0x20 && !pyro_json_is_space((char)bytes[i]))
            return "binary data";
    return "text";
}

static int refuse(const unsigned char *head, size_t size, pyro_error *error)
{
    pyro_buf names = PYRO_BUF_INIT;
    for (size_t i = 0; i < FORMAT_COUNT; i++)
        pyro_buf_addf(&names, "%s%s", i ? ", " : "", formats[i].name);
    int status = pyro_fail(error, PYRO_ERROR_FORMAT, "not a trace: %s; supported formats: %s",
                           name_content(head, size), names.failed ? "" : names.data);
    pyro_buf_free(&names);
    return status;
}

/* Reads decompressed content; *source may be replaced by another source that owns it. */
static int read_content(pyro_trace *trace, pyro_source **source, const pyro_trace_options *options,
                        pyro_error *error)
{
    unsigned char head[PYRO_PEEKED_BYTES];
    size_t size = 0, format = 0;
    int status = pyro_source_peek(source, head, &size, error);
    if (status != PYRO_OK)
        return status;
    while (format < FORMAT_COUNT && !formats[format].recognise(head, size))
        format++;
    if (format == FORMAT_COUNT)
        return refuse(head, size, error);
    if (formats[format].reads_ahead && !pyro_source_is_seekable(*source) &&
        !(options && options->threads == 1))
        status = pyro_source_open_readahead(source, *source, error);
    return status == PYRO_OK ? formats[format].read(trace, *source, options, error) : status;
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
    if (status == PYRO_OK)
        status = read_content(trace, &source, options, error);
    pyro_source_close(source);
    if (status == PYRO_OK) {
        *out = trace;
    } else {
        pyro_trace_close(trace);
        pyro_error_where(error, file, NULL);
    }
    return status;
}

/* A program that was killed or forked did not write the ops that torch.profiler saw. */
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

/* Adds the device work, which a recording keeps in a second file next to it. */
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
    if (status == PYRO_OK)
        (*out)->is_alone = strcmp(path, "-") == 0;
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
    status = read_source(out, source, label, options, error);
    if (status == PYRO_OK)
        (*out)->is_alone = true;
    return status;
}

int pyro_trace_join_devices(pyro_trace *trace, const char *path, pyro_error *error)
{
    pyro_trace *from = NULL;
    int status = pyro_trace_open(&from, path, NULL, error);
    if (status == PYRO_OK)
        status = pyro_trace_add_devices(trace, from, error);
    pyro_trace_close(from);
    return status;
}

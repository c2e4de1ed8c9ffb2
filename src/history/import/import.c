/* Recognizes files of results and reads them into runs. */
#include "history/import/import.h"

#include "base/error.h"
#include "base/source/source.h"

#include <string.h>

enum { FILE_BYTES_MAX = 1 << 30, READ_BYTES = 1 << 16 };

static const struct {
    const char *name;
    pyro_import_recognise *recognise;
    pyro_import_read *read;
} formats[] = {
    {"pyrometer bench", pyro_import_is_bench, pyro_import_read_bench},
    {"pyrometer trace", pyro_import_is_trace, pyro_import_read_trace},
    {"pyrometer cost", pyro_import_is_cost, pyro_import_read_cost},
    {"pyrometer history", pyro_import_is_history, pyro_import_read_history},
    {"pytest-benchmark", pyro_import_is_pytest, pyro_import_read_pytest},
    {"Google Benchmark", pyro_import_is_google, pyro_import_read_google},
    {"asv", pyro_import_is_asv, pyro_import_read_asv},
    {"github-action-benchmark", pyro_import_is_github, pyro_import_read_github},
    {"hyperfine", pyro_import_is_hyperfine, pyro_import_read_hyperfine},
};

/* github-action-benchmark keeps its data as JavaScript: "window.BENCHMARK_DATA = {...}". */
static size_t skip_assignment(const char *bytes, size_t size)
{
    static const char start[] = "window.BENCHMARK_DATA";
    size_t length = sizeof start - 1;

    if (size < length || memcmp(bytes, start, length) != 0)
        return 0;
    while (length < size && bytes[length] != '{')
        length++;
    return length;
}

int pyro_runs_parse(pyro_runs *out, const void *bytes, size_t size, pyro_error *error)
{
    pyro_import import = {.runs = out, .error = error};
    size_t start = skip_assignment(bytes, size);
    int status;

    *out = (pyro_runs){0};
    status = pyro_document_parse(&import.document, (const char *)bytes + start, size - start,
                                 error);
    for (size_t i = 0; status == PYRO_OK && i < sizeof formats / sizeof *formats; i++) {
        if (!formats[i].recognise(import.document.root))
            continue;
        out->format = formats[i].name;
        status = formats[i].read(&import, import.document.root);
        break;
    }
    if (status == PYRO_OK && !out->format)
        status = pyro_fail(error, PYRO_ERROR_UNSUPPORTED,
                           "no results that this program can read (pyrometer bench, trace, cost, "
                           "history; hyperfine, pytest-benchmark, Google Benchmark, asv, "
                           "github-action-benchmark)");
    pyro_document_free(&import.document);
    if (status != PYRO_OK)
        pyro_runs_free(out);
    return status;
}

static int read_all(pyro_buf *buf, pyro_source *source, pyro_error *error)
{
    for (;;) {
        char *room = pyro_buf_reserve(buf, READ_BYTES);
        int64_t count = room ? pyro_source_read(source, room, READ_BYTES, error) : 0;

        if (!room)
            return pyro_fail_memory(error);
        if (count <= 0)
            return (int)count;
        buf->length += (size_t)count;
        if (buf->length > FILE_BYTES_MAX)
            return pyro_fail(error, PYRO_ERROR_LIMIT, "larger than 1 GiB");
    }
}

int pyro_runs_open(pyro_runs *out, const char *path, pyro_error *error)
{
    pyro_source *file = NULL, *content = NULL;
    pyro_buf buf = PYRO_BUF_INIT;

    *out = (pyro_runs){0};
    int status = pyro_source_open_file(&file, path, error);
    if (status == PYRO_OK)
        status = pyro_source_open_content(&content, file, error);
    if (status == PYRO_OK)
        status = read_all(&buf, content, error);
    if (status == PYRO_OK)
        status = pyro_runs_parse(out, buf.data ? buf.data : "", buf.length, error);
    if (status != PYRO_OK)
        pyro_error_where(error, path, NULL);
    pyro_source_close(content);
    pyro_buf_free(&buf);
    return status;
}

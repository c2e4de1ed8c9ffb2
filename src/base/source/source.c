/* Implements file and memory sources, and what all kinds of sources share. */
#include "base/source/source.h"

#include "base/error.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The most that Linux reads in one call. */
#define LARGEST_READ ((size_t)1 << 30)

typedef struct file_source {
    pyro_source head;
    int descriptor;
    bool owned;       /* false for standard input */
    bool regular;     /* require a regular file */
    int64_t position; /* of the next read() */
    char *path;
} file_source;

typedef struct memory_source {
    pyro_source head;
    const char *bytes;
    int64_t position;
} memory_source;

static int fail_system(pyro_error *error, const char *what, const char *path)
{
    int reason = errno;
    pyro_status code = reason == ENOENT || reason == ENOTDIR ? PYRO_ERROR_NOT_FOUND
                       : reason == ENOMEM                    ? PYRO_ERROR_MEMORY
                                                             : PYRO_ERROR_IO;
    pyro_fail(error, code, "%s: %s", what, strerror(reason));
    pyro_error_where(error, path, NULL);
    return code;
}

static int64_t file_read_at(pyro_source *source, int64_t offset, void *bytes, size_t size,
                            pyro_error *error)
{
    file_source *file = (file_source *)source;
    ssize_t got;
    do
        got = pread(file->descriptor, bytes, size < LARGEST_READ ? size : LARGEST_READ, offset);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return fail_system(error, "cannot read", file->path);
    if (got == 0 && size > 0) {
        pyro_fail_at(error, PYRO_ERROR_IO, offset,
                     "the file became shorter while it was read (it had %lld bytes)",
                     (long long)source->size);
        pyro_error_where(error, file->path, NULL);
        return PYRO_ERROR_IO;
    }
    return got;
}

/* A file ends where it ended at opening, even if another process appends to it. */
static int64_t file_read(pyro_source *source, void *bytes, size_t size, pyro_error *error)
{
    file_source *file = (file_source *)source;
    int64_t left = source->size - file->position;
    if (left <= 0)
        return 0;
    if ((uint64_t)left < size)
        size = (size_t)left;
    int64_t got = file_read_at(source, file->position, bytes, size, error);
    if (got > 0)
        file->position += got;
    return got;
}

static int64_t pipe_read(pyro_source *source, void *bytes, size_t size, pyro_error *error)
{
    file_source *file = (file_source *)source;
    ssize_t got;
    do
        got = read(file->descriptor, bytes, size < LARGEST_READ ? size : LARGEST_READ);
    while (got < 0 && errno == EINTR);
    return got < 0 ? fail_system(error, "cannot read", file->path) : got;
}

static void file_close(pyro_source *source)
{
    file_source *file = (file_source *)source;
    if (file->owned && file->descriptor >= 0)
        close(file->descriptor);
    free(file->path);
    free(file);
}

static const pyro_source_kind file_kind = {file_read, file_read_at, file_close};
static const pyro_source_kind pipe_kind = {pipe_read, NULL, file_close};

static int open_descriptor(file_source *file, const char *path, pyro_error *error)
{
    if (file->owned) {
        int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | (file->regular ? O_NONBLOCK : 0);
        do
            file->descriptor = open(path, flags);
        while (file->descriptor < 0 && errno == EINTR);
        if (file->descriptor < 0)
            return fail_system(error, "cannot open", file->path);
    } else {
        file->descriptor = STDIN_FILENO;
    }
    struct stat status;
    if (fstat(file->descriptor, &status) != 0)
        return fail_system(error, "cannot open", file->path);
    if (S_ISDIR(status.st_mode)) {
        pyro_fail(error, PYRO_ERROR_UNSUPPORTED, "is a directory");
        pyro_error_where(error, file->path, NULL);
        return PYRO_ERROR_UNSUPPORTED;
    }
    if (file->regular && !S_ISREG(status.st_mode)) {
        pyro_fail(error, PYRO_ERROR_UNSUPPORTED, "is a pipe or device; expected a file");
        pyro_error_where(error, file->path, NULL);
        return PYRO_ERROR_UNSUPPORTED;
    }
    /* Standard input may be a file that was partly read: then the rest is a stream. */
    bool whole = S_ISREG(status.st_mode) &&
                 (file->owned || lseek(file->descriptor, 0, SEEK_CUR) == 0);
    file->head.kind = whole ? &file_kind : &pipe_kind;
    file->head.size = whole ? status.st_size : -1;
    return PYRO_OK;
}

static int open_path(pyro_source **out, const char *path, bool regular, pyro_error *error)
{
    *out = NULL;
    bool standard_input = !regular && strcmp(path, "-") == 0;
    file_source *file = calloc(1, sizeof *file);
    if (!file)
        return pyro_fail_memory(error);
    file->head.kind = &file_kind;
    file->descriptor = -1;
    file->owned = !standard_input;
    file->regular = regular;
    const char *name = standard_input ? "standard input" : path;
    size_t name_size = strlen(name) + 1;
    file->path = malloc(name_size);
    int status = file->path ? PYRO_OK : pyro_fail_memory(error);
    if (status == PYRO_OK) {
        memcpy(file->path, name, name_size);
        status = open_descriptor(file, path, error);
    }
    if (status == PYRO_OK)
        *out = &file->head;
    else
        file_close(&file->head);
    return status;
}

int pyro_source_open_file(pyro_source **out, const char *path, pyro_error *error)
{
    return open_path(out, path, false, error);
}

int pyro_source_open_regular(pyro_source **out, const char *path, pyro_error *error)
{
    return open_path(out, path, true, error);
}

static int64_t memory_read_at(pyro_source *source, int64_t offset, void *bytes, size_t size,
                              pyro_error *error)
{
    (void)error;
    memcpy(bytes, ((memory_source *)source)->bytes + offset, size);
    return (int64_t)size;
}

static int64_t memory_read(pyro_source *source, void *bytes, size_t size, pyro_error *error)
{
    memory_source *memory = (memory_source *)source;
    uint64_t left = (uint64_t)(source->size - memory->position);
    if (left < size)
        size = (size_t)left;
    if (size == 0)
        return 0;
    memory->position += (int64_t)size;
    return memory_read_at(source, memory->position - (int64_t)size, bytes, size, error);
}

static void memory_close(pyro_source *source)
{
    free(source);
}

static const pyro_source_kind memory_kind = {memory_read, memory_read_at, memory_close};

int pyro_source_open_memory(pyro_source **out, const void *bytes, size_t size, pyro_error *error)
{
    *out = NULL;
    if (size > PTRDIFF_MAX)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT, "more bytes than memory can hold");
    memory_source *memory = calloc(1, sizeof *memory);
    if (!memory)
        return pyro_fail_memory(error);
    memory->head = (pyro_source){&memory_kind, (int64_t)size, false};
    memory->bytes = bytes;
    *out = &memory->head;
    return PYRO_OK;
}

int64_t pyro_source_read(pyro_source *source, void *bytes, size_t size, pyro_error *error)
{
    return size == 0 ? 0 : source->kind->read(source, bytes, size, error);
}

int pyro_source_read_at(pyro_source *source, int64_t offset, void *bytes, size_t size,
                        pyro_error *error)
{
    if (!source->kind->read_at)
        return pyro_fail(error, PYRO_ERROR_UNSUPPORTED, "cannot seek in a stream");
    if (offset < 0 || offset > source->size || size > (uint64_t)(source->size - offset))
        return pyro_fail_at(error, PYRO_ERROR_FORMAT, offset,
                            "%zu bytes are expected here, but the file ends at byte %lld", size,
                            (long long)source->size);
    char *at = bytes;
    while (size > 0) {
        int64_t got = source->kind->read_at(source, offset, at, size, error);
        if (got < 0)
            return (int)got;
        if (got == 0)
            return pyro_fail_at(error, PYRO_ERROR_IO, offset, "the input ended early");
        at += got;
        offset += got;
        size -= (size_t)got;
    }
    return PYRO_OK;
}

bool pyro_source_is_seekable(const pyro_source *source)
{
    return source->kind->read_at != NULL;
}

void pyro_source_close(pyro_source *source)
{
    if (source)
        source->kind->close(source);
}

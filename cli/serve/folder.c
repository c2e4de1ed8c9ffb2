/* Opens and recognises files below one folder. */
#include "cli/serve/folder.h"

#include "base/error.h"
#include "cli/recording_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAD_BYTES 4096

int serve_folder_open(serve_folder *folder, const char *path, pyro_error *error)
{
    struct stat file;

    *folder = (serve_folder){.fd = -1};
    folder->path = realpath(path, NULL);
    if (!folder->path || stat(folder->path, &file) != 0)
        return pyro_fail(error, PYRO_ERROR_IO, "cannot open it: %s", strerror(errno));
    if (S_ISREG(file.st_mode)) {
        char *slash = strrchr(folder->path, '/');
        folder->only = strdup(slash + 1);
        if (!folder->only)
            return pyro_fail_memory(error);
        slash[slash == folder->path] = '\0';
    } else if (!S_ISDIR(file.st_mode)) {
        return pyro_fail(error, PYRO_ERROR_ARGUMENT, "neither a folder nor a regular file");
    }
    folder->fd = open(folder->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return folder->fd >= 0 ? PYRO_OK
                           : pyro_fail(error, PYRO_ERROR_IO, "cannot open it: %s", strerror(errno));
}

void serve_folder_close(serve_folder *folder)
{
    if (folder->fd >= 0)
        close(folder->fd);
    free(folder->path);
    free(folder->only);
    *folder = (serve_folder){.fd = -1};
}

/* Takes the next name of a path. False for names that could lead elsewhere. */
static bool next_name(const char **path, char name[256])
{
    size_t length = strcspn(*path, "/");

    if (length == 0 || length > 255 || (*path)[0] == '.')
        return false;
    memcpy(name, *path, length);
    name[length] = '\0';
    *path += length;
    if (**path == '/')
        (*path)++;
    return true;
}

/* Walks name by name, so that no part of the path can be a link. -1: there is no such file. */
static int open_below(const serve_folder *folder, const char *path, struct stat *file)
{
    int at = fcntl(folder->fd, F_DUPFD_CLOEXEC, 0), next;
    char name[256];

    while (at >= 0 && next_name(&path, name)) {
        bool is_last = *path == '\0' && path[-1] != '/';

        if (is_last &&
            (fstatat(at, name, file, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(file->st_mode)))
            break;
        next = openat(at, name,
                      O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY |
                          (is_last ? 0 : O_DIRECTORY));
        close(at);
        at = next;
        if (is_last) {
            if (at >= 0 && fstat(at, file) == 0 && S_ISREG(file->st_mode))
                return at;
            break;
        }
    }
    if (at >= 0)
        close(at);
    return -1;
}

/* Mixes a number into the version of a file. */
static void mix(uint64_t *version, uint64_t value)
{
    *version = (*version ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    *version ^= *version >> 29;
}

/* A recorder writes through a mapping, which changes neither size nor time at once. */
static bool look_at_recording(serve_file *out, const char *head, size_t size)
{
    pyro_recording_look look;

    if (!pyro_recording_look_at(&look, head, size))
        return false;
    out->kind = SERVE_RECORDING;
    out->is_growing = look.is_growing;
    out->duration_ns = look.duration_ns;
    mix(&out->version, look.version);
    mix(&out->version, look.state);
    return true;
}

static bool is_compressed(const char *head, size_t size)
{
    return (size >= 2 && memcmp(head, "\x1f\x8b", 2) == 0) ||
           (size >= 4 && memcmp(head, "\x28\xb5\x2f\xfd", 4) == 0);
}

/* Copies "pyrometer.cost/1" from the start of a result. */
static bool find_schema(char schema[SERVE_SCHEMA_BYTES], const char *head)
{
    const char *key = strstr(head, "\"schema\""), *value = key ? strstr(key, "\"pyrometer.") : NULL;
    size_t length = value ? strcspn(value + 1, "\"") : 0;

    if (!value || value - key > 40 || length >= SERVE_SCHEMA_BYTES)
        return false;
    memcpy(schema, value + 1, length);
    schema[length] = '\0';
    return true;
}

static void recognise(serve_file *out, const char *head, size_t size)
{
    const char *name = strrchr(out->path, '/');
    const char *start = head + strspn(head, " \t\r\n");

    name = name ? name + 1 : out->path;
    if (strstr(name, ".devices.json")) /* belongs to the recording beside it */
        return;
    if (look_at_recording(out, head, size))
        return;
    if (is_compressed(head, size))
        out->kind = strstr(name, ".json") ? SERVE_TRACE : SERVE_OTHER;
    else if (*start != '{' && *start != '[')
        out->kind = SERVE_OTHER;
    else if (find_schema(out->schema, head))
        out->kind = SERVE_RESULT;
    else if (strstr(head, "\"traceEvents\"") || strstr(head, "\"schemaVersion\"") ||
             strstr(head, "\"deviceProperties\"") || strstr(head, "\"ph\""))
        out->kind = SERVE_TRACE;
}

bool serve_folder_look(const serve_folder *folder, const char *path, serve_file *out)
{
    char head[HEAD_BYTES + 1];
    struct stat file;
    ssize_t size;
    int fd;

    *out = (serve_file){.kind = SERVE_OTHER};
    if (strlen(path) >= sizeof out->path)
        return false;
    fd = folder->only && strcmp(path, folder->only) != 0 ? -1 : open_below(folder, path, &file);
    if (fd < 0)
        return false;
    size = pread(fd, head, HEAD_BYTES, 0);
    close(fd);
    if (size < 0)
        return false;
    head[size] = '\0';
    strcpy(out->path, path);
    out->size_bytes = file.st_size;
    out->modified_ns = (int64_t)file.st_mtim.tv_sec * 1000000000 + file.st_mtim.tv_nsec;
    mix(&out->version, (uint64_t)file.st_ino);
    mix(&out->version, (uint64_t)out->size_bytes);
    mix(&out->version, (uint64_t)out->modified_ns);
    recognise(out, head, (size_t)size);
    return true;
}

const char *serve_kind_name(serve_kind kind)
{
    static const char *const names[] = {"other", "recording", "trace", "result"};

    return names[kind];
}

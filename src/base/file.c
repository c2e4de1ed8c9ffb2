/* Writes files atomically, and creates folders. */
#include "base/file.h"

#include "base/error.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool pyro_file_write(int fd, const void *bytes, size_t size)
{
    const char *at = bytes;
    while (size > 0) {
        ssize_t written = write(fd, at, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return false;
        at += written;
        size -= (size_t)written;
    }
    return true;
}

int pyro_file_open_temporary(const char *target, char **temporary)
{
    const char *slash = strrchr(target, '/');
    int folder_length = slash ? (int)(slash - target + 1) : 0;

    for (unsigned attempt = 0; attempt < 100; attempt++) {
        if (asprintf(temporary, "%.*s.pyrometer-%ld-%u.tmp", folder_length, target, (long)getpid(),
                     attempt) < 0) {
            *temporary = NULL;
            errno = ENOMEM;
            return -1;
        }
        int fd = open(*temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST)
            return fd;
        free(*temporary);
        *temporary = NULL;
    }
    errno = EEXIST;
    return -1;
}

/* Gives the file its name. Returns 0 or an errno. Unlike a rename, a link never replaces a file. */
static int put_in_place(const char *temporary, const char *path, bool replace)
{
    if (replace)
        return rename(temporary, path) == 0 ? 0 : errno;
    if (link(temporary, path) == 0)
        return unlink(temporary) == 0 ? 0 : errno;
    if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS)
        return errno;
    /* The file system has no links: another process may create the file between these calls. */
    if (access(path, F_OK) == 0)
        return EEXIST;
    return rename(temporary, path) == 0 ? 0 : errno;
}

int pyro_file_write_whole(const char *path, const void *bytes, size_t size, bool replace,
                          pyro_error *error)
{
    char *temporary = NULL;
    int number = 0, fd = pyro_file_open_temporary(path, &temporary);
    if (fd < 0)
        number = errno;
    else if (!pyro_file_write(fd, bytes, size) || fsync(fd) != 0)
        number = errno;
    if (fd >= 0 && close(fd) != 0 && number == 0)
        number = errno;
    if (number == 0)
        number = put_in_place(temporary, path, replace);
    if (number != 0 && fd >= 0)
        unlink(temporary);
    free(temporary);
    if (number == EEXIST)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT, "the file already exists");
    if (number != 0)
        return pyro_fail(error, PYRO_ERROR_IO, "cannot write: %s", strerror(number));
    return PYRO_OK;
}

bool pyro_file_identify(const char *path, pyro_file_identity *out)
{
    struct stat info;
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode))
        return false;
    *out = (pyro_file_identity){(uint64_t)info.st_dev, (uint64_t)info.st_ino};
    return true;
}

bool pyro_file_equal(pyro_file_identity left, pyro_file_identity right)
{
    return left.device == right.device && left.inode == right.inode;
}

int pyro_file_make_temporary_folder(char **out, pyro_error *error)
{
    const char *temporary = getenv("TMPDIR");
    if (!temporary || temporary[0] != '/')
        temporary = "/tmp";
    if (asprintf(out, "%s/pyrometer-XXXXXX", temporary) < 0) {
        *out = NULL;
        return pyro_fail_memory(error);
    }
    if (mkdtemp(*out))
        return PYRO_OK;
    int number = errno;
    free(*out);
    *out = NULL;
    return pyro_fail(error, PYRO_ERROR_IO, "cannot create a folder in %.200s: %s", temporary,
                     strerror(number));
}

int pyro_file_make_folder(const char *path, pyro_error *error)
{
    char *copy = strdup(path);
    int number = 0;
    if (!copy)
        return pyro_fail_memory(error);
    for (char *at = copy + 1; number == 0; at++) {
        if (*at != '/' && *at != '\0')
            continue;
        char end = *at;
        *at = '\0';
        if (mkdir(copy, 0777) != 0 && errno != EEXIST)
            number = errno;
        *at = end;
        if (end == '\0')
            break;
    }
    free(copy);
    if (number != 0)
        return pyro_fail(error, PYRO_ERROR_IO, "cannot create the folder %.200s: %s", path,
                         strerror(number));
    return PYRO_OK;
}

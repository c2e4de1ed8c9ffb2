/* Reads the terminal's properties. Writes to standard output and atomically to files. */
#include "cli/output.h"

#include "base/error.h"
#include "base/file.h"
#include "cli/inputs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXIT_BROKEN_PIPE 141 /* 128 + SIGPIPE: what a shell reports for a process it killed */
#define WIDTH_MIN 40
#define WIDTH_NO_EDGE 4096

bool pyro_output_wants_color(void)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

    return isatty(STDOUT_FILENO) && (!no_color || no_color[0] == '\0') && term &&
           strcmp(term, "dumb") != 0;
}

int pyro_output_width(bool to_stdout)
{
    const char *columns = getenv("COLUMNS");
    struct winsize size;
    long width = 0;

    if (!to_stdout)
        return WIDTH_NO_EDGE;
    if (columns)
        width = strtol(columns, NULL, 10);
    if (width <= 0 && isatty(STDOUT_FILENO))
        width = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
    if (width <= 0 || width > WIDTH_NO_EDGE)
        return WIDTH_NO_EDGE;
    return width < WIDTH_MIN ? WIDTH_MIN : (int)width;
}

int pyro_output_stdout(const char *text, size_t size, pyro_error *error)
{
    if (fflush(stdout) == 0 && pyro_file_write(STDOUT_FILENO, text, size))
        return PYRO_OK;
    if (errno == EPIPE)
        _exit(EXIT_BROKEN_PIPE);
    return pyro_fail(error, PYRO_ERROR_IO, "cannot write to standard output: %s", strerror(errno));
}

static int fail_write(pyro_error *error, int number)
{
    return pyro_fail(error, PYRO_ERROR_IO, "cannot write: %s", strerror(number));
}

/* Opens the target itself, or a temporary file that will replace a regular file. */
static int open_target(pyro_output_stream *stream, const char *path)
{
    struct stat old;
    bool exists = stat(path, &old) == 0;

    if (exists && S_ISDIR(old.st_mode)) {
        errno = EISDIR;
        return -1;
    }
    if (exists && !S_ISREG(old.st_mode))
        return open(path, O_WRONLY | O_CLOEXEC);
    stream->target = exists ? realpath(path, NULL) : strdup(path);
    if (!stream->target)
        return -1;
    int fd = pyro_file_open_temporary(stream->target, &stream->temporary);
    if (fd >= 0 && exists)
        (void)!fchmod(fd, old.st_mode & 07777);
    return fd;
}

int pyro_output_begin(pyro_output_stream *stream, const char *path, pyro_error *error)
{
    *stream = (pyro_output_stream){.fd = -1};
    if (strcmp(path, "-") == 0) {
        stream->fd = STDOUT_FILENO;
        return PYRO_OK;
    }
    if (pyro_inputs_check(path, error) != PYRO_OK)
        return PYRO_ERROR_ARGUMENT;
    stream->fd = open_target(stream, path);
    if (stream->fd >= 0)
        return PYRO_OK;
    int number = errno;
    free(stream->temporary);
    free(stream->target);
    return fail_write(error, number);
}

int pyro_output_add(pyro_output_stream *stream, const char *bytes, size_t size, pyro_error *error)
{
    if (stream->fd == STDOUT_FILENO)
        return pyro_output_stdout(bytes, size, error);
    return pyro_file_write(stream->fd, bytes, size) ? PYRO_OK : fail_write(error, errno);
}

/* A full disk may be reported only by close(). */
int pyro_output_end(pyro_output_stream *stream, bool keep, pyro_error *error)
{
    int number = 0;

    if (stream->fd != STDOUT_FILENO && close(stream->fd) != 0)
        number = errno;
    if (stream->temporary) {
        if (keep && number == 0 && rename(stream->temporary, stream->target) != 0)
            number = errno;
        if (!keep || number != 0)
            unlink(stream->temporary);
    }
    free(stream->temporary);
    free(stream->target);
    return !keep || number == 0 ? PYRO_OK : fail_write(error, number);
}

int pyro_output_file(const char *path, const char *text, size_t size, pyro_error *error)
{
    pyro_output_stream stream;
    int status;

    if (path[0] == '\0')
        return pyro_fail(error, PYRO_ERROR_ARGUMENT, "--output needs a file name");
    status = pyro_output_begin(&stream, path, error);
    if (status != PYRO_OK)
        return status;
    status = pyro_output_add(&stream, text, size, error);
    int ended = pyro_output_end(&stream, status == PYRO_OK, error);
    return status != PYRO_OK ? status : ended;
}

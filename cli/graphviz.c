/* Running `dot -Tsvg`: its input is a file without a name, so that no pipe can fill up. */
#include "graphviz.h"

#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void become_dot(int input, int output)
{
    int nothing = open("/dev/null", O_WRONLY);

    if (dup2(input, STDIN_FILENO) < 0 || dup2(output, STDOUT_FILENO) < 0 ||
        (nothing >= 0 && dup2(nothing, STDERR_FILENO) < 0))
        _exit(126);
    execlp("dot", "dot", "-Tsvg", (char *)NULL);
    _exit(errno == ENOENT ? 127 : 126);
}

static void read_all(int fd, pyro_buf *buf)
{
    char piece[65536];
    ssize_t got;

    while ((got = read(fd, piece, sizeof piece)) != 0) {
        if (got > 0)
            pyro_buf_add(buf, piece, (size_t)got);
        else if (errno != EINTR)
            break;
    }
}

int pyro_graphviz_svg(pyro_buf *svg, const char *text, size_t size, pyro_error *error)
{
    FILE *input = tmpfile();
    int ends[2], code = 0;
    pid_t child;

    if (input == NULL || fwrite(text, 1, size, input) != size || fflush(input) != 0 ||
        fseek(input, 0, SEEK_SET) != 0 || pipe(ends) != 0) {
        int status = pyro_fail(error, PYRO_ERROR_IO, "cannot run dot: %s", strerror(errno));
        if (input != NULL)
            fclose(input);
        return status;
    }
    child = fork();
    if (child == 0) {
        close(ends[0]);
        become_dot(fileno(input), ends[1]);
    }
    close(ends[1]);
    if (child > 0) {
        read_all(ends[0], svg);
        while (waitpid(child, &code, 0) < 0 && errno == EINTR)
            continue;
    }
    close(ends[0]);
    fclose(input);
    if (child < 0)
        return pyro_fail(error, PYRO_ERROR_IO, "cannot run dot: %s", strerror(errno));
    if (WIFEXITED(code) && WEXITSTATUS(code) == 127)
        return pyro_fail(error, PYRO_ERROR_NOT_FOUND,
                         "SVG is drawn by Graphviz, which is not installed (Debian: graphviz); "
                         "--format dot writes what it reads");
    if (!WIFEXITED(code) || WEXITSTATUS(code) != 0)
        return pyro_fail(error, PYRO_ERROR_IO, "dot failed to draw the graph");
    return svg->failed ? pyro_fail_memory(error) : PYRO_OK;
}

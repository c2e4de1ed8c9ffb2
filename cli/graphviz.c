/* Runs `dot -Tsvg`. Its input is an unnamed file, so that no pipe can fill up. */
#include "cli/graphviz.h"

#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_SECONDS = 120 };

static void become_dot(int input, int output)
{
    int nothing = open("/dev/null", O_WRONLY);

    if (dup2(input, STDIN_FILENO) < 0 || dup2(output, STDOUT_FILENO) < 0 ||
        (nothing >= 0 && dup2(nothing, STDERR_FILENO) < 0))
        _exit(126);
    execlp("dot", "dot", "-Tsvg", (char *)NULL);
    _exit(errno == ENOENT ? 127 : 126);
}

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Reads the output of dot; false when dot takes too long. */
static bool read_all(int fd, pyro_buf *buf)
{
    char piece[65536];
    double end = seconds_now() + MOST_SECONDS;

    for (;;) {
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        double left = end - seconds_now();
        ssize_t got;
        if (left <= 0)
            return false;
        if (poll(&wait, 1, (int)(left * 1000) + 1) <= 0)
            continue;
        got = read(fd, piece, sizeof piece);
        if (got > 0)
            pyro_buf_add(buf, piece, (size_t)got);
        else if (got == 0 || errno != EINTR)
            return true;
    }
}

int pyro_graphviz_svg(pyro_buf *svg, const char *text, size_t size, pyro_error *error)
{
    FILE *input = tmpfile();
    int ends[2], code = 0;
    bool is_done = true;
    pid_t child;

    if (!input || fwrite(text, 1, size, input) != size || fflush(input) != 0 ||
        fseek(input, 0, SEEK_SET) != 0 || pipe(ends) != 0) {
        int status = pyro_fail(error, PYRO_ERROR_IO, "cannot run dot: %s", strerror(errno));
        if (input)
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
        is_done = read_all(ends[0], svg);
        if (!is_done)
            kill(child, SIGKILL);
        while (waitpid(child, &code, 0) < 0 && errno == EINTR)
            continue;
    }
    close(ends[0]);
    fclose(input);
    if (child < 0)
        return pyro_fail(error, PYRO_ERROR_IO, "cannot run dot: %s", strerror(errno));
    if (!is_done)
        return pyro_fail(error, PYRO_ERROR_LIMIT,
                         "dot did not draw the graph within %d s: choose a coarser --granularity, "
                         "or write --format dot and lay it out with another program",
                         MOST_SECONDS);
    if (WIFEXITED(code) && WEXITSTATUS(code) == 127)
        return pyro_fail(error, PYRO_ERROR_NOT_FOUND,
                         "svg needs Graphviz, which is not installed (Debian package: graphviz); "
                         "--format dot writes its input");
    if (!WIFEXITED(code) || WEXITSTATUS(code) != 0)
        return pyro_fail(error, PYRO_ERROR_IO, "dot failed to draw the graph");
    return svg->failed ? pyro_fail_memory(error) : PYRO_OK;
}

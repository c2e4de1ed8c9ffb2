/* Writes annotations and step summaries for GitHub Actions. */
#include "cli/github.h"

#include "base/text/printable.h"
#include "cli/common.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* GitHub ends a command at a line end, and % begins an escape. */
void pyro_github_annotate(const char *level, const char *text)
{
    pyro_buf line = PYRO_BUF_INIT;

    pyro_buf_add_printable(&line, text);
    fprintf(stderr, "::%s::", level);
    for (const char *at = line.failed ? "out of memory" : line.data; at && *at != '\0'; at++) {
        if (*at == '%')
            fputs("%25", stderr);
        else
            fputc(*at, stderr);
    }
    fputc('\n', stderr);
    pyro_buf_free(&line);
}

static int write_all(int fd, const char *text, size_t size)
{
    while (size > 0) {
        ssize_t written = write(fd, text, size);

        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return errno;
        text += written;
        size -= (size_t)written;
    }
    return 0;
}

void pyro_github_summarize(const char *markdown, size_t size)
{
    const char *path = getenv("GITHUB_STEP_SUMMARY");

    if (!path || path[0] == '\0')
        return;
    /* Opening a FIFO without a reader must not block. */
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
    int problem = fd < 0 ? errno : write_all(fd, markdown, size);
    if (fd >= 0 && close(fd) != 0 && problem == 0)
        problem = errno;
    if (problem != 0)
        pyro_common_complain("warning: cannot write GITHUB_STEP_SUMMARY %.300s: %s", path,
                             strerror(problem));
}

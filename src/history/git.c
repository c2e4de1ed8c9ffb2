/* Runs git without a shell, and reads what it prints. */
#include "history/git.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { ARGUMENTS_MAX = 64, READ_BYTES = 65536 };

static bool read_all(pyro_buf *out, int fd)
{
    for (;;) {
        char *room = pyro_buf_reserve(out, READ_BYTES);
        ssize_t count = room ? read(fd, room, READ_BYTES) : -1;

        if (count > 0)
            out->length += (size_t)count;
        else if (count == 0)
            break;
        else if (!room || errno != EINTR)
            return false;
    }
    pyro_buf_addc(out, '\0');
    out->length -= out->failed ? 0 : 1;
    return !out->failed;
}

static pid_t start(const char *const *arguments, int output)
{
    char *words[ARGUMENTS_MAX] = {"git"};
    posix_spawn_file_actions_t actions;
    pid_t child = -1;

    for (size_t i = 0; arguments[i] && i + 2 < ARGUMENTS_MAX; i++)
        words[i + 1] = (char *)arguments[i];
    if (posix_spawn_file_actions_init(&actions) != 0)
        return -1;
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    if (posix_spawnp(&child, "git", &actions, NULL, words, environ) != 0)
        child = -1;
    posix_spawn_file_actions_destroy(&actions);
    return child;
}

bool pyro_git(pyro_buf *out, const char *const *arguments)
{
    int ends[2], state = -1;

    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    pid_t child = start(arguments, ends[1]);
    close(ends[1]);
    bool is_read = child > 0 && read_all(out, ends[0]);
    close(ends[0]);
    while (child > 0 && waitpid(child, &state, 0) < 0 && errno == EINTR)
        ;
    return is_read && WIFEXITED(state) && WEXITSTATUS(state) == 0;
}

char *pyro_git_line(const char *const *arguments)
{
    pyro_buf out = PYRO_BUF_INIT;
    char *line = NULL;

    if (pyro_git(&out, arguments) && out.data[0] != '\n' && out.data[0] != '\0')
        line = strndup(out.data, strcspn(out.data, "\n"));
    pyro_buf_free(&out);
    return line;
}

bool pyro_split_lines(const char ***out, size_t *count, pyro_buf *text)
{
    size_t capacity = 0;

    for (char *at = text->data; at && *at != '\0';) {
        size_t length = strcspn(at, "\n");

        if (!pyro_grow(out, &capacity, *count + 1, sizeof **out))
            return false;
        (*out)[(*count)++] = at;
        at += length;
        if (*at == '\n')
            *at++ = '\0';
    }
    return true;
}

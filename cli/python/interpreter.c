/* Finds the Python interpreter and the package in it, and runs short programs there. */
#include "cli/python/interpreter.h"

#include "cli/common.h"

#include <errno.h>
#include <pyrometer/version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* python3 next to the tool, if both are in the same virtual environment. */
static char *python_of_own_environment(void)
{
    char self[4096];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    char *slash, *path = NULL, *found = NULL;

    if (length <= 0)
        return NULL;
    self[length] = '\0';
    slash = strrchr(self, '/');
    if (!slash)
        return NULL;
    *slash = '\0';
    if (asprintf(&path, "%s/../pyvenv.cfg", self) < 0)
        return NULL;
    if (access(path, R_OK) == 0 && asprintf(&found, "%s/python3", self) < 0)
        found = NULL;
    free(path);
    if (found && access(found, X_OK) != 0) {
        free(found);
        found = NULL;
    }
    return found;
}

char *pyro_python_choose(const char *given)
{
    char *own;

    if (given)
        return strdup(given);
    own = !getenv("VIRTUAL_ENV") ? python_of_own_environment() : NULL;
    return own ? own : strdup("python3");
}

static void become(const char *python, const char *const *arguments, int output, bool hide_errors)
{
    char *argv[16] = {(char *)python};
    size_t count = 1;

    for (; *arguments && count + 1 < sizeof argv / sizeof *argv; arguments++)
        argv[count++] = (char *)*arguments;
    argv[count] = NULL;
    if (hide_errors && !freopen("/dev/null", "w", stderr))
        _exit(126);
    if (dup2(output, STDOUT_FILENO) < 0)
        _exit(126);
    execvp(python, argv);
    _exit(127);
}

static void read_all(int fd, pyro_buf *answer)
{
    char piece[4096];
    ssize_t got;

    while ((got = read(fd, piece, sizeof piece)) != 0) {
        if (got > 0)
            pyro_buf_add(answer, piece, (size_t)got);
        else if (errno != EINTR)
            break;
    }
}

int pyro_python_ask(const char *python, const char *const *arguments, bool hide_errors,
                    pyro_buf *answer)
{
    int ends[2], status = 0;
    pid_t child;

    if (pipe(ends) != 0)
        return 127;
    fflush(NULL);
    child = fork();
    if (child == 0) {
        close(ends[0]);
        become(python, arguments, ends[1], hide_errors);
    }
    close(ends[1]);
    if (child > 0)
        read_all(ends[0], answer);
    close(ends[0]);
    if (child < 0)
        return 127;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Splits "version\nfolder" in place; NULL when it is not that. */
static char *split_answer(pyro_buf *answer)
{
    char *end = answer->length > 0 && !answer->failed ? strchr(answer->data, '\n') : NULL;

    if (!end)
        return NULL;
    *end = '\0';
    return end + 1;
}

char *pyro_python_package(const char *python)
{
    /* -P: do not import a folder called pyrometer in the current folder. */
    static const char *const question[] = {
        "-P", "-c",
        "import pyrometer, sys; sys.stdout.write("
        "pyrometer.__version__ + chr(10) + pyrometer.__path__[0])",
        NULL};
    pyro_buf answer = PYRO_BUF_INIT;
    int status = pyro_python_ask(python, question, true, &answer);
    char *folder = split_answer(&answer), *result = NULL;

    if (status == 127)
        pyro_common_complain("%s: Python not found; name one with --python", python);
    else if (status != 0 || !folder)
        pyro_common_complain("%s has no package pyrometer; install it there with "
                             "%s -m pip install pyrometer, or name another with --python",
                             python, python);
    else if (strcmp(answer.data, pyro_version()) != 0)
        pyro_common_complain(
            "%s has pyrometer %s, this tool is %s; install the same version in both", python,
            answer.data, pyro_version());
    else
        result = strdup(folder);
    pyro_buf_free(&answer);
    return result;
}

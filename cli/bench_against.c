/* Opening the base of a comparison. A commit is checked out in a work tree of its own. */
#include "bench_against.h"

#include "base/buf.h"
#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OUTPUT_MAX = 65536 };

/* What git prints, without the last line end, for the caller to free; NULL when it fails. */
static char *ask_git(char *const arguments[], pyro_error *error)
{
    pyro_buf text = PYRO_BUF_INIT;
    int pipes[2], status = 0;
    char part[1024];
    ssize_t got;

    if (pipe(pipes) != 0)
        return NULL;
    pid_t child = fork();
    if (child == 0) {
        dup2(pipes[1], STDOUT_FILENO);
        dup2(pipes[1], STDERR_FILENO);
        close(pipes[0]);
        close(pipes[1]);
        execvp("git", arguments);
        dprintf(STDERR_FILENO, "cannot run git: %s", strerror(errno));
        _exit(127);
    }
    close(pipes[1]);
    while (child > 0 &&
           ((got = read(pipes[0], part, sizeof part)) > 0 || (got < 0 && errno == EINTR)))
        if (got > 0 && text.length < OUTPUT_MAX)
            pyro_buf_add(&text, part, (size_t)got);
    close(pipes[0]);
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    while (text.length > 0 && text.data[text.length - 1] == '\n')
        text.data[--text.length] = '\0';
    if (child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0 && !text.failed)
        return text.data != NULL ? text.data : strdup("");
    pyro_fail(error, PYRO_ERROR_NOT_FOUND, "%.300s",
              text.data != NULL && !text.failed ? text.data : "cannot run git");
    pyro_buf_free(&text);
    return NULL;
}

static int check_out(pyro_base *out, const char *commit, pyro_error *error)
{
    const char *temporary = getenv("TMPDIR");
    char *prefix = NULL, *done = NULL, *folder = NULL;
    int status = PYRO_OK;

    if (asprintf(&folder, "%s/pyrometer-XXXXXX", temporary != NULL ? temporary : "/tmp") < 0)
        return pyro_fail_memory(error);
    if (mkdtemp(folder) == NULL) {
        status = pyro_fail(error, PYRO_ERROR_IO, "cannot make a folder: %s", strerror(errno));
        free(folder);
        return status;
    }
    out->worktree = folder;
    prefix = ask_git((char *[]){"git", "rev-parse", "--show-prefix", NULL}, error);
    if (prefix != NULL)
        done = ask_git((char *[]){"git", "worktree", "add", "--detach", "--force", folder,
                                  (char *)commit, NULL},
                       error);
    if (done == NULL)
        status = PYRO_ERROR_NOT_FOUND;
    else if (asprintf(&out->folder, "%s/%s", folder, prefix) < 0)
        status = pyro_fail_memory(error);
    free(prefix);
    free(done);
    return status;
}

int pyro_base_open(pyro_base *out, const char *name, pyro_error *error)
{
    char *wanted = NULL, *commit;
    int status;

    *out = (pyro_base){NULL, NULL, NULL};
    if (access(name, F_OK) == 0)
        return pyro_bench_open(&out->bench, name, error);
    if (name[0] == '-' || asprintf(&wanted, "%s^{commit}", name) < 0)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT, "--against %.100s: no file and no commit",
                         name);
    commit = ask_git((char *[]){"git", "rev-parse", "--verify", "--quiet", wanted, NULL}, NULL);
    free(wanted);
    if (commit == NULL)
        return pyro_fail(error, PYRO_ERROR_NOT_FOUND,
                         "--against %.100s: no file of results and no commit of this repository",
                         name);
    status = check_out(out, commit, error);
    free(commit);
    if (status != PYRO_OK)
        pyro_base_close(out);
    return status;
}

void pyro_base_close(pyro_base *base)
{
    pyro_bench_free(base->bench);
    if (base->worktree != NULL) {
        free(ask_git((char *[]){"git", "worktree", "remove", "--force", base->worktree, NULL},
                     NULL));
        rmdir(base->worktree);
    }
    free(base->worktree);
    free(base->folder);
    *base = (pyro_base){NULL, NULL, NULL};
}

/* Opens the base of a comparison. Checks a commit out into a separate git work tree. */
#include "cli/bench/against.h"

#include "base/containers/buf.h"
#include "base/error.h"
#include "base/file.h"

#include <pyrometer/model.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OUTPUT_MAX = 65536 };

/* Runs git; returns its output without the last line end, to be freed. NULL when it fails. */
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
        return text.data ? text.data : strdup("");
    pyro_fail(error, PYRO_ERROR_NOT_FOUND, "%.300s",
              text.data && !text.failed ? text.data : "cannot run git");
    pyro_buf_free(&text);
    return NULL;
}

static int check_out(pyro_base *out, const char *commit, pyro_error *error)
{
    char *prefix = NULL, *done = NULL, *folder = NULL;
    int status = pyro_file_make_temporary_folder(&folder, error);

    if (status != PYRO_OK)
        return status;
    out->worktree = folder;
    prefix = ask_git((char *[]){"git", "rev-parse", "--show-prefix", NULL}, error);
    out->toplevel = ask_git((char *[]){"git", "rev-parse", "--show-toplevel", NULL}, error);
    if (prefix && out->toplevel)
        done = ask_git((char *[]){"git", "worktree", "add", "--detach", "--force", folder,
                                  (char *)commit, NULL},
                       error);
    if (!done)
        status = PYRO_ERROR_NOT_FOUND;
    else if (asprintf(&out->folder, "%s/%s", folder, prefix) < 0)
        status = pyro_fail_memory(error);
    free(prefix);
    free(done);
    return status;
}

static int open_commit(pyro_base *out, const char *name, pyro_error *error)
{
    char *wanted = NULL, *commit;
    int status;

    if (name[0] == '-' || asprintf(&wanted, "%s^{commit}", name) < 0)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT, "--against %.100s: neither file nor commit",
                         name);
    commit = ask_git((char *[]){"git", "rev-parse", "--verify", "--quiet", wanted, NULL}, NULL);
    free(wanted);
    if (!commit)
        return pyro_fail(error, PYRO_ERROR_NOT_FOUND,
                         "--against %.100s: neither a results file nor a commit of this repository",
                         name);
    status = check_out(out, commit, error);
    free(commit);
    return status;
}

int pyro_base_open(pyro_base *out, const char *name, pyro_error *error)
{
    *out = (pyro_base){0};
    if (access(name, F_OK) == 0)
        return pyro_bench_open(&out->bench, name, error);
    int status = open_commit(out, name, error);
    if (status != PYRO_OK)
        pyro_base_close(out);
    return status;
}

/* Folders, archives, .onnx files and FILE.py:FUNCTION are models; other files are results. */
static bool is_model(const char *name)
{
    const char *ending = strrchr(name, '.');
    char start[2] = "";
    struct stat about;

    if (stat(name, &about) != 0)
        return strchr(name, ':') != NULL;
    if (S_ISDIR(about.st_mode) || (ending && strcmp(ending, ".onnx") == 0))
        return true;
    FILE *file = S_ISREG(about.st_mode) ? fopen(name, "rb") : NULL;
    bool archive = file && fread(start, 1, 2, file) == 2 && memcmp(start, "PK", 2) == 0;
    if (file)
        fclose(file);
    return archive;
}

/* The part of FILE.py:FUNCTION that is a file, for the caller to free; *rest is what follows. */
static char *split_builder(const char *model, const char **rest)
{
    const char *colon = strrchr(model, ':');

    *rest = access(model, F_OK) == 0 || !colon ? model + strlen(model) : colon;
    return strndup(model, (size_t)(*rest - model));
}

/* Maps a path in the repository to the work tree, after resolving links. */
static char *move_into(const pyro_base *base, const char *path, const char *rest)
{
    size_t length = strlen(base->toplevel);
    char *whole = realpath(path, NULL), *moved = NULL;

    if (whole && strncmp(whole, base->toplevel, length) == 0 && whole[length] == '/' &&
        asprintf(&moved, "%s%s%s", base->worktree, whole + length, rest) < 0)
        moved = NULL;
    free(whole);
    return moved;
}

/* Finds the commit's version of the model. */
static int find_model(pyro_base *base, const char *name, const char *model, pyro_error *error)
{
    const char *rest;
    char *path = split_builder(model, &rest), *there = NULL;
    int status = PYRO_OK;

    if (!path)
        return pyro_fail_memory(error);
    if (access(path, F_OK) != 0) { /* package.module:function, which Python finds in its folder */
        base->model = strdup(model);
        free(path);
        return base->model ? PYRO_OK : pyro_fail_memory(error);
    }
    base->model = move_into(base, path, rest);
    there = move_into(base, path, "");
    if (!base->model || !there)
        status = pyro_fail(error, PYRO_ERROR_ARGUMENT,
                           "--against %.60s: %.200s is not in this repository, so the commit has "
                           "no version of it; name another model",
                           name, path);
    else if (access(there, F_OK) != 0)
        status = pyro_fail(error, PYRO_ERROR_NOT_FOUND,
                           "--against %.60s: the commit has no %.200s (git must track the "
                           "file)",
                           name, path);
    free(there);
    free(path);
    return status;
}

/* True for the name or id of a model that is built in or that the user added. */
static bool is_named_model(const char *name)
{
    pyro_model *model = NULL;
    bool known = pyro_model_open(&model, name, NULL) == PYRO_OK;

    pyro_model_close(model);
    return known;
}

int pyro_base_open_model(pyro_base *out, const char *name, const char *model, pyro_error *error)
{
    *out = (pyro_base){0};
    if (is_model(name)) {
        out->model = strdup(name);
        return out->model ? PYRO_OK : pyro_fail_memory(error);
    }
    if (access(name, F_OK) == 0)
        return pyro_bench_open(&out->bench, name, error);
    int status = open_commit(out, name, error);
    if (status == PYRO_ERROR_NOT_FOUND && is_named_model(name)) {
        pyro_error_clear(error);
        out->model = strdup(name);
        return out->model ? PYRO_OK : pyro_fail_memory(error);
    }
    if (status == PYRO_OK)
        status = find_model(out, name, model, error);
    if (status != PYRO_OK)
        pyro_base_close(out);
    return status;
}

void pyro_base_leave(pyro_base *base)
{
    if (!base->worktree)
        return;
    free(ask_git((char *[]){"git", "worktree", "remove", "--force", base->worktree, NULL}, NULL));
    rmdir(base->worktree);
    free(base->worktree);
    base->worktree = NULL;
}

void pyro_base_close(pyro_base *base)
{
    pyro_base_leave(base);
    pyro_bench_free(base->bench);
    free(base->folder);
    free(base->toplevel);
    free(base->model);
    *base = (pyro_base){0};
}

/* Runs the Python helper in a temporary folder and reads its result from a file. */
#include "cli/python/helper.h"

#include "cli/common.h"
#include "cli/process.h"
#include "cli/python/interpreter.h"

#include "base/error.h"
#include "base/file.h"
#include "base/source/source.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_ARGUMENTS = 16, ANSWER_BYTES_MAX = 1 << 30 };

extern char **environ;

static const char *const file_names[] = {"helper.zip", "answer.json", "model.pt2", "request.json"};

char *pyro_helper_path(const pyro_helper *helper, const char *name)
{
    char *path;

    return asprintf(&path, "%s/%s", helper->folder, name) < 0 ? NULL : path;
}

int pyro_helper_begin(pyro_helper *helper, const char *python, pyro_error *error)
{
    char *program = NULL;
    int status;

    *helper = (pyro_helper){.python = pyro_python_choose(python)};
    if (!helper->python)
        return pyro_fail_memory(error);
    status = pyro_file_make_temporary_folder(&helper->folder, error);
    if (status != PYRO_OK) {
        pyro_helper_end(helper);
        return status;
    }
    program = pyro_helper_path(helper, file_names[0]);
    status = !program ? pyro_fail_memory(error)
                      : pyro_file_write_whole(program, pyro_helper_archive,
                                              pyro_helper_archive_size, true, error);
    free(program);
    if (status != PYRO_OK)
        pyro_helper_end(helper);
    return status;
}

void pyro_helper_end(pyro_helper *helper)
{
    free(helper->python);
    helper->python = NULL;
    if (!helper->folder)
        return;
    for (size_t i = 0; i < sizeof file_names / sizeof file_names[0]; i++) {
        char *path = pyro_helper_path(helper, file_names[i]);

        if (path)
            unlink(path);
        free(path);
    }
    rmdir(helper->folder);
    free(helper->folder);
    helper->folder = NULL;
}

int pyro_helper_read(pyro_buf *out, const char *path, pyro_error *error)
{
    pyro_source *source;
    int64_t got = pyro_source_open_file(&source, path, error);

    if (got < 0)
        return (int)got;
    do {
        char *room = pyro_buf_reserve(out, 65536);

        got = !room ? pyro_fail_memory(error) : pyro_source_read(source, room, 65536, error);
        if (got > 0)
            out->length += (size_t)got;
        if (out->length > ANSWER_BYTES_MAX)
            got = pyro_fail(error, PYRO_ERROR_LIMIT, "more than a gigabyte");
    } while (got > 0);
    pyro_source_close(source);
    if (got == 0)
        pyro_buf_addc(out, '\0');
    if (got == 0 && !out->failed)
        out->length--;
    return got < 0 ? (int)got : out->failed ? pyro_fail_memory(error) : PYRO_OK;
}

/* Starts the process with its standard output joined to standard error; 0 or an errno. */
static int start(pid_t *child, char *const *argv)
{
    posix_spawn_file_actions_t actions;
    int number = posix_spawn_file_actions_init(&actions);

    if (number != 0)
        return number;
    number = posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    if (number == 0)
        number = posix_spawnp(child, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return number;
}

static int run(const pyro_helper *helper, char *const *argv, pyro_error *error)
{
    pid_t child;
    int number, state = 0;

    /* Ctrl-C ends only the child, so that we can still remove the folder. */
    pyro_process_begin();
    number = start(&child, argv);
    if (number == 0)
        state = pyro_process_wait(child, NULL);
    pyro_process_end();
    if (number == ENOENT || number == EACCES)
        return pyro_fail(error, PYRO_ERROR_NOT_FOUND,
                         "%.200s: no such program; install Python 3.11 or newer, or name one with "
                         "--python",
                         helper->python);
    if (number != 0)
        return pyro_fail(error, PYRO_ERROR_IO, "cannot run %.200s: %s", helper->python,
                         strerror(number));
    if (WIFSIGNALED(state))
        return pyro_fail(error, PYRO_ERROR_IO, "%.200s was ended by signal %d%s", helper->python,
                         WTERMSIG(state), WTERMSIG(state) == SIGKILL ? " (memory ran out?)" : "");
    if (WEXITSTATUS(state) != 0)
        return pyro_fail(error, PYRO_ERROR_IO, "%.200s failed (exit code %d)", helper->python,
                         WEXITSTATUS(state));
    return PYRO_OK;
}

int pyro_helper_run(pyro_helper *helper, pyro_buf *answer, const char *const *arguments,
                    pyro_error *error)
{
    const char *argv[MAX_ARGUMENTS + 6];
    char *program = pyro_helper_path(helper, file_names[0]);
    char *result = pyro_helper_path(helper, file_names[1]);
    size_t count = 0;
    int status;

    argv[count++] = helper->python;
    argv[count++] = program;
    for (size_t i = 0; arguments[i] && i < MAX_ARGUMENTS; i++)
        argv[count++] = arguments[i];
    argv[count++] = "--result";
    argv[count++] = result;
    argv[count] = NULL;
    if (!program || !result)
        status = pyro_fail_memory(error);
    else
        status = run(helper, (char *const *)(uintptr_t)argv, error);
    if (status == PYRO_OK)
        status = pyro_helper_read(answer, result, error);
    free(program);
    free(result);
    return status;
}

int pyro_helper_complain_missing(const char *python, const char *packages)
{
    return pyro_common_complain("%s has no %s; pip install %s (or name another Python with "
                                "--python)",
                                python ? python : "python3", packages, packages);
}

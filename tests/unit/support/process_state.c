/* Saves and restores the process state that tests share. */
#include "process_state.h"

#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define SIGNALS 32

extern char **environ;

struct process_state {
    char **environment;
    int folder, input; /* descriptors */
    mode_t mask;
    struct sigaction actions[SIGNALS];
    sigset_t blocked;
    struct rlimit file_size, descriptors;
};

static void free_state(process_state *state)
{
    for (char **entry = state->environment; entry && *entry; entry++)
        free(*entry);
    free(state->environment);
    if (state->folder >= 0)
        close(state->folder);
    if (state->input >= 0)
        close(state->input);
    free(state);
}

static char **copy_environment(void)
{
    size_t count = 0;
    while (environ[count])
        count++;
    char **copy = calloc(count + 1, sizeof *copy);
    for (size_t i = 0; copy && i < count; i++)
        if (!(copy[i] = strdup(environ[i])))
            break;
    return copy;
}

process_state *process_state_save(void)
{
    process_state *state = calloc(1, sizeof *state);
    if (!state)
        return NULL;
    state->environment = copy_environment();
    state->folder = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    state->input = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    state->mask = umask(0);
    umask(state->mask);
    for (int i = 1; i < SIGNALS; i++)
        sigaction(i, NULL, &state->actions[i]);
    sigprocmask(SIG_SETMASK, NULL, &state->blocked);
    getrlimit(RLIMIT_FSIZE, &state->file_size);
    getrlimit(RLIMIT_NOFILE, &state->descriptors);
    if (!state->environment || state->folder < 0) {
        free_state(state);
        return NULL;
    }
    return state;
}

static int restore_environment(char **entries)
{
    int status = clearenv();
    for (char **entry = entries; *entry; entry++) {
        char *equals = strchr(*entry, '=');
        if (!equals)
            continue;
        *equals = '\0';
        status |= setenv(*entry, equals + 1, 1);
    }
    return status;
}

int process_state_restore(process_state *state)
{
    int status = restore_environment(state->environment) | fchdir(state->folder) |
                 setrlimit(RLIMIT_FSIZE, &state->file_size) |
                 setrlimit(RLIMIT_NOFILE, &state->descriptors);
    if (state->input >= 0 && dup2(state->input, STDIN_FILENO) < 0)
        status = -1;
    umask(state->mask);
    for (int i = 1; i < SIGNALS; i++)
        if (i != SIGKILL && i != SIGSTOP)
            sigaction(i, &state->actions[i], NULL);
    sigprocmask(SIG_SETMASK, &state->blocked, NULL);
    setlocale(LC_ALL, "C");
    free_state(state);
    return status ? -1 : 0;
}

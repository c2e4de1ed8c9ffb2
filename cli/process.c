/* Starts child processes, waits for them and passes signals on. */
#include "cli/process.h"

#include "base/containers/buf.h"
#include "base/error.h"
#include "bench/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EXIT_NOT_STARTED = 127 };

static volatile sig_atomic_t interrupted_by;
static volatile sig_atomic_t waited_for; /* the child that receives our signals; 0: none */
static volatile sig_atomic_t passed_on; /* signals that it received */
static struct sigaction old_interrupt, old_terminate;
static int depth; /* of nested calls of begin */

static void pass_on(void)
{
    if (waited_for > 0)
        kill(waited_for, passed_on++ == 0 ? interrupted_by : SIGKILL);
}

static void note_signal(int number)
{
    int saved = errno;
    interrupted_by = number;
    pass_on();
    errno = saved;
}

/* No interruption arrives between hold and let_go; it arrives then. */
static void hold_signals(sigset_t *before)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, before);
}

static void let_go(const sigset_t *before)
{
    sigprocmask(SIG_SETMASK, before, NULL);
}

void pyro_process_begin(void)
{
    struct sigaction action = {.sa_handler = note_signal};

    if (depth++ > 0)
        return;
    interrupted_by = 0;
    sigemptyset(&action.sa_mask);
    sigaddset(&action.sa_mask, SIGINT);
    sigaddset(&action.sa_mask, SIGTERM);
    sigaction(SIGINT, &action, &old_interrupt);
    sigaction(SIGTERM, &action, &old_terminate);
}

void pyro_process_end(void)
{
    if (--depth > 0)
        return;
    sigaction(SIGINT, &old_interrupt, NULL);
    sigaction(SIGTERM, &old_terminate, NULL);
}

bool pyro_process_interrupted(void)
{
    return interrupted_by != 0;
}

/* Words of a command: spaces separate them, quotes and backslashes keep them together. */
typedef struct words {
    char **items; /* ends in NULL once complete */
    size_t count, capacity;
    pyro_buf text;
} words;

static void free_words(words *w)
{
    for (size_t i = 0; i < w->count; i++)
        free(w->items[i]);
    free(w->items);
    pyro_buf_free(&w->text);
}

static bool add_word(words *w, const char *text)
{
    if (!pyro_grow(&w->items, &w->capacity, w->count + 2, sizeof *w->items))
        return false;
    w->items[w->count] = strdup(text);
    if (!w->items[w->count])
        return false;
    w->items[++w->count] = NULL;
    return true;
}

/* Copies quoted text; returns the position after the closing quote, NULL when it is missing. */
static const char *take_quoted(words *w, const char *at)
{
    char quote = *at++;

    for (; *at != '\0' && *at != quote; at++) {
        if (quote == '"' && *at == '\\' && (at[1] == '"' || at[1] == '\\'))
            at++;
        pyro_buf_addc(&w->text, *at);
    }
    return *at == quote ? at + 1 : NULL;
}

static int split(words *w, const char *command, pyro_error *error)
{
    const char *at = command;

    for (;;) {
        at += strspn(at, " \t\n");
        if (*at == '\0')
            return PYRO_OK;
        pyro_buf_reset(&w->text);
        pyro_buf_adds(&w->text, "");
        while (*at != '\0' && !strchr(" \t\n", *at)) {
            if (*at == '\'' || *at == '"') {
                at = take_quoted(w, at);
                if (!at)
                    return pyro_fail(error, PYRO_ERROR_ARGUMENT, "a quote is not closed");
                continue;
            }
            if (*at == '\\' && at[1] != '\0')
                at++;
            pyro_buf_addc(&w->text, *at++);
        }
        if (w->text.failed || !add_word(w, w->text.data ? w->text.data : ""))
            return pyro_fail_memory(error);
    }
}

static int make_arguments(words *w, const pyro_process_spec *spec, pyro_error *error)
{
    int status = split(w, spec->shell ? spec->shell : spec->command, error);

    if (status == PYRO_OK && spec->shell && (!add_word(w, "-c") || !add_word(w, spec->command)))
        status = pyro_fail_memory(error);
    if (status == PYRO_OK && w->count == 0)
        status = pyro_fail(error, PYRO_ERROR_ARGUMENT, "the command is empty");
    return status;
}

/* Runs in the child: only calls that are safe after fork. Reports errno through the pipe. */
static void become(char **arguments, const pyro_process_spec *spec, int reason_fd,
                   const sigset_t *signals)
{
    int null_fd = open("/dev/null", O_RDWR);

    /* Signals that arrived since the fork end this process now, not our handler's copy in it. */
    if (depth > 0) {
        sigaction(SIGINT, &old_interrupt, NULL);
        sigaction(SIGTERM, &old_terminate, NULL);
    }
    let_go(signals);
    if (null_fd >= 0) {
        dup2(null_fd, STDIN_FILENO);
        if (!spec->show_output) {
            dup2(null_fd, STDOUT_FILENO);
            dup2(null_fd, STDERR_FILENO);
        }
        if (null_fd > STDERR_FILENO)
            close(null_fd);
    }
    if (!spec->folder || chdir(spec->folder) == 0)
        execvp(arguments[0], arguments);
    int number = errno;
    (void)!write(reason_fd, &number, sizeof number);
    _exit(EXIT_NOT_STARTED);
}

static int64_t to_ns(struct timeval time)
{
    return (int64_t)time.tv_sec * PYRO_SECOND_NS + (int64_t)time.tv_usec * 1000;
}

/* The handler passes signals on: one that arrived just before a call of wait4 would not end it. */
int pyro_process_wait(pid_t child, struct rusage *usage)
{
    siginfo_t ended;
    sigset_t before;
    int status = 0;

    hold_signals(&before);
    passed_on = 0;
    waited_for = child;
    if (interrupted_by != 0)
        pass_on();
    let_go(&before);
    /* The child keeps its id until nobody would send it a signal. */
    while (waitid(P_PID, (id_t)child, &ended, WEXITED | WNOWAIT) < 0 && errno == EINTR)
        ;
    waited_for = 0;
    while (wait4(child, &status, 0, usage) < 0 && errno == EINTR)
        ;
    return status;
}

static void wait_for(pid_t child, pyro_process_result *out, int64_t start_ns)
{
    struct rusage usage = {0};
    int status = pyro_process_wait(child, &usage);

    out->wall_ns = pyro_now_ns() - start_ns;
    out->user_ns = to_ns(usage.ru_utime);
    out->system_ns = to_ns(usage.ru_stime);
    out->peak_bytes = (int64_t)usage.ru_maxrss * 1024;
    out->exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/*
 * Uses fork, not vfork: a child of vfork starts with this process's pages, so its peak memory would
 * never be less than ours.
 */
int pyro_process_run(pyro_process_result *out, const pyro_process_spec *spec, pyro_error *error)
{
    words arguments = {NULL, 0, 0, PYRO_BUF_INIT};
    int reason[2] = {-1, -1}, number = 0;
    int status = make_arguments(&arguments, spec, error);

    memset(out, 0, sizeof *out);
    if (status == PYRO_OK && pipe2(reason, O_CLOEXEC) != 0)
        status = pyro_fail(error, PYRO_ERROR_IO, "cannot create a pipe: %s", strerror(errno));
    if (status == PYRO_OK) {
        int64_t start_ns = pyro_now_ns();
        sigset_t before;

        hold_signals(&before);
        pid_t child = fork();
        if (child == 0)
            become(arguments.items, spec, reason[1], &before);
        let_go(&before);
        close(reason[1]);
        if (child < 0) {
            status = pyro_fail(error, PYRO_ERROR_IO, "cannot start a process: %s", strerror(errno));
        } else {
            ssize_t got = read(reason[0], &number, sizeof number);

            wait_for(child, out, start_ns);
            if (got == (ssize_t)sizeof number)
                status = pyro_fail(error, PYRO_ERROR_ARGUMENT, "cannot run %.100s: %s",
                                   arguments.items[0], strerror(number));
        }
        close(reason[0]);
    }
    free_words(&arguments);
    return status;
}

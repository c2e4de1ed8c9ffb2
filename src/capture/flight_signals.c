/*
 * Signals as triggers. The handler runs in front of the program's own, which it calls afterwards, so
 * that the program sees its signals as before. A program may install its handler later: the recorder
 * puts its own in front again when it is told so, and looks several times per second.
 */
#include "capture/session.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

typedef struct watched_signal {
    int signal; /* 0: unused */
    uint32_t has_arrived, must_die;
    /* The program's handler; `current` is the valid one of two, because the handler may run while
     * the other is written. */
    struct sigaction before[2];
    uint32_t current;
} watched_signal;

static watched_signal watched[PYRO_FLIGHT_MOST_SIGNALS];
static pid_t owner; /* a forked child inherits handlers, but not the thread that writes files */
static int wake;

static const struct {
    const char *name;
    int signal;
    bool ends_process; /* if the program does not handle it */
} known[] = {{"SIGUSR1", SIGUSR1, false},
             {"SIGUSR2", SIGUSR2, false},
             {"SIGHUP", SIGHUP, true},
             {"SIGTERM", SIGTERM, true},
             {"SIGINT", SIGINT, true}};

#define KNOWN (sizeof known / sizeof *known)
_Static_assert(KNOWN == PYRO_FLIGHT_MOST_SIGNALS, "all signals together can be triggers");

const char *pyro_flight_signal_name(int signal)
{
    for (size_t i = 0; i < KNOWN; i++)
        if (known[i].signal == signal)
            return known[i].name;
    return "signal";
}

int pyro_flight_signal_number(const char *name)
{
    for (size_t i = 0; i < KNOWN; i++)
        if (strcmp(known[i].name, name) == 0)
            return known[i].signal;
    return 0;
}

static bool ends_process(int signal)
{
    for (size_t i = 0; i < KNOWN; i++)
        if (known[i].signal == signal)
            return known[i].ends_process;
    return false;
}

static void die_of(int number)
{
    struct sigaction usual = {.sa_handler = SIG_DFL};
    sigset_t set;
    sigaction(number, &usual, NULL);
    sigemptyset(&set);
    sigaddset(&set, number);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    kill(getpid(), number);
}

static watched_signal *find(int number)
{
    for (size_t i = 0; i < PYRO_FLIGHT_MOST_SIGNALS; i++)
        if (watched[i].signal == number)
            return &watched[i];
    return NULL;
}

static bool is_default(const struct sigaction *action)
{
    return !(action->sa_flags & SA_SIGINFO) && action->sa_handler == SIG_DFL;
}

/* Asks the thread for a file. It may be done before this returns, so all it needs comes first. */
static void ask(watched_signal *of, bool ends)
{
    uint64_t one = 1;
    if (ends)
        __atomic_store_n(&of->must_die, 1, __ATOMIC_RELEASE);
    __atomic_store_n(&of->has_arrived, 1, __ATOMIC_RELEASE);
    ssize_t written = write(wake, &one, sizeof one);
    (void)written; /* the thread looks from time to time anyway */
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    int saved = errno;
    watched_signal *of = find(number);
    bool is_owner = owner == getpid();
    if (!of)
        return;
    const struct sigaction *before = &of->before[__atomic_load_n(&of->current, __ATOMIC_ACQUIRE)];
    if (is_owner)
        ask(of, is_default(before) && ends_process(number));
    if (before->sa_flags & SA_SIGINFO)
        before->sa_sigaction(number, info, context);
    else if (is_default(before) && !is_owner)
        die_of(number);
    else if (before->sa_handler != SIG_DFL && before->sa_handler != SIG_IGN)
        before->sa_handler(number);
    errno = saved;
}

static bool is_ours(const struct sigaction *action)
{
    return action->sa_flags & SA_SIGINFO && action->sa_sigaction == on_signal;
}

static void put_in_front(watched_signal *of)
{
    struct sigaction present;
    if (sigaction(of->signal, NULL, &present) != 0 || is_ours(&present))
        return;
    uint32_t other = !of->current;
    of->before[other] = present;
    __atomic_store_n(&of->current, other, __ATOMIC_RELEASE);
    struct sigaction ours = present;
    bool is_handled = present.sa_flags & SA_SIGINFO ||
                      (present.sa_handler != SIG_DFL && present.sa_handler != SIG_IGN);
    ours.sa_sigaction = on_signal;
    ours.sa_flags |= SA_SIGINFO | SA_ONSTACK;
    ours.sa_flags &= ~(int)SA_RESETHAND;
    if (!is_handled) /* system calls of the program are not interrupted */
        ours.sa_flags |= SA_RESTART;
    sigaction(of->signal, &ours, NULL);
}

void pyro_flight_signals_begin(const int *signals, size_t count, int wake_fd)
{
    wake = wake_fd;
    owner = getpid();
    for (size_t i = 0; i < count && i < PYRO_FLIGHT_MOST_SIGNALS; i++) {
        watched[i].has_arrived = watched[i].must_die = 0;
        watched[i].signal = signals[i];
        if (signals[i])
            put_in_front(&watched[i]);
    }
}

void pyro_flight_signals_renew(void)
{
    for (size_t i = 0; i < PYRO_FLIGHT_MOST_SIGNALS; i++)
        if (watched[i].signal)
            put_in_front(&watched[i]);
}

int pyro_flight_signals_take(void)
{
    for (size_t i = 0; i < PYRO_FLIGHT_MOST_SIGNALS; i++)
        if (watched[i].signal && __atomic_exchange_n(&watched[i].has_arrived, 0, __ATOMIC_ACQ_REL))
            return watched[i].signal;
    return 0;
}

void pyro_flight_signal_done(int signal)
{
    watched_signal *of = signal ? find(signal) : NULL;
    if (of && __atomic_exchange_n(&of->must_die, 0, __ATOMIC_ACQ_REL))
        die_of(signal);
}

void pyro_flight_signals_end(void)
{
    for (size_t i = 0; i < PYRO_FLIGHT_MOST_SIGNALS; i++) {
        struct sigaction present;
        if (watched[i].signal && sigaction(watched[i].signal, NULL, &present) == 0 &&
            is_ours(&present))
            sigaction(watched[i].signal, &watched[i].before[watched[i].current], NULL);
        watched[i].signal = 0;
    }
    owner = 0;
}

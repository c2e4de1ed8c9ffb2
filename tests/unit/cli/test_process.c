/* Tests of cli/process.c: every interruption reaches the child that the tool waits for. */
#include "cli/process.h"

#include "unit.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_SECONDS = 20 }; /* a child that no signal reaches ends by itself, with status 0 */

static void end_by_itself(int number)
{
    (void)number;
    _exit(0);
}

/* In a child: ends with status 0 unless a signal ends it before. */
static void wait_for_a_signal(void)
{
    signal(SIGTERM, SIG_DFL);
    signal(SIGALRM, end_by_itself);
    alarm(MOST_SECONDS);
    for (;;)
        pause();
}

static void test_a_signal_before_the_wait_reaches_the_child(void **state)
{
    sigset_t terminate, before;
    (void)state;
    pyro_process_begin();
    /* The child has its own handling of SIGTERM before it can receive one. */
    sigemptyset(&terminate);
    sigaddset(&terminate, SIGTERM);
    sigprocmask(SIG_BLOCK, &terminate, &before);
    pid_t child = fork();
    if (child == 0) {
        signal(SIGTERM, SIG_DFL);
        sigprocmask(SIG_SETMASK, &before, NULL);
        wait_for_a_signal();
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    raise(SIGTERM);
    int status = pyro_process_wait(child, NULL);
    assert_true(pyro_process_interrupted());
    pyro_process_end();
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGTERM);
}

/* In a child that blocks SIGTERM: interrupts the parent, and again after the first came back. */
static void interrupt_twice(const sigset_t *terminate)
{
    int number;
    signal(SIGALRM, end_by_itself);
    alarm(MOST_SECONDS);
    kill(getppid(), SIGTERM);
    sigwait(terminate, &number);
    kill(getppid(), SIGTERM);
    for (;;)
        pause();
}

static void test_the_second_signal_kills_the_child(void **state)
{
    sigset_t terminate, before;
    (void)state;
    pyro_process_begin();
    sigemptyset(&terminate);
    sigaddset(&terminate, SIGTERM);
    sigprocmask(SIG_BLOCK, &terminate, &before);
    pid_t child = fork();
    if (child == 0)
        interrupt_twice(&terminate);
    sigprocmask(SIG_SETMASK, &before, NULL);
    int status = pyro_process_wait(child, NULL);
    pyro_process_end();
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGKILL);
}

static void test_a_child_ends_without_a_signal(void **state)
{
    struct rusage usage;
    (void)state;
    pyro_process_begin();
    pid_t child = fork();
    if (child == 0)
        _exit(7);
    int status = pyro_process_wait(child, &usage);
    assert_false(pyro_process_interrupted());
    pyro_process_end();
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_a_signal_before_the_wait_reaches_the_child),
    cmocka_unit_test(test_the_second_signal_kills_the_child),
    cmocka_unit_test(test_a_child_ends_without_a_signal),
};

UNIT_TESTS(tests, NULL, NULL)

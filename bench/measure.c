/*
 * Runs a command and prints its wall time and peak memory: "NANOSECONDS KIBIBYTES STATUS".
 * Not in Python, because a child's peak starts at the size of the process that forks it.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void run_quietly(char **command)
{
    int null = open("/dev/null", O_WRONLY);

    if (null >= 0) {
        dup2(null, STDOUT_FILENO);
    }
    execvp(command[0], command);
    perror(command[0]);
    _exit(127);
}

int main(int argc, char **argv)
{
    struct rusage usage;
    long long started_ns;
    int status;
    pid_t child;

    if (argc < 2) {
        fputs("usage: measure COMMAND [ARGUMENT...]\n", stderr);
        return 2;
    }
    started_ns = now_ns();
    child = fork();
    if (child == 0) {
        run_quietly(argv + 1);
    }
    if (child < 0 || wait4(child, &status, 0, &usage) < 0) {
        perror("measure");
        return 1;
    }
    printf("%lld %ld %d\n", now_ns() - started_ns, usage.ru_maxrss,
           WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    return 0;
}

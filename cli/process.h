/* Running a command once: its times, its memory, how it ended. */
#ifndef PYRO_CLI_PROCESS_H
#define PYRO_CLI_PROCESS_H

#include <pyrometer/error.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

typedef struct pyro_process_spec {
    const char *command;
    const char *shell;  /* the words before -c; NULL: the command is split and run by itself */
    const char *folder; /* NULL: the current one */
    bool show_output;
} pyro_process_spec;

typedef struct pyro_process_result {
    int64_t wall_ns, user_ns, system_ns;
    int64_t peak_bytes; /* the largest of its processes */
    int exit_code;      /* 128 + N for signal N, as shells say */
} pyro_process_result;

/* PYRO_ERROR_ARGUMENT when the command cannot be split or started. */
int pyro_process_run(pyro_process_result *out, const pyro_process_spec *spec, pyro_error *error);

/*
 * From begin to end, Ctrl-C and a request to terminate no longer end the tool: the child gets them,
 * and interrupted() says so. They may be nested.
 */
void pyro_process_begin(void);
void pyro_process_end(void);
bool pyro_process_interrupted(void);

/*
 * Waits for a child between begin and end, and returns what wait() says; an interruption is handed
 * on, the second time so that it cannot be ignored. `usage` may be NULL.
 */
int pyro_process_wait(pid_t child, struct rusage *usage);

#endif

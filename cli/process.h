/* Runs a command once and measures its times, memory and exit code. */
#ifndef PYRO_CLI_PROCESS_H
#define PYRO_CLI_PROCESS_H

#include <pyrometer/error.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

typedef struct pyro_process_spec {
    const char *command;
    const char *shell;  /* the words before -c; NULL: run the command without a shell */
    const char *folder; /* NULL: the current folder */
    bool show_output;
} pyro_process_spec;

typedef struct pyro_process_result {
    int64_t wall_ns, user_ns, system_ns;
    int64_t peak_bytes; /* of its largest process */
    int exit_code;      /* 128 + N for signal N, as in shells */
} pyro_process_result;

/* PYRO_ERROR_ARGUMENT when the command cannot be split or started. */
int pyro_process_run(pyro_process_result *out, const pyro_process_spec *spec, pyro_error *error);

/*
 * Between begin and end, SIGINT and SIGTERM do not end the tool: the child receives them, and
 * interrupted() returns true. The pairs may be nested.
 */
void pyro_process_begin(void);
void pyro_process_end(void);
bool pyro_process_interrupted(void);

/*
 * Waits for a child between begin and end; returns the status of wait(). Passes an interruption on
 * to the child; the second one kills it. `usage` may be NULL.
 */
int pyro_process_wait(pid_t child, struct rusage *usage);

#endif

/* The options that every command has, and where its result goes. */
#ifndef PYRO_CLI_COMMON_H
#define PYRO_CLI_COMMON_H

#include "base/containers/buf.h"
#include "cli/command.h"
#include "cli/options/options.h"

#include <pyrometer/report.h>

/* Values of pyro_common_options. */
typedef struct pyro_common {
    const char *format_name; /* NULL: by the extension of `output`, else text */
    const char *output;
    bool quiet, verbose, help;
    int color; /* index of auto, always, never */
    const bool *plain; /* an option of the command that means text, however `output` is called */
    /* Set by pyro_common_parse: what the command writes, and the format's number. */
    pyro_report_kind report;
    int format;
} pyro_common;

#define PYRO_COMMON_INIT {.format_name = NULL}

extern const pyro_option pyro_common_options[];

/*
 * Parses a command's arguments. Returns true when the command shall go on; otherwise *exit_code is
 * what the process returns: help was asked for and shown, or a usage error was reported.
 */
bool pyro_common_parse(const pyro_command *command, int argc, char **argv, void *values,
                       pyro_common *common, pyro_words *operands, int *exit_code);

/* Format, colour and width for the place the result goes to. */
pyro_report_options pyro_common_report(const pyro_common *common);

/* True when the result goes to standard output rather than to a file. */
bool pyro_common_to_stdout(const pyro_common *common);

/* "wrote FILE (what)" on standard error. */
void pyro_common_say_written(const char *path, const char *what);

/* Writes the result where it was asked to go, says so unless quiet, and returns the exit code. */
int pyro_common_write(const pyro_common *common, const char *text, size_t size);

/* A line to type next: "  pyrometer COMMAND OPERAND OPTION  # purpose". */
void pyro_common_hint(pyro_buf *buf, const char *command, const char *operand, const char *option,
                      const char *purpose);

/*
 * "STEM.json" or "STEM-2.json" ...: a file of this folder that does not exist yet, so that a hint
 * never names one that would be lost. False when all are taken.
 */
#define PYRO_FREE_NAME 64
bool pyro_common_free_name(char name[PYRO_FREE_NAME], const char *stem);
/* The hint to write all numbers to a new file. */
void pyro_common_hint_output(pyro_buf *buf, const char *command, const char *operand,
                             const char *stem);

/* "pyrometer: ..." on standard error, made safe for a terminal; the exit code for it. */
int pyro_common_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* "pyrometer: subject: message (at byte N)" on standard error; the exit code for it. */
int pyro_common_fail(const char *subject, const pyro_error *error);

#endif

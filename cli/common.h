/* The options that every command has. Parses them and writes the command's result. */
#ifndef PYRO_CLI_COMMON_H
#define PYRO_CLI_COMMON_H

#include "base/containers/buf.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/options/options.h"

#include <pyrometer/page.h>
#include <pyrometer/report.h>

/* Values of pyro_common_options. */
typedef struct pyro_common {
    const char *format_name; /* NULL: by the extension of `output`, else text */
    const char *output;
    bool quiet, verbose, help;
    int color; /* index of auto, always, never */
    const bool *plain; /* an option of the command that forces text, whatever `output` is named */
    const char *subject; /* what a page is about: the only model, else the command's name */
    /* Set by pyro_common_parse: the kind of report, and the index of its format. */
    pyro_report_kind report;
    int format;
    bool page; /* `format` is JSON, and pyro_common_write makes a page of it */
} pyro_common;

#define PYRO_COMMON_INIT {.format_name = NULL}

extern const pyro_option pyro_common_options[];

/*
 * Parses a command's arguments. Returns true when the command should continue. Otherwise it has
 * shown the help or reported a usage error, and *exit_code is the exit code of the process.
 */
bool pyro_common_parse(const pyro_command *command, int argc, char **argv, void *values,
                       pyro_common *common, pyro_words *operands, int *exit_code);

/* Format, colour and width that suit the destination of the result. */
pyro_report_options pyro_common_report(const pyro_common *common);

/* True when the result goes to standard output rather than to a file. */
bool pyro_common_to_stdout(const pyro_common *common);

/* Writes the result to its destination, reports that unless quiet, and returns the exit code. */
int pyro_common_write(const pyro_common *common, const char *text, size_t size);
/* The same for a page that has all its parts. */
int pyro_common_write_page(const pyro_common *common, pyro_page *page);
/*
 * Reports why a trace or recording cannot be read. A file that is there becomes a part of the page,
 * which says what is missing. Returns whether it did; a page without it is not worth writing.
 */
bool pyro_common_fail_on_page(pyro_page *page, const char *path, const pyro_error *reason);

/*
 * Writes a text that the library made with `status` to a file, and frees it; returns the exit code.
 */
int pyro_common_write_file(const char *path, int status, char *text, size_t size,
                           pyro_error *error);

/* Appends a command to try next: "  pyrometer COMMAND OPERAND OPTION  # purpose". */
void pyro_common_hint(pyro_buf *buf, const char *command, const char *operand, const char *option,
                      const char *purpose);

/*
 * Finds "STEM.json", "STEM-2.json" ...: a file that does not exist in the current folder, so that
 * a hint never overwrites one. False when all of them exist.
 */
#define PYRO_FREE_NAME 64
bool pyro_common_free_name(char name[PYRO_FREE_NAME], const char *stem);
/* Appends the hint to write all numbers to a new file. */
void pyro_common_hint_output(pyro_buf *buf, const char *command, const char *operand,
                             const char *stem);

#endif

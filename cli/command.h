/* Describes a command of the tool. Each command is one file that ends in such a struct. */
#ifndef PYRO_CLI_COMMAND_H
#define PYRO_CLI_COMMAND_H

#include "cli/options/options.h"
#include "report/kinds.h"

/* A command line and its purpose. */
typedef struct pyro_example {
    const char *line; /* NULL ends the list */
    const char *purpose;
} pyro_example;

typedef struct pyro_command pyro_command;

struct pyro_command {
    const char *name;
    const char *alias;       /* a second name; may be NULL */
    const char *summary;     /* one line, lower case, no full stop */
    const char *usage;       /* what follows "pyrometer NAME" */
    const char *description; /* paragraphs, an empty line between two */
    const pyro_example *examples;
    const pyro_option_group *groups;
    pyro_completion operands;
    pyro_report_kind report; /* what it writes; decides the choices of --format */
    /* Takes the arguments after the command's name; returns the exit code of the process. */
    int (*run)(const pyro_command *command, int argc, char **argv);
};

/* The valid values of an option, NULL-terminated; NULL when any value is valid. */
const char *const *pyro_command_choices(const pyro_command *command, const pyro_option *option);

/* All commands, in the order of the overview; NULL-terminated. */
extern const pyro_command *const pyro_commands[];

/* NULL when no command has that name. */
const pyro_command *pyro_command_find(const char *name);

/* Exit codes of the process. */
enum {
    PYRO_EXIT_FINE = 0,
    PYRO_EXIT_POLICY = 1,
    PYRO_EXIT_ERROR = 2,
    PYRO_EXIT_CANNOT_TELL = 3,
    PYRO_EXIT_INTERRUPTED = 130
};

#endif

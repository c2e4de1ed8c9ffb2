/* A command of the tool: one file each, ending in one of these structs. */
#ifndef PYRO_CLI_COMMAND_H
#define PYRO_CLI_COMMAND_H

#include "cli/options/options.h"
#include "report/kinds.h"

/* A line to type and what it is good for. */
typedef struct pyro_example {
    const char *line; /* NULL ends the list */
    const char *purpose;
} pyro_example;

typedef struct pyro_command pyro_command;

struct pyro_command {
    const char *name;
    const char *alias;       /* another name that works, NULL: none */
    const char *summary;     /* one line, lower case, no full stop */
    const char *usage;       /* what follows "pyrometer NAME" */
    const char *description; /* paragraphs, an empty line between two */
    const pyro_example *examples;
    const pyro_option_group *groups;
    pyro_completion operands;
    pyro_report_kind report; /* what it writes, whose formats --format and --output offer */
    /* Gets the arguments behind the command's name; returns the exit code of the process. */
    int (*run)(const pyro_command *command, int argc, char **argv);
};

/* What an option of the command may be given, NULL at the end; NULL: anything. */
const char *const *pyro_command_choices(const pyro_command *command, const pyro_option *option);

/* Every command, in the order the overview shows them; NULL at the end. */
extern const pyro_command *const pyro_commands[];

/* NULL when there is none of that name. */
const pyro_command *pyro_command_find(const char *name);

/* What a process returns to its caller. */
enum {
    PYRO_EXIT_FINE = 0,
    PYRO_EXIT_POLICY = 1,
    PYRO_EXIT_ERROR = 2,
    PYRO_EXIT_CANNOT_TELL = 3,
    PYRO_EXIT_INTERRUPTED = 130
};

#endif

/* The list of commands: adding one is adding a line here. */
#include "cli/command.h"

#include <string.h>

extern const pyro_command cmd_bench;
extern const pyro_command cmd_check;
extern const pyro_command cmd_cost;
extern const pyro_command cmd_diff;
extern const pyro_command cmd_doctor;
extern const pyro_command cmd_models;
extern const pyro_command cmd_graph;
extern const pyro_command cmd_python;
extern const pyro_command cmd_ranks;
extern const pyro_command cmd_run;
extern const pyro_command cmd_trace;

/* One a line, so that two changes that each add one do not collide. */
/* clang-format off */
const pyro_command *const pyro_commands[] = {
    &cmd_cost,
    &cmd_models,
    &cmd_check,
    &cmd_diff,
    &cmd_graph,
    &cmd_trace,
    &cmd_ranks,
    &cmd_bench,
    &cmd_run,
    &cmd_python,
    &cmd_doctor,
    NULL,
};
/* clang-format on */

const pyro_command *pyro_command_find(const char *name)
{
    for (size_t i = 0; pyro_commands[i] != NULL; i++)
        if (strcmp(pyro_commands[i]->name, name) == 0 ||
            (pyro_commands[i]->alias != NULL && strcmp(pyro_commands[i]->alias, name) == 0))
            return pyro_commands[i];
    return NULL;
}

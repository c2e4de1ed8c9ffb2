/* Builds the list of commands from commands.def, and finds commands in it. */
#include "cli/command.h"

#include <string.h>

#define COMMAND(name) extern const pyro_command cmd_##name;
#include "cli/commands/commands.def"
#undef COMMAND

const pyro_command *const pyro_commands[] = {
#define COMMAND(name) &cmd_##name,
#include "cli/commands/commands.def"
#undef COMMAND
    NULL,
};

const pyro_command *pyro_command_find(const char *name)
{
    for (size_t i = 0; pyro_commands[i]; i++)
        if (strcmp(pyro_commands[i]->name, name) == 0 ||
            (pyro_commands[i]->alias && strcmp(pyro_commands[i]->alias, name) == 0))
            return pyro_commands[i];
    return NULL;
}

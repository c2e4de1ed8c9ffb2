/* Finds the command that the user named and runs it. Shows the overview of commands. */
#include "cli/command.h"
#include "cli/common.h"
#include "cli/help.h"
#include "cli/output.h"
#include "report/text.h"
#include "base/text/suggest.h"

#include <pyrometer/catalog.h>
#include <pyrometer/version.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool is_builtin_model(const char *name)
{
    const char *builtin;

    for (size_t i = 0; (builtin = pyro_builtin_name(i)); i++)
        if (pyro_catalog_same_name(builtin, name))
            return true;
    return false;
}

/* Judges by the name only: run.json, run.json.gz, run.json.zst. */
static bool is_trace_name(const char *name)
{
    const char *json = strstr(name, ".json");

    return json &&
           (json[5] == '\0' || strcmp(json + 5, ".gz") == 0 || strcmp(json + 5, ".zst") == 0);
}

static int fail_unknown_command(const char *name)
{
    pyro_suggestion suggestion = PYRO_SUGGESTION(name);

    for (size_t i = 0; pyro_commands[i]; i++)
        pyro_suggestion_offer(&suggestion, pyro_commands[i]->name);
    pyro_suggestion_offer(&suggestion, "help");
    if (is_trace_name(name) && access(name, F_OK) == 0)
        return pyro_common_complain("%s is not a command; did you mean pyrometer trace %s?", name,
                                    name);
    if (is_builtin_model(name) || access(name, F_OK) == 0)
        return pyro_common_complain("%s is a model, not a command; did you mean pyrometer cost %s?",
                                    name, name);
    if (suggestion.nearest)
        return pyro_common_complain("unknown command %s; did you mean %s? (see pyrometer --help)",
                                    name, suggestion.nearest);
    return pyro_common_complain("unknown command %s (see pyrometer --help)", name);
}

static int show_version(void)
{
    char line[64];
    pyro_error error;
    int length = snprintf(line, sizeof line, "pyrometer %s\n", pyro_version());

    pyro_error_clear(&error);
    return pyro_output_stdout(line, (size_t)length, &error) == PYRO_OK
               ? PYRO_EXIT_FINE
               : pyro_common_fail(NULL, &error);
}

static void write_overview(pyro_buf *buf, bool color)
{
    pyro_buf_adds(buf, "pyrometer " PYRO_VERSION
                       ": what a PyTorch model costs, and where its time goes\n\n"
                       "Usage: pyrometer COMMAND [OPTION...] [OPERAND...]\n\n");
    pyro_text_heading(buf, "Commands:", color);
    for (size_t i = 0; pyro_commands[i]; i++)
        pyro_buf_addf(buf, "  %-8s  %s\n", pyro_commands[i]->name, pyro_commands[i]->summary);
    pyro_buf_adds(buf, "  help      show the help of a command: pyrometer help cost\n\n");
    pyro_text_heading(buf, "Start here:", color);
    pyro_buf_adds(buf, "  pyrometer cost resnet18       a built-in model\n"
                       "  pyrometer cost model.pt2      your model, saved with torch.export.save\n"
                       "  pyrometer trace run.json.gz   your run, recorded by torch.profiler\n"
                       "\npyrometer COMMAND --help explains a command and shows examples.\n");
}

static int show_overview(bool color)
{
    pyro_buf buf = PYRO_BUF_INIT;
    pyro_error error;
    int status;

    pyro_error_clear(&error);
    write_overview(&buf, color);
    status = pyro_output_stdout(buf.data, buf.failed ? 0 : buf.length, &error);
    pyro_buf_free(&buf);
    return status == PYRO_OK ? PYRO_EXIT_FINE : pyro_common_fail(NULL, &error);
}

static int show_help(const char *name)
{
    const pyro_command *command;

    if (!name || strcmp(name, "help") == 0)
        return show_overview(pyro_output_wants_color());
    command = pyro_command_find(name);
    return command ? pyro_help_show(command, pyro_output_wants_color())
                   : fail_unknown_command(name);
}

static bool is_any(const char *word, const char *a, const char *b, const char *c)
{
    return strcmp(word, a) == 0 || strcmp(word, b) == 0 || strcmp(word, c) == 0;
}

int main(int argc, char **argv)
{
    const pyro_command *command;

    if (argc < 2)
        return show_help(NULL);
    command = pyro_command_find(argv[1]);
    if (command)
        return command->run(command, argc - 2, argv + 2);
    if (is_any(argv[1], "help", "--help", "-h"))
        return show_help(argc > 2 ? argv[2] : NULL);
    if (is_any(argv[1], "version", "--version", "-V"))
        return show_version();
    if (argv[1][0] == '-')
        return pyro_common_complain("%s: options come after the command: pyrometer cost %s "
                                    "(see pyrometer --help)",
                                    argv[1], argv[1]);
    return fail_unknown_command(argv[1]);
}

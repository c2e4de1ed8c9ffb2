/* Lays out the option tables, which the parser reads too, as help for 80 columns. */
#include "cli/help.h"

#include "cli/common.h"
#include "cli/options/formats.h"
#include "cli/output.h"
#include "report/text.h"

#include <pyrometer/version.h>
#include <string.h>

enum { WIDTH = 80, OPTION_COLUMN = 6 };

static void add_option_usage(pyro_buf *buf, const pyro_command *command, const pyro_option *option)
{
    const char *const *choices = pyro_command_choices(command, option);

    pyro_buf_addf(buf, "--%s", option->long_name);
    if (choices && option->kind != PYRO_OPTION_STRING)
        for (size_t i = 0; choices[i]; i++)
            pyro_buf_addf(buf, "%s%s", i == 0 ? " " : "|", choices[i]);
    else if (option->kind != PYRO_OPTION_FLAG)
        pyro_buf_addf(buf, " %s", option->metavar);
}

void pyro_help_option(pyro_buf *buf, const pyro_command *command, const pyro_option *option)
{
    static const struct {
        const char *name;
        void (*list)(pyro_buf *buf, pyro_report_kind kind);
    } places[] = {{"{formats}", pyro_format_list}, {"{extensions}", pyro_format_list_extensions}};
    const char *rest = option->help, *found;

    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (!(found = strstr(rest, places[i].name)))
            continue;
        pyro_buf_add(buf, rest, (size_t)(found - rest));
        places[i].list(buf, command->report);
        rest = found + strlen(places[i].name);
    }
    pyro_buf_adds(buf, rest);
}

void pyro_help_option_text(pyro_buf *buf, const pyro_command *command, const pyro_option *option,
                           void (*add)(pyro_buf *buf, const char *text))
{
    pyro_buf help = PYRO_BUF_INIT;

    pyro_help_option(&help, command, option);
    add(buf, pyro_text_part(buf, &help));
    pyro_buf_free(&help);
    if (option->kind == PYRO_OPTION_LIST || option->kind == PYRO_OPTION_LIMITS ||
        option->kind == PYRO_OPTION_CHOICES)
        add(buf, " May be repeated.");
    if (option->default_text) {
        add(buf, " Default: ");
        add(buf, option->default_text);
        add(buf, ".");
    }
}

static void add_option(pyro_buf *buf, const pyro_command *command, const pyro_option *option)
{
    pyro_buf text = PYRO_BUF_INIT;

    if (option->short_name != 0)
        pyro_buf_addf(buf, "  -%c, ", option->short_name);
    else
        pyro_buf_fill(buf, ' ', OPTION_COLUMN);
    add_option_usage(buf, command, option);
    pyro_buf_addc(buf, '\n');
    pyro_help_option_text(&text, command, option, pyro_buf_adds);
    if (!text.failed)
        pyro_text_wrap(buf, text.data, 10, 10, WIDTH);
    pyro_buf_free(&text);
}

static void add_groups(pyro_buf *buf, const pyro_command *command, bool color)
{
    for (const pyro_option_group *group = command->groups; group->title; group++) {
        pyro_text_heading(buf, group->title, color);
        for (const pyro_option *option = group->options; option->long_name; option++)
            add_option(buf, command, option);
        pyro_buf_addc(buf, '\n');
    }
}

static void add_examples(pyro_buf *buf, const pyro_example *examples, bool color)
{
    pyro_text_heading(buf, "Examples:", color);
    for (const pyro_example *example = examples; example->line; example++) {
        pyro_buf_addf(buf, "  %s\n", example->line);
        pyro_text_wrap(buf, example->purpose, 10, 10, WIDTH);
    }
}

void pyro_help_command(pyro_buf *buf, const pyro_command *command, bool color)
{
    pyro_buf usage = PYRO_BUF_INIT;

    pyro_buf_addf(&usage, "Usage: pyrometer %s %s", command->name, command->usage);
    if (!usage.failed)
        pyro_text_wrap(buf, usage.data, 0, 7, WIDTH);
    pyro_buf_free(&usage);
    pyro_buf_addc(buf, '\n');
    pyro_text_wrap(buf, command->description, 0, 0, WIDTH);
    pyro_buf_addc(buf, '\n');
    add_groups(buf, command, color);
    add_examples(buf, command->examples, color);
}

int pyro_help_show(const pyro_command *command, bool color)
{
    pyro_buf buf = PYRO_BUF_INIT;
    pyro_error error;
    int status;

    pyro_error_clear(&error);
    pyro_help_command(&buf, command, color);
    status = pyro_output_stdout(buf.data, buf.failed ? 0 : buf.length, &error);
    pyro_buf_free(&buf);
    return status == PYRO_OK ? PYRO_EXIT_FINE : pyro_common_fail(NULL, &error);
}

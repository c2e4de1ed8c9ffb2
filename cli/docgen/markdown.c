/*
 * Writes command pages in Markdown from the option tables. Options and examples are definition
 * lists, which MkDocs renders with its extension def_list.
 */
#include "cli/docgen/docgen.h"

#include "cli/help.h"
#include "report/text.h"

#include <string.h>

/* Escapes text for Markdown and puts it on one line. */
static void add_text(pyro_buf *buf, const char *text)
{
    for (; *text != '\0'; text++) {
        if (strchr("\\`*_[]#|", *text))
            pyro_buf_addf(buf, "\\%c", *text);
        else if (*text == '<')
            pyro_buf_adds(buf, "&lt;");
        else
            pyro_buf_addc(buf, *text == '\n' ? ' ' : *text);
    }
}

/* Appends inline code. No option name or example contains a backtick. */
static void add_code(pyro_buf *buf, const char *text)
{
    pyro_buf_addf(buf, "`%s`", text);
}

static void add_paragraphs(pyro_buf *buf, const char *text)
{
    const char *end;

    while ((end = strstr(text, "\n\n"))) {
        pyro_buf paragraph = PYRO_BUF_INIT;

        pyro_buf_add(&paragraph, text, (size_t)(end - text));
        add_text(buf, pyro_text_part(buf, &paragraph));
        pyro_buf_adds(buf, "\n\n");
        pyro_buf_free(&paragraph);
        text = end + 2;
    }
    add_text(buf, text);
    pyro_buf_adds(buf, "\n\n");
}

static void add_option(pyro_buf *buf, const pyro_command *command, const pyro_option *option)
{
    const char *const *choices = pyro_command_choices(command, option);
    pyro_buf usage = PYRO_BUF_INIT;

    if (option->short_name != 0)
        pyro_buf_addf(buf, "`-%c`, ", option->short_name);
    pyro_buf_addf(&usage, "--%s", option->long_name);
    if (choices && option->kind != PYRO_OPTION_STRING) {
        for (size_t i = 0; choices[i]; i++)
            pyro_buf_addf(&usage, "%s%s", i == 0 ? " " : "|", choices[i]);
    } else if (option->kind != PYRO_OPTION_FLAG) {
        pyro_buf_addf(&usage, " %s", option->metavar);
    }
    add_code(buf, pyro_text_part(buf, &usage));
    pyro_buf_free(&usage);
    pyro_buf_adds(buf, "\n:   ");
    pyro_help_option_text(buf, command, option, add_text);
    pyro_buf_adds(buf, "\n\n");
}

static void add_examples(pyro_buf *buf, const pyro_example *examples)
{
    pyro_buf_adds(buf, "## Examples\n\n");
    for (const pyro_example *example = examples; example->line; example++) {
        add_code(buf, example->line);
        pyro_buf_adds(buf, "\n:   ");
        add_text(buf, example->purpose);
        pyro_buf_adds(buf, "\n\n");
    }
}

void pyro_docgen_markdown(pyro_buf *buf, const pyro_command *command)
{
    pyro_buf_addf(buf, "# pyrometer %s\n\n", command->name);
    add_text(buf, command->summary);
    pyro_buf_addf(buf, "\n\n```text\npyrometer %s %s\n```\n\n", command->name, command->usage);
    add_paragraphs(buf, command->description);
    pyro_buf_adds(buf, "## Options\n\n");
    for (const pyro_option_group *group = command->groups; group->title; group++) {
        pyro_buf_addf(buf, "### %.*s\n\n", (int)strcspn(group->title, ":"), group->title);
        for (const pyro_option *option = group->options; option->long_name; option++)
            add_option(buf, command, option);
    }
    add_examples(buf, command->examples);
}

void pyro_docgen_markdown_index(pyro_buf *buf)
{
    pyro_buf_adds(buf, "# Commands\n\n| command | purpose |\n|---|---|\n");
    for (size_t i = 0; pyro_commands[i]; i++) {
        pyro_buf_addf(buf, "| [%s](%s.md) | ", pyro_commands[i]->name, pyro_commands[i]->name);
        add_text(buf, pyro_commands[i]->summary);
        pyro_buf_adds(buf, " |\n");
    }
}

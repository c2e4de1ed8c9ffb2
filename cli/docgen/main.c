/*
 * pyrometer-docgen man DIR | markdown DIR | bash FILE | zsh FILE: generates man pages, pages of the
 * site and shell completion from the option tables. The build runs it; it is not installed.
 */
#include "cli/docgen/docgen.h"

#include "cli/command.h"
#include "cli/help.h"
#include "cli/output.h"

#include "base/containers/buf.h"
#include "report/text.h"

#include <pyrometer/catalog.h>
#include <pyrometer/version.h>
#include <stdio.h>
#include <string.h>

/* Escapes text for roff; hyphens become minus signs, so that options can be pasted. */
static void add_roff(pyro_buf *buf, const char *text)
{
    bool line_start = true;

    for (; *text != '\0'; text++) {
        if (line_start && (*text == '.' || *text == '\''))
            pyro_buf_adds(buf, "\\&");
        line_start = *text == '\n';
        switch (*text) {
        case '\\':
            pyro_buf_adds(buf, "\\e");
            break;
        case '-':
            pyro_buf_adds(buf, "\\-");
            break;
        case '~':
            pyro_buf_adds(buf, "\\(ti");
            break;
        case '^':
            pyro_buf_adds(buf, "\\(ha");
            break;
        case '`':
            pyro_buf_adds(buf, "\\(ga");
            break;
        default:
            pyro_buf_addc(buf, *text);
        }
    }
}

static void add_roff_paragraphs(pyro_buf *buf, const char *text)
{
    const char *end;

    while ((end = strstr(text, "\n\n"))) {
        pyro_buf paragraph = PYRO_BUF_INIT;

        pyro_buf_add(&paragraph, text, (size_t)(end - text));
        add_roff(buf, pyro_text_part(buf, &paragraph));
        pyro_buf_adds(buf, "\n.PP\n");
        pyro_buf_free(&paragraph);
        text = end + 2;
    }
    add_roff(buf, text);
    pyro_buf_addc(buf, '\n');
}

static void add_roff_title(pyro_buf *buf, const char *name, const char *summary)
{
    pyro_buf_adds(buf, ".TH \"");
    for (const char *c = name; *c != '\0'; c++)
        pyro_buf_addc(buf, *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c);
    pyro_buf_adds(buf, "\" 1 \"\" \"pyrometer " PYRO_VERSION "\" \"User Commands\"\n.SH NAME\n");
    add_roff(buf, name);
    pyro_buf_adds(buf, " \\- ");
    add_roff(buf, summary);
    pyro_buf_addc(buf, '\n');
}

static void add_roff_option(pyro_buf *buf, const pyro_command *command, const pyro_option *option)
{
    const char *const *choices = pyro_command_choices(command, option);

    pyro_buf_adds(buf, ".TP\n");
    if (option->short_name != 0)
        pyro_buf_addf(buf, "\\fB\\-%c\\fR, ", option->short_name);
    pyro_buf_adds(buf, "\\fB\\-\\-");
    add_roff(buf, option->long_name);
    pyro_buf_adds(buf, "\\fR");
    if (choices && option->kind != PYRO_OPTION_STRING) {
        for (size_t i = 0; choices[i]; i++)
            pyro_buf_addf(buf, "%s\\fB%s\\fR", i == 0 ? " " : "|", choices[i]);
    } else if (option->kind != PYRO_OPTION_FLAG) {
        pyro_buf_adds(buf, " \\fI");
        add_roff(buf, option->metavar);
        pyro_buf_adds(buf, "\\fR");
    }
    pyro_buf_addc(buf, '\n');
    pyro_help_option_text(buf, command, option, add_roff);
    pyro_buf_addc(buf, '\n');
}

/* Appends the sections that are the same for every command. */
static void add_roff_ending(pyro_buf *buf)
{
    pyro_buf_adds(buf, ".SH EXIT STATUS\n"
                       ".TP\n0\nSuccess.\n"
                       ".TP\n1\nA requested check failed (\\fB\\-\\-strict\\fR, "
                       "\\fB\\-\\-threshold\\fR, \\fB\\-\\-fail\\-on\\fR, the tolerance of "
                       "\\fBcheck\\fR, \\fBmodels check\\fR), or \\fBdoctor\\fR found a problem.\n"
                       ".TP\n2\nInvalid usage, or a file that cannot be read or written.\n"
                       ".TP\n3\nNo verdict: too few samples, a different or a busy machine. With "
                       "\\fB\\-\\-fail\\-on regression\\fR this becomes 0 and a warning.\n"
                       ".TP\n130\nInterrupted.\n"
                       ".SH ENVIRONMENT\n"
                       ".TP\nGITHUB_STEP_SUMMARY\nFile to which \\fBpyrometer bench\\fR and "
                       "\\fBpyrometer diff\\fR of results append their tables as Markdown.\n"
                       ".TP\nNO_COLOR\nDisables colour, even on a terminal.\n"
                       ".TP\nCOLUMNS\nMaximum width of tables.\n"
                       ".SH SEE ALSO\n\\fBpyrometer\\fR(1)");
    for (size_t i = 0; pyro_commands[i]; i++)
        pyro_buf_addf(buf, ", \\fBpyrometer\\-%s\\fR(1)", pyro_commands[i]->name);
    pyro_buf_addc(buf, '\n');
}

static void add_command_page(pyro_buf *buf, const pyro_command *command)
{
    pyro_buf name = PYRO_BUF_INIT;

    pyro_buf_addf(&name, "pyrometer-%s", command->name);
    add_roff_title(buf, pyro_text_part(buf, &name), command->summary);
    pyro_buf_free(&name);
    pyro_buf_addf(buf, ".SH SYNOPSIS\n\\fBpyrometer %s\\fR ", command->name);
    add_roff(buf, command->usage);
    pyro_buf_adds(buf, "\n.SH DESCRIPTION\n");
    add_roff_paragraphs(buf, command->description);
    pyro_buf_adds(buf, ".SH OPTIONS\n");
    for (const pyro_option_group *group = command->groups; group->title; group++) {
        pyro_buf_addf(buf, ".SS %.*s\n", (int)strcspn(group->title, ":"), group->title);
        for (const pyro_option *option = group->options; option->long_name; option++)
            add_roff_option(buf, command, option);
    }
    pyro_buf_adds(buf, ".SH EXAMPLES\n");
    for (const pyro_example *example = command->examples; example->line; example++) {
        pyro_buf_adds(buf, ".TP\n\\fB");
        add_roff(buf, example->line);
        pyro_buf_adds(buf, "\\fR\n");
        add_roff(buf, example->purpose);
        pyro_buf_addc(buf, '\n');
    }
    add_roff_ending(buf);
}

static void add_main_page(pyro_buf *buf)
{
    add_roff_title(buf, "pyrometer", "what a PyTorch model costs, and where its time goes");
    pyro_buf_adds(
        buf, ".SH SYNOPSIS\n\\fBpyrometer\\fR \\fICOMMAND\\fR [OPTION...] [OPERAND...]\n"
             ".br\n\\fBpyrometer help\\fR [\\fICOMMAND\\fR]\n"
             ".br\n\\fBpyrometer \\-\\-version\\fR\n"
             ".SH DESCRIPTION\n"
             "Predicts the cost of a model on any hardware: parameters, multiply\\-accumulates, "
             "FLOPs, bytes moved and arithmetic intensity per layer. This reads the graph that "
             "torch.export saves, not the weights, and needs no PyTorch. Other commands record "
             "and analyze runs, measure models and commands, and compare results.\n"
             ".SH COMMANDS\n");
    for (size_t i = 0; pyro_commands[i]; i++) {
        pyro_buf_addf(buf, ".TP\n\\fB%s\\fR\n", pyro_commands[i]->name);
        add_roff(buf, pyro_commands[i]->summary);
        pyro_buf_addf(buf, "; see \\fBpyrometer\\-%s\\fR(1)\n", pyro_commands[i]->name);
    }
    add_roff_ending(buf);
}

static void add_model_names(pyro_buf *buf)
{
    const char *name;

    for (size_t i = 0; (name = pyro_builtin_name(i)); i++)
        pyro_buf_addf(buf, "%s%s", i == 0 ? "" : " ", name);
}

static const char *bash_completer(pyro_completion completion)
{
    return completion == PYRO_COMPLETE_MODEL  ? "_pyrometer_models"
           : completion == PYRO_COMPLETE_FILE ? "_pyrometer_files"
                                              : ":";
}

/* Appends a case per option that takes a value, with the completions of the value. */
static void add_bash_values(pyro_buf *buf, const pyro_command *command)
{
    for (const pyro_option_group *group = command->groups; group->title; group++) {
        for (const pyro_option *option = group->options; option->long_name; option++) {
            if (option->kind == PYRO_OPTION_FLAG)
                continue;
            pyro_buf_adds(buf, "        ");
            if (option->short_name != 0)
                pyro_buf_addf(buf, "-%c|", option->short_name);
            pyro_buf_addf(buf, "--%s) ", option->long_name);
            const char *const *choices = pyro_command_choices(command, option);
            if (choices) {
                pyro_buf_adds(buf, "_pyrometer_words '");
                for (size_t i = 0; choices[i]; i++)
                    pyro_buf_addf(buf, "%s%s", i == 0 ? "" : " ", choices[i]);
                pyro_buf_adds(buf, "'");
            } else {
                pyro_buf_adds(buf, bash_completer(option->completion));
            }
            pyro_buf_adds(buf, "; return ;;\n");
        }
    }
}

static void add_bash_command(pyro_buf *buf, const pyro_command *command)
{
    pyro_buf_addf(buf, "    %s)\n        case $prev in\n", command->name);
    add_bash_values(buf, command);
    pyro_buf_adds(buf, "        esac\n        if [[ $cur == -* ]]; then\n"
                       "            _pyrometer_words '");
    for (const pyro_option_group *group = command->groups; group->title; group++) {
        for (const pyro_option *option = group->options; option->long_name; option++) {
            if (option->short_name != 0)
                pyro_buf_addf(buf, "-%c ", option->short_name);
            pyro_buf_addf(buf, "--%s ", option->long_name);
        }
    }
    pyro_buf_addf(buf, "'\n        else\n            %s\n        fi ;;\n",
                  bash_completer(command->operands));
}

static void add_bash(pyro_buf *buf)
{
    pyro_buf commands = PYRO_BUF_INIT;

    for (size_t i = 0; pyro_commands[i]; i++)
        pyro_buf_addf(&commands, "%s ", pyro_commands[i]->name);
    pyro_buf_adds(buf, "# bash completion for pyrometer, generated from its option tables\n\n"
                       "_pyrometer_words()\n{\n"
                       "    mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$cur\")\n}\n\n"
                       "_pyrometer_files()\n{\n"
                       "    compopt -o filenames 2>/dev/null\n"
                       "    mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n}\n\n"
                       "_pyrometer_models()\n{\n"
                       "    compopt -o filenames 2>/dev/null\n"
                       "    mapfile -t COMPREPLY < <(compgen -W '");
    add_model_names(buf);
    pyro_buf_adds(buf, "' -- \"$cur\"; compgen -f -- \"$cur\")\n}\n\n"
                       "_pyrometer()\n{\n"
                       "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
                       "    COMPREPLY=()\n"
                       "    # readline makes the = in --option=value a separate word\n"
                       "    if [[ $cur == = ]]; then\n"
                       "        cur=\n"
                       "    elif [[ $prev == = ]]; then\n"
                       "        prev=${COMP_WORDS[COMP_CWORD-2]}\n"
                       "    fi\n"
                       "    if (( COMP_CWORD == 1 )); then\n");
    pyro_buf_addf(buf, "        _pyrometer_words '%shelp --help --version'\n",
                  pyro_text_part(buf, &commands));
    pyro_buf_adds(buf, "        return\n    fi\n    case ${COMP_WORDS[1]} in\n");
    pyro_buf_addf(buf, "    help) _pyrometer_words '%s' ;;\n", pyro_text_part(buf, &commands));
    for (size_t i = 0; pyro_commands[i]; i++)
        add_bash_command(buf, pyro_commands[i]);
    pyro_buf_adds(buf, "    esac\n}\n\ncomplete -F _pyrometer pyrometer\n");
    pyro_buf_free(&commands);
}

/* The first sentence of a help text, quoted for zsh's _arguments inside single quotes. */
static void add_zsh_text(pyro_buf *buf, const char *text)
{
    const char *end = strstr(text, ". ");
    size_t length = end ? (size_t)(end - text) : strlen(text);

    if (!end && length > 0 && text[length - 1] == '.')
        length--;
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '\'') {
            pyro_buf_adds(buf, "'\\''");
            continue;
        }
        if (strchr("[]:\\", text[i]))
            pyro_buf_addc(buf, '\\');
        pyro_buf_addc(buf, text[i]);
    }
}

static const char *zsh_completer(pyro_completion completion)
{
    return completion == PYRO_COMPLETE_MODEL  ? "_pyrometer_models"
           : completion == PYRO_COMPLETE_FILE ? "_files"
                                              : " ";
}

static void add_zsh_option(pyro_buf *buf, const pyro_command *command, const pyro_option *option)
{
    const char *const *choices = pyro_command_choices(command, option);
    pyro_buf help = PYRO_BUF_INIT;
    bool takes_value = option->kind != PYRO_OPTION_FLAG;

    pyro_buf_adds(buf, "      ");
    if (option->kind == PYRO_OPTION_LIST || option->kind == PYRO_OPTION_CHOICES)
        pyro_buf_adds(buf, "'*'");
    if (option->short_name != 0) {
        pyro_buf_addf(buf, "'(-%c --%s)'{-%c%s,--%s%s}'[", option->short_name, option->long_name,
                      option->short_name, takes_value ? "+" : "", option->long_name,
                      takes_value ? "=" : "");
    } else {
        pyro_buf_addf(buf, "'--%s%s[", option->long_name, takes_value ? "=" : "");
    }
    pyro_help_option(&help, command, option);
    add_zsh_text(buf, pyro_text_part(buf, &help));
    pyro_buf_free(&help);
    pyro_buf_addc(buf, ']');
    if (takes_value)
        pyro_buf_addf(buf, ":%s:", option->metavar);
    if (takes_value && choices) {
        for (size_t i = 0; choices[i]; i++)
            pyro_buf_addf(buf, "%s%s", i == 0 ? "(" : " ", choices[i]);
        pyro_buf_addc(buf, ')');
    } else if (takes_value) {
        pyro_buf_adds(buf, zsh_completer(option->completion));
    }
    pyro_buf_adds(buf, "' \\\n");
}

static void add_zsh(pyro_buf *buf)
{
    pyro_buf_adds(buf, "#compdef pyrometer\n# generated from pyrometer's option tables\n\n"
                       "_pyrometer_models() {\n  local -a names=(");
    add_model_names(buf);
    pyro_buf_adds(buf, ")\n  _alternative 'models:built-in model:compadd -a names' "
                       "'files:model file:_files'\n}\n\n"
                       "_pyrometer_commands() {\n  local -a commands=(\n");
    for (size_t i = 0; pyro_commands[i]; i++) {
        pyro_buf_addf(buf, "    '%s:", pyro_commands[i]->name);
        add_zsh_text(buf, pyro_commands[i]->summary);
        pyro_buf_adds(buf, "'\n");
    }
    pyro_buf_adds(buf, "    'help:show the help of a command'\n  )\n"
                       "  _describe command commands\n}\n\n"
                       "_pyrometer() {\n  local curcontext=$curcontext state line\n"
                       "  typeset -A opt_args\n"
                       "  _arguments -C '(- *)'{-h,--help}'[show the overview]' "
                       "'(- *)--version[show the version]' \\\n"
                       "    '1:command:_pyrometer_commands' '*::argument:->arguments' && return\n"
                       "  case $words[1] in\n"
                       "  help)\n    _arguments '1:command:_pyrometer_commands' ;;\n");
    for (size_t i = 0; pyro_commands[i]; i++) {
        const pyro_command *command = pyro_commands[i];

        pyro_buf_addf(buf, "  %s)\n    _arguments -s -S \\\n", command->name);
        for (const pyro_option_group *group = command->groups; group->title; group++)
            for (const pyro_option *option = group->options; option->long_name; option++)
                add_zsh_option(buf, command, option);
        pyro_buf_addf(buf, "      '*:model:%s' ;;\n", zsh_completer(command->operands));
    }
    pyro_buf_adds(buf, "  esac\n}\n\n_pyrometer \"$@\"\n");
}

/* Writes a buffer to a file and frees it. */
static int save(pyro_buf *buf, const char *path)
{
    pyro_error error;
    int status;

    pyro_error_clear(&error);
    if (buf->failed) {
        fprintf(stderr, "pyrometer-docgen: out of memory\n");
        status = PYRO_ERROR_MEMORY;
    } else {
        status = pyro_output_file(path, buf->data, buf->length, &error);
        if (status != PYRO_OK)
            fprintf(stderr, "pyrometer-docgen: %s: %s\n", path, error.message);
    }
    pyro_buf_free(buf);
    return status == PYRO_OK ? PYRO_EXIT_FINE : PYRO_EXIT_ERROR;
}

static int save_page(const char *folder, const pyro_command *command)
{
    pyro_buf page = PYRO_BUF_INIT, path = PYRO_BUF_INIT;
    int exit_code;

    if (command) {
        add_command_page(&page, command);
        pyro_buf_addf(&path, "%s/pyrometer-%s.1", folder, command->name);
    } else {
        add_main_page(&page);
        pyro_buf_addf(&path, "%s/pyrometer.1", folder);
    }
    exit_code = save(&page, pyro_text_part(&page, &path));
    pyro_buf_free(&path);
    return exit_code;
}

/* Writes the page of one command; for NULL, the list of commands. */
static int save_markdown(const char *folder, const pyro_command *command)
{
    pyro_buf page = PYRO_BUF_INIT, path = PYRO_BUF_INIT;
    int exit_code;

    if (command)
        pyro_docgen_markdown(&page, command);
    else
        pyro_docgen_markdown_index(&page);
    pyro_buf_addf(&path, "%s/%s.md", folder, command ? command->name : "index");
    exit_code = save(&page, pyro_text_part(&page, &path));
    pyro_buf_free(&path);
    return exit_code;
}

static int save_all(const char *folder, int (*save_one)(const char *, const pyro_command *))
{
    int exit_code = save_one(folder, NULL);

    for (size_t i = 0; pyro_commands[i] && exit_code == PYRO_EXIT_FINE; i++)
        exit_code = save_one(folder, pyro_commands[i]);
    return exit_code;
}

int main(int argc, char **argv)
{
    pyro_buf buf = PYRO_BUF_INIT;

    if (argc != 3) {
        fputs("usage: pyrometer-docgen man DIR | markdown DIR | bash FILE | zsh FILE\n", stderr);
        return PYRO_EXIT_ERROR;
    }
    if (strcmp(argv[1], "man") == 0)
        return save_all(argv[2], save_page);
    if (strcmp(argv[1], "markdown") == 0)
        return save_all(argv[2], save_markdown);
    if (strcmp(argv[1], "bash") == 0) {
        add_bash(&buf);
    } else if (strcmp(argv[1], "zsh") == 0) {
        add_zsh(&buf);
    } else {
        fprintf(stderr, "pyrometer-docgen: %s: not man, markdown, bash or zsh\n", argv[1]);
        return PYRO_EXIT_ERROR;
    }
    return save(&buf, argv[2]);
}

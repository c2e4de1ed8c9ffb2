/* Defines and parses the options that every command has, and writes a command's result. */
#include "cli/common.h"

#include "base/error.h"
#include "cli/help.h"
#include "cli/inputs.h"
#include "cli/options/formats.h"
#include "cli/output.h"
#include "report/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const color_names[] = {"auto", "always", "never", NULL};

enum { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

const pyro_option pyro_common_options[] = {
    {.long_name = "format",
     .kind = PYRO_OPTION_FORMAT,
     .offset = offsetof(pyro_common, format_name),
     .metavar = "FORMAT",
     .help = "Output format: {formats}.",
     .default_text = "text, or by the extension of --output"},
    {.long_name = "output",
     .short_name = 'o',
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(pyro_common, output),
     .metavar = "FILE",
     .help = "Write to FILE. Its extension ({extensions}) selects the format. An error leaves no "
             "partial file.",
     .default_text = "standard output",
     .completion = PYRO_COMPLETE_FILE,
     .writes = PYRO_WRITES_FILE},
    {.long_name = "quiet",
     .short_name = 'q',
     .kind = PYRO_OPTION_FLAG,
     .offset = offsetof(pyro_common, quiet),
     .help = "Print only the numbers: no notes, advice or hints."},
    {.long_name = "verbose",
     .short_name = 'v',
     .kind = PYRO_OPTION_FLAG,
     .offset = offsetof(pyro_common, verbose),
     .help = "Print everything, not only the largest parts."},
    {.long_name = "color",
     .kind = PYRO_OPTION_CHOICE,
     .offset = offsetof(pyro_common, color),
     .metavar = "WHEN",
     .help = "Colour the text; auto means on a terminal, unless NO_COLOR is set.",
     .default_text = "auto",
     .choices = color_names},
    {.long_name = "help",
     .short_name = 'h',
     .kind = PYRO_OPTION_FLAG,
     .offset = offsetof(pyro_common, help),
     .help = "Show this help."},
    {.long_name = NULL},
};

bool pyro_common_to_stdout(const pyro_common *common)
{
    return !common->output || strcmp(common->output, "-") == 0;
}

static int fail_extension(const pyro_common *common, pyro_error *error)
{
    const char *slash = strrchr(common->output, '/');
    const char *dot = strrchr(slash ? slash : common->output, '.');
    pyro_buf known = PYRO_BUF_INIT;

    pyro_format_list_extensions(&known, common->report);
    int status = pyro_fail(error, PYRO_ERROR_ARGUMENT,
                           "--output %.200s: %s%.40s; use %s, or give --format", common->output,
                           dot ? "unknown extension " : "no extension", dot ? dot : "",
                           known.failed ? "" : known.data);
    pyro_buf_free(&known);
    return status;
}

static int check_page(pyro_error *error)
{
    pyro_page *page = NULL;
    int status = pyro_page_new(&page, NULL, error);

    pyro_page_free(page);
    return status;
}

/* Sets the format. Rejects an unknown extension before any work is done. */
static int choose_format(pyro_common *common, pyro_error *error)
{
    const pyro_writer *writer;

    if (common->report == PYRO_REPORT_NONE)
        return PYRO_OK;
    if (common->format_name)
        writer = pyro_format_named(common->report, common->format_name);
    else if (pyro_common_to_stdout(common) || (common->plain && *common->plain))
        writer = pyro_format_default(common->report);
    else
        writer = pyro_format_of_file(common->report, common->output);
    if (writer) {
        common->page = writer->format == PYRO_PAGE;
        if (common->page && common->report == PYRO_REPORT_BENCH && !pyro_page_is_available()) {
            common->page = false;
            common->format = PYRO_BENCH_HTML;
            return PYRO_OK;
        }
        if (common->page)
            writer = pyro_format_named(common->report, "json");
        common->format = writer->format;
        return common->page ? check_page(error) : PYRO_OK;
    }
    if (common->format_name)
        return pyro_options_fail_choice(error, "format", pyro_format_names(common->report),
                                        common->format_name);
    if (common->output[0] == '\0')
        return pyro_fail(error, PYRO_ERROR_ARGUMENT, "--output needs a file name");
    return fail_extension(common, error);
}

bool pyro_common_parse(const pyro_command *command, int argc, char **argv, void *values,
                       pyro_common *common, pyro_words *operands, int *exit_code)
{
    pyro_error error;
    int status;

    pyro_error_clear(&error);
    common->report = command->report;
    common->subject = command->name;
    status = pyro_options_parse(command->groups, values, argc, argv, operands, &error);
    if (status == PYRO_OK && common->help) {
        *exit_code = pyro_help_show(command, common->color == COLOR_AUTO
                                                 ? pyro_output_wants_color()
                                                 : common->color == COLOR_ALWAYS);
        return false;
    }
    if (status == PYRO_OK)
        status = choose_format(common, &error);
    if (status != PYRO_OK) {
        *exit_code = pyro_common_complain("%s (see pyrometer %s --help)", error.message,
                                          command->name);
        return false;
    }
    if (operands->count == 1 && command->operands == PYRO_COMPLETE_MODEL)
        common->subject = operands->items[0];
    pyro_inputs_collect(command->groups, values, operands);
    status = pyro_inputs_check_options(command->groups, values, &error);
    if (status == PYRO_OK && pyro_common_to_stdout(common))
        status = pyro_inputs_check("-", &error);
    if (status != PYRO_OK) {
        *exit_code = pyro_common_fail(NULL, &error);
        return false;
    }
    return true;
}

pyro_report_options pyro_common_report(const pyro_common *common)
{
    bool to_stdout = pyro_common_to_stdout(common);
    pyro_report_options options = {
        .format = (pyro_format)common->format,
        .verbose = common->verbose,
        .quiet = common->quiet,
        .width = pyro_output_width(to_stdout),
    };

    options.color = common->color == COLOR_ALWAYS ||
                    (common->color == COLOR_AUTO && to_stdout && pyro_output_wants_color());
    return options;
}

static int write_result(const pyro_common *common, const char *text, size_t size)
{
    pyro_error error;

    pyro_error_clear(&error);
    if (pyro_common_to_stdout(common)) {
        return pyro_output_stdout(text, size, &error) == PYRO_OK ? PYRO_EXIT_FINE
                                                                 : pyro_common_fail(NULL, &error);
    }
    if (pyro_output_file(common->output, text, size, &error) != PYRO_OK)
        return pyro_common_fail(common->output, &error);
    if (!common->quiet)
        pyro_common_say_written(
            common->output,
            common->page ? "page" : pyro_writer_find(common->report, common->format)->name);
    return PYRO_EXIT_FINE;
}

int pyro_common_write_page(const pyro_common *common, pyro_page *page)
{
    pyro_error error;
    char *html = NULL;
    size_t size;
    int exit_code;

    pyro_error_clear(&error);
    if (pyro_page_finish(&html, &size, page, &error) != PYRO_OK)
        return pyro_common_fail(common->output, &error);
    exit_code = write_result(common, html, size);
    pyro_free(html);
    return exit_code;
}

bool pyro_common_fail_on_page(pyro_page *page, const char *path, const pyro_error *reason)
{
    bool is_damaged = reason->code == PYRO_ERROR_FORMAT || reason->code == PYRO_ERROR_LIMIT ||
                      reason->code == PYRO_ERROR_UNSUPPORTED;
    pyro_error error;

    pyro_common_fail(path, reason);
    pyro_error_clear(&error);
    return is_damaged && pyro_page_add_failure(page, path, reason, &error) == PYRO_OK;
}

/* The command's JSON as a page. */
static int write_as_page(const pyro_common *common, const char *text, size_t size)
{
    pyro_page *page = NULL;
    pyro_error error;
    int exit_code;

    pyro_error_clear(&error);
    if (pyro_page_new(&page, NULL, &error) == PYRO_OK &&
        pyro_page_add_json(page, common->subject ? common->subject : "result", text, size,
                           &error) == PYRO_OK)
        exit_code = pyro_common_write_page(common, page);
    else
        exit_code = pyro_common_fail(common->output, &error);
    pyro_page_free(page);
    return exit_code;
}

int pyro_common_write_file(const char *path, int status, char *text, size_t size, pyro_error *error)
{
    if (status == PYRO_OK)
        status = pyro_output_file(path, text, size, error);
    pyro_free(text);
    return status == PYRO_OK ? PYRO_EXIT_FINE : pyro_common_fail(path, error);
}

int pyro_common_write(const pyro_common *common, const char *text, size_t size)
{
    return common->page ? write_as_page(common, text, size) : write_result(common, text, size);
}

bool pyro_common_free_name(char name[PYRO_FREE_NAME], const char *stem)
{
    for (int number = 1; number < 100; number++) {
        if (number == 1)
            snprintf(name, PYRO_FREE_NAME, "%s.json", stem);
        else
            snprintf(name, PYRO_FREE_NAME, "%s-%d.json", stem, number);
        if (access(name, F_OK) != 0)
            return true;
    }
    return false;
}

void pyro_common_hint_output(pyro_buf *buf, const char *command, const char *operand,
                             const char *stem)
{
    char name[PYRO_FREE_NAME], option[PYRO_FREE_NAME + 3];

    if (!pyro_common_free_name(name, stem))
        return;
    snprintf(option, sizeof option, "-o %s", name);
    pyro_common_hint(buf, command, operand, option, "all numbers, for programs");
}

void pyro_common_hint(pyro_buf *buf, const char *command, const char *operand, const char *option,
                      const char *purpose)
{
    enum { OPTION_WIDTH = 15, PURPOSE_WIDTH = 32 };
    size_t start = buf->length;

    pyro_buf_addf(buf, "  pyrometer %s ", command);
    pyro_shell_word(buf, operand);
    /* Either all hints about an operand show their purpose or none does: the lines look alike. */
    if (buf->length - start + 1 + OPTION_WIDTH + 4 + PURPOSE_WIDTH <= PYRO_TEXT_WIDTH)
        pyro_buf_addf(buf, " %-*s  # %s\n", OPTION_WIDTH, option, purpose);
    else
        pyro_buf_addf(buf, " %s\n", option);
}

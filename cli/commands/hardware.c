/* pyrometer hardware: lists chips, or compares some. */
#include "cli/command.h"
#include "cli/common.h"

#include "report/predict/hardware.h"
#include "report/writers.h"

#include <pyrometer/hardware.h>
#include <stdlib.h>

typedef struct hardware_values {
    const char *chips; /* a file of the user's rows */
    pyro_common common;
} hardware_values;

static const pyro_option hardware_options[] = {
    {.long_name = "chips",
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(hardware_values, chips),
     .metavar = "FILE",
     .help = "Your own chips.",
     .default_text = "pyrometer/hardware.json in the user's configuration folder",
     .completion = PYRO_COMPLETE_FILE},
    {.long_name = NULL},
};

static const pyro_option_group hardware_groups[] = {
    {"Chips:", hardware_options, 0},
    {"Output:", pyro_common_options, offsetof(hardware_values, common)},
    {NULL, NULL, 0},
};

static int write_report(const hardware_values *values, const pyro_hardware_report *report)
{
    pyro_report_options options = pyro_common_report(&values->common);
    pyro_error error;
    pyro_report_request request = {.kind = PYRO_REPORT_HARDWARE,
                                   .format = options.format,
                                   .options = &options,
                                   .error = &error,
                                   .hardware = report};
    char *text = NULL;
    size_t size = 0;

    pyro_error_clear(&error);
    int exit_code = pyro_report_write(&text, &size, &request) == PYRO_OK
                        ? pyro_common_write(&values->common, text, size)
                        : pyro_common_fail(NULL, &error);
    pyro_free(text);
    return exit_code;
}

static int list_chips(const hardware_values *values, const pyro_words *names,
                      const pyro_chip_list *list)
{
    size_t count = names->count ? names->count : pyro_chip_list_count(list, NULL);
    const pyro_chip **chips = calloc(count + 1, sizeof *chips);
    pyro_hardware_report report = {.chips = chips, .count = count, .is_chosen = names->count > 0};
    int exit_code = chips ? PYRO_EXIT_FINE : pyro_common_complain("out of memory");

    for (size_t i = 0; exit_code == PYRO_EXIT_FINE && i < count; i++) {
        chips[i] = names->count ? pyro_chip_list_find(list, names->items[i])
                                : pyro_chip_list_get(list, i);
        if (!chips[i])
            exit_code = pyro_common_complain("unknown chip \"%.60s\" ('pyrometer hardware' lists "
                                             "them)",
                                             names->items[i]);
    }
    if (exit_code == PYRO_EXIT_FINE)
        exit_code = write_report(values, &report);
    free(chips);
    return exit_code;
}

static int run_hardware(const pyro_command *command, int argc, char **argv)
{
    hardware_values values = {.common = PYRO_COMMON_INIT};
    pyro_words names = {0};
    int exit_code;

    if (pyro_common_parse(command, argc, argv, &values, &values.common, &names, &exit_code)) {
        pyro_chip_list *list = NULL;
        pyro_error error;

        pyro_error_clear(&error);
        exit_code = pyro_chip_list_load(&list, values.chips, &error) == PYRO_OK
                        ? list_chips(&values, &names, list)
                        : pyro_common_fail(NULL, &error);
        pyro_chip_list_free(list);
    }
    pyro_words_free(&names);
    pyro_options_free(command->groups, &values);
    return exit_code;
}

static const pyro_example hardware_examples[] = {
    {"pyrometer hardware", "List all chips."},
    {"pyrometer hardware h100 b200 mi300x", "All figures of three chips, side by side."},
    {"pyrometer hardware h200 -o h200.json", "For programs."},
    {NULL, NULL},
};

const pyro_command cmd_hardware = {
    .name = "hardware",
    .summary = "list chips and compare them",
    .usage = "[NAME...] [OPTION...]",
    .description =
        "Lists the chips that pyrometer knows, with dense peaks by element type, bandwidth, size "
        "of memory and last cache, links and power, each from a publication of the maker. Names "
        "compare chips. A name may be short: h100 is the H100 SXM, a100-80gb the A100 80GB SXM.\n\n"
        "Your own chips come first; a file of yours has them "
        "(docs/reference/hardware.md describes it).",
    .examples = hardware_examples,
    .groups = hardware_groups,
    .report = PYRO_REPORT_HARDWARE,
    .run = run_hardware,
};

/* The chips that the options name, or sizes of memory. */
#include "base/error.h"
#include "base/text/units.h"
#include "fit/fit.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CHIPS = 64 };

/* "24GB": K, M and G are powers of 1024, as the memory of chips is named. */
static bool read_size(const char *text, int64_t *bytes)
{
    uint64_t size;
    if (!isdigit((unsigned char)text[0]) || !pyro_parse_size(text, &size) || size < 1024 ||
        size > INT64_MAX / 2)
        return false;
    *bytes = (int64_t)size;
    return true;
}

/* Chips whose error correction takes a sixteenth of their memory. */
static double driver_share(const char *name)
{
    static const char *const corrected[] = {"T4", "A2", "A10", "A40", "L4", "L40", "L40S"};
    for (size_t i = 0; i < sizeof corrected / sizeof *corrected; i++)
        if (!strcmp(name, corrected[i]))
            return FIT_CORRECTED_SHARE;
    return FIT_DRIVER_SHARE;
}

/* The list is freed before the answer: names are copied. */
static int name_answer(fit_run *run, pyro_fit_answer *answer, const char *name, pyro_error *error)
{
    answer->chip = pyro_arena_text(&run->fit->store->arena, name, strlen(name));
    return answer->chip ? PYRO_OK : pyro_fail_memory(error);
}

static int find_chip(fit_run *run, pyro_fit_answer *answer, const pyro_chip_list *list,
                     const char *name, pyro_error *error)
{
    const pyro_chip *chip = pyro_chip_list_find(list, name);
    if (chip && chip->memory_bytes > 0) {
        answer->memory_bytes = chip->memory_bytes;
        answer->link_bytes_per_s = chip->link_bytes_per_s;
        answer->driver_share = driver_share(chip->name);
        return name_answer(run, answer, chip->name, error);
    }
    if (read_size(name, &answer->memory_bytes)) {
        answer->driver_share = FIT_DRIVER_SHARE;
        return name_answer(run, answer, name, error);
    }
    return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                     "\"%.60s\" is no known chip: use a name such as h100, a100-80gb, l40s or "
                     "mi300x, or a size of memory such as 24GB",
                     name);
}

int fit_find_chips(fit_run *run, pyro_error *error)
{
    const pyro_fit_options *options = run->options;
    if (!options->chip_count)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                         "no chip is given: name one, such as h100, or a size such as 24GB");
    if (options->chip_count > MOST_CHIPS)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT, "at most %d chips can be compared",
                         MOST_CHIPS);
    run->fit->answers = pyro_arena_array(&run->fit->store->arena, options->chip_count,
                                         sizeof *run->fit->answers);
    if (!run->fit->answers)
        return pyro_fail_memory(error);
    pyro_chip_list *list = NULL;
    int status = pyro_chip_list_load(&list, NULL, error);
    for (size_t i = 0; status == PYRO_OK && i < options->chip_count; i++)
        status = find_chip(run, &run->fit->answers[i], list, options->chips[i], error);
    pyro_chip_list_free(list);
    run->fit->answer_count = status == PYRO_OK ? options->chip_count : 0;
    return status;
}

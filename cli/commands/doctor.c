/* pyrometer doctor: checks what works on this machine, and how to fix what does not. The package in
 * the user's Python runs the checks and writes JSON; a writer prints them. */
#include "cli/command.h"
#include "cli/common.h"
#include "cli/output.h"
#include "cli/python/interpreter.h"

#include "base/containers/arena.h"
#include "base/json/json.h"
#include "report/writers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct doctor_values {
    const char *python;
    bool calibrate;
    pyro_common common;
} doctor_values;

static const pyro_option doctor_options[] = {
    {.long_name = "calibrate",
     .kind = PYRO_OPTION_FLAG,
     .offset = offsetof(doctor_values, calibrate),
     .help = "Measure with torch how fast this machine multiplies matrices of each type and copies "
             "memory, and save the results: pyrometer trace --by layer shows shares of these "
             "peaks."},
    {.long_name = "python",
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(doctor_values, python),
     .metavar = "EXE",
     .help = "Python interpreter to check.",
     .default_text = "python3 of the environment that holds pyrometer, or on PATH",
     .completion = PYRO_COMPLETE_FILE},
    {.long_name = NULL},
};

static const pyro_option_group doctor_groups[] = {
    {"Checks:", doctor_options, 0},
    {"Output:", pyro_common_options, offsetof(doctor_values, common)},
    {NULL, NULL, 0},
};

typedef struct checks {
    pyro_arena arena;
    pyro_doctor_check *items;
    size_t count, capacity;
} checks;

static bool add_check(checks *all, pyro_doctor_check one)
{
    if (!pyro_grow(&all->items, &all->capacity, all->count + 1, sizeof *all->items))
        return false;
    all->items[all->count++] = one;
    return true;
}

/* The member of a check that a key names, or NULL. */
static const char **member_of(pyro_doctor_check *one, const char *key)
{
    return strcmp(key, "name") == 0    ? &one->name
           : strcmp(key, "state") == 0 ? &one->state
           : strcmp(key, "text") == 0  ? &one->text
           : strcmp(key, "mend") == 0  ? &one->mend /* words: ok, a JSON key */
                                       : NULL;
}

static bool read_check(pyro_json *json, checks *all)
{
    pyro_doctor_check one = {"", "note", "", ""};

    while (pyro_json_next(json) == PYRO_JSON_KEY) {
        const char **member = member_of(&one, pyro_json_text(json, NULL));

        if (pyro_json_next(json) != PYRO_JSON_STRING)
            return false;
        if (member) {
            size_t length;
            const char *text = pyro_json_text(json, &length);

            *member = pyro_arena_text(&all->arena, text, length);
            if (!*member)
                return false;
        }
    }
    return pyro_json_current(json) == PYRO_JSON_OBJECT_END && add_check(all, one);
}

/* {"schema": ..., "checks": [{...}, ...], ...} */
static bool read_checks(const pyro_buf *answer, checks *all)
{
    pyro_source *source = NULL;
    pyro_json *json = NULL;
    pyro_error error;
    bool sound = false;

    pyro_error_clear(&error);
    if (answer->failed || answer->length == 0 ||
        pyro_source_open_memory(&source, answer->data, answer->length, &error) != PYRO_OK ||
        pyro_json_open(&json, source, NULL, &error) != PYRO_OK ||
        pyro_json_next(json) != PYRO_JSON_OBJECT)
        goto done;
    while (pyro_json_next(json) == PYRO_JSON_KEY) {
        if (!PYRO_JSON_IS(json, "checks")) {
            if (!pyro_json_skip(json))
                goto done;
            continue;
        }
        if (pyro_json_next(json) != PYRO_JSON_ARRAY)
            goto done;
        while (pyro_json_next(json) == PYRO_JSON_OBJECT)
            if (!read_check(json, all))
                goto done;
        sound = pyro_json_current(json) == PYRO_JSON_ARRAY_END;
    }
done:
    pyro_json_close(json);
    pyro_source_close(source);
    return sound;
}

static int write_answer(const doctor_values *values, const checks *all, const pyro_buf *answer)
{
    pyro_report_options options = pyro_common_report(&values->common);
    pyro_doctor doctor = {all->items, all->count, answer->data, answer->length};
    pyro_error error;
    pyro_report_request request = {.kind = PYRO_REPORT_DOCTOR,
                                   .format = options.format,
                                   .options = &options,
                                   .error = &error,
                                   .doctor = &doctor};
    char *text = NULL;
    size_t size = 0;

    pyro_error_clear(&error);
    int exit_code = pyro_report_write(&text, &size, &request) == PYRO_OK
                        ? pyro_common_write(&values->common, text, size)
                        : pyro_common_fail(NULL, &error);
    pyro_free(text);
    for (size_t i = 0; i < all->count && exit_code == PYRO_EXIT_FINE; i++)
        if (strcmp(all->items[i].state, "problem") == 0)
            exit_code = PYRO_EXIT_POLICY;
    return exit_code;
}

static int examine(const doctor_values *values)
{
    char *python = pyro_python_choose(values->python);
    char *package = python ? pyro_python_package(python) : NULL;
    const char *arguments[] = {"-P", "-m", "pyrometer._capture.doctor",
                               values->calibrate ? "--calibrate" : NULL, NULL};
    pyro_buf answer = PYRO_BUF_INIT;
    checks all = {0};
    int exit_code = PYRO_EXIT_POLICY, status = 0;

    pyro_arena_init(&all.arena);
    if (package) {
        status = pyro_python_ask(python, arguments, false, &answer);
        exit_code = status == 0 && read_checks(&answer, &all)
                        ? write_answer(values, &all, &answer)
                        : pyro_common_complain(
                              "%s -m pyrometer._capture.doctor wrote no result (exit code "
                              "%d)",
                              python, status);
    }
    pyro_arena_free(&all.arena);
    free(all.items);
    pyro_buf_free(&answer);
    free(package);
    free(python);
    return exit_code;
}

static int run_doctor(const pyro_command *command, int argc, char **argv)
{
    doctor_values values = {.common = PYRO_COMMON_INIT};
    pyro_words operands = {0};
    int exit_code;

    if (pyro_common_parse(command, argc, argv, &values, &values.common, &operands, &exit_code)) {
        exit_code = operands.count == 0
                        ? examine(&values)
                        : pyro_common_complain("doctor takes no operand: %s", operands.items[0]);
    }
    pyro_words_free(&operands);
    pyro_options_free(command->groups, &values);
    return exit_code;
}

static const pyro_example doctor_examples[] = {
    {"pyrometer doctor", "What works, and how to fix what does not."},
    {"pyrometer doctor --calibrate", "Measure the peak speeds of this machine; needed once."},
    {"pyrometer doctor --python venv/bin/python --format json",
     "Check another Python, in a script."},
    {NULL, NULL},
};

const pyro_command cmd_doctor = {
    .name = "doctor",
    .summary = "check what works on this machine, and how to fix what does not",
    .usage = "[OPTION...]",
    .description =
        "Checks Python, torch and the package pyrometer, the C++ compiler, the op observer "
        "(compiled on first use) and its cache folder, CUDA, CUPTI and NVML, the clock, and the "
        "measured peaks. The exit code is 1 when capturing does not work, or when a C++ compiler "
        "is present but the observer built with it does not work. A note marks what works, but not "
        "as well as it could.",
    .examples = doctor_examples,
    .groups = doctor_groups,
    .operands = PYRO_COMPLETE_NOTHING,
    .report = PYRO_REPORT_DOCTOR,
    .run = run_doctor,
};

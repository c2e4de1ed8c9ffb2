/* Reads the options of the flight recorder as people write them. */
#include "capture/session.h"

#include "base/text/units.h"

#include <stdlib.h>
#include <string.h>

#define LEAST_FACTOR 1.01
#define USUAL_FACTOR 2

static bool parse_steps(const char *text, int64_t *steps)
{
    char *end;
    if (text[0] < '0' || text[0] > '9')
        return false;
    long long number = strtoll(text, &end, 10);
    while (*end == ' ')
        end++;
    bool is_steps = strcmp(end, "steps") == 0 || strcmp(end, "step") == 0;
    *steps = number;
    return is_steps && number > 0 && number <= PYRO_MOST_KEPT_STEPS;
}

int pyro_flight_parse_keep(pyro_flight_options *out, const char *text, pyro_error *error)
{
    out->keep_ns = out->keep_steps = 0;
    if (pyro_parse_duration(text, &out->keep_ns) || parse_steps(text, &out->keep_steps))
        return PYRO_OK;
    out->keep_ns = out->keep_steps = 0;
    char *end;
    if (strtod(text, &end) == 0 && end != text)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                         "\"%.60s\" keeps nothing; write 30s, 500ms or \"200 steps\"", text);
    return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                     "\"%.60s\" is neither a time nor a number of steps; write 30s, 500ms or "
                     "\"200 steps\"",
                     text);
}

/* "1.5x" or "250ms"; NULL is the usual factor. */
static bool parse_slow(pyro_flight_options *out, const char *text)
{
    char *end;
    if (!text) {
        out->slow_factor = USUAL_FACTOR;
        return true;
    }
    if (pyro_parse_duration(text, &out->slow_ns))
        return true;
    out->slow_ns = 0;
    out->slow_factor = strtod(text, &end);
    return end != text && strcmp(end, "x") == 0 && out->slow_factor >= LEAST_FACTOR &&
           out->slow_factor < 1e6;
}

/* There is a place for every signal that can be a trigger. */
static void add_signal(pyro_flight_options *out, int signal)
{
    size_t i = 0;
    while (i + 1 < PYRO_FLIGHT_MOST_SIGNALS && out->signals[i] && out->signals[i] != signal)
        i++;
    out->signals[i] = signal;
}

static int add_trigger(pyro_flight_options *out, const char *word, pyro_error *error)
{
    static const char slow[] = "slow-step";
    size_t length = strlen(slow);
    if (strncmp(word, slow, length) == 0 && (word[length] == '\0' || word[length] == ':')) {
        if (parse_slow(out, word[length] ? word + length + 1 : NULL))
            return PYRO_OK;
        return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                         "%.60s: write slow-step:1.5x (times the median) or slow-step:250ms", word);
    }
    int signal = strcmp(word, "signal") == 0 ? pyro_flight_signal_number("SIGUSR2")
                                             : pyro_flight_signal_number(word);
    if (strcmp(word, "oom") == 0)
        out->on_out_of_memory = true;
    else if (strcmp(word, "exception") == 0)
        out->on_exception = true;
    else if (strcmp(word, "cuda-profiler") == 0)
        out->on_cuda_profiler = true;
    else if (!signal)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                         "unknown trigger \"%.60s\" (slow-step, oom, exception, signal, SIGUSR1, "
                         "SIGUSR2, SIGHUP, SIGTERM, SIGINT, cuda-profiler)",
                         word);
    else
        add_signal(out, signal);
    return PYRO_OK;
}

int pyro_flight_parse_triggers(pyro_flight_options *out, const char *text, pyro_error *error)
{
    int status = PYRO_OK;
    for (const char *at = text; status == PYRO_OK && *at;) {
        char word[80];
        at += strspn(at, " ");
        size_t whole = strcspn(at, ","), length = whole;
        while (length && at[length - 1] == ' ')
            length--;
        if (length >= sizeof word)
            return pyro_fail(error, PYRO_ERROR_ARGUMENT, "unknown trigger \"%.60s...\"", at);
        memcpy(word, at, length);
        word[length] = '\0';
        if (length)
            status = add_trigger(out, word, error);
        at += whole + (at[whole] == ',');
    }
    if (status == PYRO_OK && !pyro_flight_is_on(out))
        status = pyro_fail(error, PYRO_ERROR_ARGUMENT, "no trigger is given");
    return status;
}

/* Whether a trigger looks back, so that everything must be recorded. */
static bool looks_back(const pyro_flight_options *options)
{
    return options->slow_factor > 0 || options->slow_ns || options->on_out_of_memory ||
           options->on_exception || options->signals[0];
}

bool pyro_flight_is_on(const pyro_flight_options *options)
{
    return looks_back(options) || options->on_cuda_profiler;
}

bool pyro_flight_rests(const pyro_flight_options *options)
{
    return options->on_cuda_profiler && !looks_back(options) && !options->keep_ns &&
           !options->keep_steps;
}

void pyro_flight_complete(pyro_recorder_options *options)
{
    pyro_flight_options *flight = &options->flight;
    if (!flight->keep_ns && !flight->keep_steps && !pyro_flight_is_on(flight))
        return;
    if (looks_back(flight) && !flight->keep_ns && !flight->keep_steps && !options->keep_last)
        flight->keep_ns = PYRO_FLIGHT_KEEP_NS;
    options->keep_last = true;
    if (!options->max_bytes)
        options->max_bytes = PYRO_FLIGHT_BYTES;
}

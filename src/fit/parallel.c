/* Names and texts of layouts. */
#include "base/error.h"
#include "fit/fit.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RANKS = 1000000 };

static const char *const sharding_names[] = {"none", "zero1", "zero2", "zero3", "fsdp"};

const char *pyro_sharding_name(pyro_sharding sharding)
{
    return sharding_names[sharding];
}

int64_t fit_gpus(const pyro_layout *layout)
{
    return layout->tensor * layout->pipeline * layout->data;
}

static int fail_word(const char *word, pyro_error *error)
{
    return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                     "\"%.60s\" is no layout: use auto, or tp=N, pp=N, dp=N and ep=N with zero1, "
                     "zero2, zero3, fsdp or sp, separated by commas",
                     word);
}

/* Reads "tp=8" into its member; false if it is none of those. */
static bool read_number(pyro_layout *out, bool *given_data, const char *word)
{
    static const char *const names[] = {"tp", "pp", "dp", "ep"};
    int64_t *const members[] = {&out->tensor, &out->pipeline, &out->data, &out->expert};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t length = strlen(names[i]);
        char *end;
        if (strncmp(word, names[i], length) != 0 || word[length] != '=')
            continue;
        const char *digits = word + length + 1;
        long long number = strtoll(digits, &end, 10);
        if (*digits < '0' || *digits > '9' || *end || number < 1 || number > MOST_RANKS)
            return false;
        *members[i] = number;
        *given_data |= members[i] == &out->data;
        return true;
    }
    return false;
}

static bool read_word(pyro_layout *out, bool *given_data, const char *word)
{
    for (int i = PYRO_SHARDING_ZERO1; i < PYRO_SHARDING_COUNT; i++)
        if (!strcmp(word, sharding_names[i])) {
            out->sharding = (pyro_sharding)i;
            return true;
        }
    if (!strcmp(word, "sp"))
        return out->sequence = true;
    return !strcmp(word, "ddp") || read_number(out, given_data, word);
}

int pyro_layout_parse(pyro_layout *out, bool *given_data, const char *text, pyro_error *error)
{
    char word[64];
    *out = (pyro_layout){.tensor = 1, .pipeline = 1, .data = 1, .expert = 1};
    *given_data = false;
    for (const char *at = text;; at++) {
        size_t length = strcspn(at, ",");
        if (length == 0 || length >= sizeof word)
            return fail_word(text, error);
        memcpy(word, at, length);
        word[length] = '\0';
        if (!read_word(out, given_data, word))
            return fail_word(word, error);
        at += length;
        if (!*at)
            return PYRO_OK;
    }
}

char *pyro_layout_format(char text[PYRO_LAYOUT_TEXT], const pyro_layout *layout)
{
    const struct {
        const char *name;
        int64_t ranks;
    } parts[] = {{"tp", layout->tensor},
                 {"pp", layout->pipeline},
                 {"dp", layout->data},
                 {"ep", layout->expert}};
    size_t length = 0;
    text[0] = '\0';
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].ranks > 1)
            length += (size_t)snprintf(text + length, PYRO_LAYOUT_TEXT - length, "%s%s=%lld",
                                       length ? "," : "", parts[i].name, (long long)parts[i].ranks);
    if (layout->sharding != PYRO_SHARDING_NONE)
        length += (size_t)snprintf(text + length, PYRO_LAYOUT_TEXT - length, "%s%s",
                                   length ? "," : "", pyro_sharding_name(layout->sharding));
    if (layout->sequence)
        length += (size_t)snprintf(text + length, PYRO_LAYOUT_TEXT - length, "%ssp",
                                   length ? "," : "");
    if (!length)
        snprintf(text, PYRO_LAYOUT_TEXT, "one GPU");
    return text;
}

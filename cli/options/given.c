/* Turns the options that the user gave back into text, for hints that repeat them. */
#include "cli/options/options.h"

#include "base/text/printable.h"

#include <inttypes.h>
#include <string.h>

void pyro_shell_word(pyro_buf *buf, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-./:,+@%=";

    if (word[0] != '\0' && word[strspn(word, plain)] == '\0') {
        pyro_buf_adds(buf, word);
        return;
    }
    pyro_buf_addc(buf, '\'');
    for (const char *end = word + strlen(word); word < end;) {
        bool printable;
        size_t size = pyro_next_character(word, end, &printable);

        if (*word == '\'')
            pyro_buf_adds(buf, "'\\'");
        if (printable)
            pyro_buf_add(buf, word, size);
        else
            pyro_buf_addc(buf, '?');
        word += size;
    }
    pyro_buf_addc(buf, '\'');
}

static void add_name(pyro_buf *buf, const pyro_option *option)
{
    pyro_buf_addf(buf, " --%s", option->long_name);
}

static void add_word(pyro_buf *buf, const pyro_option *option, const char *word)
{
    add_name(buf, option);
    pyro_buf_addc(buf, ' ');
    pyro_shell_word(buf, word);
}

/* Each use of a list option takes `words` values. */
static void add_list(pyro_buf *buf, const pyro_option *option, const pyro_words *words)
{
    size_t each = option->words > 1 ? (size_t)option->words : 1;

    for (size_t i = 0; i < words->count; i++) {
        if (i % each == 0)
            add_name(buf, option);
        pyro_buf_addc(buf, ' ');
        pyro_shell_word(buf, words->items[i]);
    }
}

static void add_given(pyro_buf *buf, const pyro_option *option, const void *value,
                      const void *usual)
{
    switch (option->kind) {
    case PYRO_OPTION_FLAG:
        if (*(const bool *)value)
            add_name(buf, option);
        break;
    case PYRO_OPTION_STRING:
    case PYRO_OPTION_FORMAT:
        if (*(const char *const *)value)
            add_word(buf, option, *(const char *const *)value);
        break;
    case PYRO_OPTION_INTEGER:
        if (*(const int64_t *)value != *(const int64_t *)usual)
            pyro_buf_addf(buf, " --%s %" PRId64, option->long_name, *(const int64_t *)value);
        break;
    case PYRO_OPTION_NUMBER:
        if (memcmp(value, usual, sizeof(double)) != 0)
            pyro_buf_addf(buf, " --%s %.15g", option->long_name, *(const double *)value);
        break;
    case PYRO_OPTION_CHOICE:
        if (*(const int *)value != *(const int *)usual)
            add_word(buf, option, option->choices[*(const int *)value]);
        break;
    case PYRO_OPTION_CHOICES:
        for (unsigned i = 0; option->choices[i]; i++)
            if (*(const unsigned *)value >> i & 1)
                add_word(buf, option, option->choices[i]);
        break;
    case PYRO_OPTION_LIST:
    case PYRO_OPTION_LIMITS:
        add_list(buf, option, value);
        break;
    }
}

void pyro_options_given(pyro_buf *buf, const pyro_option *options, const void *values,
                        const void *defaults, const char *skip)
{
    for (const pyro_option *option = options; option->long_name; option++)
        if (!skip || strcmp(option->long_name, skip) != 0)
            add_given(buf, option, (const char *)values + option->offset,
                      (const char *)defaults + option->offset);
}

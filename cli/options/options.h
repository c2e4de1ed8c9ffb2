/*
 * Command-line options as rows of a table. Parser, help, man pages and shell completion read the
 * same rows, so they always agree.
 */
#ifndef PYRO_CLI_OPTIONS_OPTIONS_H
#define PYRO_CLI_OPTIONS_OPTIONS_H

#include "base/containers/buf.h"

#include <pyrometer/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What an option takes, and the type of its target. */
typedef enum pyro_option_kind {
    PYRO_OPTION_FLAG,    /* nothing; bool */
    PYRO_OPTION_STRING,  /* const char *, which points into argv */
    PYRO_OPTION_INTEGER, /* int64_t */
    PYRO_OPTION_NUMBER,  /* double */
    PYRO_OPTION_CHOICE,  /* int: the index of one of `choices` */
    PYRO_OPTION_CHOICES, /* unsigned: a bit for each of `choices` that was given */
    PYRO_OPTION_FORMAT,  /* const char *, as a string: a format of the command's report */
    PYRO_OPTION_LIST,    /* pyro_words: every value, in the order given */
    PYRO_OPTION_LIMITS   /* like LIST, and takes all "name:number..." words that follow */
} pyro_option_kind;

/* What shell completion offers as the value of an option without `choices`. */
typedef enum pyro_completion {
    PYRO_COMPLETE_NOTHING,
    PYRO_COMPLETE_FILE,
    PYRO_COMPLETE_MODEL /* files and built-in models */
} pyro_completion;

/* What the command writes at the path that is the option's value. */
typedef enum pyro_writes { PYRO_WRITES_NOTHING, PYRO_WRITES_FILE, PYRO_WRITES_FOLDER } pyro_writes;

typedef struct pyro_option {
    const char *long_name; /* without dashes; NULL ends a table */
    char short_name;       /* 0: none */
    pyro_option_kind kind;
    size_t offset;         /* of the target in the group's values */
    const char *metavar;
    const char *help; /* {formats} and {extensions} are replaced by those of the report */
    const char *default_text;   /* NULL: not shown */
    const char *const *choices; /* NULL-terminated; for a string they are only suggestions */
    pyro_completion completion;
    pyro_writes writes;
    double minimum, maximum; /* inclusive, of integers and numbers; both 0: any value */
    int words;               /* per use of a list option; 0 means 1 */
    /* Of a string that may be left out: whether the next argument is its value; "" without one. */
    bool (*is_value)(const char *text);
} pyro_option;

/* Options under one title; `offset` is that of their values in the command's values. */
typedef struct pyro_option_group {
    const char *title; /* NULL ends the groups */
    const pyro_option *options;
    size_t offset;
} pyro_option_group;

/* Words that point into argv. */
typedef struct pyro_words {
    const char **items;
    size_t count, capacity;
} pyro_words;

/* False: out of memory. */
bool pyro_words_add(pyro_words *words, const char *word);
void pyro_words_free(pyro_words *words);

/*
 * Reads argv[0 .. argc), which begins after the command's name, into `values`. Options and operands
 * come in any order; `--` ends the options. PYRO_ERROR_ARGUMENT names the error and suggests a
 * correction. Options that are not given leave their values unchanged.
 */
int pyro_options_parse(const pyro_option_group *groups, void *values, int argc, char **argv,
                       pyro_words *operands, pyro_error *error);

/*
 * Reads only the options before the first operand, or before the first argument that belongs to
 * another program (`is_foreign`); the rest begins at argv[*used].
 */
int pyro_options_parse_leading(const pyro_option_group *groups, void *values, int argc, char **argv,
                               bool (*is_foreign)(const char *argument), int *used,
                               pyro_error *error);

/* Reports that a value is not one of the choices, and lists them. */
int pyro_options_fail_choice(pyro_error *error, const char *option, const char *const *choices,
                             const char *value);

/* Appends the word, quoted for a shell where needed. */
void pyro_shell_word(pyro_buf *buf, const char *word);

/*
 * Appends the options of one table whose values differ from `defaults`, each after a space and
 * quoted for a shell: " --batch 4 --decode". `skip` names one to leave out, or is NULL.
 */
void pyro_options_given(pyro_buf *buf, const pyro_option *options, const void *values,
                        const void *defaults, const char *skip);

/* Frees the values of list options. */
void pyro_options_free(const pyro_option_group *groups, void *values);

/* Parse the whole text; false when it is not a number or does not fit. */
bool pyro_parse_integer(const char *text, int64_t *out);
bool pyro_parse_number(const char *text, double *out);

#endif

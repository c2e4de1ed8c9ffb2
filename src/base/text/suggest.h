/* "Did you mean": finds the valid word nearest to an unknown one. */
#ifndef PYRO_BASE_TEXT_SUGGEST_H
#define PYRO_BASE_TEXT_SUGGEST_H

#include <stddef.h>

/* Starts empty; offer every valid word, then read `nearest`. */
typedef struct pyro_suggestion {
    const char *wanted;
    size_t distance;     /* of `nearest` */
    const char *nearest; /* NULL: nothing is near enough */
} pyro_suggestion;

#define PYRO_SUGGESTION(word) {(word), 0, NULL}

void pyro_suggestion_offer(pyro_suggestion *suggestion, const char *candidate);

/* Insertions, deletions, replacements and swaps of neighbours that turn one word into the other. */
size_t pyro_edit_distance(const char *a, const char *b);

#endif

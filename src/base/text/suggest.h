/* "Did you mean": the known word that is nearest to one that is not known. */
#ifndef PYRO_BASE_TEXT_SUGGEST_H
#define PYRO_BASE_TEXT_SUGGEST_H

#include <stddef.h>

/* Starts empty; offer every word that would have been right, then read `nearest`. */
typedef struct pyro_suggestion {
    const char *wanted;
    size_t distance;     /* of `nearest` */
    const char *nearest; /* NULL: nothing is near enough to be worth naming */
} pyro_suggestion;

#define PYRO_SUGGESTION(word) {(word), 0, NULL}

void pyro_suggestion_offer(pyro_suggestion *suggestion, const char *candidate);

/* Insertions, deletions, replacements and swaps of neighbours that turn one word into the other. */
size_t pyro_edit_distance(const char *a, const char *b);

#endif

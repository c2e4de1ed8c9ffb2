/* Computes edit distances of short words and picks the nearest word. */
#include "base/text/suggest.h"

#include <string.h>

#define WORD_MAX 64

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t pyro_edit_distance(const char *a, const char *b)
{
    size_t rows[3][WORD_MAX + 1];
    size_t a_length = strlen(a), b_length = strlen(b);
    size_t *before = rows[0], *previous = rows[1], *current = rows[2];

    if (a_length > WORD_MAX || b_length > WORD_MAX)
        return strcmp(a, b) == 0 ? 0 : a_length + b_length;
    for (size_t j = 0; j <= b_length; j++)
        previous[j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        current[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            size_t replaced = previous[j - 1] + (a[i - 1] != b[j - 1]);
            current[j] = smaller(replaced, smaller(previous[j], current[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                current[j] = smaller(current[j], before[j - 2] + 1);
        }
        size_t *oldest = before;
        before = previous;
        previous = current;
        current = oldest;
    }
    return previous[b_length];
}

void pyro_suggestion_offer(pyro_suggestion *suggestion, const char *candidate)
{
    size_t wanted_length = strlen(suggestion->wanted);
    size_t distance = pyro_edit_distance(suggestion->wanted, candidate);
    size_t allowed = wanted_length / 3 + 1;

    /* An abbreviation ("conv" for "convention") is near, however long the rest is. */
    if (wanted_length >= 2 && strncmp(candidate, suggestion->wanted, wanted_length) == 0)
        distance = 1;
    if (distance > allowed || distance >= wanted_length)
        return;
    if (!suggestion->nearest || distance < suggestion->distance) {
        suggestion->nearest = candidate;
        suggestion->distance = distance;
    }
}

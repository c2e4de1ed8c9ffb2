/* Decides whether two results were measured with the same settings. */
#include "bench/results/results.h"

#include <stdlib.h>
#include <string.h>

enum { TENSORS_MAX = 256 };

/* Type and shape of one tensor in "0: int64[32, 128], mask: bool[32]", without its name. */
typedef struct tensor {
    const char *text;
    size_t length;
} tensor;

static int by_text(const void *a, const void *b)
{
    const tensor *x = a, *y = b;
    size_t shorter = x->length < y->length ? x->length : y->length;
    int order = memcmp(x->text, y->text, shorter);

    return order != 0 ? order : (x->length > y->length) - (x->length < y->length);
}

/* Finds the tensors that a text describes, sorted by text; -1: not such a description. */
static int find_tensors(tensor *out, const char *text)
{
    int count = 0;

    while (*text != '\0') {
        const char *end = strchr(text, ']');
        const char *open = end ? memchr(text, '[', (size_t)(end - text)) : NULL;
        const char *start = text;

        if (!open || count == TENSORS_MAX)
            return -1;
        for (const char *at = text; at < open; at++)
            if (at[0] == ':' && at[1] == ' ')
                start = at + 2;
        out[count++] = (tensor){start, (size_t)(end + 1 - start)};
        text = end + 1;
        text += strspn(text, ", ");
    }
    qsort(out, (size_t)count, sizeof *out, by_text);
    return count;
}

/* Compares inputs by type and shape: the same tensor may be passed by position or by name. */
static bool same_inputs(const char *base, const char *current)
{
    tensor before[TENSORS_MAX], after[TENSORS_MAX];
    int count = find_tensors(before, base);

    if (count < 0 || find_tensors(after, current) != count)
        return false;
    for (int i = 0; i < count; i++)
        if (by_text(&before[i], &after[i]) != 0)
            return false;
    return true;
}

bool pyro_same_setting(const char *name, const char *base, const char *current)
{
    if (!base || !current)
        return base == current;
    return strcmp(base, current) == 0 ||
           (strcmp(name, "inputs") == 0 && same_inputs(base, current));
}

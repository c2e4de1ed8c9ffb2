/* Finds a step among those of its state. Holds the scalar variant of the comparison. */
#include "trace/kineto/key_order.h"

pyro_key_step *pyro_key_steps_find(const pyro_key_steps *steps, const char *at)
{
    for (pyro_key_step *step = steps->first; step; step = step->sibling)
        if (pyro_key_step_stands(step, at))
            return step;
    return NULL;
}

bool pyro_same_bytes_scalar(const char *a, const char *b, size_t length)
{
    for (; length >= 8; a += 8, b += 8, length -= 8) {
        uint64_t left, right;
        memcpy(&left, a, sizeof left);
        memcpy(&right, b, sizeof right);
        if (left != right)
            return false;
    }
    while (length > 0 && *a == *b) {
        a++;
        b++;
        length--;
    }
    return length == 0;
}

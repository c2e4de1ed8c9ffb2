/* Learning which bytes follow which value, and the scalar twin of the comparison. */
#include "trace/kineto_keys.h"

void pyro_literals_learn(pyro_literals *literals, const char *text, size_t length, unsigned next)
{
    if (length == 0 || length > PYRO_LITERAL_BYTES)
        return;
    memmove(&literals->known[1], &literals->known[0],
            (PYRO_LITERALS_A_STATE - 1) * sizeof literals->known[0]);
    pyro_literal *newest = &literals->known[0];
    memset(newest, 0, sizeof *newest);
    memcpy(newest->text, text, length);
    newest->length = (uint8_t)length;
    newest->next = (uint8_t)next;
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

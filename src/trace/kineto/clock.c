/*
 * Detects traces with unpadded nanoseconds: for two weeks of 2024 the exporter wrote "7.5" for 7 us
 * and 5 ns. The fractions in a file show whether it is one of those.
 */
#include "trace/kineto/window.h"

#define SAMPLE_BYTES ((ptrdiff_t)64 << 10)
#define FEWEST_FRACTIONS 16

typedef struct fractions {
    int64_t all, of_three, shorter, zero_first, zero_last;
} fractions;

static void note_fraction(fractions *seen, const char *digits, size_t length)
{
    if (length == 0 || length > 3)
        return;
    seen->all++;
    if (length == 3)
        seen->of_three++;
    else
        seen->shorter++;
    if (length > 1) {
        seen->zero_first += digits[0] == '0';
        seen->zero_last += digits[length - 1] == '0';
    }
}

/* Looks at the fraction of the number whose key ends at `at`. */
static void look_at_value(fractions *seen, const char *at)
{
    at = pyro_json_scan_space(at);
    if (*at != ':')
        return;
    at = pyro_json_scan_space(at + 1);
    while (pyro_json_is_digit(*at))
        at++;
    if (*at != '.')
        return;
    const char *begin = ++at;
    while (pyro_json_is_digit(*at))
        at++;
    note_fraction(seen, begin, (size_t)(at - begin));
}

void pyro_kineto_learn_clock(pyro_kineto_reader *reader)
{
    pyro_json_window *window = &reader->window;
    fractions seen = {0};
    window->token = window->at;
    while (window->end - window->at < SAMPLE_BYTES && pyro_kineto_more(reader))
        continue;
    const char *at = window->at;
    while ((at = memchr(at, '"', (size_t)(window->end - at)))) {
        at++;
        if (memcmp(at, "ts\"", 3) == 0)
            look_at_value(&seen, at + 3);
        else if (memcmp(at, "dur\"", 4) == 0)
            look_at_value(&seen, at + 4);
    }
    /* Decimals may begin with 0, and decimals of varying length do not end with 0; counts do not
       begin with 0, and may end with it. */
    reader->scanner->fraction_is_ns = seen.all >= FEWEST_FRACTIONS && seen.of_three > 0 &&
                                      seen.shorter > 0 && seen.zero_first == 0 &&
                                      seen.zero_last > 0;
}

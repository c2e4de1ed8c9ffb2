/* Reads counter events (ph C): the args are the series and their values at one time. */
#include "base/json/value.h"
#include "trace/kineto/values.h"

/* Longer texts are no numbers. */
#define LONGEST_NUMBER 63

static bool is_number(const char *at, const char *behind, double *value)
{
    char text[LONGEST_NUMBER + 1];
    size_t length = (size_t)(behind - at);
    if (length == 0 || length > LONGEST_NUMBER || (*at != '-' && !pyro_json_is_digit(*at)))
        return false;
    memcpy(text, at, length);
    text[length] = '\0';
    pyro_scanned_number scanned = pyro_json_scan_number(text);
    return scanned.stop == text + length && pyro_json_parse_double(text, value);
}

static bool add_value(pyro_kineto_scanner *scanner, const char *name, size_t length, double value)
{
    if (!pyro_grow(&scanner->series, &scanner->series_capacity, scanner->series_count + 1,
                   sizeof *scanner->series))
        return false;
    uint32_t series = pyro_kineto_intern_text(scanner, name, length);
    scanner->series[scanner->series_count++] = (pyro_series_value){series, value};
    return true;
}

const char *pyro_kineto_counter_values(pyro_kineto_scanner *scanner, const char *at)
{
    bool first = true;
    scanner->series_count = 0;
    if (*at != '{' || scanner->event.phase != 'C')
        return pyro_kineto_skip_value(scanner, at);
    for (at++;; first = false) {
        const char *name;
        size_t length;
        double value;
        const char *begin = pyro_kineto_read_key(scanner, at, first, &name, &length);
        if (!begin || !name)
            return begin;
        at = pyro_kineto_skip_value(scanner, begin);
        if (!at)
            return NULL;
        if (is_number(begin, at, &value) && !add_value(scanner, name, length, value))
            scanner->no_memory = true;
    }
}

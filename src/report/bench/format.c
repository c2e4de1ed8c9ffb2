/* Formats amounts, changes and names for the writers of benchmark results. */
#include "report/bench/bench.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

char *pyro_format_amount(char text[PYRO_UNIT_TEXT], double value, const char *unit)
{
    char count[PYRO_UNIT_TEXT];

    if (!isfinite(value))
        snprintf(text, PYRO_UNIT_TEXT, "-");
    else if (strcmp(unit, "ms") == 0 && value < 9e12)
        pyro_format_duration(text, llround(value * 1e6));
    else if (strcmp(unit, "bytes") == 0 && value < 9e18)
        pyro_format_bytes(text, llround(value));
    else if (strcmp(unit, "share") == 0)
        snprintf(text, PYRO_UNIT_TEXT, "%.1f%%", value * 100);
    else if (fabs(value) >= 1e4 && fabs(value) < 9e18)
        snprintf(text, PYRO_UNIT_TEXT, "%.14s%s%.14s", pyro_format_count(count, llround(value)),
                 strncmp(unit, "FLOP", 4) == 0 || strcmp(unit, "MAC") == 0 ? "" : " ", unit);
    else
        snprintf(text, PYRO_UNIT_TEXT, "%.4g %.16s", value, unit);
    return text;
}

char *pyro_format_change(char text[PYRO_UNIT_TEXT], double change)
{
    if (!isfinite(change))
        snprintf(text, PYRO_UNIT_TEXT, "-");
    else
        snprintf(text, PYRO_UNIT_TEXT, "%+.1f%%", change * 100);
    return text;
}

void pyro_add_metric_name(pyro_buf *buf, const char *name)
{
    static const struct {
        const char *name, *shown;
    } short_forms[] = {
        {"cpu", "CPU"},   {"gpu", "GPU"},          {"flops", "FLOPs"},
        {"macs", "MACs"}, {"flop_rate", "FLOP/s"},
    };

    for (size_t i = 0; i < sizeof short_forms / sizeof *short_forms; i++)
        if (strcmp(name, short_forms[i].name) == 0) {
            pyro_buf_adds(buf, short_forms[i].shown);
            return;
        }
    for (const char *at = name; *at != '\0'; at++) {
        bool first = at == name && *at >= 'a' && *at <= 'z';

        pyro_buf_addc(buf, first ? (char)(*at - 'a' + 'A') : *at == '_' ? ' ' : *at);
    }
}

double pyro_metric_middle(const pyro_metric *metric)
{
    return metric->samples ? metric->summary.mean : metric->value;
}

const char *pyro_gate_name(pyro_gate gate)
{
    static const char *const names[] = {"passed", "failed", "cannot tell"};

    return names[gate];
}

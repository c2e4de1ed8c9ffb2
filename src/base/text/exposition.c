/* Writes families, labels and numbers of metrics. */
#include "base/text/exposition.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const type_names[] = {"counter", "gauge", "histogram", "info"};
static const char *const suffixes[] = {"_total", "", "", "_info"};

void pyro_exposition_family(pyro_buf *buf, pyro_exposition format, const char *name,
                            pyro_metric_type type, const char *unit, const char *help)
{
    bool is_open = format == PYRO_EXPOSITION_OPENMETRICS;
    const char *suffix = is_open ? "" : suffixes[type];
    const char *type_name = !is_open && type == PYRO_METRIC_INFO ? "gauge" : type_names[type];

    pyro_buf_addf(buf, "# HELP %s%s %s\n# TYPE %s%s %s\n", name, suffix, help, name, suffix,
                  type_name);
    if (unit[0] != '\0')
        pyro_buf_addf(buf, "# UNIT %s%s %s\n", name, suffix, unit);
}

void pyro_exposition_label(pyro_buf *buf, const char *name, const char *text)
{
    pyro_buf_addf(buf, "%s=\"", name);
    for (; *text != '\0'; text++) {
        if (*text == '\n') {
            pyro_buf_adds(buf, "\\n");
            continue;
        }
        if (*text == '\\' || *text == '"')
            pyro_buf_addc(buf, '\\');
        pyro_buf_addc(buf, *text == '\r' ? ' ' : *text);
    }
    pyro_buf_addc(buf, '"');
}

void pyro_exposition_number(pyro_buf *buf, double value)
{
    char text[40];

    if (!isfinite(value)) {
        pyro_buf_adds(buf, isnan(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf");
        return;
    }
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    for (char *at = text; *at != '\0'; at++)
        *at = *at == ',' ? '.' : *at; /* a locale's decimal comma */
    pyro_buf_adds(buf, text);
}

void pyro_exposition_end(pyro_buf *buf)
{
    pyro_buf_adds(buf, "# EOF\n");
}

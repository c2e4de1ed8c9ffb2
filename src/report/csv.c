/* Writes CSV fields. */
#include "report/csv.h"

#include "base/text/printable.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void end_field(pyro_buf *buf, bool last)
{
    pyro_buf_addc(buf, last ? '\n' : ',');
}

void pyro_csv_text(pyro_buf *buf, const char *text, bool last)
{
    bool formula = text[0] != '\0' && strchr("=+-@\t\r", text[0]);
    bool quoted = strpbrk(text, ",\"\r\n") != NULL;

    if (quoted)
        pyro_buf_addc(buf, '"');
    if (formula)
        pyro_buf_addc(buf, '\'');
    for (const char *end = text + strlen(text); text < end;) {
        bool printable;
        size_t size = pyro_next_character(text, end, &printable);

        if (*text == '"')
            pyro_buf_addc(buf, '"');
        if (printable || *text == '\n' || *text == '\t')
            pyro_buf_add(buf, text, size);
        else
            pyro_buf_addc(buf, '?');
        text += size;
    }
    if (quoted)
        pyro_buf_addc(buf, '"');
    end_field(buf, last);
}

void pyro_csv_integer(pyro_buf *buf, int64_t value, bool last)
{
    pyro_buf_addf(buf, "%lld", (long long)value);
    end_field(buf, last);
}

void pyro_csv_number(pyro_buf *buf, double value, bool last)
{
    if (isfinite(value))
        pyro_buf_addf(buf, "%.6g", value);
    end_field(buf, last);
}

void pyro_csv_exact(pyro_buf *buf, double value, bool last)
{
    char text[40];

    for (int digits = 6; isfinite(value) && digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) != value)
            continue;
        pyro_buf_adds(buf, text);
        break;
    }
    end_field(buf, last);
}

void pyro_csv_header(pyro_buf *buf, const char *names)
{
    pyro_buf_adds(buf, names);
    pyro_buf_addc(buf, '\n');
}

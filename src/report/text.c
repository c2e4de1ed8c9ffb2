/* Lays out text: banners, headings, paragraphs, fields, lists. */
#include "report/text.h"

#include "base/text/printable.h"

#include <string.h>

#define BOLD "\033[1m"
#define PLAIN "\033[0m"

enum { FIELD_COLUMN = 24 };

void pyro_text_heading(pyro_buf *buf, const char *title, bool color)
{
    pyro_buf_addf(buf, "%s%s%s\n", color ? BOLD : "", title, color ? PLAIN : "");
}

void pyro_text_banner(pyro_buf *buf, const char *title, int width, bool color)
{
    size_t line = (size_t)(width < PYRO_TEXT_WIDTH ? width : PYRO_TEXT_WIDTH);

    pyro_buf_fill(buf, '=', line);
    pyro_buf_addc(buf, '\n');
    pyro_text_heading(buf, title, color);
    pyro_buf_fill(buf, '=', line);
    pyro_buf_addc(buf, '\n');
}

/* One paragraph of `length` bytes, whose first line begins at `column` of the one being written. */
static void wrap_paragraph(pyro_buf *buf, const char *text, size_t length, size_t column,
                           size_t indent, size_t width)
{
    size_t at = 0;
    bool line_start = true;

    while (at < length) {
        size_t word = strcspn(text + at, " \n");
        if (word > length - at)
            word = length - at;
        if (word > 0 && !line_start && column + 1 + word > width) {
            pyro_buf_addc(buf, '\n');
            pyro_buf_fill(buf, ' ', indent);
            column = indent;
            line_start = true;
        }
        if (word > 0) {
            if (!line_start) {
                pyro_buf_addc(buf, ' ');
                column++;
            }
            pyro_buf_add(buf, text + at, word);
            column += word;
            line_start = false;
        }
        at += word + 1;
    }
    pyro_buf_addc(buf, '\n');
}

void pyro_text_wrap(pyro_buf *buf, const char *text, int first_indent, int indent, int width)
{
    size_t first = (size_t)first_indent;
    size_t columns = (size_t)(width < PYRO_TEXT_WIDTH ? width : PYRO_TEXT_WIDTH);

    for (;;) {
        const char *end = strstr(text, "\n\n");
        size_t length = end ? (size_t)(end - text) : strlen(text);

        pyro_buf_fill(buf, ' ', first);
        wrap_paragraph(buf, text, length, first, (size_t)indent, columns);
        if (!end)
            return;
        pyro_buf_addc(buf, '\n');
        text = end + 2;
        first = (size_t)indent;
    }
}

const char *pyro_text_part(pyro_buf *whole, const pyro_buf *part)
{
    whole->failed = whole->failed || part->failed;
    return part->data ? part->data : "";
}

void pyro_text_field(pyro_buf *buf, const char *label, const pyro_buf *value, int width)
{
    size_t columns = (size_t)(width < PYRO_TEXT_WIDTH ? width : PYRO_TEXT_WIDTH);

    pyro_buf_addf(buf, "  %-*s", FIELD_COLUMN - 2, label);
    wrap_paragraph(buf, pyro_text_part(buf, value), value->length, FIELD_COLUMN, FIELD_COLUMN,
                   columns);
}

void pyro_text_list(pyro_buf *buf, const char *title, const char *const *texts, size_t count,
                    int width, bool color)
{
    if (count == 0)
        return;
    pyro_text_heading(buf, title, color);
    for (size_t i = 0; i < count; i++) {
        pyro_buf item = PYRO_BUF_INIT;

        pyro_buf_adds(&item, "- ");
        pyro_text_clean(&item, texts[i]);
        pyro_text_wrap(buf, pyro_text_part(buf, &item), 2, 4, width);
        pyro_buf_free(&item);
    }
}

/* Length of the number that ends a name ("Linear_12": 2); 0 when missing. */
static size_t trailing_digits(const char *name, size_t length)
{
    size_t digits = 0;

    while (digits < length && name[length - digits - 1] >= '0' && name[length - digits - 1] <= '9')
        digits++;
    return digits;
}

void pyro_text_path(pyro_buf *buf, const char *path, size_t room)
{
    size_t length = strlen(path);

    while (*path != '\0') {
        size_t name = strcspn(path, ".");
        bool last = path[name] == '\0';
        size_t digits = trailing_digits(path, name);

        if (length > room && !last && digits < name && name > 1) {
            pyro_buf_addc(buf, path[0]);
            pyro_buf_add(buf, path + name - digits, digits);
            length -= name - 1 - digits;
        } else {
            pyro_buf_add(buf, path, name);
        }
        if (!last)
            pyro_buf_addc(buf, '.');
        path += name + (last ? 0 : 1);
    }
}

void pyro_text_clean(pyro_buf *buf, const char *text)
{
    pyro_buf_add_printable(buf, text);
}

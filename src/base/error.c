/* Fills a pyro_error: the first failure wins, and its text stays one printable line. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void pyro_error_clear(pyro_error *error)
{
    memset(error, 0, sizeof *error);
    error->offset = -1;
}

/*
 * Makes a message printable. It may contain names from hostile files, whose control characters
 * would break the line or control the terminal, and a truncated text may end in half a character.
 */
static void make_printable(char *text, size_t capacity)
{
    size_t length = strlen(text);
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
            text[i] = '?';
    if (length + 1 < capacity)
        return;
    size_t cut = length;
    while (cut > 0 && length - cut < 3 && ((unsigned char)text[cut - 1] & 0xc0) == 0x80)
        cut--;
    if (cut > 0 && (unsigned char)text[cut - 1] >= 0xc0)
        text[cut - 1] = '\0';
}

static int fail(pyro_error *error, pyro_status code, int64_t offset, const char *format,
                va_list arguments)
{
    if (error && error->code == PYRO_OK) {
        error->code = code;
        error->offset = offset;
        if (vsnprintf(error->message, sizeof error->message, format, arguments) < 0)
            error->message[0] = '\0';
        make_printable(error->message, sizeof error->message);
    }
    return code;
}

int pyro_fail(pyro_error *error, pyro_status code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fail(error, code, -1, format, arguments);
    va_end(arguments);
    return code;
}

int pyro_fail_at(pyro_error *error, pyro_status code, int64_t offset, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fail(error, code, offset, format, arguments);
    va_end(arguments);
    return code;
}

int pyro_fail_memory(pyro_error *error)
{
    return pyro_fail(error, PYRO_ERROR_MEMORY, "out of memory");
}

void pyro_error_where(pyro_error *error, const char *file, const char *member)
{
    if (!error || error->code == PYRO_OK || error->where[0])
        return;
    /* Keeps the end of a long path, which is more informative than its start. */
    size_t file_length = strlen(file);
    size_t member_length = member ? strlen(member) + 1 : 0;
    size_t room = sizeof error->where - 1;
    size_t excess = file_length + member_length > room ? file_length + member_length - room : 0;
    if (excess == 0) {
        memcpy(error->where, file, file_length);
        if (member) {
            error->where[file_length] = ':';
            memcpy(error->where + file_length + 1, member, member_length - 1);
        }
        error->where[file_length + member_length] = '\0';
    } else {
        excess += strlen("...");
        if (excess > file_length)
            excess = file_length;
        while (excess < file_length && ((unsigned char)file[excess] & 0xc0) == 0x80)
            excess++;
        snprintf(error->where, sizeof error->where, "...%s%s%s", file + excess, member ? ":" : "",
                 member ? member : "");
    }
    make_printable(error->where, sizeof error->where);
}

char *pyro_error_line(const pyro_error *error, char *line, unsigned long size)
{
    if (size == 0)
        return line;
    char offset[48] = "";
    if (error->offset >= 0)
        snprintf(offset, sizeof offset, " (at byte %lld)", (long long)error->offset);
    snprintf(line, size, "%s%s%s%s", error->where, error->where[0] ? ": " : "", error->message,
             offset);
    make_printable(line, size);
    return line;
}

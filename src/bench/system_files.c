/* Reads the small text files in which the kernel describes the machine and its processes. */
#include "bench/system_files.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool pyro_system_text(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t length = 0;
    ssize_t got = 1;

    text[0] = '\0';
    if (fd < 0)
        return false;
    while (length < size - 1 && (got = read(fd, text + length, size - 1 - length)) > 0)
        length += (size_t)got;
    close(fd);
    text[length] = '\0';
    return got >= 0;
}

bool pyro_system_line(const char *path, char *text, size_t size)
{
    if (!pyro_system_text(path, text, size))
        return false;
    text[strcspn(text, "\n")] = '\0';
    return text[0] != '\0';
}

bool pyro_system_value(const char *text, const char *key, char *value, size_t size)
{
    size_t length = strlen(key);

    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, length) != 0 || isalnum((unsigned char)line[length]))
            continue;
        const char *start = line + length + strspn(line + length, " \t:=\"");
        size_t end = strcspn(start, "\"\n");
        snprintf(value, size, "%.*s", (int)(end < size ? end : size - 1), start);
        return value[0] != '\0';
    }
    return false;
}

int64_t pyro_system_number(const char *text, const char *key)
{
    char value[64];

    return pyro_system_value(text, key, value, sizeof value) ? strtoll(value, NULL, 10) : -1;
}

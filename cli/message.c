/* Prints messages on standard error, made safe for a terminal. */
#include "cli/message.h"

#include "base/containers/buf.h"
#include "base/error.h"
#include "cli/command.h"
#include "report/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

int pyro_common_complain(const char *format, ...)
{
    pyro_buf line = PYRO_BUF_INIT;
    char *message = NULL;
    va_list arguments;

    va_start(arguments, format);
    if (vasprintf(&message, format, arguments) < 0)
        message = NULL;
    va_end(arguments);
    pyro_buf_adds(&line, "pyrometer: ");
    pyro_text_clean(&line, message ? message : "out of memory");
    pyro_buf_addc(&line, '\n');
    fputs(line.failed ? "pyrometer: out of memory\n" : line.data, stderr);
    pyro_buf_free(&line);
    free(message);
    return PYRO_EXIT_ERROR;
}

int pyro_common_fail(const char *subject, const pyro_error *error)
{
    char line[sizeof error->where + sizeof error->message + 64];

    pyro_error_line(error, line, sizeof line);
    if (subject && error->where[0] == '\0')
        return pyro_common_complain("%s: %s", subject, line);
    return pyro_common_complain("%s", line);
}

void pyro_common_say_written(const char *path, const char *what)
{
    pyro_buf name = PYRO_BUF_INIT;

    pyro_text_clean(&name, path);
    fprintf(stderr, "wrote %s (%s)\n", name.failed || !name.data ? "" : name.data, what);
    pyro_buf_free(&name);
}

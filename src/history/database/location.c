/* The address of a history on a server: checks it, and hides its password. */
#include "history/database/location.h"

#include "base/error.h"

#include <ctype.h>
#include <string.h>

bool pyro_location_is_server(const char *location)
{
    return strstr(location, "://");
}

/* What is between the scheme and the host: "USER:PASSWORD@". */
typedef struct user_part {
    const char *start, *end; /* `end` is the "@"; NULL: no user */
    const char *colon; /* before the password; NULL: no password */
} user_part;

/* The last '@' ends it, because people forget to escape; that of an option does not. */
static user_part find_user(const char *location)
{
    user_part user = {strstr(location, "://"), NULL, NULL};

    if (!user.start)
        return user;
    user.start += 3;
    for (const char *at = user.start + strcspn(user.start, "?"); at > user.start && !user.end;)
        user.end = *--at == '@' ? at : NULL;
    if (!user.end)
        user.end = strrchr(user.start, '@');
    const char *colon = strchr(user.start, ':');
    user.colon = user.end && colon && colon < user.end ? colon : NULL;
    return user;
}

static bool is_escape(const char *text)
{
    return isxdigit((unsigned char)text[1]) && isxdigit((unsigned char)text[2]) &&
           strncmp(text, "%00", 3) != 0;
}

int pyro_location_check(const char *location, pyro_error *error)
{
    user_part user = find_user(location);

    if (strncmp(location, "postgresql://", 13) != 0 && strncmp(location, "postgres://", 11) != 0)
        return pyro_fail(error, PYRO_ERROR_UNSUPPORTED,
                         "unsupported server: a history is a file, or postgresql://USER@HOST/NAME");
    for (const char *at = user.start; user.end && at < user.end; at++)
        if (*at == '/' || *at == '@' || (*at == '%' && !is_escape(at)))
            return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                             "invalid user or password in the address: write %% as %%25, / as %%2F "
                             "and @ as %%40");
    return PYRO_OK;
}

static void mask_option(char *options, const char *name)
{
    size_t length = strlen(name);

    for (char *at = options; (at = strpbrk(at, "?&"));) {
        at++;
        if (strncmp(at, name, length) == 0)
            memset(at + length, '*', strcspn(at + length, "&"));
    }
}

void pyro_location_mask(char *location)
{
    user_part user = find_user(location);

    if (!user.start)
        return;
    if (user.colon)
        memset(location + (user.colon - location) + 1, '*', (size_t)(user.end - user.colon - 1));
    mask_option(location, "password=");
    mask_option(location, "sslpassword=");
}

char *pyro_location_name(const char *location)
{
    user_part user = find_user(location);
    char *name = strdup(location);

    if (!name || !user.start)
        return name;
    if (user.colon)
        memmove(name + (user.colon - location), user.end, strlen(user.end) + 1);
    name[strcspn(name, "?")] = '\0';
    return name;
}

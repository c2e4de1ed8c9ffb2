/* Checks regular expressions given as options. */
#include "cli/options/regex.h"

#include "cli/common.h"

#include <regex.h>

bool pyro_regex_option(const char *command, const char *option, const char *pattern, size_t groups)
{
    char reason[200];
    regex_t regex;
    int code;
    size_t found;

    if (!pattern)
        return true;
    code = regcomp(&regex, pattern, REG_EXTENDED);
    if (code != 0) {
        regerror(code, &regex, reason, sizeof reason);
        pyro_common_complain("%s: \"%.200s\" is not a regular expression: %s "
                             "(see pyrometer %s --help)",
                             option, pattern, reason, command);
        return false;
    }
    found = regex.re_nsub;
    regfree(&regex);
    if (found >= groups)
        return true;
    pyro_common_complain("%s: \"%.200s\" has no group; put the layer's path in "
                         "parentheses, as in 'fwd\\|(.*)'",
                         option, pattern);
    return false;
}

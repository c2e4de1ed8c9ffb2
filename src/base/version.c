/* The version of the library that is linked. */
#include <pyrometer/version.h>

const char *pyro_version(void)
{
    return PYRO_VERSION;
}

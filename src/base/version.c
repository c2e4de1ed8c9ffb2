/* Returns the version of the linked library. */
#include <pyrometer/version.h>

const char *pyro_version(void)
{
    return PYRO_VERSION;
}

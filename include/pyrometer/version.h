/* The version of the library; CMake and pyproject.toml read it from here. */
#ifndef PYROMETER_VERSION_H
#define PYROMETER_VERSION_H

#include <pyrometer/error.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PYRO_VERSION "0.1.0"

/* Version of the linked library, which may differ from that of this header. */
PYRO_API const char *pyro_version(void);

#ifdef __cplusplus
}
#endif
#endif

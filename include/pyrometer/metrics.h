/*
 * Counters of the running program, for Prometheus: steps, FLOPs, bytes, memory, use of devices.
 * They follow the recorder (capture.h), and a thread serves them over HTTP. One server per process;
 * a child process that fork() makes has none.
 */
#ifndef PYROMETER_METRICS_H
#define PYROMETER_METRICS_H

#include <pyrometer/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PYRO_METRICS_ADDRESS_TEXT 72

/* Where to listen. */
typedef struct pyro_metrics_address {
    char host[64]; /* an IPv4 or IPv6 address in digits */
    uint16_t port; /* 0: any free one */
    bool is_loopback;
} pyro_metrics_address;

/*
 * Reads "9400", "127.0.0.1:9400", "localhost:9400" or "[::1]:9400"; a port alone is on 127.0.0.1.
 * PYRO_ERROR_ARGUMENT says what is wrong.
 */
PYRO_API int pyro_metrics_parse_address(pyro_metrics_address *out, const char *text,
                                        pyro_error *error);
/* "127.0.0.1:9400" or "[::1]:9400". */
PYRO_API void pyro_metrics_format_address(char text[PYRO_METRICS_ADDRESS_TEXT],
                                          const pyro_metrics_address *address);

/*
 * Begins to count and to serve. Sets the port that was chosen. PYRO_ERROR_IO if the address cannot be
 * used, PYRO_ERROR_ARGUMENT if this process is already serving.
 */
PYRO_API int pyro_metrics_start(pyro_metrics_address *address, pyro_error *error);
/* Ends both; does nothing without a server. */
PYRO_API void pyro_metrics_stop(void);

/* Writes the counters as they are now; free *out with pyro_free(). */
PYRO_API int pyro_metrics_write(char **out, size_t *size, bool open_metrics, pyro_error *error);

#ifdef __cplusplus
}
#endif
#endif

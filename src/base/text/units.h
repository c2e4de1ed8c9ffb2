/* Formats numbers for people: decimal G/M/k for counts, MiB for bytes, ms for times, shares. Reads
 * durations and sizes that people write. */
#ifndef PYRO_BASE_TEXT_UNITS_H
#define PYRO_BASE_TEXT_UNITS_H

#include <stdbool.h>
#include <stdint.h>

#define PYRO_UNIT_TEXT 32

/* "1.81 G", "512", "11.69 M"; three or four significant digits. Each returns `text`. */
char *pyro_format_count(char text[PYRO_UNIT_TEXT], int64_t value);
/* "+12.3 M", "-4", "0". */
char *pyro_format_count_signed(char text[PYRO_UNIT_TEXT], int64_t value);
/* "44.6 MiB", "512 B". */
char *pyro_format_bytes(char text[PYRO_UNIT_TEXT], int64_t bytes);
char *pyro_format_bytes_signed(char text[PYRO_UNIT_TEXT], int64_t bytes);
/* "850 ns", "9.87 us", "12.3 ms", "1.50 s"; seconds are the largest unit. */
char *pyro_format_duration(char text[PYRO_UNIT_TEXT], int64_t duration_ns);
/* "12,345,678". */
char *pyro_format_exact(char text[PYRO_UNIT_TEXT], int64_t value);
/* part / whole: "85.2%", "<0.1%", "-" if whole is 0. */
char *pyro_format_share(char text[PYRO_UNIT_TEXT], double part, double whole);

/* "30s", "1.5 ms", "250us", "2m" or "2min", "1h": a whole text; false without a unit or beyond a year. */
bool pyro_parse_duration(const char *text, int64_t *duration_ns);
/* "500M", "2G", "64KiB", "1000000": bytes; K, M, G and T are powers of 1024. */
bool pyro_parse_size(const char *text, uint64_t *bytes);

#endif

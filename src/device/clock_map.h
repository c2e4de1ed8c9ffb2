/*
 * Maps the profiling library's clock to the recorder's clock. Pairs of simultaneous readings are
 * taken from time to time; between two pairs the clocks run straight. The library may report its
 * records on another clock than the one it lets us read (a profiler before us may have replaced it
 * by the processor's counter): what the calls show decides.
 */
#ifndef PYRO_DEVICE_CLOCK_MAP_H
#define PYRO_DEVICE_CLOCK_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PYRO_CLOCK_PAIRS 64

typedef struct pyro_clock_pair {
    uint64_t device, recorder;
    uint64_t width; /* of the recorder's clock around the reading */
} pyro_clock_pair;

typedef struct pyro_clock_map {
    pyro_clock_pair pairs[PYRO_CLOCK_PAIRS]; /* in order of time; the oldest are dropped */
    size_t count;
    uint64_t widest; /* of all pairs in use, and of their distance from a straight line */
    bool is_recorder_clock; /* records carry the recorder's own clock */
} pyro_clock_map;

/* Adds the best of some readings: each reads the recorder, the device and the recorder. */
typedef bool (*pyro_clock_read_fn)(void *user, uint64_t *device);
bool pyro_clock_map_read(pyro_clock_map *map, uint64_t (*now)(void), pyro_clock_read_fn read,
                         void *user);
void pyro_clock_map_add(pyro_clock_map *map, pyro_clock_pair pair);
/* The recorder's time of a device's time. */
uint64_t pyro_clock_map_time(const pyro_clock_map *map, uint64_t device);
/* Half of the widest reading, plus what a pair lies off the line: in the recorder's units. */
uint64_t pyro_clock_map_error(const pyro_clock_map *map);

#endif

/* Judges by the header of a recording. */
#include "cli/recording_state.h"

#include <errno.h>
#include <fcntl.h>
#include <pyrometer/recording.h>
#include <signal.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

/* A recorder renews its header about once per second, later on a busy machine. */
#define SILENCE_NS INT64_C(10000000000)

static int64_t monotonic_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static bool is_alive(int64_t process)
{
    return process > 0 && process <= INT32_MAX && (kill((pid_t)process, 0) == 0 || errno == EPERM);
}

bool pyro_recording_look_at(pyro_recording_look *out, const char *head, size_t size)
{
    pyro_recording_header header;

    *out = (pyro_recording_look){0};
    if (size < sizeof header || memcmp(head, PYRO_RECORDING_MAGIC, 8) != 0)
        return false;
    memcpy(&header, head, sizeof header);
    out->state = header.state;
    out->process = header.process;
    out->version = header.last.raw;
    /* Another machine, or this one before it started again, has another monotonic clock. */
    int64_t silent_ns = monotonic_ns() - header.last.monotonic_ns;
    out->is_growing = header.state == PYRO_RECORDING_RUNNING && is_alive(header.process) &&
                      silent_ns >= 0 && silent_ns < SILENCE_NS;
    int64_t end_ns = header.last.monotonic_ns + (out->is_growing ? silent_ns : 0);
    if (end_ns > header.first.monotonic_ns)
        out->duration_ns = end_ns - header.first.monotonic_ns;
    return true;
}

bool pyro_recording_is_growing(const char *path)
{
    char head[sizeof(pyro_recording_header)];
    pyro_recording_look look;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t size = fd >= 0 ? pread(fd, head, sizeof head, 0) : -1;

    if (fd >= 0)
        close(fd);
    return size > 0 && pyro_recording_look_at(&look, head, (size_t)size) && look.is_growing;
}

const char *pyro_recording_state_text(const pyro_recording_look *look)
{
    switch (look->state) {
    case PYRO_RECORDING_CLOSED:
        return "finished";
    case PYRO_RECORDING_FULL:
        return "stopped at its size limit";
    case PYRO_RECORDING_DISK_FULL:
        return "stopped, the disk was full";
    default:
        return look->is_growing ? "recording" : "not growing: its program was killed or is silent";
    }
}

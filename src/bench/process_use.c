/* Reads counters of this process (processor time, disk, network, memory) and computes its resource
 * use between two readings. Without /proc the values are unknown. */
#include "bench/process_use.h"

#include "bench/clock.h"
#include "bench/system_files.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE_BYTES = 4096 };

void pyro_parse_network(const char *text, int64_t *received_bytes, int64_t *sent_bytes)
{
    int64_t received_sum = 0, sent_sum = 0;
    int line_number = 0;

    *received_bytes = *sent_bytes = -1;
    for (const char *line = text; *line != '\0'; line_number++) {
        char name[64];
        long long received, sent;
        const char *end = strchr(line, '\n');

        if (line_number >= 2) { /* two lines of headings */
            if (sscanf(line, " %63[^:]: %lld %*d %*d %*d %*d %*d %*d %*d %lld", name, &received,
                       &sent) != 3)
                return;
            if (strcmp(name, "lo") != 0) {
                received_sum += received;
                sent_sum += sent;
            }
        }
        if (!end)
            break;
        line = end + 1;
    }
    if (line_number < 2)
        return;
    *received_bytes = received_sum;
    *sent_bytes = sent_sum;
}

/* The second number of a line; -1: missing. */
static int64_t second_number(const char *text)
{
    long long number;

    return sscanf(text, "%*d %lld", &number) == 1 && number >= 0 ? number : -1;
}

int64_t pyro_parse_run_delay_ns(const char *text)
{
    return second_number(text);
}

int64_t pyro_parse_resident_pages(const char *text)
{
    return second_number(text);
}

static void read_disk(pyro_process_counters *out)
{
    char text[LINE_BYTES];

    if (!pyro_system_text("/proc/self/io", text, sizeof text))
        return;
    out->disk_read_bytes = pyro_system_number(text, "read_bytes");
    out->disk_written_bytes = pyro_system_number(text, "write_bytes");
}

static void read_network(pyro_process_counters *out)
{
    char *text = malloc(PYRO_SYSTEM_TEXT);

    if (text && pyro_system_text("/proc/self/net/dev", text, PYRO_SYSTEM_TEXT))
        pyro_parse_network(text, &out->network_received_bytes, &out->network_sent_bytes);
    free(text);
}

static void read_files(pyro_process_counters *out)
{
    char text[LINE_BYTES];

    read_disk(out);
    read_network(out);
    if (pyro_system_line("/proc/thread-self/schedstat", text, sizeof text))
        out->thread_delay_ns = pyro_parse_run_delay_ns(text);
}

static void read_clocks(pyro_process_counters *out)
{
    struct timespec used;

    out->time_ns = pyro_now_ns();
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) == 0)
        out->cpu_ns = (int64_t)used.tv_sec * PYRO_SECOND_NS + used.tv_nsec;
}

static const pyro_process_counters unknown = {
    .cpu_ns = -1,
    .thread_delay_ns = -1,
    .disk_read_bytes = -1,
    .disk_written_bytes = -1,
    .network_received_bytes = -1,
    .network_sent_bytes = -1,
};

pyro_process_counters pyro_process_counters_begin(void)
{
    pyro_process_counters counters = unknown;

    read_files(&counters);
    read_clocks(&counters);
    return counters;
}

pyro_process_counters pyro_process_counters_end(void)
{
    pyro_process_counters counters = unknown;

    read_clocks(&counters);
    read_files(&counters);
    return counters;
}

static int64_t increase(int64_t before, int64_t after)
{
    if (before < 0 || after < 0)
        return -1;
    return after > before ? after - before : 0;
}

pyro_process_use pyro_process_use_between(const pyro_process_counters *before,
                                          const pyro_process_counters *after)
{
    pyro_process_use use = {
        .cpu_percent = NAN,
        .waiting_share = NAN,
        .disk_read_bytes = increase(before->disk_read_bytes, after->disk_read_bytes),
        .disk_written_bytes = increase(before->disk_written_bytes, after->disk_written_bytes),
        .network_received_bytes = increase(before->network_received_bytes,
                                           after->network_received_bytes),
        .network_sent_bytes = increase(before->network_sent_bytes, after->network_sent_bytes),
    };
    double elapsed_ns = (double)(after->time_ns - before->time_ns);
    double cpu_ns = (double)increase(before->cpu_ns, after->cpu_ns);
    double delay_ns = (double)increase(before->thread_delay_ns, after->thread_delay_ns);

    if (elapsed_ns <= 0 || cpu_ns < 0)
        return use;
    use.cpu_percent = 100 * cpu_ns / elapsed_ns;
    /* Time that other programs took from this thread is not time that it waited. */
    if (delay_ns >= 0)
        use.waiting_share = fmax(0, 1 - (cpu_ns + delay_ns) / elapsed_ns);
    return use;
}

int64_t pyro_resident_bytes(void)
{
    char text[LINE_BYTES];
    int64_t pages = -1;

    if (pyro_system_line("/proc/self/statm", text, sizeof text))
        pages = pyro_parse_resident_pages(text);
    return pages < 0 ? -1 : pages * (int64_t)sysconf(_SC_PAGESIZE);
}

int64_t pyro_peak_resident_bytes(void)
{
    char text[LINE_BYTES];
    int64_t kib = -1;

    if (pyro_system_text("/proc/self/status", text, sizeof text))
        kib = pyro_system_number(text, "VmHWM");
    return kib < 0 ? -1 : kib * 1024;
}

bool pyro_peak_resident_reset(void)
{
    int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    bool done = fd >= 0 && write(fd, "5", 1) == 1;

    if (fd >= 0)
        close(fd);
    return done;
}

/* The layout of glibc's struct mallinfo2. */
typedef struct heap_info {
    size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
} heap_info;

double pyro_heap_unused_share(void)
{
    /* Looked up while running: glibc has it since 2.33, and we also run with older ones. */
    void *symbol = dlsym(RTLD_DEFAULT, "mallinfo2");
    heap_info (*read_heap)(void);

    if (!symbol)
        return NAN;
    memcpy(&read_heap, &symbol, sizeof symbol);
    heap_info heap = read_heap();
    double whole = (double)heap.arena + (double)heap.hblkhd;
    return whole > 0 ? (double)heap.fordblks / whole : NAN;
}

/*
 * Device work at the rate of a GPU through the recorder, without a GPU: launches, copies, memsets and
 * records of the stub of CUPTI (tests/unit/device/cupti_stub.c). An hour of a small model, 150 kernels
 * every 2 ms, has 270 million kernels. Prints what the recorder did with them and how the memory of
 * the process grew; fails if records are missing, or if memory grows in the second half.
 *
 *     device_records STUB FILE [FORWARDS]      make soak-records [FORWARDS=1800000]
 *
 * For instructions per launch: valgrind --tool=callgrind device_records STUB FILE 200.
 */
#include <pyrometer/capture.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#define LAUNCHES 150 /* per forward */
#define FORWARDS_PER_HOUR 1800000
#define MOST_BEHIND 200000 /* launches: a real program waits for its device sooner */
#define FILE_BYTES (UINT64_C(64) << 20)
#define REPORTS 10
#define MOST_GROWN_MB 1.0

typedef struct stub {
    uint32_t (*launch)(const char *name, uint64_t duration_ns, uint32_t stream);
    uint32_t (*copy)(uint64_t bytes, uint64_t duration_ns);
} stub;

static bool open_stub(stub *out, const char *path)
{
    void *library = dlopen(path, RTLD_NOW);
    if (!library)
        return false;
    void *launch = dlsym(library, "stub_launch"), *copy = dlsym(library, "stub_copy");
    memcpy(&out->launch, &launch, sizeof launch);
    memcpy(&out->copy, &copy, sizeof copy);
    return launch && copy && setenv("PYRO_CUPTI", path, 1) == 0;
}

static double resident_mb(void)
{
    long pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld %ld", &pages, &resident) != 2)
        resident = 0;
    if (file)
        fclose(file);
    return (double)resident * (double)sysconf(_SC_PAGESIZE) / 1e6;
}

static double thread_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void wait_if_behind(void)
{
    pyro_devices_status status;
    for (pyro_devices_look(&status); status.unfinished > MOST_BEHIND; pyro_devices_look(&status))
        usleep(1000);
}

static void run_forward(const stub *device)
{
    static const char *const kernels[] = {"_Z4gemmPfi", "_Z4addmPfi", "_Z4normPfi"};
    for (int i = 0; i < LAUNCHES; i++)
        device->launch(kernels[i % 3], 100, 7);
    device->copy(4096, 100);
}

static int report(long forwards, double seconds)
{
    pyro_devices_status status;
    pyro_recorder_status recorder;
    pyro_devices_flush();
    pyro_devices_look(&status);
    pyro_recorder_look(&recorder);
    uint64_t wanted = (uint64_t)forwards * (LAUNCHES + 1);
    printf(
        "%ld forwards: %llu launches, %llu records, %llu dropped, %llu malformed; %.0f ns of the "
        "program's thread per launch, with the stub's\n",
        forwards, (unsigned long long)status.launches, (unsigned long long)status.records,
        (unsigned long long)status.dropped, (unsigned long long)status.malformed,
        seconds * 1e9 / (double)status.launches);
    return status.records + status.dropped == wanted && !status.malformed && !recorder.lost_records
               ? 0
               : 1;
}

int main(int count, char **words)
{
    stub device;
    pyro_error error = {0};
    pyro_devices_status status;
    long forwards = count > 3 ? atol(words[3]) : FORWARDS_PER_HOUR;
    if (count < 3 || forwards < 1 || !open_stub(&device, words[1])) {
        fprintf(stderr, "usage: device_records STUB FILE [FORWARDS]\n");
        return 2;
    }
    pyro_recorder_options options = {.flags = PYRO_RECORD_LAYERS | PYRO_RECORD_DEVICES,
                                     .max_bytes = FILE_BYTES,
                                     .keep_last = true,
                                     .overwrite = true};
    if (pyro_recorder_start(words[2], &options, &error) != PYRO_OK ||
        pyro_devices_start(&status) != PYRO_DEVICES_ON) {
        fprintf(stderr, "device_records: cannot record: %s%s\n", error.message, status.reason);
        return 2;
    }
    double first_mb = 0;
    for (long i = 0; i < forwards; i++) {
        run_forward(&device);
        wait_if_behind();
        if ((i + 1) % (forwards / REPORTS + 1) == 0) {
            if (first_mb == 0 && 2 * (i + 1) >= forwards)
                first_mb = resident_mb();
            printf("%3.0f%%: %.1f MB resident\n", 100.0 * (double)(i + 1) / (double)forwards,
                   resident_mb());
            fflush(stdout);
        }
    }
    double seconds = thread_seconds();
    double grown_mb = resident_mb() - first_mb;
    bool grows = grown_mb >= MOST_GROWN_MB;
    printf("resident memory: %+.1f MB in the second half (target: below %g)\n", grown_mb,
           MOST_GROWN_MB);
    int result = report(forwards, seconds) || grows;
    pyro_devices_stop();
    pyro_recorder_stop(NULL);
    return result;
}

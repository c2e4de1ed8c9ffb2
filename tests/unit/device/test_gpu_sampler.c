/* Tests of device/gpu_sampler.c with a stub of NVML: values, devices, failures, hangs, forks. */
#include "device/gpu_sampler.h"
#include "quiet_fork.h"
#include "unit.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define QUICK_NS INT64_C(1000000)

static struct received {
    pthread_mutex_t lock;
    size_t count;
    size_t of_device[4];
    pyro_gpu_sample last;
} received = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void receive(const pyro_gpu_sample *sample)
{
    pthread_mutex_lock(&received.lock);
    received.count++;
    received.of_device[sample->device % 4]++;
    received.last = *sample;
    pthread_mutex_unlock(&received.lock);
}

static const pyro_gpu_sample_sink sink = {now, receive};

static size_t count_received(void)
{
    pthread_mutex_lock(&received.lock);
    size_t count = received.count;
    pthread_mutex_unlock(&received.lock);
    return count;
}

static void pause_briefly(void)
{
    struct timespec pause = {0, 2000000};
    nanosleep(&pause, NULL);
}

static pyro_sampler_status look(void)
{
    pyro_sampler_status status;
    pyro_sampler_look(&status);
    return status;
}

/* Samples until that many have arrived, then stops. */
static pyro_sampler_status sample(size_t count)
{
    received.count = 0;
    memset(received.of_device, 0, sizeof received.of_device);
    assert_int_equal(pyro_sampler_start(&sink, QUICK_NS), PYRO_SAMPLER_ON);
    while (count_received() < count)
        pause_briefly();
    pyro_sampler_stop();
    pyro_sampler_status status = look();
    assert_int_equal(status.state, PYRO_SAMPLER_OFF);
    return status;
}

static int clear(void **state)
{
    static const char *const names[] = {"PYRO_STUB_GPUS", "PYRO_STUB_GPM",       "PYRO_STUB_MIG",
                                        "PYRO_STUB_CUDA", "PYRO_STUB_IDLE",      "PYRO_STUB_LACKS",
                                        "PYRO_STUB_HANG", "CUDA_VISIBLE_DEVICES"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unsetenv(names[i]);
    setenv("PYRO_STUB_GPU", "1755:0x44", 1);
    setenv("PYRO_CUDA", UNIT_NVML_STUB, 1);
    setenv("PYRO_NVML", UNIT_NVML_STUB, 1);
    return 0;
}

/* Comes first: the process keeps NVML once it works. */
static void test_without_a_driver(void **state)
{
    static const char *const values[] = {"/nowhere/libnvidia-ml.so.1", UNIT_NVML_STUB};
    (void)state;
    for (int i = 0; i < 2; i++) { /* the library is missing, then it does not start */
        setenv("PYRO_NVML", values[i], 1);
        unsetenv("PYRO_STUB_GPU");
        assert_int_equal(pyro_sampler_start(&sink, QUICK_NS), PYRO_SAMPLER_ON);
        while (look().state == PYRO_SAMPLER_ON)
            pause_briefly();
        pyro_sampler_stop();
        assert_int_equal(look().state, PYRO_SAMPLER_NO_LIBRARY);
        assert_non_null(strstr(look().reason, "libnvidia-ml.so.1"));
    }
    assert_int_equal(count_received(), 0);
}

static void test_values(void **state)
{
    (void)state;
    pyro_sampler_status status = sample(3);
    const double *values = received.last.values;
    assert_int_equal(status.devices, 1);
    assert_true(status.samples >= 3 && status.cost_ns > 0);
    assert_true(status.has_energy && !status.has_units && !status.power_is_mean);
    assert_string_equal(status.missing, "GPU temperature");
    assert_true(values[PYRO_GPU_VALUE_POWER] == 450.25 && values[PYRO_GPU_VALUE_ENERGY] > 0);
    assert_true(values[PYRO_GPU_VALUE_SM_CLOCK] == 1755);
    assert_true(values[PYRO_GPU_VALUE_MEMORY_CLOCK] == 3201);
    assert_true(values[PYRO_GPU_VALUE_BUSY] == 87 && values[PYRO_GPU_VALUE_MEMORY_BUSY] == 12);
    assert_true(values[PYRO_GPU_VALUE_MEMORY_USED] == 400);
    assert_true(values[PYRO_GPU_VALUE_HEAT] == 1 && values[PYRO_GPU_VALUE_POWER_CAP_HIT] == 1);
    assert_true(values[PYRO_GPU_VALUE_HARDWARE] == 0 && values[PYRO_GPU_VALUE_SETTING] == 0);
    assert_true(isnan(values[PYRO_GPU_VALUE_TEMPERATURE]));
    assert_true(isnan(values[PYRO_GPU_VALUE_UNIT_SM]));
}

static void test_an_old_gpu(void **state)
{
    (void)state;
    setenv("PYRO_STUB_LACKS", "energy instant", 1);
    pyro_sampler_status status = sample(2);
    assert_string_equal(status.missing, "GPU energy, GPU temperature");
    assert_true(status.power_is_mean && !status.has_energy);
    assert_true(received.last.values[PYRO_GPU_VALUE_POWER] == 431.5);
}

static void test_units(void **state)
{
    (void)state;
    setenv("PYRO_STUB_GPM", "1", 1);
    assert_true(sample(3).has_units);
    assert_true(received.last.values[PYRO_GPU_VALUE_UNIT_SM] == 2);
    assert_true(received.last.values[PYRO_GPU_VALUE_PCIE_RECEIVED] == 21);
    assert_true(isnan(received.last.values[PYRO_GPU_VALUE_NVLINK_SENT]));
}

/* Power is that of the whole GPU, memory that of the instance. */
static void test_an_instance(void **state)
{
    (void)state;
    setenv("PYRO_STUB_GPUS", "3", 1);
    setenv("PYRO_STUB_MIG", "2", 1);
    setenv("PYRO_STUB_GPM", "1", 1);
    setenv("PYRO_STUB_CUDA", "9", 1);
    pyro_sampler_status status = sample(3);
    assert_true(status.is_instance && status.from_driver && status.has_units);
    assert_true(received.last.values[PYRO_GPU_VALUE_MEMORY_USED] == 409);
    assert_true(received.last.values[PYRO_GPU_VALUE_UNIT_SM] == 2);
}

/* Only devices that the program works on, under its own numbers. */
static void test_devices_in_use(void **state)
{
    (void)state;
    setenv("PYRO_STUB_GPUS", "3", 1);
    setenv("PYRO_STUB_CUDA", "2,1,0", 1);
    setenv("PYRO_STUB_IDLE", "1", 1);
    assert_int_equal(sample(4).devices, 3);
    assert_true(received.of_device[0] && received.of_device[2] && !received.of_device[1]);
    assert_true(received.last.values[PYRO_GPU_VALUE_MEMORY_USED] == 400); /* CUDA's 2 is NVML's 0 */
}

static void test_no_device(void **state)
{
    (void)state;
    setenv("CUDA_VISIBLE_DEVICES", "", 1);
    assert_int_equal(pyro_sampler_start(&sink, QUICK_NS), PYRO_SAMPLER_ON);
    while (look().state == PYRO_SAMPLER_ON)
        pause_briefly();
    pyro_sampler_stop();
    assert_int_equal(look().state, PYRO_SAMPLER_NO_DEVICE);
    unsetenv("CUDA_VISIBLE_DEVICES");
    sample(1); /* and again */
}

/* Intervals are bounded, starting twice changes nothing, stopping twice neither. */
static void test_limits(void **state)
{
    (void)state;
    assert_int_equal(pyro_sampler_start(&sink, 1), PYRO_SAMPLER_ON);
    assert_int_equal(pyro_sampler_start(&sink, INT64_MAX), PYRO_SAMPLER_ON);
    assert_int_equal(look().interval_ns, PYRO_SAMPLER_SHORTEST_NS);
    pyro_sampler_stop();
    pyro_sampler_stop();
    assert_int_equal(pyro_sampler_start(&sink, INT64_MAX), PYRO_SAMPLER_ON);
    assert_int_equal(look().interval_ns, PYRO_SAMPLER_LONGEST_NS);
    pyro_sampler_stop(); /* does not wait for the interval */
    assert_true(look().samples >= 1);
}

/* A driver that hangs: the thread is left behind, and passes on nothing after the stop. */
static void test_a_driver_that_hangs(void **state)
{
    (void)state;
    setenv("PYRO_STUB_HANG", "300", 1);
    received.count = 0;
    assert_int_equal(pyro_sampler_start(&sink, QUICK_NS), PYRO_SAMPLER_ON);
    pause_briefly();
    pyro_sampler_stop();
    assert_int_equal(count_received(), 0);
    assert_int_equal(pyro_sampler_start(&sink, QUICK_NS), PYRO_SAMPLER_FAILED);
    assert_non_null(strstr(look().reason, "has not returned"));
    while (pyro_sampler_start(&sink, QUICK_NS) == PYRO_SAMPLER_FAILED)
        pause_briefly();
    assert_int_equal(count_received(), 0);
    pyro_sampler_stop();
    while (pyro_sampler_start(&sink, QUICK_NS) == PYRO_SAMPLER_FAILED)
        pause_briefly();
    pyro_sampler_stop();
}

static int wait_for_the_last(void **state)
{
    clear(state);
    while (pyro_sampler_start(&sink, QUICK_NS) == PYRO_SAMPLER_FAILED)
        pause_briefly();
    pyro_sampler_stop();
    return 0;
}

static void test_forks(void **state)
{
    (void)state;
#if defined(__SANITIZE_THREAD__) || defined(UNIT_EMULATED)
    skip(); /* see record.h */
#endif
    received.count = 0;
    assert_int_equal(pyro_sampler_start(&sink, QUICK_NS), PYRO_SAMPLER_ON);
    while (count_received() < 1)
        pause_briefly();
    pid_t child = fork_quietly();
    if (child == 0) {
        pyro_sampler_status status = look();
        bool is_off = status.state == PYRO_SAMPLER_OFF;
        pthread_mutex_init(&received.lock, NULL);
        received.count = 0;
        pyro_sampler_stop(); /* nothing to stop */
        pyro_sampler_start(&sink, QUICK_NS);
        while (count_received() < 1)
            pause_briefly();
        pyro_sampler_stop();
        _exit(is_off ? 0 : 1);
    }
    int how;
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_int_equal(how, 0);
    pyro_sampler_stop();
    assert_int_equal(look().state, PYRO_SAMPLER_OFF);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(test_without_a_driver, clear, clear),
    cmocka_unit_test_setup_teardown(test_values, clear, clear),
    cmocka_unit_test_setup_teardown(test_an_old_gpu, clear, clear),
    cmocka_unit_test_setup_teardown(test_units, clear, clear),
    cmocka_unit_test_setup_teardown(test_an_instance, clear, clear),
    cmocka_unit_test_setup_teardown(test_devices_in_use, clear, clear),
    cmocka_unit_test_setup_teardown(test_no_device, clear, clear),
    cmocka_unit_test_setup_teardown(test_limits, clear, clear),
    cmocka_unit_test_setup_teardown(test_forks, clear, clear),
    cmocka_unit_test_setup_teardown(test_a_driver_that_hangs, clear, wait_for_the_last),
};

UNIT_TESTS(tests, NULL, NULL)

/* Tests of hardware/peaks.c: files of both versions, and invalid files. */
#include "unit.h"

#include <pyrometer/trace.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

static char folder[] = "/tmp/pyro-peaks-XXXXXX";
static char path[160];

static int prepare(void **state)
{
    char below[64];
    struct utsname names;
    (void)state;
    if (!mkdtemp(folder) || uname(&names) != 0)
        return 1;
    snprintf(below, sizeof below, "%s/pyrometer", folder);
    snprintf(path, sizeof path, "%s/peaks-%.80s.json", below, names.nodename);
    setenv("XDG_DATA_HOME", folder, 1);
    return mkdir(below, 0700);
}

static int clean_up(void **state)
{
    char below[64];
    (void)state;
    unlink(path);
    snprintf(below, sizeof below, "%s/pyrometer", folder);
    return rmdir(below) || rmdir(folder);
}

static bool load(pyro_peaks *peaks, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    return pyro_peaks_load(peaks);
}

static void test_version_1(void **state)
{
    pyro_peaks peaks;
    (void)state;
    assert_true(load(&peaks, "{\"schema\":\"pyrometer.peaks/1\",\"host\":\"h\",\"measured\":"
                             "\"2026-01-02\",\"threads\":2,\"float32_flops_per_s\":2e11,"
                             "\"int8_ops_per_s\":null,\"bytes_per_s\":3e10}"));
    assert_true(peaks.host.float32_flops_per_s == 2e11 && peaks.host.bytes_per_s == 3e10);
    assert_true(peaks.host.int8_ops_per_s == 0 && peaks.device_count == 0);
    assert_string_equal(peaks.measured, "2026-01-02");
    assert_null(pyro_peaks_find(&peaks, "NVIDIA H200"));
}

static void test_version_2(void **state)
{
    pyro_peaks peaks;
    (void)state;
    assert_true(
        load(&peaks,
             "{\"schema\":\"pyrometer.peaks/2\",\"host\":\"h\",\"measured\":\"2026-11-17\","
             "\"torch\":\"2.11\",\"devices\":[{\"device\":\"cpu\",\"name\":\"Xeon\",\"threads\":4,"
             "\"float32_flops_per_s\":1e11,\"tf32_flops_per_s\":null,\"bytes_per_s\":2e10},"
             "{\"device\":\"cuda\",\"name\":\"NVIDIA H200\",\"cuda\":\"13.0\","
             "\"bfloat16_flops_per_s\":7e14,\"elementwise_bytes_per_s\":4e12,\"launch_ns\":3000,"
             "\"later\":{\"a\":[1]}}],\"torch_profiler_op_ns\":1200.5,"
             "\"torch_profiler_frame_ns\":null,\"pyrometer_op_ns\":900,\"later\":[]}"));
    const pyro_rates *rates = pyro_peaks_find(&peaks, "NVIDIA H200");
    assert_true(peaks.host.float32_flops_per_s == 1e11 && peaks.host.tf32_flops_per_s == 0);
    assert_non_null(rates);
    assert_true(rates->bfloat16_flops_per_s == 7e14 && rates->launch_ns == 3000);
    assert_true(rates->elementwise_bytes_per_s == 4e12 && rates->float32_flops_per_s == 0);
    assert_true(peaks.torch_profiler.op_ns == 1200.5 && peaks.torch_profiler.frame_ns == 0);
    assert_true(peaks.pyrometer.op_ns == 900 && peaks.pyrometer.shapes_ns == 0);
    assert_null(pyro_peaks_find(&peaks, "NVIDIA H200 NVL"));
    assert_null(pyro_peaks_find(NULL, "NVIDIA H200"));
}

static void test_more_devices_than_room(void **state)
{
    char text[4096];
    size_t length = (size_t)snprintf(text, sizeof text, "{\"devices\":[");
    pyro_peaks peaks;
    (void)state;
    for (int i = 0; i < 12; i++)
        length += (size_t)snprintf(text + length, sizeof text - length,
                                   "%s{\"device\":\"cuda\",\"name\":\"GPU %d\"}", i ? "," : "", i);
    snprintf(text + length, sizeof text - length, "]}");
    assert_true(load(&peaks, text));
    assert_int_equal(peaks.device_count, PYRO_MOST_PEAKS);
}

static void test_bad_files(void **state)
{
    static const char *const texts[] = {"",
                                        "[]",
                                        "{\"bytes_per_s\":\"fast\"}",
                                        "{\"devices\":3}",
                                        "{\"devices\":[{\"name\":7}]}",
                                        "{\"devices\":[{\"device\":\"cpu\"}",
                                        "{\"measured\":1}"};
    pyro_peaks peaks;
    pyro_error error;
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_false(load(&peaks, texts[i]));
        assert_true(peaks.host.bytes_per_s == 0 && peaks.device_count == 0);
    }
    pyro_error_clear(&error);
    assert_true(pyro_peaks_read(&peaks, "/nowhere/peaks.json", &error) < 0);
    setenv("XDG_DATA_HOME", "/nowhere", 1);
    assert_false(pyro_peaks_load(&peaks));
    setenv("XDG_DATA_HOME", folder, 1);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_version_1),
    cmocka_unit_test(test_version_2),
    cmocka_unit_test(test_more_devices_than_room),
    cmocka_unit_test(test_bad_files),
};

UNIT_TESTS(tests, prepare, clean_up)

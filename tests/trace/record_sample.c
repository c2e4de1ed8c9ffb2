/*
 * Writes a recording and three passes of a made-up small model: record_sample FOLDER. With a number
 * of seconds, the recording goes on for that long: record_sample FOLDER SECONDS.
 */
#include "record.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define EVERYTHING (PYRO_RECORD_LAYERS | PYRO_RECORD_OPS | PYRO_RECORD_SHAPES | PYRO_RECORD_MEMORY)

/* Calls the model about a hundred times per second. */
static void go_on(double seconds, uint32_t root, uint32_t first, uint32_t second)
{
    const struct timespec pause = {.tv_nsec = 10000000};
    time_t end = time(NULL) + (time_t)seconds;
    while (time(NULL) < end) {
        int model = 0;
        begin_span((pyro_record){.kind = PYRO_RECORD_LAYER, .sequence = -1, .name = root}, NULL,
                   NULL, 0, &model);
        record_layer(first, 8, 0);
        record_layer(second, 8, 1);
        end_span(&model, NULL, 0);
        nanosleep(&pause, NULL);
    }
}

int main(int argc, char **argv)
{
    char path[512];
    if (argc < 2)
        return 2;
    snprintf(path, sizeof path, "%s/sample.pyro", argv[1]);
    pyro_recorder_options options = {.flags = EVERYTHING, .overwrite = true};
    if (pyro_recorder_start(path, &options, NULL) != PYRO_OK)
        return 1;
    uint32_t root = pyro_recorder_module(&(pyro_module_data){0, 1, 0, 0}, "", "MLP");
    uint32_t first = pyro_recorder_module(&(pyro_module_data){root, 2, 0, 0}, "linear1", "Linear");
    uint32_t second = pyro_recorder_module(&(pyro_module_data){root, 3, 0, 0}, "linear2", "Linear");
    pyro_recorder_thread_name("main \"thread\"");
    for (int i = 1; i <= 3; i++) {
        int model = 0;
        uint64_t begun = pyro_pass_begin();
        begin_span((pyro_record){.kind = PYRO_RECORD_LAYER, .sequence = -1, .name = root}, NULL,
                   NULL, 0, &model);
        record_layer(first, 8 * i, 0);
        record_layer(second, 8, 1);
        end_span(&model, NULL, 0);
        snprintf(path, sizeof path, "%s/MLP_forward_%03d.json", argv[1], i);
        pyro_pass_options pass = {.path = path, .model = "MLP", .number = i, .flags = EVERYTHING};
        if (pyro_pass_end(begun, &pass, NULL) != PYRO_OK)
            return 1;
    }
    if (argc > 2)
        go_on(atof(argv[2]), root, first, second);
    return pyro_recorder_stop(NULL) == PYRO_OK ? 0 : 1;
}

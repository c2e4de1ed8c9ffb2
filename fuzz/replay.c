/*
 * Runs the fuzz targets without a fuzzer: `replay CORPUS [TARGET...]` runs each target, by default
 * all, once on every file in the folder CORPUS/TARGET.
 */
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef int fuzz_function(const uint8_t *data, size_t size);

/* CMake defines REPLAY_TARGETS: one TARGET(name) per fuzz_<name>.c. */
#define TARGET(name) fuzz_function fuzz_##name;
REPLAY_TARGETS
#undef TARGET

typedef struct target {
    const char *name;
    fuzz_function *run;
} target;

#define TARGET(name) {#name, fuzz_##name},
static const target targets[] = {REPLAY_TARGETS};
#undef TARGET

static int fail(const char *path)
{
    fprintf(stderr, "%s: %s\n", path, strerror(errno));
    return -1;
}

/* Returns the number of replayed inputs, 1, or -1. */
static int replay_file(const target *target, const char *path, size_t size)
{
    int status = 1;
    FILE *file = fopen(path, "rb");
    uint8_t *data = malloc(size ? size : 1);
    /* The last line before a crash must name the input. */
    printf("%s: %s\n", target->name, path);
    if (!file || !data || fread(data, 1, size, file) != size)
        status = fail(path);
    else
        target->run(data, size);
    free(data);
    if (file)
        fclose(file);
    return status;
}

static int replay(const target *target, const char *path);

static int replay_folder(const target *target, const char *path)
{
    DIR *folder = opendir(path);
    if (!folder)
        return fail(path);
    int total = 0;
    for (struct dirent *entry; total >= 0 && (entry = readdir(folder));) {
        char below[4096];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(below, sizeof below, "%s/%s", path, entry->d_name);
        int count = replay(target, below);
        total = count < 0 ? -1 : total + count;
    }
    closedir(folder);
    return total;
}

static int replay(const target *target, const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return fail(path);
    return S_ISDIR(status.st_mode) ? replay_folder(target, path)
                                   : replay_file(target, path, (size_t)status.st_size);
}

static bool is_named(const target *target, char **names)
{
    bool named = !*names;
    for (; *names && !named; names++)
        named = strcmp(*names, target->name) == 0;
    return named;
}

int main(int argc, char **argv)
{
    int total = 0;
    if (argc < 2) {
        fprintf(stderr, "usage: %s CORPUS [TARGET]...\n", argv[0]);
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        char folder[4096];
        if (!is_named(&targets[i], argv + 2))
            continue;
        snprintf(folder, sizeof folder, "%s/%s", argv[1], targets[i].name);
        int count = replay(&targets[i], folder);
        if (count <= 0) {
            fprintf(stderr, "%s: no inputs\n", folder);
            return 1;
        }
        total += count;
    }
    printf("%d inputs replayed\n", total);
    return total > 0 ? 0 : 1;
}

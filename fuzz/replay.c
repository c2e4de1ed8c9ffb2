/*
 * A main for fuzz targets where there is no fuzzer: runs every file given, and every file in the
 * folders given, through the target once.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int fail(const char *path)
{
    fprintf(stderr, "%s: %s\n", path, strerror(errno));
    return -1;
}

/* Returns 1, the inputs that were run, or -1. */
static int replay_file(const char *path, size_t size)
{
    int status = 1;
    FILE *file = fopen(path, "rb");
    uint8_t *data = malloc(size ? size : 1);
    if (!file || !data || fread(data, 1, size, file) != size)
        status = fail(path);
    else
        LLVMFuzzerTestOneInput(data, size);
    free(data);
    if (file)
        fclose(file);
    return status;
}

static int replay(const char *path);

static int replay_folder(const char *path)
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
        int count = replay(below);
        total = count < 0 ? -1 : total + count;
    }
    closedir(folder);
    return total;
}

static int replay(const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return fail(path);
    return S_ISDIR(status.st_mode) ? replay_folder(path)
                                   : replay_file(path, (size_t)status.st_size);
}

int main(int argc, char **argv)
{
    int total = 0;
    for (int i = 1; i < argc; i++) {
        int count = replay(argv[i]);
        if (count < 0)
            return 1;
        total += count;
    }
    printf("%d inputs replayed\n", total);
    return total > 0 ? 0 : 1;
}

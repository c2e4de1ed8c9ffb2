/* Runs a fuzz target once over each file, and each file of each folder, that is named: the
 * regression test of its corpus where there is no libFuzzer. */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t replayed_count;

static int replay_file(const char *path, size_t size)
{
    /* Exactly the size, so that a sanitizer sees the first byte read past the end. */
    uint8_t *data = malloc(size ? size : 1);
    FILE *file = fopen(path, "rb");
    int status = -1;

    if (!data || !file || fread(data, 1, size, file) != size) {
        fprintf(stderr, "replay: %s: %s\n", path, strerror(errno));
        goto done;
    }
    LLVMFuzzerTestOneInput(data, size);
    replayed_count++;
    status = 0;
done:
    if (file)
        fclose(file);
    free(data);
    return status;
}

static int replay_path(const char *path);

static int replay_folder(const char *path)
{
    struct dirent **entries;
    int count = scandir(path, &entries, NULL, alphasort);
    int status = count < 0 ? -1 : 0;

    if (count < 0)
        fprintf(stderr, "replay: %s: %s\n", path, strerror(errno));
    for (int i = 0; i < count; i++) {
        char child[4096];
        int length = snprintf(child, sizeof child, "%s/%s", path, entries[i]->d_name);

        if (entries[i]->d_name[0] != '.' && (size_t)length < sizeof child && replay_path(child))
            status = -1;
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    return status;
}

static int replay_path(const char *path)
{
    struct stat info;

    if (stat(path, &info)) {
        fprintf(stderr, "replay: %s: %s\n", path, strerror(errno));
        return -1;
    }
    if (S_ISDIR(info.st_mode))
        return replay_folder(path);
    return replay_file(path, (size_t)info.st_size);
}

int main(int argc, char **argv)
{
    int status = 0;

    for (int i = 1; i < argc; i++) {
        if (replay_path(argv[i]))
            status = 1;
    }
    printf("%zu inputs replayed\n", replayed_count);
    return replayed_count ? status : 1;
}

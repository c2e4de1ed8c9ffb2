/* Collects the inputs of a command and compares outputs with them by device and inode. */
#include "cli/inputs.h"

#include "base/containers/buf.h"
#include "base/error.h"
#include "base/file.h"

#include <pyrometer/catalog.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bounds of the search in folders, which takes place only when the output file exists. */
enum { DEEPEST_FOLDER = 6, MOST_ENTRIES = 1000000 };

/* A recording stores its kernels in a second file next to it. */
static const char companion[] = ".devices.json";

typedef struct input {
    char *path; /* NULL: standard input */
    pyro_file_identity file;
    bool is_folder;
} input;

/* Global, since a process runs one command. */
static struct {
    input *items;
    size_t count, capacity;
} inputs;

static bool is_folder(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static void append(const char *path, pyro_file_identity file, bool folder)
{
    if (!pyro_grow(&inputs.items, &inputs.capacity, inputs.count + 1, sizeof *inputs.items))
        return;
    inputs.items[inputs.count++] = (input){path ? strdup(path) : NULL, file, folder};
}

/* Adds a file or folder; true when it exists. */
static bool add_path(const char *path, bool folders)
{
    pyro_file_identity file;
    char *beside = NULL;

    if (folders && is_folder(path))
        append(path, (pyro_file_identity){0, 0}, true);
    if (!pyro_file_identify(path, &file))
        return access(path, F_OK) == 0;
    append(path, file, false);
    if (asprintf(&beside, "%s%s", path, companion) >= 0) {
        if (pyro_file_identify(beside, &file))
            append(beside, file, false);
        free(beside);
    }
    return true;
}

/* Adds the parts of a word between any of `separators`; modifies the text. */
static void add_parts(char *text, const char *separators)
{
    char *rest = NULL;

    for (char *part = strtok_r(text, separators, &rest); part;
         part = strtok_r(NULL, separators, &rest))
        add_path(part, false);
}

void pyro_inputs_add(const char *word, bool folders)
{
    char *copy, *colon;

    if (add_path(word, folders))
        return;
    copy = strdup(word);
    if (!copy)
        return;
    colon = strrchr(copy, ':');
    if (colon)
        *colon = '\0';
    if (!colon || !add_path(copy, folders)) {
        if (colon)
            *colon = ':';
        add_parts(copy, " \t\n,=;|&<>()'\"");
    }
    free(copy);
}

/* Adds the user's models and measured peaks, which commands read without being told. */
static void add_user_data(void)
{
    char *folder = NULL, *end;

    if (pyro_registry_folder(&folder, NULL) != PYRO_OK)
        return;
    end = strrchr(folder, '/');
    if (end && end > folder)
        *end = '\0';
    add_path(folder, true);
    free(folder);
}

static bool names_input(const pyro_option *option)
{
    return option->completion != PYRO_COMPLETE_NOTHING && option->writes == PYRO_WRITES_NOTHING;
}

static void add_option(const pyro_option *option, const void *target)
{
    const pyro_words *words = target;
    const char *text = option->kind == PYRO_OPTION_STRING ? *(const char *const *)target : NULL;

    if (text)
        pyro_inputs_add(text, true);
    for (size_t i = 0; option->kind == PYRO_OPTION_LIST && i < words->count; i++)
        pyro_inputs_add(words->items[i], true);
}

void pyro_inputs_collect(const pyro_option_group *groups, const void *values,
                         const pyro_words *operands)
{
    struct stat info;

    for (const pyro_option_group *group = groups; group->title; group++)
        for (const pyro_option *option = group->options; option->long_name; option++)
            if (names_input(option))
                add_option(option, (const char *)values + group->offset + option->offset);
    for (size_t i = 0; i < operands->count; i++)
        pyro_inputs_add(operands->items[i], true);
    add_user_data();
    if (fstat(STDIN_FILENO, &info) == 0 && S_ISREG(info.st_mode))
        append(NULL, (pyro_file_identity){(uint64_t)info.st_dev, (uint64_t)info.st_ino}, false);
}

/* True for files in a folder that no command reads, or that are results of an earlier call. */
static bool is_result(const char *path)
{
    static const char *const ends[] = {".csv", ".html", ".xml", ".md", ".txt", ".svg"};
    const char *dot = strrchr(path, '.');
    char start[64] = "", *at = start;
    FILE *file;

    for (size_t i = 0; dot && i < sizeof ends / sizeof *ends; i++)
        if (strcmp(dot, ends[i]) == 0)
            return true;
    file = fopen(path, "rb");
    if (!file)
        return false;
    size_t count = fread(start, 1, sizeof start - 1, file);
    fclose(file);
    start[count] = '\0';
    at += strspn(at, "{ \n");
    return strncmp(at, "\"schema\": \"pyrometer.ranks/", 27) == 0 ||
           strncmp(at, "\"schema\": \"pyrometer.bench/", 27) == 0;
}

/* Searches a folder for the file; *left limits the number of entries to look at. */
static bool holds(const char *folder, pyro_file_identity wanted, int depth, int *left)
{
    DIR *entries = opendir(folder);
    struct dirent *entry;
    bool found = false;

    while (entries && !found && *left > 0 && (entry = readdir(entries))) {
        pyro_file_identity file;
        char *path = NULL;

        --*left;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            asprintf(&path, "%s/%s", folder, entry->d_name) < 0)
            continue;
        if (pyro_file_identify(path, &file))
            found = pyro_file_equal(file, wanted) && !is_result(path);
        else if (depth < DEEPEST_FOLDER && is_folder(path))
            found = holds(path, wanted, depth + 1, left);
        free(path);
    }
    if (entries)
        closedir(entries);
    return found;
}

int pyro_inputs_check(const char *path, pyro_error *error)
{
    pyro_file_identity file;
    struct stat info;
    int left = MOST_ENTRIES;

    if (strcmp(path, "-") == 0) {
        if (fstat(STDOUT_FILENO, &info) != 0 || !S_ISREG(info.st_mode))
            return PYRO_OK;
        file = (pyro_file_identity){(uint64_t)info.st_dev, (uint64_t)info.st_ino};
        path = "standard output";
    } else if (!pyro_file_identify(path, &file)) {
        return PYRO_OK;
    }
    for (size_t i = 0; i < inputs.count; i++) {
        const input *one = &inputs.items[i];

        if (one->is_folder ? !holds(one->path, file, 0, &left) : !pyro_file_equal(one->file, file))
            continue;
        pyro_fail(error, PYRO_ERROR_ARGUMENT,
                  "would overwrite an input of this command (%s%.200s); name another file",
                  one->is_folder ? "in the folder " : "", one->path ? one->path : "standard input");
        pyro_error_where(error, path, NULL);
        return PYRO_ERROR_ARGUMENT;
    }
    return PYRO_OK;
}

int pyro_inputs_check_options(const pyro_option_group *groups, const void *values,
                              pyro_error *error)
{
    int status = PYRO_OK;

    for (const pyro_option_group *group = groups; group->title; group++) {
        for (const pyro_option *option = group->options; option->long_name && status == PYRO_OK;
             option++) {
            const char *path;

            if (option->writes != PYRO_WRITES_FILE)
                continue;
            path = *(const char *const *)((const char *)values + group->offset + option->offset);
            if (path)
                status = pyro_inputs_check(path, error);
        }
    }
    return status;
}

void pyro_inputs_clear(void)
{
    for (size_t i = 0; i < inputs.count; i++)
        free(inputs.items[i].path);
    free(inputs.items);
    memset(&inputs, 0, sizeof inputs);
}

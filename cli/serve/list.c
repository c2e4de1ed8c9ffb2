/* Lists the files of the folder as JSON. Bounded in depth and number. */
#include "cli/serve/folder.h"

#include "base/json/write.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_DEPTH 6
#define MOST_ENTRIES 20000
#define MOST_FILES 1000

typedef struct file_list {
    const serve_folder *folder;
    serve_file *files;
    size_t count, capacity;
    size_t entries; /* looked at */
    bool is_cut;
} file_list;

static int newest_first(const void *left, const void *right)
{
    const serve_file *a = left, *b = right;

    if (a->modified_ns != b->modified_ns)
        return a->modified_ns > b->modified_ns ? -1 : 1;
    return strcmp(a->path, b->path);
}

static void add_file(file_list *list, const char *path)
{
    serve_file file;

    if (!serve_folder_look(list->folder, path, &file) || file.kind == SERVE_OTHER)
        return;
    if (list->count == MOST_FILES ||
        !pyro_grow(&list->files, &list->capacity, list->count + 1, sizeof *list->files)) {
        list->is_cut = true;
        return;
    }
    list->files[list->count++] = file;
}

static void walk(file_list *list, int parent, const char *name, const char *prefix, int depth)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *stream = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *entry;
    char path[SERVE_PATH_BYTES];

    if (!stream) {
        if (fd >= 0)
            close(fd);
        return;
    }
    while ((entry = readdir(stream))) {
        if (entry->d_name[0] == '.')
            continue;
        if (list->entries++ == MOST_ENTRIES) {
            list->is_cut = true;
            break;
        }
        if ((size_t)snprintf(path, sizeof path, "%s%s%s", prefix, *prefix ? "/" : "",
                             entry->d_name) >= sizeof path)
            continue;
        if (entry->d_type == DT_REG || entry->d_type == DT_UNKNOWN)
            add_file(list, path);
        if (entry->d_type == DT_DIR && depth < MOST_DEPTH)
            walk(list, dirfd(stream), entry->d_name, path, depth + 1);
    }
    closedir(stream);
}

static void write_file(pyro_json_writer *json, const serve_file *file)
{
    pyro_json_begin_object(json);
    pyro_json_member_string(json, "path", file->path);
    pyro_json_member_string(json, "kind", serve_kind_name(file->kind));
    if (file->schema[0])
        pyro_json_member_string(json, "schema", file->schema);
    pyro_json_member_integer(json, "size_bytes", file->size_bytes);
    pyro_json_member_integer(json, "modified_ms", file->modified_ns / 1000000);
    if (file->kind == SERVE_RECORDING) {
        pyro_json_member_integer(json, "duration_ns", file->duration_ns);
        pyro_json_member_boolean(json, "is_growing", file->is_growing);
    }
    pyro_json_end_object(json);
}

void serve_folder_list(pyro_buf *buf, const serve_folder *folder)
{
    file_list list = {.folder = folder};
    pyro_json_writer json;

    if (folder->only)
        add_file(&list, folder->only);
    else
        walk(&list, folder->fd, ".", "", 0);
    if (list.count > 0)
        qsort(list.files, list.count, sizeof *list.files, newest_first);
    pyro_json_writer_init(&json, buf, 0);
    pyro_json_begin_object(&json);
    pyro_json_member_string(&json, "schema", "pyrometer.folder/1");
    pyro_json_member_string(&json, "folder", folder->path);
    pyro_json_member_boolean(&json, "is_cut", list.is_cut);
    pyro_json_key(&json, "files");
    pyro_json_begin_array(&json);
    for (size_t i = 0; i < list.count; i++)
        write_file(&json, &list.files[i]);
    pyro_json_end_array(&json);
    pyro_json_end_object(&json);
    pyro_buf_addc(buf, '\n');
    free(list.files);
}

/* Starts children, collects their results and keeps the latest ones. */
#include "cli/serve/products.h"

#include "base/json/write.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MOST_PRODUCTS 64
#define MOST_CHILDREN 2
#define CHILD_MS 300000
#define CHILD_CPU_SECONDS 600
#define CHILD_FILE_BYTES ((rlim_t)4 << 30)
/* A growing file is shown again after this time, and after some times the time that it took. */
#define PAUSE_MS 1500
#define PAUSE_FACTOR 3

extern char **environ;

typedef struct product {
    bool is_used, is_wanted, has_failed;
    serve_product_kind kind;
    serve_file file; /* when it was last asked for */
    int result; /* -1: never finished */
    int64_t result_bytes, revision;
    uint64_t version; /* of the file that the result shows */
    char message[256]; /* why it failed */
    pid_t child; /* 0: none */
    int output, errors; /* of the child; -1 */
    serve_file source; /* the file when the child was started */
    int64_t started_ms, ended_ms, took_ms, asked_ms;
} product;

struct serve_products {
    const serve_folder *folder;
    int64_t revisions;
    product items[MOST_PRODUCTS];
};

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* A file without a name; -1. */
static int open_temporary(void)
{
    const char *folder = getenv("TMPDIR");
    char path[512];

    if ((size_t)snprintf(path, sizeof path, "%s/pyrometer-XXXXXX",
                         folder && folder[0] ? folder : "/tmp") >= sizeof path)
        return -1;
    int fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    return fd;
}

static void close_file(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

serve_products *serve_products_new(const serve_folder *folder)
{
    serve_products *products = calloc(1, sizeof *products);

    if (!products)
        return NULL;
    products->folder = folder;
    for (size_t i = 0; i < MOST_PRODUCTS; i++)
        products->items[i].result = products->items[i].output = products->items[i].errors = -1;
    return products;
}

void serve_products_free(serve_products *products)
{
    for (size_t i = 0; products && i < MOST_PRODUCTS; i++) {
        product *one = &products->items[i];

        if (one->child > 0) {
            kill(one->child, SIGKILL);
            waitpid(one->child, NULL, 0);
        }
        close_file(&one->result);
        close_file(&one->output);
        close_file(&one->errors);
    }
    free(products);
}

static void fail(product *one, const char *message)
{
    one->has_failed = true;
    snprintf(one->message, sizeof one->message, "%s", message);
}

/* The first line that the child wrote, without the name of the tool and the folder. */
static void read_message(product *one, const serve_folder *folder)
{
    char text[sizeof one->message];
    ssize_t size = pread(one->errors, text, sizeof text - 1, 0);
    size_t length = strlen(folder->path);

    text[size > 0 ? size : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    const char *start = strncmp(text, "pyrometer: ", 11) == 0 ? text + 11 : text;
    if (strncmp(start, folder->path, length) == 0 && start[length] == '/')
        start += length + 1;
    fail(one, *start ? start : "the file cannot be shown");
}

/* Takes over what the child wrote. */
static void finish(serve_products *products, product *one, int status)
{
    struct stat output;

    one->child = 0;
    one->ended_ms = now_ms();
    one->took_ms = one->ended_ms - one->started_ms;
    one->version = one->source.version;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && fstat(one->output, &output) == 0 &&
        output.st_size > 0) {
        close_file(&one->result);
        one->result = one->output;
        one->result_bytes = output.st_size;
        one->output = -1;
        one->has_failed = false;
        one->revision = ++products->revisions;
    } else if (WIFSIGNALED(status)) {
        fail(one, one->took_ms >= CHILD_MS ? "it took longer than five minutes"
                                           : "the process that reads it was killed");
    } else {
        read_message(one, products->folder);
    }
    close_file(&one->output);
    close_file(&one->errors);
}

/* The child gets the signals that the server waits for. */
static int spawn(pid_t *child, char *const *words, int output, int errors)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    int reason = posix_spawn_file_actions_init(&actions);

    if (reason)
        return reason;
    reason = posix_spawnattr_init(&attributes);
    if (!reason) {
        sigemptyset(&none);
        posix_spawnattr_setsigmask(&attributes, &none);
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
        posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
        reason = posix_spawn(child, "/proc/self/exe", &actions, &attributes, words, environ);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return reason;
}

static void limit(pid_t child)
{
    struct rlimit cpu = {CHILD_CPU_SECONDS, CHILD_CPU_SECONDS};
    struct rlimit file = {CHILD_FILE_BYTES, CHILD_FILE_BYTES};

    prlimit(child, RLIMIT_CPU, &cpu, NULL);
    prlimit(child, RLIMIT_FSIZE, &file, NULL);
    setpriority(PRIO_PROCESS, (id_t)child, 5);
}

static void start(serve_products *products, product *one)
{
    char path[2 * SERVE_PATH_BYTES + 4200];
    char *page[] = {"pyrometer", "report",  path,           "-o", "-",
                    "--quiet",   "--title", one->file.path, NULL};
    char *perfetto[] = {"pyrometer", "trace", path, "--perfetto", "-", "--quiet", NULL};
    int reason;

    one->is_wanted = false;
    one->source = one->file;
    one->started_ms = now_ms();
    one->output = open_temporary();
    one->errors = open_temporary();
    if (one->output < 0 || one->errors < 0 ||
        (size_t)snprintf(path, sizeof path, "%s/%s", products->folder->path, one->file.path) >=
            sizeof path)
        reason = errno;
    else
        reason = spawn(&one->child, one->kind == SERVE_PAGE ? page : perfetto, one->output,
                       one->errors);
    if (reason) {
        one->child = 0;
        fail(one, strerror(reason));
        close_file(&one->output);
        close_file(&one->errors);
        return;
    }
    limit(one->child);
}

void serve_products_tick(serve_products *products)
{
    size_t children = 0;
    int64_t time_ms = now_ms();

    for (size_t i = 0; i < MOST_PRODUCTS; i++) {
        product *one = &products->items[i];
        int status;

        if (one->child > 0 && waitpid(one->child, &status, WNOHANG) == one->child)
            finish(products, one, status);
        else if (one->child > 0 && time_ms - one->started_ms > CHILD_MS)
            kill(one->child, SIGKILL);
        children += one->child > 0;
    }
    for (size_t i = 0; i < MOST_PRODUCTS && children < MOST_CHILDREN; i++) {
        product *one = &products->items[i];

        if (!one->is_wanted || one->child > 0)
            continue;
        start(products, one);
        children += one->child > 0;
    }
}

static product *find(serve_products *products, serve_product_kind kind, const char *path)
{
    for (size_t i = 0; i < MOST_PRODUCTS; i++) {
        product *one = &products->items[i];

        if (one->is_used && one->kind == kind && strcmp(one->file.path, path) == 0)
            return one;
    }
    return NULL;
}

/* An unused entry, or the one that nobody asked for the longest time; NULL: all are being made. */
static product *find_room(serve_products *products)
{
    product *oldest = NULL;

    for (size_t i = 0; i < MOST_PRODUCTS; i++) {
        product *one = &products->items[i];

        if (!one->is_used)
            return one;
        if (one->child == 0 && !one->is_wanted && (!oldest || one->asked_ms < oldest->asked_ms))
            oldest = one;
    }
    if (oldest)
        close_file(&oldest->result);
    return oldest;
}

/* Whether the result is old, and it is time to make it again. */
static bool is_due(const product *one)
{
    int64_t pause_ms = PAUSE_FACTOR * one->took_ms;

    if (one->ended_ms == 0)
        return true;
    return one->version != one->file.version &&
           now_ms() - one->ended_ms >= (pause_ms > PAUSE_MS ? pause_ms : PAUSE_MS);
}

static void write_state(pyro_buf *buf, const product *one)
{
    pyro_json_writer json;
    bool is_ready = one->result >= 0;

    pyro_json_writer_init(&json, buf, 0);
    pyro_json_begin_object(&json);
    pyro_json_member_string(&json, "schema", "pyrometer.serve/1");
    pyro_json_member_string(&json, "path", one->file.path);
    pyro_json_member_string(&json, "kind", serve_kind_name(one->file.kind));
    pyro_json_member_string(&json, "state",
                            is_ready          ? "ready"
                            : one->has_failed ? "failed"
                                              : "building");
    pyro_json_member_integer(&json, "revision", one->revision);
    pyro_json_member_boolean(&json, "is_growing", one->file.is_growing);
    pyro_json_member_boolean(&json, "is_current", is_ready && one->version == one->file.version);
    pyro_json_member_integer(&json, "duration_ns", one->file.duration_ns);
    pyro_json_member_integer(&json, "size_bytes", one->file.size_bytes);
    if (one->has_failed)
        pyro_json_member_string(&json, "message", one->message);
    pyro_json_end_object(&json);
    pyro_buf_addc(buf, '\n');
}

bool serve_products_state(pyro_buf *buf, serve_products *products, serve_product_kind kind,
                          const serve_file *file)
{
    product *one = find(products, kind, file->path);

    if (!one) {
        one = find_room(products);
        if (!one)
            return false;
        *one = (product){.is_used = true, .kind = kind, .result = -1, .output = -1, .errors = -1};
    }
    one->file = *file;
    one->asked_ms = now_ms();
    if (one->child == 0 && is_due(one))
        one->is_wanted = true;
    serve_products_tick(products);
    write_state(buf, one);
    return true;
}

int serve_products_open(serve_products *products, serve_product_kind kind, const char *path,
                        int64_t *size_bytes)
{
    const product *one = find(products, kind, path);

    if (!one || one->result < 0)
        return -1;
    *size_bytes = one->result_bytes;
    return fcntl(one->result, F_DUPFD_CLOEXEC, 0);
}

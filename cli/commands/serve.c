/* pyrometer serve: shows a folder of traces, recordings and results in a browser. */
#include "cli/command.h"
#include "cli/common.h"
#include "cli/output.h"
#include "cli/serve/routes.h"

#include "base/error.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>

#define DEFAULT_PORT 9440
#define MOST_CONNECTIONS 1024
#define REQUEST_MS 10000
#define RESPONSE_MS 30000
/* Beside the connections: files that are read, results, children. */
#define OTHER_DESCRIPTORS 512

typedef struct serve_values {
    int64_t port; /* -1: the default, or any free one */
    pyro_common common;
} serve_values;

static const pyro_option server_options[] = {
    {.long_name = "port",
     .short_name = 'p',
     .kind = PYRO_OPTION_INTEGER,
     .offset = offsetof(serve_values, port),
     .metavar = "N",
     .help = "Port on 127.0.0.1; 0: any free one.",
     .default_text = "9440, or any free one if that is in use",
     .minimum = 0,
     .maximum = 65535},
    {.long_name = "quiet",
     .short_name = 'q',
     .kind = PYRO_OPTION_FLAG,
     .offset = offsetof(serve_values, common.quiet),
     .help = "Print only the address."},
    {.long_name = "help",
     .short_name = 'h',
     .kind = PYRO_OPTION_FLAG,
     .offset = offsetof(serve_values, common.help),
     .help = "Show this help."},
    {.long_name = NULL},
};

static const pyro_option_group serve_groups[] = {
    {"Server:", server_options, 0},
    {NULL, NULL, 0},
};

static int make_token(serve_site *site, pyro_error *error)
{
    unsigned char bytes[(SERVE_TOKEN_BYTES - 1) / 2];

    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return pyro_fail(error, PYRO_ERROR_IO, "no random numbers: %s", strerror(errno));
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(site->token + 2 * i, 3, "%02x", bytes[i]);
    return PYRO_OK;
}

/* Many systems allow 1,024 descriptors unless a program asks for more. */
static void raise_descriptors(void)
{
    struct rlimit limit;
    rlim_t wanted = MOST_CONNECTIONS + OTHER_DESCRIPTORS;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
        return;
    limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
    setrlimit(RLIMIT_NOFILE, &limit);
}

/* Starts at the given port, or at the default one or any free one; sets it. */
static int start(pyro_http_server **server, serve_site *site, int64_t *port, pyro_error *error)
{
    static const pyro_http_limits limits = {MOST_CONNECTIONS, REQUEST_MS, RESPONSE_MS};
    pyro_http_calls calls = {serve_tick, serve_respond, site};
    pyro_metrics_address address = {.host = "127.0.0.1", .is_loopback = true};
    int status;

    address.port = (uint16_t)(*port < 0 ? DEFAULT_PORT : *port);
    status = pyro_http_start(server, &address, &limits, &calls, error);
    if (status != PYRO_OK && *port < 0) {
        pyro_error_clear(error);
        address.port = 0;
        status = pyro_http_start(server, &address, &limits, &calls, error);
    }
    *port = address.port;
    return status;
}

static int say_address(const serve_site *site, bool quiet, const char *path, int port)
{
    pyro_buf buf = PYRO_BUF_INIT;
    pyro_error error;
    int status;

    pyro_error_clear(&error);
    if (!quiet)
        pyro_buf_addf(&buf, "Serving %s\n\n  ", path);
    pyro_buf_addf(&buf, "http://127.0.0.1:%d/?token=%s\n", port, site->token);
    if (!quiet)
        pyro_buf_addf(&buf,
                      "\nOpen this address in a browser. From another machine, first: "
                      "ssh -L %d:127.0.0.1:%d HOST\nCtrl-C ends the server.\n",
                      port, port);
    status = pyro_output_stdout(buf.data, buf.failed ? 0 : buf.length, &error);
    pyro_buf_free(&buf);
    return status == PYRO_OK ? PYRO_EXIT_FINE : pyro_common_fail(NULL, &error);
}

/* Serves until a signal comes. */
static int serve(serve_site *site, const serve_values *values, const char *path)
{
    pyro_http_server *server = NULL;
    pyro_error error;
    sigset_t signals;
    int64_t port = values->port;
    int exit_code, received;

    pyro_error_clear(&error);
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    raise_descriptors();
    if (make_token(site, &error) != PYRO_OK || start(&server, site, &port, &error) != PYRO_OK)
        return pyro_common_fail(NULL, &error);
    exit_code = say_address(site, values->common.quiet, path, (int)port);
    if (exit_code == PYRO_EXIT_FINE)
        sigwait(&signals, &received);
    pyro_http_stop(server);
    return exit_code;
}

static int open_and_serve(const serve_values *values, const char *path)
{
    serve_site site = {.folder.fd = -1};
    pyro_error error;
    int exit_code;

    pyro_error_clear(&error);
    if (!pyro_page_is_available())
        return pyro_common_complain("this build has no page: install Node 18 or newer (Debian: "
                                    "nodejs, npm), run `make web` and build again");
    if (serve_folder_open(&site.folder, path, &error) != PYRO_OK) {
        exit_code = pyro_common_fail(path, &error);
    } else {
        site.products = serve_products_new(&site.folder);
        exit_code = site.products ? serve(&site, values, path)
                                  : pyro_common_complain("out of memory");
    }
    serve_products_free(site.products);
    serve_folder_close(&site.folder);
    pyro_buf_free(&site.list);
    return exit_code;
}

static int run_serve(const pyro_command *command, int argc, char **argv)
{
    serve_values values = {.port = -1};
    pyro_words paths = {0};
    int exit_code;

    if (pyro_common_parse(command, argc, argv, &values, &values.common, &paths, &exit_code)) {
        if (paths.count > 1)
            exit_code = pyro_common_complain("serve takes one folder or file, but %zu were given "
                                             "(see pyrometer serve --help)",
                                             paths.count);
        else
            exit_code = open_and_serve(&values, paths.count ? paths.items[0] : ".");
    }
    pyro_words_free(&paths);
    pyro_options_free(command->groups, &values);
    return exit_code;
}

static const pyro_example serve_examples[] = {
    {"pyrometer serve", "Show the traces, recordings and results of the current folder."},
    {"pyrometer serve runs --port 9441", "Another folder, at a port of your choice."},
    {"pyrometer serve train.pyro", "One recording; the page follows while the program runs."},
    {NULL, NULL},
};

const pyro_command cmd_serve = {
    .name = "serve",
    .summary = "show a folder of traces and results in a browser",
    .usage = "[PATH] [OPTION...]",
    .description =
        "Serves a folder (the current one by default) or one file to a browser on this machine: a "
        "list of its traces, recordings and JSON results, each with the page of pyrometer report. "
        "A recording that is still being written is shown again while it grows. A trace can be "
        "handed to Perfetto's page, which shows it in the browser.\n\n"
        "Only 127.0.0.1 is served, and data only to requests with the random token of the printed "
        "address. Symbolic links and hidden files are not followed; nothing outside of the folder "
        "is served and nothing is written into it. Pages are made by separate processes with limits on "
        "time and size.",
    .examples = serve_examples,
    .groups = serve_groups,
    .operands = PYRO_COMPLETE_FILE,
    .report = PYRO_REPORT_NONE,
    .run = run_serve,
};

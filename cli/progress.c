/* Draws the progress line. */
#include "cli/progress.h"

#include "base/text/units.h"
#include "report/text.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS INT64_C(1000000000)
#define QUIET_NS SECOND_NS         /* a shorter job shows nothing */
#define REDRAW_NS (SECOND_NS / 10)

enum { BAR_WIDTH = 20, LABEL_WIDTH = 24 };

static int64_t now_ns(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * SECOND_NS + time.tv_nsec;
}

void pyro_progress_begin(pyro_progress *progress, const char *label, bool quiet)
{
    struct winsize size;

    *progress = (pyro_progress){
        .label = label,
        .enabled = !quiet && isatty(STDERR_FILENO),
        .width = 80,
        .start_ns = now_ns(),
        .drawing = ATOMIC_FLAG_INIT,
    };
    if (progress->enabled && ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        progress->width = size.ws_col;
}

static void add_bar(pyro_buf *buf, double share)
{
    size_t filled = (size_t)(share * BAR_WIDTH);

    pyro_buf_addc(buf, '[');
    pyro_buf_fill(buf, '#', filled);
    pyro_buf_fill(buf, '.', BAR_WIDTH - filled);
    pyro_buf_addf(buf, "] %3.0f%%  ", share * 100);
}

static void add_time_left(pyro_buf *buf, double seconds)
{
    long long left = (long long)(seconds + 0.999);

    if (seconds < 360000)
        pyro_buf_addf(buf, "  %lld:%02lld left", left / 60, left % 60);
}

/* The last part of a path, cut at the end when it is long. */
static void add_label(pyro_buf *buf, const char *label)
{
    const char *slash = strrchr(label, '/');
    pyro_buf clean = PYRO_BUF_INIT;

    pyro_text_clean(&clean, slash && slash[1] != '\0' ? slash + 1 : label);
    pyro_buf_addf(buf, "%.*s  ", LABEL_WIDTH, pyro_text_part(buf, &clean));
    pyro_buf_free(&clean);
}

void pyro_progress_line(pyro_buf *buf, const char *label, int64_t done_bytes, int64_t total_bytes,
                        int64_t elapsed_ns, int width)
{
    char done[PYRO_UNIT_TEXT], rate[PYRO_UNIT_TEXT];
    double seconds = (double)elapsed_ns / 1e9;
    double bytes_per_s = seconds > 0 ? (double)done_bytes / seconds : 0;
    bool known = total_bytes > 0 && done_bytes <= total_bytes;
    size_t start = buf->length;

    if (width >= 100)
        add_label(buf, label);
    if (known)
        add_bar(buf, (double)done_bytes / (double)total_bytes);
    pyro_buf_adds(buf, pyro_format_bytes(done, done_bytes));
    pyro_buf_addf(buf, "  %s/s", pyro_format_bytes(rate, (int64_t)bytes_per_s));
    if (known && bytes_per_s > 0)
        add_time_left(buf, (double)(total_bytes - done_bytes) / bytes_per_s);
    if (!buf->failed && width > 0 && buf->length - start >= (size_t)width)
        buf->length = start + (size_t)width - 1; /* a full line would make the terminal scroll */
}

void pyro_progress_update(void *user, int64_t done_bytes, int64_t total_bytes)
{
    pyro_progress *progress = user;
    pyro_buf line = PYRO_BUF_INIT;

    if (!progress->enabled || atomic_flag_test_and_set(&progress->drawing))
        return;
    int64_t now = now_ns();
    if (now - progress->start_ns >= QUIET_NS && now - progress->last_ns >= REDRAW_NS) {
        pyro_progress_line(&line, progress->label, done_bytes, total_bytes,
                           now - progress->start_ns, progress->width);
        if (!line.failed)
            fprintf(stderr, "\r%.*s\033[K", (int)line.length, line.data);
        progress->last_ns = now;
        progress->shown = true;
        pyro_buf_free(&line);
    }
    atomic_flag_clear(&progress->drawing);
}

void pyro_progress_end(pyro_progress *progress)
{
    if (progress->shown)
        fputs("\r\033[K", stderr);
    progress->shown = false;
}

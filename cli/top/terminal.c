/*
 * Signals only set flags; the loop restores the terminal and acts. Ctrl-Z restores it, stops, and
 * takes it again when the shell continues the program.
 */
#include "cli/top/terminal.h"

#include "base/file.h"
#include "base/text/utf8.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define ENTER "\033[?1049h\033[?25l"
#define LEAVE "\033[?25h\033[?1049l"
#define HOME "\033[H"
#define CLEAR_LINE "\033[K"
#define CLEAR_REST "\033[J"

static struct termios before;
static bool is_begun;
static volatile sig_atomic_t should_end, was_resized, should_stop;

static void on_signal(int number)
{
    if (number == SIGWINCH)
        was_resized = 1;
    else if (number == SIGTSTP)
        should_stop = 1;
    else
        should_end = 1;
}

bool top_terminal_is_there(void)
{
    return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
}

static bool take(void)
{
    struct termios raw = before;

    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    return tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0 &&
           pyro_file_write(STDOUT_FILENO, ENTER, strlen(ENTER));
}

static void give_back(void)
{
    (void)!pyro_file_write(STDOUT_FILENO, LEAVE, strlen(LEAVE));
    tcsetattr(STDIN_FILENO, TCSANOW, &before);
}

bool top_terminal_begin(void)
{
    static const int handled[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP};
    struct sigaction action = {.sa_handler = on_signal};

    if (tcgetattr(STDIN_FILENO, &before) != 0)
        return false;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof handled / sizeof *handled; i++)
        sigaction(handled[i], &action, NULL);
    is_begun = take();
    if (!is_begun)
        give_back();
    return is_begun;
}

void top_terminal_end(void)
{
    if (is_begun)
        give_back();
    is_begun = false;
}

top_size top_terminal_size(void)
{
    struct winsize size;
    bool is_known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col && size.ws_row;

    return is_known ? (top_size){size.ws_col, size.ws_row} : (top_size){80, 24};
}

/* Adds a line up to the edge; a character is one column. */
static void add_line(pyro_buf *out, const char *line, const char *end, int columns)
{
    for (int column = 0; line < end && column < columns; column++) {
        size_t length = pyro_utf8_sequence(line, end);

        pyro_buf_add(out, length ? line : "?", length ? length : 1);
        line += length ? length : 1;
    }
    pyro_buf_adds(out, CLEAR_LINE);
}

void top_terminal_draw(const pyro_buf *text)
{
    top_size size = top_terminal_size();
    pyro_buf out = PYRO_BUF_INIT;
    const char *line = text->data, *last = text->data + text->length;

    pyro_buf_adds(&out, HOME);
    for (int row = 0; row < size.rows && line < last; row++) {
        const char *end = memchr(line, '\n', (size_t)(last - line));

        if (row > 0)
            pyro_buf_adds(&out, "\r\n");
        add_line(&out, line, end ? end : last, size.columns);
        line = end ? end + 1 : last;
    }
    pyro_buf_adds(&out, CLEAR_REST);
    if (!out.failed && !pyro_file_write(STDOUT_FILENO, out.data, out.length))
        should_end = 1;
    pyro_buf_free(&out);
}

static void stop_for_shell(void)
{
    should_stop = 0;
    give_back();
    raise(SIGSTOP);
    take();
    was_resized = 1;
}

static int read_key(short events)
{
    unsigned char key;
    ssize_t got = read(STDIN_FILENO, &key, 1);

    if (got == 1)
        return key;
    if (got < 0 && (errno == EINTR || errno == EAGAIN) && !(events & (POLLHUP | POLLERR)))
        return TOP_TIMEOUT;
    return TOP_END;
}

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int top_terminal_wait(int64_t timeout_ms)
{
    int64_t end_ms = now_ms() + timeout_ms;

    for (;;) {
        struct pollfd input = {STDIN_FILENO, POLLIN, 0};
        int64_t left_ms = end_ms - now_ms();

        if (should_end)
            return TOP_END;
        if (should_stop)
            stop_for_shell();
        if (was_resized) {
            was_resized = 0;
            return TOP_RESIZED;
        }
        if (left_ms <= 0)
            return TOP_TIMEOUT;
        if (poll(&input, 1, (int)(left_ms < 250 ? left_ms : 250)) > 0 && input.revents)
            return read_key(input.revents);
    }
}

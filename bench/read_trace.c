/* Reads a trace and nothing more: read_trace THREADS FILE. */
#include <pyrometer/trace.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    pyro_trace *trace;
    pyro_error error;
    char line[1024];

    if (argc != 3)
        return 2;
    pyro_trace_options options = {.threads = atoi(argv[1])};
    pyro_error_clear(&error);
    if (pyro_trace_open(&trace, argv[2], &options, &error) != PYRO_OK) {
        fprintf(stderr, "%s\n", pyro_error_line(&error, line, sizeof line));
        return 1;
    }
    printf("%lld events\n", (long long)pyro_trace_event_count(trace));
    pyro_trace_close(trace);
    return 0;
}

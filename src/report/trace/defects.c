/* Writes the known defects of a trace: all of them with causes, or a short list in the overview. */
#include "report/cost/rows.h"
#include "report/text.h"
#include "report/trace/view.h"

#include <string.h>

static void write_part(pyro_trace_writer *w, const char *mark, const char *text)
{
    pyro_buf part = PYRO_BUF_INIT;

    pyro_buf_adds(&part, mark);
    pyro_text_clean(&part, text);
    pyro_text_wrap(w->buf, pyro_text_part(w->buf, &part), 5, 5 + (int)strlen(mark),
                   w->options->width);
    pyro_buf_free(&part);
}

void pyro_write_trace_defects(pyro_trace_writer *w)
{
    static const char *const severities[] = {"info", "warning", "severe"};
    size_t count = w->analysis->defect_count, shown = pyro_rows_shown(w->options, count);

    pyro_trace_heading(w, "Defects of the trace", "severity", shown, count);
    for (size_t i = 0; i < shown; i++) {
        const pyro_defect_row *row = &w->analysis->defects[i];
        pyro_buf title = PYRO_BUF_INIT;

        pyro_buf_addf(&title, "%zu. %s [%s, %s]", i + 1, row->title, row->id,
                      severities[row->severity]);
        pyro_text_wrap(w->buf, pyro_text_part(w->buf, &title), 2, 5, w->options->width);
        pyro_buf_free(&title);
        write_part(w, "", row->evidence);
        write_part(w, "cause: ", row->cause);
        write_part(w, "-> ", row->advice);
    }
}

/* Damage of the file is among the warnings already. */
void pyro_write_trace_defect_list(pyro_trace_writer *w)
{
    bool is_first = true;

    for (size_t i = 0; i < w->analysis->defect_count; i++) {
        const pyro_defect_row *row = &w->analysis->defects[i];
        pyro_buf line = PYRO_BUF_INIT;

        if (row->severity < PYRO_SEVERITY_WARNING || !strcmp(row->id, "damaged-file"))
            continue;
        if (is_first)
            pyro_text_heading(w->buf,
                              "\nDefects of the trace (--check says why):", w->options->color);
        is_first = false;
        pyro_buf_addf(&line, "- %s: ", row->title);
        pyro_text_clean(&line, row->evidence);
        pyro_text_wrap(w->buf, pyro_text_part(w->buf, &line), 2, 4, w->options->width);
        pyro_buf_free(&line);
    }
}

/* Writes the checks of `pyrometer doctor`: text, CSV, or the package's own JSON. */
#include "report/csv.h"
#include "report/text.h"
#include "report/writers.h"

#include <stdio.h>
#include <string.h>

int pyro_write_doctor_text(pyro_buf *buf, const pyro_report_request *request)
{
    const pyro_doctor *doctor = request->doctor;
    const pyro_report_options *options = request->options;

    pyro_text_heading(buf, "What works here:", options->color);
    for (size_t i = 0; i < doctor->count; i++) {
        const pyro_doctor_check *one = &doctor->checks[i];
        pyro_buf line = PYRO_BUF_INIT;
        char head[48];
        size_t start;
        const char *sign = strcmp(one->state, "ok") == 0        ? "ok"
                           : strcmp(one->state, "problem") == 0 ? "PROBLEM"
                                                                : "note";

        pyro_text_clean(&line, one->text);
        if (one->mend[0] != '\0') {
            pyro_buf_adds(&line, " -> ");
            pyro_text_clean(&line, one->mend);
        }
        snprintf(head, sizeof head, "  %-8s%-13s", sign, one->name);
        start = buf->length;
        pyro_text_wrap(buf, pyro_text_part(buf, &line), (int)strlen(head), (int)strlen(head),
                       options->width > 0 ? options->width : PYRO_TEXT_WIDTH);
        if (!buf->failed && buf->length >= start + strlen(head))
            memcpy(buf->data + start, head, strlen(head));
        pyro_buf_free(&line);
    }
    return PYRO_OK;
}

int pyro_write_doctor_csv(pyro_buf *buf, const pyro_report_request *request)
{
    const pyro_doctor *doctor = request->doctor;

    pyro_csv_header(buf, "name,state,text,mend"); /* words: ok, a column of the CSV */
    for (size_t i = 0; i < doctor->count; i++) {
        pyro_csv_text(buf, doctor->checks[i].name, false);
        pyro_csv_text(buf, doctor->checks[i].state, false);
        pyro_csv_text(buf, doctor->checks[i].text, false);
        pyro_csv_text(buf, doctor->checks[i].mend, true);
    }
    return PYRO_OK;
}

int pyro_write_doctor_json(pyro_buf *buf, const pyro_report_request *request)
{
    pyro_buf_add(buf, request->doctor->json, request->doctor->json_size);
    return PYRO_OK;
}

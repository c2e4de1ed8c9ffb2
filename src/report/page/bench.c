/* Writes benchmark results as a page; a build without the page writes the static one. */
#include "report/page/page.h"

#include "base/error.h"

#include <pyrometer/report.h>

/* The verdict against a baseline, as section "verdict". */
static int add_verdict(pyro_page *page, const pyro_comparison *comparison, pyro_error *error)
{
    pyro_report_options options = {.format = PYRO_FORMAT_JSON};
    char *text = NULL;
    size_t size = 0;
    int status = pyro_report_verdict(&text, &size, comparison, &options, error);

    if (status == PYRO_OK)
        pyro_page_add_text(page, "verdict", text, size);
    pyro_free(text);
    return status;
}

int pyro_page_add_bench(pyro_page *page, const char *name, const pyro_bench_report *report,
                        pyro_error *error)
{
    char *text = NULL;
    size_t size = 0;
    int status = pyro_report_bench(&text, &size, report, PYRO_BENCH_JSON, NULL, error);

    if (status != PYRO_OK)
        return status;
    page->next_is_plain = report->without_drawings;
    page->next_is_short = report->without_details;
    pyro_page_begin_part(page, "bench", name);
    pyro_page_add_text(page, "result", text, size);
    if (report->comparison)
        status = add_verdict(page, report->comparison, error);
    pyro_page_end_part(page);
    pyro_free(text);
    return status;
}

int pyro_report_bench_page(char **out, size_t *size, const pyro_bench_report *report,
                           const char *title, pyro_error *error)
{
    pyro_page_options options = {.title = title};
    pyro_page *page = NULL;
    int status;

    if (!pyro_page_is_available())
        return pyro_report_bench(out, size, report, PYRO_BENCH_HTML, NULL, error);
    status = pyro_page_new(&page, &options, error);
    if (status == PYRO_OK)
        status = pyro_page_add_bench(page, title, report, error);
    if (status == PYRO_OK)
        status = pyro_page_finish(out, size, page, error);
    pyro_page_free(page);
    return status;
}

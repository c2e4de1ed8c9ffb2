/* Writes HTML and SVG for static pages: text, tables and plots. */
#include "report/html.h"

#include "base/text/printable.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PLOT_WIDTH = 640, PLOT_HEIGHT = 160, MARGIN = 34, BINS_MAX = 60, POINTS_MAX = 4000 };
enum { BOX_ROW = 34, BOX_LABEL = 200, LABEL_CHARACTERS = 30 };

static const char style[] =
    ":root{color-scheme:light dark}body{font:15px/1.45 system-ui,sans-serif;max-width:60rem;"
    "margin:2rem auto;padding:0 1rem}h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}"
    "table{border-collapse:collapse;margin:.6rem 0;font-variant-numeric:tabular-nums}"
    "th,td{padding:.2rem .7rem;border-bottom:1px solid #8884;text-align:right}"
    "th{vertical-align:bottom}td{vertical-align:top}"
    "th:first-child,td:first-child,.words{text-align:left;overflow-wrap:break-word}"
    "td:first-child{max-width:24rem}"
    "td.amount{white-space:nowrap}"
    "svg{max-width:100%;height:auto}svg text{font:11px system-ui,sans-serif;fill:currentColor}"
    ".mark{fill:#2b7bba}.line{stroke:#888;stroke-width:1}.middle{stroke:#c0392b;stroke-width:2}"
    ".box{fill:#2b7bba55;stroke:#2b7bba}figure{margin:.6rem 0}"
    "figcaption{font-size:.85rem;opacity:.75}";

void pyro_html_text(pyro_buf *buf, const char *text)
{
    const char *end = text + strlen(text);

    while (text < end) {
        bool printable;
        size_t size = pyro_next_character(text, end, &printable);
        char c = *text;

        if (!printable && c != '\t' && c != '\n')
            pyro_buf_addc(buf, '?');
        else if (c == '&')
            pyro_buf_adds(buf, "&amp;");
        else if (c == '<')
            pyro_buf_adds(buf, "&lt;");
        else if (c == '>')
            pyro_buf_adds(buf, "&gt;");
        else if (c == '"')
            pyro_buf_adds(buf, "&quot;");
        else
            pyro_buf_add(buf, text, size);
        text += size;
    }
}

void pyro_html_begin(pyro_buf *buf, const char *title)
{
    pyro_buf_adds(buf, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                       "<meta name=\"viewport\" content=\"width=device-width\">\n<title>");
    pyro_html_text(buf, title);
    pyro_buf_addf(buf, "</title>\n<style>%s</style>\n</head>\n<body>\n", style);
}

void pyro_html_end(pyro_buf *buf)
{
    pyro_buf_adds(buf, "</body>\n</html>\n");
}

void pyro_html_element(pyro_buf *buf, const char *tag, const char *text)
{
    pyro_buf_addf(buf, "<%s>", tag);
    pyro_html_text(buf, text);
    pyro_buf_addf(buf, "</%s>\n", tag);
}

void pyro_html_begin_table(pyro_buf *buf, const char *const *titles, size_t count)
{
    pyro_buf_adds(buf, "<table>\n<thead><tr>\n");
    for (size_t i = 0; i < count; i++)
        pyro_html_element(buf, "th", titles[i]);
    pyro_buf_adds(buf, "</tr></thead>\n<tbody>\n");
}

void pyro_html_cell(pyro_buf *buf, const char *tag, const char *text, bool words)
{
    pyro_buf_addf(buf, words ? "<%s class=\"words\">" : "<%s>", tag);
    pyro_html_text(buf, text);
    pyro_buf_addf(buf, "</%s>\n", tag);
}

void pyro_html_end_table(pyro_buf *buf)
{
    pyro_buf_adds(buf, "</tbody>\n</table>\n");
}

static void begin_drawing(pyro_buf *buf, int height, const char *label)
{
    pyro_buf_addf(buf, "<figure><svg viewBox=\"0 0 %d %d\" width=\"%d\" role=\"img\" aria-label=\"",
                  PLOT_WIDTH, height, PLOT_WIDTH);
    pyro_html_text(buf, label);
    pyro_buf_adds(buf, "\">\n");
}

static void end_drawing(pyro_buf *buf, const char *caption)
{
    pyro_buf_adds(buf, "</svg><figcaption>");
    pyro_html_text(buf, caption);
    pyro_buf_adds(buf, "</figcaption></figure>\n");
}

static void add_label(pyro_buf *buf, double x, double y, const char *anchor, double value,
                      const char *unit)
{
    pyro_buf_addf(buf, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%.4g ", x, y, anchor, value);
    pyro_html_text(buf, unit);
    pyro_buf_adds(buf, "</text>\n");
}

typedef struct range {
    double low, high;
} range;

/* Smallest and largest value, widened when all are equal. */
static range find_range(const double *values, size_t count)
{
    range found = {values[0], values[0]};

    for (size_t i = 1; i < count; i++) {
        found.low = fmin(found.low, values[i]);
        found.high = fmax(found.high, values[i]);
    }
    if (!(found.high > found.low)) {
        double space = found.low != 0 ? fabs(found.low) * 0.01 : 1;

        found = (range){found.low - space, found.high + space};
    }
    return found;
}

static double place(const range *from, double value, double start, double end)
{
    return start + (value - from->low) / (from->high - from->low) * (end - start);
}

void pyro_html_histogram(pyro_buf *buf, const double *values, size_t count, double marked,
                         const char *unit)
{
    size_t bins[BINS_MAX] = {0}, bin_count = (size_t)ceil(2 * cbrt((double)count)), most = 1;

    if (count == 0)
        return;
    bin_count = bin_count < 8 ? 8 : bin_count > BINS_MAX ? BINS_MAX : bin_count;
    range of = find_range(values, count);
    for (size_t i = 0; i < count; i++) {
        size_t bin = (size_t)place(&of, values[i], 0, (double)bin_count);

        bin = bin < bin_count ? bin : bin_count - 1;
        bins[bin]++;
        most = bins[bin] > most ? bins[bin] : most;
    }
    begin_drawing(buf, PLOT_HEIGHT, "histogram");
    double step = (double)(PLOT_WIDTH - 2 * MARGIN) / (double)bin_count;
    double floor_y = PLOT_HEIGHT - MARGIN, room = PLOT_HEIGHT - MARGIN - 10;
    for (size_t i = 0; i < bin_count; i++) {
        double height = room * (double)bins[i] / (double)most;

        if (bins[i] > 0)
            pyro_buf_addf(buf,
                          "<rect class=\"mark\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
                          "height=\"%.1f\"><title>%zu</title></rect>\n",
                          MARGIN + step * (double)i, floor_y - height, fmax(step - 1, 0.5), height,
                          bins[i]);
    }
    if (isfinite(marked)) {
        double x = place(&of, marked, MARGIN, PLOT_WIDTH - MARGIN);

        pyro_buf_addf(buf,
                      "<line class=\"middle\" x1=\"%.1f\" x2=\"%.1f\" y1=\"6\" y2=\"%.1f\"/>\n", x,
                      x, floor_y);
    }
    add_label(buf, MARGIN, PLOT_HEIGHT - 12, "start", of.low, unit);
    add_label(buf, PLOT_WIDTH - MARGIN, PLOT_HEIGHT - 12, "end", of.high, unit);
    end_drawing(buf, "Frequency; the line marks the median");
}

void pyro_html_sequence(pyro_buf *buf, const double *values, size_t count, const char *unit)
{
    size_t stride = count / POINTS_MAX + 1;

    if (count == 0)
        return;
    range of = find_range(values, count);
    begin_drawing(buf, PLOT_HEIGHT, "run sequence");
    pyro_buf_addf(buf, "<line class=\"line\" x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\"/>\n", MARGIN,
                  PLOT_WIDTH - MARGIN, PLOT_HEIGHT - MARGIN, PLOT_HEIGHT - MARGIN);
    for (size_t i = 0; i < count; i += stride) {
        double x = MARGIN + (PLOT_WIDTH - 2.0 * MARGIN) * ((double)i + 0.5) / (double)count;

        pyro_buf_addf(buf, "<circle class=\"mark\" r=\"2\" cx=\"%.1f\" cy=\"%.1f\"/>\n", x,
                      place(&of, values[i], PLOT_HEIGHT - MARGIN - 4, 14));
    }
    add_label(buf, MARGIN, 10, "start", of.high, unit);
    add_label(buf, MARGIN, PLOT_HEIGHT - 12, "start", of.low, unit);
    end_drawing(buf, stride > 1 ? "In order of measurement (thinned)" : "In order of measurement");
}

static void draw_box(pyro_buf *buf, const pyro_html_box *box, const range *of, double top)
{
    double start = BOX_LABEL, end = PLOT_WIDTH - 12, middle = top + BOX_ROW / 2.0;
    double q1 = place(of, box->q1, start, end), q3 = place(of, box->q3, start, end);
    double median = place(of, box->median, start, end);
    char name[LABEL_CHARACTERS + 4] = "";

    strncat(name, box->name, LABEL_CHARACTERS);
    pyro_buf_addf(buf, "<text x=\"0\" y=\"%.1f\">", middle + 4);
    pyro_html_text(buf, name);
    pyro_buf_addf(
        buf, "</text>\n<line class=\"line\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>\n",
        place(of, box->min, start, end), place(of, box->max, start, end), middle, middle);
    pyro_buf_addf(buf,
                  "<rect class=\"box\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\"/>\n"
                  "<line class=\"middle\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>\n",
                  q1, middle - 9, fmax(q3 - q1, 1), 18, median, median, middle - 9, middle + 9);
}

void pyro_html_boxes(pyro_buf *buf, const pyro_html_box *boxes, size_t count, const char *unit)
{
    double *ends = malloc((2 * count + 1) * sizeof *ends);
    int height = (int)(count < 500 ? count : 500) * BOX_ROW + 24;

    if (!ends) {
        buf->failed = true;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        ends[2 * i] = boxes[i].min;
        ends[2 * i + 1] = boxes[i].max;
    }
    if (count > 0) {
        range of = find_range(ends, 2 * count);

        begin_drawing(buf, height, "comparison");
        for (size_t i = 0; i < count && i < 500; i++)
            draw_box(buf, &boxes[i], &of, (double)i * BOX_ROW);
        add_label(buf, BOX_LABEL, height - 6, "start", of.low, unit);
        add_label(buf, PLOT_WIDTH - 12, height - 6, "end", of.high, unit);
        end_drawing(buf, "Box: quartiles and median; line: smallest to largest");
    }
    free(ends);
}

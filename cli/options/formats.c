/* Finds formats by name and by extension, and lists them for help and messages. */
#include "cli/options/formats.h"

#include "cli/command.h"

#include <string.h>
#include <strings.h>

enum { MOST_FORMATS = 16 };

/* The purpose of a format. Formats without a row are listed by name only. */
static const struct {
    const char *name, *purpose;
} purposes[] = {
    {"text", "for people"},           {"json", "for programs"},
    {"csv", "for spreadsheets"},      {"dot", "for Graphviz"},
    {"graphml", "for graph editors"}, {"svg", "(through Graphviz's dot)"},
    {"html", "for a browser"},        {"python", "a script"},
};

/* Collects the writers of a kind that --format offers; returns their number. */
static int list_rows(pyro_report_kind kind, const pyro_writer *rows[MOST_FORMATS])
{
    size_t count;
    const pyro_writer *writers = pyro_writers(&count);
    int found = 0;

    for (size_t i = 0; i < count && found < MOST_FORMATS; i++)
        if (writers[i].kind == kind && writers[i].extension)
            rows[found++] = &writers[i];
    return found;
}

const char *const *pyro_format_names(pyro_report_kind kind)
{
    static const char *names[PYRO_REPORT_KIND_COUNT][MOST_FORMATS + 1];
    const pyro_writer *rows[MOST_FORMATS];
    int count = list_rows(kind, rows);

    for (int i = 0; i < count; i++)
        names[kind][i] = rows[i]->name;
    return names[kind];
}

const pyro_writer *pyro_format_named(pyro_report_kind kind, const char *name)
{
    const pyro_writer *rows[MOST_FORMATS];
    int count = list_rows(kind, rows);

    for (int i = 0; i < count; i++)
        if (strcmp(rows[i]->name, name) == 0)
            return rows[i];
    return NULL;
}

const pyro_writer *pyro_format_default(pyro_report_kind kind)
{
    const pyro_writer *rows[MOST_FORMATS];

    return list_rows(kind, rows) > 0 ? rows[0] : NULL;
}

const pyro_writer *pyro_format_of_file(pyro_report_kind kind, const char *path)
{
    const pyro_writer *rows[MOST_FORMATS];
    int count = list_rows(kind, rows);
    size_t length = strlen(path);

    for (int i = 0; i < count; i++) {
        size_t end = strlen(rows[i]->extension);

        if (length > end && strcasecmp(path + length - end, rows[i]->extension) == 0)
            return rows[i];
    }
    return NULL;
}

/* ", " or " or " before the item with that index; nothing before the first. */
static void add_joint(pyro_buf *buf, int index, int count)
{
    if (index > 0)
        pyro_buf_adds(buf, index + 1 == count ? " or " : ", ");
}

void pyro_format_list(pyro_buf *buf, pyro_report_kind kind)
{
    const pyro_writer *rows[MOST_FORMATS];
    int count = list_rows(kind, rows);

    for (int i = 0; i < count; i++) {
        add_joint(buf, i, count);
        pyro_buf_adds(buf, rows[i]->name);
        for (size_t k = 0; k < sizeof purposes / sizeof *purposes; k++)
            if (strcmp(rows[i]->name, purposes[k].name) == 0)
                pyro_buf_addf(buf, " %s", purposes[k].purpose);
    }
}

void pyro_format_list_extensions(pyro_buf *buf, pyro_report_kind kind)
{
    const pyro_writer *rows[MOST_FORMATS];
    int count = list_rows(kind, rows);

    for (int i = 0; i < count; i++) {
        add_joint(buf, i, count);
        pyro_buf_adds(buf,
                      rows[(i + 1) % count]->extension); /* text, the first, is the last here */
    }
}

const char *const *pyro_command_choices(const pyro_command *command, const pyro_option *option)
{
    return option->kind == PYRO_OPTION_FORMAT ? pyro_format_names(command->report)
                                              : option->choices;
}

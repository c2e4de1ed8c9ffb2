/* Formats the texts of evidence, and thresholds in their units. */
#include "analyze/findings/evidence.h"
#include "base/text/units.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

pyro_evidence pyro_evidence_begin(pyro_arena *arena, double threshold)
{
    return (pyro_evidence){.threshold = threshold,
                           .text = "",
                           .place = "",
                           .gain_ns = -1,
                           .gain_basis = "",
                           .rank_ns = -1,
                           .arena = arena};
}

void pyro_evidence_add_part(pyro_evidence *evidence, const char *id, const char *title,
                            const char *place, int64_t gain_ns)
{
    if (gain_ns > 0 && evidence->part_count < PYRO_MOST_EVIDENCE_PARTS)
        evidence->parts[evidence->part_count++] = (pyro_evidence_part){id, title, place, gain_ns};
}

static const char *format_text(pyro_evidence *evidence, const char *format, va_list arguments)
{
    char text[1024];
    vsnprintf(text, sizeof text, format, arguments);
    const char *kept = pyro_arena_text(evidence->arena, text, strlen(text));
    evidence->memory_out |= !kept;
    return kept ? kept : "";
}

void pyro_evidence_say(pyro_evidence *evidence, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    evidence->text = format_text(evidence, format, arguments);
    va_end(arguments);
}

void pyro_evidence_limit(pyro_evidence *evidence, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    evidence->limit = format_text(evidence, format, arguments);
    va_end(arguments);
}

const char *pyro_evidence_text(pyro_evidence *evidence, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const char *text = format_text(evidence, format, arguments);
    va_end(arguments);
    return text;
}

/* From here on a reader wants seconds. */
#define SECOND_NS 1000000000

const char *pyro_evidence_time(pyro_evidence *evidence, int64_t time_ns)
{
    char text[PYRO_UNIT_TEXT];
    if (time_ns < SECOND_NS)
        return pyro_evidence_text(evidence, "%.3f ms", (double)time_ns / 1e6);
    return pyro_evidence_text(evidence, "%s", pyro_format_duration(text, time_ns));
}

const char *pyro_evidence_part_of(pyro_evidence *evidence, int64_t part_ns, int64_t whole_ns)
{
    char part[PYRO_UNIT_TEXT], whole[PYRO_UNIT_TEXT];
    if (whole_ns < SECOND_NS)
        return pyro_evidence_text(evidence, "%.3f of %.3f ms", (double)part_ns / 1e6,
                                  (double)whole_ns / 1e6);
    return pyro_evidence_text(evidence, "%s of %s", pyro_format_duration(part, part_ns),
                              pyro_format_duration(whole, whole_ns));
}

void pyro_evidence_add_threshold(pyro_evidence *evidence, pyro_threshold_unit unit)
{
    static const struct {
        const char *suffix;
        double factor, offset;
    } units[] = {
        [PYRO_UNIT_SHARE] = {"%", 100, 0},      [PYRO_UNIT_REST] = {"%", -100, 100},
        [PYRO_UNIT_NUMBER] = {"", 1, 0},        [PYRO_UNIT_PER_STEP] = {" per step", 1, 0},
        [PYRO_UNIT_MEBIBYTES] = {" MiB", 1, 0},
    };
    const char *text = evidence->text;
    if (unit == PYRO_UNIT_OWN)
        text = pyro_arena_format(evidence->arena, "%s; threshold %s", text, evidence->limit);
    else
        text = pyro_arena_format(evidence->arena, "%s; threshold %g%s", text,
                                 evidence->threshold * units[unit].factor + units[unit].offset,
                                 units[unit].suffix);
    evidence->memory_out |= !text;
    evidence->text = text ? text : "";
}

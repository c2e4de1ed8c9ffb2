/* Reads the values of args into the event, each by its kind. */
#ifndef PYRO_TRACE_KINETO_FIELDS_H
#define PYRO_TRACE_KINETO_FIELDS_H

#include "trace/kineto/values.h"

/* Three numbers, `[2, 3, 4]`; any other value counts as 0. */
const char *pyro_kineto_triple(pyro_kineto_scanner *scanner, const char *at, uint32_t *triple,
                               bool *ok);
const char *pyro_kineto_real(pyro_kineto_scanner *scanner, const char *at, float *real, bool *ok);

static inline const char *pyro_kineto_list_field(pyro_kineto_scanner *scanner, const char *at,
                                                 unsigned field)
{
    uint32_t list = PYRO_NO_ID, *last = &scanner->last_list[field - PYRO_FIELD_DIMS];
    uint32_t *guess = pyro_kineto_guess(scanner, scanner->event.name + (field << 24), *last);
    at = pyro_kineto_list(scanner, at, guess, &list);
    *last = list;
    scanner->event.number[field] = list;
    scanner->event.present |= (uint64_t)(list != PYRO_NO_ID) << field;
    return at;
}

static inline const char *pyro_kineto_text_field(pyro_kineto_scanner *scanner, const char *at,
                                                 unsigned field)
{
    uint32_t text = PYRO_NO_ID;
    uint32_t *guess = pyro_kineto_guess(scanner, scanner->event.name, field);
    at = pyro_kineto_text(scanner, at, guess, &text);
    scanner->event.number[field] = text;
    scanner->event.present |= (uint64_t)(text != PYRO_NO_ID) << field;
    return at;
}

/* Reads the value at `at` of a needed field; `action` is its kind. */
static inline const char *pyro_kineto_field_value(pyro_kineto_scanner *scanner, const char *at,
                                                  unsigned action, unsigned field)
{
    pyro_kineto_event *event = &scanner->event;
    bool ok = false;
    switch (action) {
    case PYRO_ACTION_INTEGER:
        at = pyro_kineto_integer(scanner, at, &event->number[field], &ok);
        break;
    case PYRO_ACTION_LIST:
        return pyro_kineto_list_field(scanner, at, field);
    case PYRO_ACTION_TEXT:
        return pyro_kineto_text_field(scanner, at, field);
    case PYRO_ACTION_REAL:
        at = pyro_kineto_real(scanner, at, &event->real[field], &ok);
        break;
    case PYRO_ACTION_TRIPLE:
        at = pyro_kineto_triple(scanner, at, field == PYRO_FIELD_GRID ? event->grid : event->block,
                                &ok);
        break;
    default:
        return pyro_kineto_skip_value(scanner, at);
    }
    event->present |= (uint64_t)ok << field;
    return at;
}

#endif

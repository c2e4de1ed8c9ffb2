/* Expands commands, names and parameters into the list of runs. */
#include "cli/bench/plan.h"

#include "base/containers/buf.h"
#include "base/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PLANNED_MAX = 10000, VALUES_MAX = 10000 };

/* A parameter and its values. */
typedef struct parameter {
    const char *name;
    const char **values;
    size_t count;
} parameter;

typedef struct maker {
    pyro_plan *plan;
    const pyro_plan_request *request;
    parameter *parameters;
    size_t parameter_count;
    pyro_error *error;
} maker;

static int check_name(const maker *m, const char *name)
{
    for (size_t i = 0; i < m->parameter_count; i++)
        if (strcmp(m->parameters[i].name, name) == 0)
            return pyro_fail(m->error, PYRO_ERROR_ARGUMENT, "parameter %.60s is given twice", name);
    if (name[0] == '\0' || strpbrk(name, "{}"))
        return pyro_fail(m->error, PYRO_ERROR_ARGUMENT, "invalid parameter name %.60s", name);
    return PYRO_OK;
}

/* "a,b,c"; a backslash keeps a comma. */
static int read_list(maker *m, parameter *out, const char *name, const char *text)
{
    pyro_buf value = PYRO_BUF_INIT;
    size_t most = 1;
    int status = check_name(m, name);

    for (const char *at = text; *at != '\0'; at++)
        most += *at == ',';
    *out = (parameter){name, pyro_arena_array(&m->plan->arena, most, sizeof(char *)), 0};
    if (status == PYRO_OK && !out->values)
        status = pyro_fail_memory(m->error);
    for (const char *at = text; status == PYRO_OK; at++) {
        if (*at == ',' || *at == '\0') {
            out->values[out->count] = pyro_arena_text(&m->plan->arena, value.data ? value.data : "",
                                                      value.length);
            if (value.failed || !out->values[out->count++])
                status = pyro_fail_memory(m->error);
            pyro_buf_reset(&value);
            if (*at == '\0')
                break;
            continue;
        }
        if (*at == '\\' && at[1] == ',')
            at++;
        pyro_buf_addc(&value, *at);
    }
    pyro_buf_free(&value);
    return status;
}

static int decimals_of(const char *text)
{
    const char *dot = text ? strchr(text, '.') : NULL;
    size_t digits = dot ? strspn(dot + 1, "0123456789") : 0;

    return digits < 12 ? (int)digits : 12;
}

static int larger(int a, int b)
{
    return a > b ? a : b;
}

/* MIN, MIN + step, ... MAX, written with as many decimals as the numbers given. */
static int read_scan(maker *m, parameter *out, const char *name, const char *low, const char *high)
{
    double first, last, step = m->request->step_text ? m->request->step : 1;
    int status = check_name(m, name);

    if (status != PYRO_OK)
        return status;
    if (!pyro_parse_number(low, &first) || !pyro_parse_number(high, &last))
        return pyro_fail(m->error, PYRO_ERROR_ARGUMENT,
                         "--parameter-scan %.60s: %.60s, %.60s: not numbers", name, low, high);
    double count = floor((last - first) / step + 1e-9) + 1;
    if (!(step > 0) || !(count >= 1 && count <= VALUES_MAX))
        return pyro_fail(m->error, PYRO_ERROR_ARGUMENT,
                         "--parameter-scan %.60s: %.60s to %.60s by %g gives no values, or more "
                         "than %d",
                         name, low, high, step, VALUES_MAX);
    int decimals = larger(larger(decimals_of(low), decimals_of(high)),
                          decimals_of(m->request->step_text));
    *out = (parameter){name, pyro_arena_array(&m->plan->arena, (size_t)count, sizeof(char *)), 0};
    for (size_t i = 0; out->values && i < (size_t)count; i++) {
        out->values[i] = pyro_arena_format(&m->plan->arena, "%.*f", decimals,
                                           first + step * (double)i);
        if (!out->values[i])
            return pyro_fail_memory(m->error);
        out->count++;
    }
    return out->values ? PYRO_OK : pyro_fail_memory(m->error);
}

static int read_parameters(maker *m)
{
    const pyro_words *lists = m->request->parameter_lists, *scans = m->request->parameter_scans;
    size_t most = lists->count / 2 + scans->count / 3;
    int status = PYRO_OK;

    m->parameters = pyro_arena_array(&m->plan->arena, most + 1, sizeof *m->parameters);
    if (!m->parameters)
        return pyro_fail_memory(m->error);
    for (size_t i = 0; i + 1 < lists->count && status == PYRO_OK; i += 2) {
        status = read_list(m, &m->parameters[m->parameter_count], lists->items[i],
                           lists->items[i + 1]);
        m->parameter_count++;
    }
    for (size_t i = 0; i + 2 < scans->count && status == PYRO_OK; i += 3) {
        status = read_scan(m, &m->parameters[m->parameter_count], scans->items[i],
                           scans->items[i + 1], scans->items[i + 2]);
        m->parameter_count++;
    }
    return status;
}

/* Every {name} that is a parameter becomes its value; NULL stays NULL. */
static const char *substitute(maker *m, const char *text, const pyro_planned *planned)
{
    pyro_buf out = PYRO_BUF_INIT;
    const char *result;

    if (!text)
        return NULL;
    while (*text != '\0') {
        const pyro_pair *found = NULL;
        size_t length = 0;

        for (size_t i = 0; *text == '{' && i < planned->parameter_count; i++) {
            length = strlen(planned->parameters[i].name);
            if (strncmp(text + 1, planned->parameters[i].name, length) == 0 &&
                text[length + 1] == '}') {
                found = &planned->parameters[i];
                break;
            }
        }
        if (found) {
            pyro_buf_adds(&out, found->value);
            text += length + 2;
        } else {
            pyro_buf_addc(&out, *text++);
        }
    }
    result = out.failed ? NULL
                        : pyro_arena_text(&m->plan->arena, out.data ? out.data : "", out.length);
    pyro_buf_free(&out);
    if (!result)
        pyro_fail_memory(m->error);
    return result;
}

/* Makes names unique, since verdicts match results by name. */
static const char *make_unique(maker *m, const char *name)
{
    size_t same = 1;

    for (size_t i = 0; i < m->plan->count; i++) {
        const char *other = m->plan->items[i].name;
        size_t length = strlen(name);

        if (strncmp(other, name, length) == 0 &&
            (other[length] == '\0' || strncmp(other + length, " #", 2) == 0))
            same++;
    }
    return same == 1 ? name : pyro_arena_format(&m->plan->arena, "%s #%zu", name, same);
}

/* The combination of values with this index; the last parameter changes fastest. */
static int choose_values(maker *m, pyro_planned *planned, size_t number)
{
    planned->parameters = pyro_arena_array(&m->plan->arena, m->parameter_count + 1,
                                           sizeof *planned->parameters);
    if (!planned->parameters)
        return pyro_fail_memory(m->error);
    planned->parameter_count = m->parameter_count;
    for (size_t i = m->parameter_count; i-- > 0;) {
        const parameter *from = &m->parameters[i];

        planned->parameters[i] = (pyro_pair){from->name, from->values[number % from->count]};
        number /= from->count;
    }
    return PYRO_OK;
}

static int plan_one(maker *m, size_t command, size_t number)
{
    const pyro_plan_request *request = m->request;
    pyro_planned *planned = &m->plan->items[m->plan->count];
    size_t prepare = request->prepare->count == 1 ? 0 : command;
    int status = choose_values(m, planned, number);

    if (status != PYRO_OK)
        return status;
    planned->command = substitute(m, request->commands->items[command], planned);
    planned->prepare = request->prepare->count > 0
                           ? substitute(m, request->prepare->items[prepare], planned)
                           : NULL;
    planned->setup = substitute(m, request->setup, planned);
    planned->cleanup = substitute(m, request->cleanup, planned);
    planned->name = planned->command;
    if (command < request->names->count)
        planned->name = substitute(m, request->names->items[command], planned);
    if (m->error->code != PYRO_OK)
        return m->error->code;
    planned->name = make_unique(m, planned->name);
    if (!planned->name)
        return pyro_fail_memory(m->error);
    m->plan->count++;
    return PYRO_OK;
}

static int check_request(const pyro_plan_request *request, pyro_error *error)
{
    if (request->names->count > request->commands->count)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT, "%zu names for %zu commands",
                         request->names->count, request->commands->count);
    if (request->prepare->count > 1 && request->prepare->count != request->commands->count)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                         "give --prepare once, or once for each of the %zu commands",
                         request->commands->count);
    for (size_t i = 0; i < request->commands->count; i++)
        if (request->commands->items[i][strspn(request->commands->items[i], " \t\n")] == '\0')
            return pyro_fail(error, PYRO_ERROR_ARGUMENT, "command %zu is empty", i + 1);
    return PYRO_OK;
}

int pyro_plan_make(pyro_plan *out, const pyro_plan_request *request, pyro_error *error)
{
    maker m = {out, request, NULL, 0, error};
    size_t combinations = 1;

    memset(out, 0, sizeof *out);
    pyro_arena_init(&out->arena);
    int status = check_request(request, error);
    if (status == PYRO_OK)
        status = read_parameters(&m);
    for (size_t i = 0; i < m.parameter_count && status == PYRO_OK; i++) {
        combinations *= m.parameters[i].count;
        if (combinations * request->commands->count > PLANNED_MAX)
            status = pyro_fail(error, PYRO_ERROR_ARGUMENT, "more than %d combinations",
                               PLANNED_MAX);
    }
    if (status == PYRO_OK) {
        out->items = pyro_arena_array(&out->arena, combinations * request->commands->count + 1,
                                      sizeof *out->items);
        if (!out->items)
            status = pyro_fail_memory(error);
    }
    for (size_t i = 0; i < request->commands->count && status == PYRO_OK; i++)
        for (size_t j = 0; j < combinations && status == PYRO_OK; j++)
            status = plan_one(&m, i, j);
    return status;
}

void pyro_plan_free(pyro_plan *plan)
{
    pyro_arena_free(&plan->arena);
}

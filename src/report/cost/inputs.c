/* Describes the inputs of a model: names, types, sizes, and which sizes may change. */
#include "report/text.h"
#include "report/writers.h"

#include <string.h>

enum { INPUTS_SHOWN = 6, OPEN_SHOWN = 4 };

static void add_shape(pyro_buf *buf, const pyro_input *input)
{
    pyro_buf_addc(buf, '[');
    for (size_t i = 0; i < input->rank; i++) {
        const char *symbol = input->symbols ? input->symbols[i] : NULL;

        pyro_buf_adds(buf, i == 0 ? "" : ", ");
        if (input->dims[i] >= 0)
            pyro_buf_addf(buf, "%lld", (long long)input->dims[i]);
        else
            pyro_text_clean(buf, symbol ? symbol : "?"); /* --size gives it a value */
    }
    pyro_buf_addc(buf, ']');
}

int pyro_text_inputs(pyro_buf *buf, pyro_model *model, pyro_error *error)
{
    size_t count = pyro_model_input_count(model);

    for (size_t i = 0; i < count && i < INPUTS_SHOWN; i++) {
        pyro_input input;
        int status = pyro_model_input(model, i, &input, error);

        if (status != PYRO_OK)
            return status;
        pyro_buf_adds(buf, i == 0 ? "" : ", ");
        pyro_text_clean(buf, input.name);
        pyro_buf_addf(buf, " %s ", input.dtype);
        add_shape(buf, &input);
    }
    if (count > INPUTS_SHOWN)
        pyro_buf_addf(buf, " and %zu more", count - INPUTS_SHOWN);
    if (count == 0)
        pyro_buf_adds(buf, "none");
    return PYRO_OK;
}

/* A word of a list that is written as "a, b, c". */
static void add_word(pyro_buf *buf, const char *word)
{
    pyro_buf_adds(buf, buf->length == 0 ? "" : ", ");
    pyro_text_clean(buf, word);
}

/* The file's names of open sizes, each once. */
static void add_named_sizes(pyro_buf *buf, const pyro_facts *facts)
{
    for (size_t i = 0; i < facts->dim_count; i++) {
        bool known = false;

        for (size_t j = 0; j < i; j++)
            known = known || strcmp(facts->dims[j].what, facts->dims[i].what) == 0;
        if (!known)
            add_word(buf, facts->dims[i].what);
    }
}

/* "dims 0, 2 of x"; false where all sizes of the input are fixed. */
static bool add_open_dims(pyro_buf *buf, const pyro_input *input)
{
    bool open = false;

    for (size_t axis = 0; input->symbols && axis < input->rank; axis++) {
        if (!input->symbols[axis])
            continue;
        pyro_buf_addf(buf, "%s%zu",
                      !open && buf->length == 0 ? "dim "
                      : !open                   ? "; dim "
                                                : ", ",
                      axis);
        open = true;
    }
    if (open) {
        pyro_buf_adds(buf, " of ");
        pyro_text_clean(buf, input->name);
    }
    return open;
}

int pyro_text_open_sizes(pyro_buf *buf, pyro_model *model, pyro_error *error)
{
    const pyro_facts *facts = pyro_model_facts(model);
    size_t count = pyro_model_input_count(model), shown = 0;

    if (facts->dims) {
        add_named_sizes(buf, facts);
        return PYRO_OK;
    }
    for (size_t i = 0; i < count && shown < OPEN_SHOWN; i++) {
        pyro_input input;
        int status = pyro_model_input(model, i, &input, error);

        if (status != PYRO_OK)
            return status;
        shown += add_open_dims(buf, &input);
        if (shown == OPEN_SHOWN && i + 1 < count)
            pyro_buf_adds(buf, "; ...");
    }
    return PYRO_OK;
}

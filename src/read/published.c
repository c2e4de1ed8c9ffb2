/* The table of numbers that torchvision publishes for its models. */
#include <pyrometer/catalog.h>

static const pyro_published rows[] = {
#define PUBLISHED(model, weights, side, milli_gmacs, params) \
    {model, weights, side, milli_gmacs, params, NULL, 0},
#define PUBLISHED_BOXES(model, weights, side, milli_gmacs, params, boxes, count) \
    {model, weights, side, milli_gmacs, params, boxes, count},
#include "read/published.def"
};

const pyro_published *pyro_published_at(size_t index)
{
    return index < sizeof rows / sizeof *rows ? &rows[index] : NULL;
}

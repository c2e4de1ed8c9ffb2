/* What torchvision publishes of its models, as rows. */
#include <pyrometer/catalog.h>

static const pyro_published rows[] = {
#define PUBLISHED(model, weights, side, milli_gmacs, params) \
    {model, weights, side, milli_gmacs, params, NULL},
#define PUBLISHED_WITHOUT(model, weights, side, milli_gmacs, params, boxes) \
    {model, weights, side, milli_gmacs, params, boxes},
#include "read/published.def"
};

const pyro_published *pyro_published_at(size_t index)
{
    return index < sizeof rows / sizeof *rows ? &rows[index] : NULL;
}

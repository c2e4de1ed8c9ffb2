/*
 * Joins kernels beside each other: products of one input (query, key and value; gate and up),
 * products of one size, such as those of experts, and pointwise kernels that read the same value.
 */
#include "fuse/groups.h"

#include <string.h>

#define MOST_TRIES 64 /* partners of one kernel */

/* The activation that a product reads, and the shape of its weight; false: it has no weight. */
typedef struct product_shape {
    uint32_t input, weight; /* values */
    int64_t weight_elements;
} product_shape;

static bool shape_of(const pyro_groups *g, uint32_t kernel, product_shape *out)
{
    const pyro_kernel *product = &g->kernels->items[kernel];
    *out = (product_shape){PYRO_NO_VALUE, PYRO_NO_VALUE, 0};
    if (product->kind != PYRO_KERNEL_PRODUCT)
        return false;
    for (uint32_t i = 0; i < product->use_count; i++) {
        const pyro_kernel_use *use = &g->kernels->uses[product->first_use + i];
        if (use->is_weight && use->elements > out->weight_elements) {
            out->weight = use->origin;
            out->weight_elements = use->elements;
        } else if (!use->is_weight && out->input == PYRO_NO_VALUE) {
            /* Parts of one value are different inputs. */
            out->input = use->is_in_place ? use->origin : use->value;
        }
    }
    return out->input != PYRO_NO_VALUE && out->weight != PYRO_NO_VALUE;
}

/* Equal but for numbers in their paths, one of which differs: experts.0.w1 and experts.1.w1. */
static bool are_siblings(const char *a, const char *b)
{
    int differing = 0;
    while (*a && *b) {
        bool is_number = *a >= '0' && *a <= '9' && *b >= '0' && *b <= '9';
        if (!is_number) {
            if (*a++ != *b++)
                return false;
            continue;
        }
        size_t length = strspn(a, "0123456789"), other = strspn(b, "0123456789");
        differing += length != other || memcmp(a, b, length) != 0;
        a += length;
        b += other;
    }
    return !*a && !*b && differing == 1;
}

static bool can_share(pyro_groups *g, uint32_t a, uint32_t b)
{
    return a != b && g->groups[a].core == g->groups[b].core && pyro_groups_can_join(g, a, b);
}

/* Both kernels beside each other: neither reads what the other one made. */
static bool are_beside(const pyro_groups *g, uint32_t a, uint32_t b)
{
    for (uint32_t k = b; k != PYRO_NO_KERNEL; k = g->next[k]) {
        const pyro_kernel *kernel = &g->kernels->items[k];
        for (uint32_t i = 0; i < kernel->use_count; i++) {
            uint32_t source = g->kernels->uses[kernel->first_use + i].source;
            if (source != PYRO_NO_KERNEL && pyro_groups_of(g, source) == a)
                return false;
        }
    }
    return true;
}

static bool join_beside(pyro_groups *g, uint32_t a, uint32_t b)
{
    if (!can_share(g, a, b) || !are_beside(g, a, b) || !are_beside(g, b, a))
        return false;
    pyro_groups_join(g, a, b, a);
    return true;
}

static void join_products(pyro_groups *g, const pyro_cost *cost, uint32_t kernel)
{
    product_shape mine, other;
    uint32_t tries = 0;
    if (!shape_of(g, kernel, &mine))
        return;
    for (uint32_t k = kernel; k-- > 0 && tries < MOST_TRIES;) {
        if (!shape_of(g, k, &other))
            continue;
        tries++;
        bool is_shared = other.input == mine.input && other.weight != mine.weight;
        bool is_sibling = !is_shared && other.weight_elements == mine.weight_elements &&
                          other.weight != mine.weight &&
                          are_siblings(cost->nodes[g->kernels->items[k].cost_node].layer,
                                       cost->nodes[g->kernels->items[kernel].cost_node].layer);
        uint32_t a = pyro_groups_of(g, k), b = pyro_groups_of(g, kernel);
        if ((!is_shared && !is_sibling) || !join_beside(g, a, b))
            continue;
        uint32_t joined = pyro_groups_of(g, kernel);
        g->groups[joined].is_projections |= is_shared;
        g->groups[joined].is_parallel |= is_sibling;
        return;
    }
}

/* Pointwise groups that read one value and walk as many. */
static void join_pointwise(pyro_groups *g, uint32_t kernel)
{
    const pyro_kernel *reader = &g->kernels->items[kernel];
    for (uint32_t i = 0; i < reader->use_count; i++) {
        const pyro_kernel_use *use = &g->kernels->uses[reader->first_use + i];
        if (use->source == PYRO_NO_KERNEL)
            continue;
        const pyro_kernel *made = &g->kernels->items[use->source];
        uint32_t count = made->reader_count < MOST_TRIES ? made->reader_count : MOST_TRIES;
        for (uint32_t r = 0; r < count; r++) {
            uint32_t other = g->kernels->readers[made->first_reader + r];
            if (other >= kernel)
                break;
            uint32_t a = pyro_groups_of(g, other), b = pyro_groups_of(g, kernel);
            if (g->groups[a].core == PYRO_CORE_POINTWISE &&
                g->groups[b].core == PYRO_CORE_POINTWISE &&
                g->groups[a].elements == g->groups[b].elements)
                join_beside(g, a, b);
        }
    }
}

void pyro_fuse_horizontal(pyro_groups *groups, const pyro_cost *cost)
{
    for (uint32_t k = 0; k < groups->kernels->count; k++) {
        if (groups->kernels->items[k].kind == PYRO_KERNEL_PRODUCT)
            join_products(groups, cost, k);
        else if (groups->groups[pyro_groups_of(groups, k)].core == PYRO_CORE_POINTWISE)
            join_pointwise(groups, k);
    }
}

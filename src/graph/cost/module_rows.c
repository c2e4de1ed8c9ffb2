/*
 * Rolls costs up into the module tree: every module with its descendants. Most reports need layers
 * only, so that the tree is made on the first request.
 */
#include "base/pages.h"
#include "graph/cost/rollup.h"
#include <stdlib.h>
#include <string.h>

/* Parents before children, children in the order of their first node. */
static uint32_t *tree_order(const pyro_cost *cost, size_t *count)
{
    const pyro_cost_sums *sums = &cost->sums;
    size_t modules = cost->model->module_count;
    const pyro_module *tree = cost->model->modules;
    uint32_t *first_child = malloc(modules * sizeof *first_child);
    uint32_t *last_child = malloc(modules * sizeof *last_child);
    uint32_t *sibling = malloc(modules * sizeof *sibling);
    uint32_t *order = malloc(modules * sizeof *order);
    bool *linked = calloc(modules, sizeof *linked);
    if (first_child && last_child && sibling && order && linked) {
        for (size_t m = 0; m < modules; m++)
            first_child[m] = last_child[m] = sibling[m] = PYRO_NO_VALUE;
        linked[0] = true;
        for (size_t i = 0; i < sums->count; i++) {
            for (uint32_t m = sums->owners[i]; !linked[m]; m = tree[m].parent) {
                linked[m] = true;
                uint32_t parent = tree[m].parent;
                if (first_child[parent] == PYRO_NO_VALUE)
                    first_child[parent] = m;
                else
                    sibling[last_child[parent]] = m;
                last_child[parent] = m;
            }
        }
        *count = 0;
        for (uint32_t m = 0; m != PYRO_NO_VALUE;) {
            order[(*count)++] = m;
            if (first_child[m] != PYRO_NO_VALUE) {
                m = first_child[m];
                continue;
            }
            while (m != 0 && sibling[m] == PYRO_NO_VALUE)
                m = tree[m].parent;
            m = m == 0 ? PYRO_NO_VALUE : sibling[m];
        }
    } else {
        free(order);
        order = NULL;
    }
    free(first_child);
    free(last_child);
    free(sibling);
    free(linked);
    return order;
}

/* Fills the rows with what each module itself does. */
static void copy_own(pyro_cost *cost, pyro_cost_row *rows, int64_t (*leader)[2],
                     const uint32_t *order, size_t count)
{
    const pyro_cost_sums *sums = &cost->sums;
    for (size_t i = 0; i < count; i++) {
        uint32_t own = sums->row_of[order[i]];
        if (!own)
            continue;
        rows[i].type = sums->rows[own - 1].type;
        rows[i].work = sums->rows[own - 1].work;
        rows[i].operators = sums->rows[own - 1].operators;
        memcpy(leader[i], sums->leader[own - 1], sizeof leader[i]);
    }
}

/* A module's type is the heaviest one of any module in it. */
static bool add_to_parents(pyro_cost *cost, pyro_cost_row *rows, int64_t (*leader)[2],
                           const uint32_t *order, const uint32_t *row_of, size_t count)
{
    bool good = true;
    /* Children come after their parents: in reverse, each is complete when added to its parent. */
    for (size_t i = count; good && i-- > 1;) {
        size_t above = row_of[cost->model->modules[order[i]].parent];
        rows[above].operators += rows[i].operators;
        if (pyro_cost_is_heavier(leader[i], leader[above])) {
            rows[above].type = rows[i].type;
            memcpy(leader[above], leader[i], sizeof leader[above]);
        }
        good = pyro_cost_add_work(cost, &rows[above].work, &rows[i].work);
    }
    for (size_t i = 0; good && i < count; i++)
        good = pyro_cost_name_row(cost, &rows[i], order[i]);
    return good;
}

static void make_modules(pyro_cost *cost)
{
    size_t count = 0;
    uint32_t *order = tree_order(cost, &count);
    uint32_t *row_of = order ? malloc(cost->model->module_count * sizeof *row_of) : NULL;
    int64_t (*leader)[2] = row_of ? pyro_calloc_pages(count, sizeof *leader) : NULL;
    pyro_cost_row *rows = leader ? pyro_arena_array(&cost->arena, count, sizeof *rows) : NULL;
    if (rows) {
        for (size_t i = 0; i < count; i++)
            row_of[order[i]] = (uint32_t)i;
        copy_own(cost, rows, leader, order, count);
        if (add_to_parents(cost, rows, leader, order, row_of, count)) {
            cost->modules = rows;
            cost->module_count = count;
        }
    }
    free(order);
    free(row_of);
    free(leader);
}

const pyro_cost_row *pyro_cost_modules(const pyro_cost *cost, size_t *count)
{
    pyro_cost *made = (pyro_cost *)cost; /* as if the rows had always been there */
    pthread_mutex_lock(&made->modules_lock);
    if (!made->modules)
        make_modules(made);
    *count = made->module_count;
    const pyro_cost_row *rows = made->modules;
    pthread_mutex_unlock(&made->modules_lock);
    return rows;
}

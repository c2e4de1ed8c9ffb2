/*
 * Searches for the cheapest layout: of those that fit, without a pipeline before with one, then the
 * fewest bytes sent per sequence.
 */
#include "fit/fit.h"

enum { MOST_TENSOR_RANKS = 8, MOST_EXPERT_RANKS = 64 };

typedef struct choice {
    const fit_load *load;
    const fit_setting *setting;
    pyro_layout best, closest;
    double best_cost;
    int64_t closest_bytes;
    bool fits, has_closest;
    int status;
} choice;

static void consider(choice *c, const pyro_layout *layout, pyro_error *error)
{
    pyro_fit_rank rank;
    fit_setting setting = *c->setting;
    if (c->load->train && setting.micro_batches < layout->pipeline)
        setting.micro_batches = layout->pipeline;
    if (c->status == PYRO_OK)
        c->status = fit_rank(&rank, c->load, layout, &setting, error);
    if (c->status != PYRO_OK)
        return;
    if (!c->has_closest || rank.total_bytes < c->closest_bytes) {
        c->closest = *layout;
        c->closest_bytes = rank.total_bytes;
        c->has_closest = true;
    }
    double cost = (double)rank.traffic.total_bytes / (double)(layout->data * setting.micro_batches);
    if (rank.total_bytes <= setting.memory_bytes && (!c->fits || cost < c->best_cost)) {
        c->best = *layout;
        c->best_cost = cost;
        c->fits = true;
    }
}

/* Layouts with these ranks, by what data parallelism divides and where experts are. */
static void consider_shardings(choice *c, pyro_layout layout, pyro_error *error)
{
    static const pyro_sharding shardings[] = {PYRO_SHARDING_NONE, PYRO_SHARDING_ZERO1,
                                              PYRO_SHARDING_ZERO2, PYRO_SHARDING_FSDP};
    size_t count = c->load->train && layout.data > 1 ? sizeof shardings / sizeof *shardings : 1;
    int64_t ranks = layout.tensor * layout.data, experts = c->load->experts;
    for (size_t i = 0; i < count; i++)
        for (int64_t expert = 1; expert <= MOST_EXPERT_RANKS; expert *= 2) {
            if (expert > 1 && (expert > experts || experts % expert || ranks % expert))
                break;
            layout.sharding = shardings[i];
            layout.expert = expert;
            /* Replicas of inference hold all experts of their own. */
            if (expert == 1 || c->load->train || layout.tensor % expert == 0)
                consider(c, &layout, error);
        }
}

int fit_choose(pyro_layout *out, bool *fits, const fit_load *load, const fit_setting *setting,
               int64_t gpus, pyro_error *error)
{
    choice c = {.load = load, .setting = setting};
    for (int64_t stages = 1; stages <= gpus && !c.fits && c.status == PYRO_OK; stages++) {
        if (gpus % stages || (stages > 1 && stages > (int64_t)load->block_count))
            continue;
        for (int64_t tensor = 1; tensor <= MOST_TENSOR_RANKS; tensor *= 2) {
            bool divides = gpus % (stages * tensor) == 0;
            if (divides && (tensor == 1 || !load->heads || tensor <= load->heads))
                consider_shardings(&c,
                                   (pyro_layout){.tensor = tensor,
                                                 .pipeline = stages,
                                                 .data = gpus / (stages * tensor)},
                                   error);
        }
    }
    *out = c.fits ? c.best : c.closest;
    *fits = c.fits;
    return c.status;
}

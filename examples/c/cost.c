/*
 * Prints what a model should cost and the three layers that cost most. Against an installed copy:
 *
 *     cc cost.c -o cost $(pkg-config --cflags --libs pyrometer)
 *     ./cost resnet18            the built-in model
 *     ./cost model.pt2           a file that torch.export.save() wrote
 */
#include <inttypes.h>
#include <pyrometer/pyrometer.h>
#include <stdio.h>

/* Every failing call fills in the error; one line tells a person all that it holds. */
static void complain(const pyro_error *error)
{
    char line[1024];

    fprintf(stderr, "cost: %s\n", pyro_error_line(error, line, sizeof line));
}

/* The index of the costliest layer that costs less than `below`; `count` when there is none. */
static size_t next_costliest(const pyro_cost_row *layers, size_t count, int64_t below)
{
    size_t best = count;

    for (size_t i = 0; i < count; i++) {
        if (layers[i].work.flops < below &&
            (best == count || layers[i].work.flops > layers[best].work.flops))
            best = i;
    }
    return best;
}

static void print_cost(const pyro_cost *cost)
{
    const pyro_cost_row *total = pyro_cost_total(cost);
    size_t count;
    const pyro_cost_row *layers = pyro_cost_layers(cost, &count);
    int64_t below = INT64_MAX;

    printf("%s\n", pyro_model_display_name(pyro_cost_model(cost)));
    printf("  params   %15" PRId64 "\n", total->work.params);
    printf("  MACs     %15" PRId64 "\n", total->work.macs);
    printf("  FLOPs    %15" PRId64 "  (%s)\n", total->work.flops,
           pyro_convention_summary(pyro_cost_convention(cost)));
    printf("  bytes    %15" PRId64 "  read and written\n", total->memory_bytes);
    printf("  counted  %14.1f%%  of the operators\n", 100 * pyro_cost_coverage(cost));
    for (int rank = 0; rank < 3; rank++) {
        size_t i = next_costliest(layers, count, below);

        if (i == count)
            break;
        below = layers[i].work.flops;
        printf("  %d. %-24s %15" PRId64 " FLOPs, %s\n", rank + 1, layers[i].name, below,
               pyro_bound_name(layers[i].bound));
    }
}

int main(int argc, char **argv)
{
    const char *spec = argc > 1 ? argv[1] : "resnet18";
    pyro_model *model = NULL;
    pyro_cost *cost = NULL;
    pyro_error error;
    int status = 1;

    pyro_error_clear(&error);
    if (pyro_model_open(&model, spec, &error) < 0) {
        complain(&error);
        goto done;
    }
    /* NULL options: the convention "full", the file's own sizes and types. */
    if (pyro_cost_compute(&cost, model, NULL, &error) < 0) {
        complain(&error);
        goto done;
    }
    print_cost(cost);
    status = 0;
done:
    /* The cost refers to the model, so it goes first; both take NULL. */
    pyro_cost_free(cost);
    pyro_model_close(model);
    return status;
}

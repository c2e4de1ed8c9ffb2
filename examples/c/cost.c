/*
 * Prints the cost of a model and its three costliest layers. Against an installed copy:
 *
 *     cc cost.c -o cost $(pkg-config --cflags --libs pyrometer)
 *     ./cost resnet18            the built-in model
 *     ./cost model.pt2           a file that torch.export.save() wrote
 */
#include <inttypes.h>
#include <pyrometer/pyrometer.h>
#include <stdio.h>

/* Every failing call fills in the error; pyro_error_line() prints it as one line. */
static void complain(const pyro_error *error)
{
    char line[1024];

    fprintf(stderr, "cost: %s\n", pyro_error_line(error, line, sizeof line));
}

enum { TOP = 3 };

/* Puts the costliest layers into `top`, costliest first; returns their number, at most TOP. */
static size_t find_costliest(const pyro_cost_row *top[TOP], const pyro_cost_row *layers,
                             size_t count)
{
    size_t found = 0;

    for (size_t i = 0; i < count; i++) {
        const pyro_cost_row *layer = &layers[i];

        for (size_t rank = 0; rank < TOP; rank++) {
            if (rank == found) {
                top[found++] = layer;
                break;
            }
            if (layer->work.flops > top[rank]->work.flops) {
                const pyro_cost_row *passed = top[rank];
                top[rank] = layer;
                layer = passed;
            }
        }
    }
    return found;
}

static void print_cost(const pyro_cost *cost)
{
    const pyro_cost_row *total = pyro_cost_total(cost);
    size_t count;
    const pyro_cost_row *layers = pyro_cost_layers(cost, &count);
    const pyro_cost_row *top[TOP];
    size_t top_count = find_costliest(top, layers, count);

    printf("%s\n", pyro_model_display_name(pyro_cost_model(cost)));
    printf("  params   %15" PRId64 "\n", total->work.params);
    printf("  MACs     %15" PRId64 "\n", total->work.macs);
    printf("  FLOPs    %15" PRId64 "  (%s)\n", total->work.flops,
           pyro_convention_summary(pyro_cost_convention(cost)));
    printf("  bytes    %15" PRId64 "  read and written\n", total->memory_bytes);
    printf("  counted  %14.1f%%  of the operators\n", 100 * pyro_cost_coverage(cost));
    for (size_t rank = 0; rank < top_count; rank++)
        printf("  %zu. %-24s %15" PRId64 " FLOPs, %s\n", rank + 1, top[rank]->name,
               top[rank]->work.flops, pyro_bound_name(top[rank]->bound));
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
    /* NULL options: the convention "full", and the sizes and types of the file. */
    if (pyro_cost_compute(&cost, model, NULL, &error) < 0) {
        complain(&error);
        goto done;
    }
    print_cost(cost);
    status = 0;
done:
    /* The cost refers to the model, so it is freed first; both accept NULL. */
    pyro_cost_free(cost);
    pyro_model_close(model);
    return status;
}

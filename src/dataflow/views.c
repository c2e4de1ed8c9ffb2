/*
 * Adds the values that steps use. A view makes no bytes of its own, so it lists the values that it
 * shows, one level per view below it; connect.c chooses which level its reader depends on.
 */
#include "dataflow/views.h"

enum { MOST_LEVELS = 6 };

bool pyro_views_read(pyro_program *program, pyro_tracker *tracker, const pyro_tensor_use *tensor)
{
    if (!pyro_tracker_read(tracker, tensor))
        return false;
    for (size_t i = 0; i < tracker->found_count; i++)
        if (!pyro_program_add_use(program, (pyro_flow_use){.value = tracker->found[i].value,
                                                           .assumed = tracker->found[i].assumed}))
            return false;
    return true;
}

static bool add_level(pyro_program *program, pyro_tracker *tracker, uint64_t storage,
                      const pyro_region *bytes, pyro_held_value held, bool is_first)
{
    pyro_flow_level level = {.value = held.value, .clock = held.clock};
    if (!pyro_tracker_look(tracker, storage, bytes, held) ||
        !pyro_program_add_level(program, &level))
        return false;
    for (size_t i = 0; i < tracker->found_count; i++) {
        pyro_flow_use use = {tracker->found[i].value, tracker->found[i].assumed, true};
        if (!pyro_program_add_shown(program, use) ||
            (is_first && !pyro_program_add_use(program, use)))
            return false;
    }
    return true;
}

bool pyro_views_show(pyro_program *program, pyro_tracker *tracker, const pyro_tensor_use *tensor,
                     const pyro_region *bytes, pyro_flow_value *view)
{
    pyro_held_value held;
    view->first_level = (uint32_t)program->level_count;
    if (!pyro_tracker_held(tracker, tensor, &held))
        return true;
    if (!add_level(program, tracker, tensor->storage, bytes, held, true))
        return false;
    const pyro_flow_value *base = &program->values[held.value];
    for (uint32_t i = 0; i < base->level_count && i + 1 < MOST_LEVELS; i++) {
        const pyro_flow_level *level = &program->levels[base->first_level + i];
        held = (pyro_held_value){level->value, level->clock};
        if (!add_level(program, tracker, tensor->storage, bytes, held, false))
            return false;
    }
    view->level_count = (uint32_t)program->level_count - view->first_level;
    return true;
}

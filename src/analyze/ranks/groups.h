/* Makes the rows about process groups and steps of all ranks. */
#ifndef PYRO_ANALYZE_RANKS_GROUPS_H
#define PYRO_ANALYZE_RANKS_GROUPS_H

#include "analyze/ranks/match.h"

/* Each in the set's arena, NULL when memory is out. */
pyro_rank_group_row *pyro_rank_sum_groups(const pyro_rank_set *set, size_t *count);
pyro_rank_step_row *pyro_rank_sum_steps(const pyro_rank_set *set, size_t *count);
pyro_rank_cell_row *pyro_rank_list_cells(const pyro_rank_set *set, size_t *count);

#endif

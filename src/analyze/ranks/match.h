/*
 * Matches collectives of several ranks: a lane holds those of one kind, group and step; an instance
 * is the same collective on all members. Derives clocks and lateness from them.
 */
#ifndef PYRO_ANALYZE_RANKS_MATCH_H
#define PYRO_ANALYZE_RANKS_MATCH_H

#include "analyze/ranks/summary.h"

/* Of a step: the lateness of a straggler, where the caller sets none. */
#define PYRO_RANK_LATE_SHARE 0.05

typedef struct pyro_rank_lane {
    uint32_t kind, group; /* texts of the summary */
    int64_t step;
    int64_t group_size;
    size_t first_seat, seat_count; /* in seats: members in their order */
    size_t count;                  /* instances */
    size_t first_cell; /* instance i, seat s: cells[first_cell + i * seat_count + s] */
    size_t first_instance;
    bool is_exact;
    bool is_usable; /* several members have it equally often, and it makes each wait for all */
} pyro_rank_lane;

/* A member's place in a lane. */
typedef struct pyro_rank_seat {
    uint32_t lane, member;
    size_t count; /* collectives of the member */
    size_t most;  /* its highest ordinal + 1, of exact ones */
    bool is_by_end;
} pyro_rank_seat;

/* Which instance a collective of a member is. */
typedef struct pyro_rank_key {
    int64_t step, ordinal;
    uint32_t subgroup; /* of groups of one name that share no collective */
    bool is_by_end; /* found by when it ended, not by counting */
    bool is_exact;  /* found by the number that torch gave it */
    bool is_unmatched;
} pyro_rank_key;

/* Added to a member's clock: offset + drift * (time - pivot). */
typedef struct pyro_rank_clock {
    int64_t offset_ns, pivot_ns;
    double drift;
    int64_t residual_ns; /* -1: nothing to align by */
    size_t samples;
    bool is_of_host; /* taken over from another rank of the host */
    uint32_t component; /* members of different ones cannot be compared */
} pyro_rank_clock;

typedef struct pyro_rank_lateness {
    int64_t step;
    int64_t late_ns, wait_ns;
} pyro_rank_lateness;

typedef struct pyro_rank_member {
    const pyro_rank_part *part; /* of all its files */
    int64_t files;
    pyro_rank_key *keys; /* by collective of the part */
    pyro_rank_clock clock;
    pyro_rank_lateness *steps; /* those with matched collectives, by number */
    size_t step_count;
    int64_t late_collectives, matched;
    int64_t step_ns; /* median */
} pyro_rank_member;

typedef struct pyro_rank_set {
    const pyro_rank_summary *summary;
    pyro_arena *arena; /* all below lives here */
    pyro_rank_member *members; /* one per rank, by rank */
    size_t count;
    pyro_rank_lane *lanes;
    size_t lane_count;
    pyro_rank_seat *seats;
    size_t seat_count;
    const pyro_rank_collective **cells;
    size_t cell_count, instance_count;
    int64_t *others_ns; /* by cell: arrival of the other members in the median, aligned */
    int64_t *last_ns;   /* by instance: the last arrival, aligned */
    int64_t step_ns;    /* median of the members' medians */
    size_t runs_by_end; /* kinds and groups of a member that were matched by when they ended */
    size_t uneven_lanes; /* kinds, groups and steps that members do not have equally often */
    size_t crowded_lanes; /* that have more members than their group */
} pyro_rank_set;

/* Files of a rank that are not used, and the first of them. */
typedef struct pyro_rank_skipped {
    size_t count;
    const pyro_rank_part *example;
} pyro_rank_skipped;

/* Fills the members (cycles.c); false when memory is out. */
bool pyro_rank_choose_parts(pyro_rank_set *set, pyro_rank_skipped *skipped);

int64_t pyro_rank_align(const pyro_rank_clock *clock, int64_t time_ns);

/* Gives numbered collectives their keys (match_exact.c). */
bool pyro_rank_match_exactly(pyro_rank_set *set);

/* Each fills its part of the set; false when memory is out. In this order: */
bool pyro_rank_name_collectives(pyro_rank_set *set);
bool pyro_rank_match(pyro_rank_set *set);
bool pyro_rank_align_clocks(pyro_rank_set *set);
bool pyro_rank_find_lateness(pyro_rank_set *set);

/* Of a step; NULL where it has no matched collective. */
const pyro_rank_lateness *pyro_rank_lateness_in(const pyro_rank_member *member, int64_t step);

/* Rows of the stragglers; *count of them, latest first. NULL: no memory. */
pyro_straggler_row *pyro_rank_find_stragglers(const pyro_rank_set *set, double least_share,
                                              size_t *count);

#endif

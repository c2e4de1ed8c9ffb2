/* Builds the result about many ranks from one part per rank: rows and notes. */
#include "analyze/intervals.h"
#include "analyze/quantile.h"
#include "analyze/ranks/groups.h"
#include "analyze/ranks/match.h"
#include "base/containers/buf.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>

/* Clocks of one cluster differ by less than this. */
#define FAR_CLOCK_NS INT64_C(60000000000)

/* The public part comes first, so that a pointer to it points to the whole. */
typedef struct whole_ranks {
    pyro_ranks result;
    pyro_arena arena;
    const char **notes;
    size_t note_count, note_capacity;
} whole_ranks;

static bool note(whole_ranks *whole, const char *text)
{
    if (!text || !pyro_grow(&whole->notes, &whole->note_capacity, whole->note_count + 1,
                            sizeof *whole->notes))
        return false;
    whole->notes[whole->note_count++] = text;
    return true;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

/* Parts of unknown rank are all different. */
static bool choose_parts(whole_ranks *whole, pyro_rank_set *set)
{
    pyro_rank_skipped skipped = {0};
    if (!pyro_rank_choose_parts(set, &skipped))
        return false;
    return !skipped.count ||
           note(whole,
                pyro_arena_format(
                    &whole->arena,
                    "%zu %s: an earlier file has the same rank and time (first: rank %lld, %.200s)",
                    skipped.count, skipped.count == 1 ? "file is skipped" : "files are skipped",
                    (long long)skipped.example->rank,
                    base_name(pyro_rank_text(set->summary, skipped.example->file))));
}

/* Ranks that have no file, as "1, 3-5, 7". */
static bool note_missing(whole_ranks *whole, const pyro_rank_set *set, int64_t world_size)
{
    pyro_buf list = PYRO_BUF_INIT;
    int64_t next = 0, missing = 0;
    size_t ranges = 0;
    for (size_t i = 0; i <= set->count; i++) {
        int64_t rank = i < set->count ? set->members[i].part->rank : world_size;
        if (rank < 0)
            continue;
        if (rank > next && next < world_size) {
            int64_t last = (rank < world_size ? rank : world_size) - 1;
            missing += last - next + 1;
            if (ranges++ < 8)
                pyro_buf_addf(&list, last > next ? "%s%lld-%lld" : "%s%lld", ranges > 1 ? ", " : "",
                              (long long)next, (long long)last);
        }
        next = rank + 1 > next ? rank + 1 : next;
    }
    if (ranges > 8)
        pyro_buf_adds(&list, ", ...");
    whole->result.missing = missing;
    bool ok = !list.failed;
    if (ok && missing)
        ok = note(whole,
                  pyro_arena_format(&whole->arena,
                                    "%lld of %lld ranks %s no file (%s): whether others waited for "
                                    "%s is unknown",
                                    (long long)missing, (long long)world_size,
                                    missing == 1 ? "has" : "have", list.data,
                                    missing == 1 ? "it" : "them"));
    pyro_buf_free(&list);
    return ok;
}

static bool note_ranks(whole_ranks *whole, const pyro_rank_set *set)
{
    int64_t world = -1, most = -1;
    size_t unknown = 0;
    bool differ = false, ok = true;
    for (size_t i = 0; i < set->count; i++) {
        const pyro_rank_part *part = set->members[i].part;
        differ |= world > 0 && part->world_size > 0 && part->world_size != world;
        world = part->world_size > world ? part->world_size : world;
        most = part->rank > most ? part->rank : most;
        unknown += part->rank < 0;
    }
    whole->result.world_size = world;
    if (differ)
        ok = note(whole, "files have different world sizes: they may be from different runs");
    if (ok && most >= world && world > 0)
        ok = note(whole,
                  pyro_arena_format(&whole->arena,
                                    "rank %lld exceeds the world size %lld: files may be from "
                                    "different runs",
                                    (long long)most, (long long)world));
    if (ok && unknown)
        ok = note(whole, pyro_arena_format(&whole->arena,
                                           "%zu %s no rank (distributedInfo, or rank_N in the "
                                           "name): not matched with others",
                                           unknown, unknown == 1 ? "file has" : "files have"));
    if (ok && set->count == 1)
        ok = note(whole, "only one rank: nothing to compare it with");
    /* Without a known world size, ranks after the last one may be missing too. */
    if (ok && set->count > unknown)
        ok = note_missing(whole, set, world > most ? world : most + 1);
    return ok;
}

static bool note_matching(whole_ranks *whole, const pyro_rank_set *set)
{
    size_t usable = 0, components = 0, left_out = 0, far = 0;
    bool ok = true;
    for (size_t i = 0; i < set->lane_count; i++)
        usable += set->lanes[i].is_usable;
    for (size_t i = 0; i < set->count; i++) {
        components += set->members[i].clock.component == i && set->members[i].part->rank >= 0;
        left_out += (size_t)set->members[i].part->left_out;
    }
    if (set->count > 1 && !usable)
        ok = note(whole, "no collective could be matched between ranks: clocks are not aligned, "
                         "and stragglers are unknown");
    else if (components > 1)
        ok = note(whole, pyro_arena_format(&whole->arena,
                                           "ranks fall into %zu parts that share no collective: "
                                           "lateness is computed within each part",
                                           components));
    for (size_t i = 0; i < set->count; i++) {
        int64_t offset = set->members[i].clock.offset_ns;
        far += offset > FAR_CLOCK_NS || offset < -FAR_CLOCK_NS;
    }
    if (ok && far)
        ok = note(whole, pyro_arena_format(&whole->arena,
                                           "clocks of %zu ranks are off by more than a minute: "
                                           "files may be from different runs",
                                           far));
    if (ok && set->runs_by_end)
        ok = note(whole, pyro_arena_format(&whole->arena,
                                           "%zu series of collectives are not in the order of the "
                                           "first rank: matched by end time",
                                           set->runs_by_end));
    if (ok && set->uneven_lanes)
        ok = note(whole,
                  pyro_arena_format(&whole->arena,
                                    "%zu times, ranks have different numbers of collectives of "
                                    "one kind, group and step: these are not matched",
                                    set->uneven_lanes));
    if (ok && set->crowded_lanes)
        ok = note(whole, pyro_arena_format(&whole->arena,
                                           "%zu times, more ranks have a collective than its group "
                                           "has members: these are not matched",
                                           set->crowded_lanes));
    if (ok && left_out)
        ok = note(whole,
                  pyro_arena_format(&whole->arena, "%zu collectives beyond %d per rank are skipped",
                                    left_out, PYRO_RANK_MOST_COLLECTIVES));
    return ok;
}

/* Median of one column of pyro_rank_step over the steps of a member. */
static int64_t step_median(const pyro_rank_part *part, size_t offset, int64_t *values)
{
    for (size_t i = 0; i < part->step_count; i++)
        values[i] = *(const int64_t *)((const char *)&part->steps[i] + offset);
    return pyro_median(values, part->step_count);
}

#define STEP_MEDIAN(part, column, values) \
    step_median(part, offsetof(pyro_rank_step, column), values)

static void fill_lateness(const pyro_rank_member *member, pyro_rank_row *row, int64_t *values)
{
    row->late_collectives = member->late_collectives;
    row->matched_collectives = member->matched;
    for (size_t i = 0; i < member->step_count; i++) {
        values[i] = member->steps[i].late_ns;
        row->late_total_ns = pyro_add_ns(row->late_total_ns, values[i]);
    }
    row->late_ns = pyro_quantile(values, member->step_count, 1, 2);
    for (size_t i = 0; i < member->step_count; i++)
        values[i] = member->steps[i].wait_ns;
    row->wait_ns = pyro_quantile(values, member->step_count, 1, 2);
}

static pyro_rank_row make_row(const pyro_rank_set *set, const pyro_rank_member *member,
                              int64_t *values)
{
    const pyro_rank_part *part = member->part;
    pyro_rank_row row = {.rank = part->rank,
                         .file = pyro_rank_text(set->summary, part->file),
                         .device = pyro_rank_text(set->summary, part->device),
                         .files = member->files,
                         .steps = (int64_t)part->step_count,
                         .step_ns = member->step_ns,
                         .memory_peak_bytes = part->memory_peak_bytes,
                         .flops_per_s = -1,
                         .collectives = (int64_t)part->collective_count,
                         .clock_offset_ns = member->clock.offset_ns,
                         .clock_residual_ns = member->clock.residual_ns,
                         .clock_drift_ppm = member->clock.drift * 1e6,
                         .warnings = part->warnings};
    int64_t total = 0;
    for (size_t i = 0; i < part->step_count; i++) {
        int64_t span = part->steps[i].span_ns;
        total = pyro_add_ns(total, span);
        row.step_min_ns = i == 0 || span < row.step_min_ns ? span : row.step_min_ns;
        row.step_max_ns = span > row.step_max_ns ? span : row.step_max_ns;
    }
    row.compute_ns = STEP_MEDIAN(part, compute_ns, values);
    row.communication_ns = STEP_MEDIAN(part, communication_ns, values);
    row.communication_exposed_ns = STEP_MEDIAN(part, communication_exposed_ns, values);
    row.idle_ns = STEP_MEDIAN(part, idle_ns, values);
    row.data_loading_ns = STEP_MEDIAN(part, data_loading_ns, values);
    if (part->flops >= 0 && total > 0)
        row.flops_per_s = (double)part->flops / ((double)total / 1e9);
    fill_lateness(member, &row, values);
    return row;
}

/* Space for one number per step of any member, or per member. */
static int64_t *make_room(whole_ranks *whole, const pyro_rank_set *set)
{
    size_t most = set->count;
    for (size_t i = 0; i < set->count; i++)
        most = set->members[i].part->step_count > most ? set->members[i].part->step_count : most;
    return pyro_arena_array(&whole->arena, most + 1, sizeof(int64_t));
}

static void measure_steps(whole_ranks *whole, pyro_rank_set *set, int64_t *values)
{
    int64_t least = INT64_MAX, most = 0;
    for (size_t i = 0; i < set->count; i++) {
        pyro_rank_member *member = &set->members[i];
        member->step_ns = STEP_MEDIAN(member->part, span_ns, values);
        least = member->step_ns < least ? member->step_ns : least;
        most = member->step_ns > most ? member->step_ns : most;
        whole->result.on_device |= member->part->on_device != 0;
    }
    for (size_t i = 0; i < set->count; i++)
        values[i] = set->members[i].step_ns;
    set->step_ns = pyro_median(values, set->count);
    whole->result.step_ns = set->step_ns;
    whole->result.step_skew_ns = set->count ? most - least : 0;
}

static bool fill_ranks(whole_ranks *whole, const pyro_rank_set *set, int64_t *values)
{
    pyro_ranks *result = &whole->result;
    pyro_rank_row *rows = pyro_arena_array(&whole->arena, set->count + 1, sizeof *rows);
    if (!rows)
        return false;
    result->clock_residual_ns = -1;
    for (size_t i = 0; i < set->count; i++) {
        rows[i] = make_row(set, &set->members[i], values);
        if (rows[i].clock_residual_ns > result->clock_residual_ns)
            result->clock_residual_ns = rows[i].clock_residual_ns;
        for (size_t s = 0; s < result->straggler_count; s++)
            rows[i].straggler |= rows[i].rank >= 0 && result->stragglers[s].rank == rows[i].rank;
    }
    result->ranks = rows;
    result->rank_count = set->count;
    return true;
}

/* Copies the texts of the summary, which may be freed before the result. */
static bool keep_texts(whole_ranks *whole)
{
    pyro_ranks *result = &whole->result;
    pyro_rank_row *ranks = (pyro_rank_row *)result->ranks;
    pyro_straggler_row *stragglers = (pyro_straggler_row *)result->stragglers;
    pyro_rank_group_row *groups = (pyro_rank_group_row *)result->groups;
    bool ok = true;
#define KEEP(text) ok &= ((text) = pyro_arena_text(&whole->arena, text, strlen(text))) != NULL
    for (size_t i = 0; i < result->rank_count && ok; i++) {
        KEEP(ranks[i].file);
        KEEP(ranks[i].device);
    }
    for (size_t i = 0; i < result->straggler_count && ok; i++) {
        KEEP(stragglers[i].layer);
        KEEP(stragglers[i].class_name);
        KEEP(stragglers[i].op);
    }
    for (size_t i = 0; i < result->group_count && ok; i++) {
        KEEP(groups[i].group);
        KEEP(groups[i].kind);
    }
#undef KEEP
    return ok;
}

/* Machines of the ranks; -1 when some rank's is unknown, or its clock is not that of its host. */
static int64_t count_hosts(const pyro_rank_set *set)
{
    int64_t hosts = 0;
    for (size_t i = 0; i < set->count; i++) {
        uint32_t host = set->members[i].part->host;
        size_t first = 0;
        while (set->members[first].part->host != host)
            first++;
        if (host == PYRO_NO_ID || (first < i && !set->members[i].clock.is_of_host))
            return -1;
        hosts += first == i;
    }
    return hosts;
}

static bool answer(whole_ranks *whole, pyro_rank_set *set, double least_share)
{
    pyro_ranks *result = &whole->result;
    if (!choose_parts(whole, set) || !note_ranks(whole, set))
        return false;
    int64_t *values = make_room(whole, set);
    if (!values)
        return false;
    measure_steps(whole, set, values);
    if (!pyro_rank_name_collectives(set) || !pyro_rank_match(set) || !pyro_rank_align_clocks(set) ||
        !pyro_rank_find_lateness(set) || !note_matching(whole, set))
        return false;
    result->host_count = count_hosts(set);
    result->least_late_share = least_share > 0 ? least_share : PYRO_RANK_LATE_SHARE;
    result->stragglers = pyro_rank_find_stragglers(set, least_share, &result->straggler_count);
    if (!result->stragglers || !fill_ranks(whole, set, values))
        return false;
    result->groups = pyro_rank_sum_groups(set, &result->group_count);
    result->steps = pyro_rank_sum_steps(set, &result->step_count);
    result->cells = pyro_rank_list_cells(set, &result->cell_count);
    for (size_t i = 0; i < set->lane_count; i++) {
        result->collectives += (int64_t)set->seats[set->lanes[i].first_seat].count;
        int64_t matched = set->lanes[i].is_usable ? (int64_t)set->lanes[i].count : 0;
        result->matched_collectives += matched;
        result->exact_collectives += set->lanes[i].is_exact ? matched : 0;
    }
    return result->groups && result->steps && result->cells && keep_texts(whole);
}

int pyro_ranks_analyze(pyro_ranks **out, const pyro_rank_summary *summary, double least_late_share,
                       pyro_error *error)
{
    whole_ranks *whole = calloc(1, sizeof *whole);
    *out = NULL;
    if (!whole)
        return pyro_fail_memory(error);
    pyro_arena_init(&whole->arena);
    pyro_rank_set set = {.summary = summary, .arena = &whole->arena};
    bool ok = answer(whole, &set, least_late_share);
    whole->result.notes = whole->notes;
    whole->result.note_count = whole->note_count;
    if (!ok) {
        pyro_ranks_free(&whole->result);
        return pyro_fail_memory(error);
    }
    *out = &whole->result;
    return PYRO_OK;
}

void pyro_ranks_free(pyro_ranks *ranks)
{
    whole_ranks *whole = (whole_ranks *)ranks;
    if (!whole)
        return;
    pyro_arena_free(&whole->arena);
    free(whole->notes);
    free(whole);
}

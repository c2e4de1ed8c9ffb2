/* Orders the points of a line, by commit or by time, and matches names. */
#include "history/lines.h"

#include "base/containers/map.h"
#include "base/error.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

bool pyro_history_matches(const char *pattern, const char *text)
{
    return !pattern || strcmp(pattern, text) == 0 || fnmatch(pattern, text, 0) == 0;
}

bool pyro_history_is_model(const char *model, const char *benchmark)
{
    size_t length = model ? strlen(model) : 0;

    if (!model || strpbrk(model, "*?["))
        return pyro_history_matches(model, benchmark);
    return strncmp(benchmark, model, length) == 0 &&
           (benchmark[length] == '\0' || benchmark[length] == ' ');
}

static bool has_tag(const char *pattern, const char *tags)
{
    char tag[256];

    while (*tags != '\0') {
        size_t length = strcspn(tags, ",");

        if (length < sizeof tag) {
            memcpy(tag, tags, length);
            tag[length] = '\0';
            if (pyro_history_matches(pattern, tag))
                return true;
        }
        tags += length + (tags[length] == ',');
    }
    return false;
}

bool pyro_history_has_tags(const pyro_history_query *query, const char *tags)
{
    for (size_t i = 0; i < query->tag_count; i++)
        if (!has_tag(query->tags[i], tags))
            return false;
    return true;
}

bool pyro_history_is_commit(const char *prefix, const char *commit)
{
    return !prefix || strncmp(prefix, commit, strlen(prefix)) == 0;
}

/* Commits by their text; the value is the position. */
typedef struct commit_index {
    pyro_arena arena;
    pyro_intern texts;
    size_t known; /* positions below this are of the branch, others are of other branches */
} commit_index;

static int index_commits(commit_index *index, const pyro_history_query *query, pyro_error *error)
{
    pyro_arena_init(&index->arena);
    pyro_intern_init(&index->texts, &index->arena);
    for (size_t i = 0; i < query->commit_count + query->other_count; i++) {
        const char *commit = i < query->commit_count ? query->commits[i]
                                                     : query->others[i - query->commit_count];

        if (pyro_intern_add(&index->texts, commit, strlen(commit)) == PYRO_INTERN_NONE)
            return pyro_fail_memory(error);
        if (i + 1 == query->commit_count)
            index->known = index->texts.count;
    }
    return PYRO_OK;
}

typedef struct placed_point {
    pyro_history_point point;
    int64_t position; /* of its commit; -1: vanished */
    int64_t time_ns;
} placed_point;

static int compare_times(const void *a, const void *b)
{
    const placed_point *left = a, *right = b;

    if (left->time_ns != right->time_ns)
        return left->time_ns < right->time_ns ? -1 : 1;
    return left->point.run < right->point.run ? -1 : left->point.run > right->point.run;
}

static int compare_positions(const void *a, const void *b)
{
    const placed_point *left = a, *right = b;

    if (left->position != right->position)
        return left->position < right->position ? -1 : 1;
    return compare_times(a, b);
}

/*
 * Vanished commits take the position of the newest known commit that was measured no later than
 * they were: a rebase replaces commits by others at about the same place.
 */
static void place_vanished(placed_point *points, size_t count)
{
    int64_t position = -1;

    qsort(points, count, sizeof *points, compare_times);
    for (size_t i = 0; i < count; i++) {
        if (points[i].position < 0)
            points[i].position = position;
        else if (points[i].position > position)
            position = points[i].position;
    }
}

static size_t place_all(placed_point *placed, const pyro_history_line *line,
                        const commit_index *index, bool by_commit)
{
    size_t count = 0;

    for (size_t i = 0; i < line->point_count; i++) {
        pyro_history_point *point = &line->points[i];
        uint32_t position = by_commit ? pyro_intern_find(&index->texts, point->commit,
                                                         strlen(point->commit))
                                      : PYRO_INTERN_NONE;

        if (position != PYRO_INTERN_NONE && position >= index->known)
            continue;
        point->is_vanished = by_commit && position == PYRO_INTERN_NONE && point->commit[0] != '\0';
        placed[count++] = (placed_point){
            .point = *point,
            .position = position == PYRO_INTERN_NONE ? -1 : (int64_t)position,
            .time_ns = point->time_ns < point->added_ns ? point->time_ns : point->added_ns};
    }
    return count;
}

/* Another project's line must not be ordered by this repository. */
static bool knows_any(const commit_index *index, const pyro_history_line *line)
{
    for (size_t i = 0; i < line->point_count; i++) {
        const char *commit = line->points[i].commit;

        if (pyro_intern_find(&index->texts, commit, strlen(commit)) != PYRO_INTERN_NONE)
            return true;
    }
    return false;
}

int pyro_line_order(pyro_history_line *line, const pyro_history_query *query, pyro_error *error)
{
    placed_point *placed = malloc((line->point_count + 1) * sizeof *placed);
    commit_index index = {0};
    int status = index_commits(&index, query, error);
    bool by_commit = query->commit_count > 0 && knows_any(&index, line);

    if (status == PYRO_OK && !placed)
        status = pyro_fail_memory(error);
    if (status == PYRO_OK) {
        size_t count = place_all(placed, line, &index, by_commit);

        if (by_commit)
            place_vanished(placed, count);
        qsort(placed, count, sizeof *placed, by_commit ? compare_positions : compare_times);
        for (size_t i = 0; i < count; i++)
            line->points[i] = placed[i].point;
        line->point_count = count;
    }
    free(placed);
    pyro_intern_free(&index.texts);
    pyro_arena_free(&index.arena);
    return status;
}

/* Fills in the labels of results: from options, the variables of CI, and the git work tree. */
#include "history/run.h"

#include "bench/git_files.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

typedef struct surroundings {
    char project[PATH_MAX], commit[128], branch[512];
} surroundings;

/* CI checks out a commit, not a branch, and says the branch in a variable. */
static bool branch_of_ci(char *branch, size_t size)
{
    static const char *const names[] = {"GITHUB_HEAD_REF", "GITHUB_REF_NAME", "CI_COMMIT_REF_NAME",
                                        "BUILDKITE_BRANCH"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);

        if (value && value[0] != '\0' && strlen(value) < size) {
            memcpy(branch, value, strlen(value) + 1);
            return true;
        }
    }
    return false;
}

static void look_around(surroundings *found)
{
    if (!pyro_git_tree_name(found->project, sizeof found->project))
        strcpy(found->project, "default");
    if (!pyro_git_commit(found->commit, sizeof found->commit))
        found->commit[0] = '\0';
    if (!branch_of_ci(found->branch, sizeof found->branch) &&
        !pyro_git_branch(found->branch, sizeof found->branch))
        found->branch[0] = '\0';
}

static int set_label(pyro_run *run, const char **member, const char *given, const char *found,
                     pyro_error *error)
{
    if (given)
        return pyro_run_set(run, member, given, error);
    return (*member)[0] == '\0' ? pyro_run_set(run, member, found, error) : PYRO_OK;
}

static int label_run(pyro_run *run, const pyro_run_labels *labels, const surroundings *found,
                     pyro_error *error)
{
    /* A result of an exported history keeps what it has, even if that is nothing. */
    bool is_exported = run->project[0] != '\0';
    int status = set_label(run, &run->project, labels->project, found->project, error);

    if (status == PYRO_OK)
        status = set_label(run, &run->commit, labels->commit, is_exported ? "" : found->commit,
                           error);
    bool is_here = found->commit[0] != '\0' && strcmp(run->commit, found->commit) == 0;
    if (status == PYRO_OK)
        status = set_label(run, &run->branch, labels->branch, is_here ? found->branch : "", error);
    if (status == PYRO_OK)
        status = set_label(run, &run->machine_class, labels->machine, "unknown", error);
    if (status == PYRO_OK && labels->tags)
        status = pyro_run_set(run, &run->tags, labels->tags, error);
    if (labels->time_ns != 0)
        run->time_ns = labels->time_ns;
    run->file_time_ns = labels->file_time_ns;
    /* With another label it is another result. */
    if (labels->project || labels->commit || labels->machine || labels->time_ns != 0)
        run->key = "";
    return status;
}

int pyro_runs_label(pyro_runs *runs, const pyro_run_labels *labels, pyro_error *error)
{
    surroundings found;
    int status = PYRO_OK;

    look_around(&found);
    for (size_t i = 0; i < runs->count && status == PYRO_OK; i++)
        status = label_run(runs->items[i], labels, &found, error);
    return status;
}

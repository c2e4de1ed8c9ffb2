/*
 * pyrometer history bisect: narrows a regression down to a commit. Each step checks a commit out
 * into a folder of its own and compares it with the last good one by pyrometer bench --against.
 */
#include "cli/history/history.h"

#include "base/containers/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "history/git.h"
#include "history/import/document.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { WORDS_MAX = 64, TRIES = 3, FIRST_RUNS = 10 };

typedef enum step_verdict { STEP_GOOD, STEP_REGRESSED, STEP_CANNOT_TELL, STEP_FAILED } step_verdict;

typedef struct bisection {
    const pyro_history_values *values;
    const char *const *commands;
    size_t command_count;
    char *good, *bad;
    char *folder; /* with the work tree, and the result of a step */
    pyro_buf text;
    const char **commits; /* after `good`, oldest first; the last one is `bad` */
    size_t commit_count;
    size_t steps;
    char benchmark[1024], metric[64]; /* the one that regressed most in the bad commit */
    double change; /* of the bad commit; NaN before it is measured */
    double estimate; /* of the last step */
    bool is_doubtful; /* a step had no verdict, and its estimate decided */
} bisection;

/* Runs the tool in the work tree; returns its exit code, or -1. */
static int run_tool(const bisection *b, char *const *words, const char *folder)
{
    posix_spawn_file_actions_t actions;
    pid_t child = -1;
    int state = -1;

    if (posix_spawn_file_actions_init(&actions) != 0)
        return -1;
    posix_spawn_file_actions_addchdir_np(&actions, folder);
    if (!b->values->common.verbose) {
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    }
    if (posix_spawn(&child, "/proc/self/exe", &actions, NULL, words, environ) != 0)
        child = -1;
    posix_spawn_file_actions_destroy(&actions);
    while (child > 0 && waitpid(child, &state, 0) < 0 && errno == EINTR)
        ;
    return child > 0 && WIFEXITED(state) ? WEXITSTATUS(state) : -1;
}

static bool read_file(pyro_buf *out, const char *path)
{
    FILE *file = fopen(path, "rb");
    size_t count = 0;

    if (!file)
        return false;
    do {
        char *room = pyro_buf_reserve(out, 65536);

        count = room ? fread(room, 1, 65536, file) : 0;
        out->length += count;
    } while (count > 0);
    fclose(file);
    return !out->failed && out->length > 0;
}

static step_verdict verdict_named(const char *name)
{
    if (strcmp(name, "regressed") == 0)
        return STEP_REGRESSED;
    if (strcmp(name, "cannot tell") == 0)
        return STEP_CANNOT_TELL;
    return name[0] != '\0' ? STEP_GOOD : STEP_FAILED;
}

static bool is_row(const pyro_node *row, const bisection *b)
{
    return strcmp(pyro_node_text(row, "benchmark"), b->benchmark) == 0 &&
           strcmp(pyro_node_text(row, "metric"), b->metric) == 0;
}

/* The verdict of all metrics, which chooses the one to follow; later the verdict of that one. */
static step_verdict judge_rows(bisection *b, const pyro_node *comparison)
{
    const pyro_node *metrics = pyro_node_get(comparison, "metrics");
    step_verdict verdict = verdict_named(pyro_node_text(comparison, "verdict"));
    bool is_chosen = b->metric[0] != '\0';

    for (const pyro_node *row = metrics ? metrics->first : NULL; row; row = row->next) {
        double change = pyro_node_number(row, "change");
        step_verdict of_row = verdict_named(pyro_node_text(row, "verdict"));

        if (is_chosen && is_row(row, b)) {
            verdict = of_row;
            b->estimate = change;
        } else if (!is_chosen && of_row == STEP_REGRESSED && !(change <= b->change)) {
            snprintf(b->benchmark, sizeof b->benchmark, "%s", pyro_node_text(row, "benchmark"));
            snprintf(b->metric, sizeof b->metric, "%s", pyro_node_text(row, "metric"));
            b->change = change;
        }
    }
    return verdict;
}

/* Reads the JSON that bench wrote. */
static step_verdict read_verdict(bisection *b, const char *path)
{
    step_verdict verdict = STEP_FAILED;
    pyro_buf text = PYRO_BUF_INIT;
    pyro_document document;

    if (!read_file(&text, path)) {
        pyro_buf_free(&text);
        return STEP_FAILED;
    }
    if (pyro_document_parse(&document, text.data, text.length, NULL) == PYRO_OK)
        verdict = judge_rows(b, pyro_node_get(document.root, "comparison"));
    pyro_document_free(&document);
    pyro_buf_free(&text);
    return verdict;
}

/* Compares the work tree with the good commit in this many rounds. */
static step_verdict measure(bisection *b, const char *tree, int runs)
{
    char *words[WORDS_MAX] = {"pyrometer", "bench", "--against", b->good, "-q", "--runs"};
    char number[16], output[4096], delta[32];
    size_t count = 6;

    snprintf(number, sizeof number, "%d", runs);
    snprintf(output, sizeof output, "%s/result.json", b->folder);
    unlink(output);
    words[count++] = number;
    words[count++] = "-o";
    words[count++] = output;
    if (b->values->setup) {
        words[count++] = "--setup";
        words[count++] = (char *)b->values->setup;
    }
    /* A commit is slower if it has more than half of what the bad one has. */
    snprintf(delta, sizeof delta, "%.2f%%", fmin(1000, 50 * b->change));
    if (isfinite(b->change) || b->values->min_change) {
        words[count++] = "--delta";
        words[count++] = isfinite(b->change) ? delta : (char *)b->values->min_change;
    }
    for (size_t i = 0; i < b->command_count && count + 1 < WORDS_MAX; i++)
        words[count++] = (char *)b->commands[i];
    words[count] = NULL;
    if (run_tool(b, words, tree) < 0)
        return STEP_FAILED;
    return read_verdict(b, output);
}

/* Checks a commit out and measures it, with more rounds while there is no verdict. */
static step_verdict judge(bisection *b, const char *commit)
{
    char tree[4096];
    step_verdict verdict = STEP_FAILED;

    b->estimate = NAN;
    snprintf(tree, sizeof tree, "%s/tree", b->folder);
    pyro_buf out = PYRO_BUF_INIT;
    bool is_there = pyro_git(&out, (const char *const[]){"-C", tree, "checkout", "-q", "--force",
                                                         "--detach", commit, NULL});
    pyro_buf_free(&out);
    if (!is_there)
        return STEP_FAILED;
    for (int i = 1; i <= TRIES; i++) {
        verdict = measure(b, tree, FIRST_RUNS * i * i);
        if (verdict != STEP_CANNOT_TELL)
            break;
    }
    b->steps++;
    if (verdict == STEP_CANNOT_TELL && isfinite(b->change) && isfinite(b->estimate)) {
        b->is_doubtful = true;
        verdict = b->estimate > b->change / 2 ? STEP_REGRESSED : STEP_GOOD;
    }
    if (!b->values->common.quiet) {
        static const char *const names[] = {"good", "slower", "cannot tell", "failed"};

        fprintf(stderr, "%.12s: %s\n", commit, names[verdict]);
    }
    return verdict;
}

/* The first slower commit is between *low (good) and *high (slower); narrows until they touch. */
static step_verdict narrow(bisection *b, size_t *low, size_t *high)
{
    step_verdict verdict = judge(b, b->commits[*high - 1]);

    if (verdict != STEP_REGRESSED)
        return verdict;
    while (*high - *low > 1) {
        size_t middle = *low + (*high - *low) / 2;

        verdict = judge(b, b->commits[middle - 1]);
        if (verdict == STEP_REGRESSED)
            *high = middle;
        else if (verdict == STEP_GOOD)
            *low = middle;
        else
            return verdict;
    }
    return STEP_REGRESSED;
}

static int report(const bisection *b, size_t low, size_t high, step_verdict verdict)
{
    const char *first = b->commits[high - 1];

    if (verdict == STEP_GOOD)
        return pyro_common_complain("%.12s is not slower than %.12s: nothing to search", b->bad,
                                    b->good),
               PYRO_EXIT_CANNOT_TELL;
    if (verdict == STEP_FAILED)
        return pyro_common_complain("a step failed; --verbose shows what the commands print");
    char *subject = pyro_git_line((const char *const[]){"log", "-1", "--format=%s", first, NULL});
    pyro_bisected result = {.good = low == 0 ? b->good : b->commits[low - 1],
                            .first = first,
                            .subject = subject ? subject : "",
                            .steps = b->steps,
                            .change = b->change,
                            .is_certain = verdict == STEP_REGRESSED && !b->is_doubtful};
    pyro_history_report written = {.view = PYRO_HISTORY_BISECT, .bisected = &result};
    int exit_code = pyro_history_write(b->values, &written);
    free(subject);
    return exit_code == PYRO_EXIT_FINE && !result.is_certain ? PYRO_EXIT_CANNOT_TELL : exit_code;
}

static int search(bisection *b)
{
    char tree[4096], *range = NULL;
    pyro_buf out = PYRO_BUF_INIT;
    int exit_code;

    snprintf(tree, sizeof tree, "%s/tree", b->folder);
    bool is_listed = asprintf(&range, "%s..%s", b->good, b->bad) > 0 &&
                     pyro_git(&b->text,
                              (const char *const[]){"rev-list", "--topo-order", "--reverse",
                                                    "--first-parent", range, NULL}) &&
                     pyro_split_lines(&b->commits, &b->commit_count, &b->text);
    free(range);
    if (!is_listed || b->commit_count == 0)
        return pyro_common_complain("%.40s is no ancestor of %.40s", b->good, b->bad);
    if (!pyro_git(&out,
                  (const char *const[]){"worktree", "add", "-q", "--detach", tree, b->bad, NULL})) {
        pyro_buf_free(&out);
        return pyro_common_complain("git cannot make a work tree in %s", b->folder);
    }
    size_t low = 0, high = b->commit_count;
    step_verdict verdict = narrow(b, &low, &high);
    exit_code = report(b, low, high, verdict);
    pyro_git(&out, (const char *const[]){"worktree", "remove", "--force", tree, NULL});
    pyro_buf_free(&out);
    return exit_code;
}

static char *find_commit(const char *name)
{
    char *text = NULL, *commit;

    if (asprintf(&text, "%s^{commit}", name) < 0)
        return NULL;
    commit = pyro_git_line((const char *const[]){"rev-parse", "-q", "--verify", text, NULL});
    free(text);
    return commit;
}

/* The range of a stored change. */
static int range_of_change(bisection *b, pyro_error *error)
{
    pyro_history_reading reading;
    const char *id = b->values->change;
    int status = pyro_history_lines_open(&reading, b->values, false, error);

    for (size_t i = 0; status == PYRO_OK && !b->good && i < reading.changes->change_count; i++) {
        const pyro_history_change *change = &reading.changes->changes[i];

        if (strncmp(change->id, id, strlen(id)) != 0)
            continue;
        b->good = find_commit(change->line->points[change->low - 1].commit);
        b->bad = find_commit(change->line->points[change->high].commit);
    }
    pyro_history_lines_close(&reading);
    if (status == PYRO_OK && (!b->good || !b->bad))
        status = pyro_fail(error, PYRO_ERROR_NOT_FOUND,
                           "%.40s: no such change, or its commits are not in this repository", id);
    return status;
}

static int find_range(bisection *b, pyro_error *error)
{
    if (b->values->change)
        return range_of_change(b, error);
    if (!b->values->good)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                         "history bisect needs --change, or --good and --bad");
    b->good = find_commit(b->values->good);
    b->bad = find_commit(b->values->bad ? b->values->bad : "HEAD");
    return b->good && b->bad
               ? PYRO_OK
               : pyro_fail(error, PYRO_ERROR_NOT_FOUND, "%.100s: no such commit in this repository",
                           b->good ? b->values->bad : b->values->good);
}

int pyro_history_verb_bisect(const pyro_history_values *values, const char *const *operands,
                             size_t count)
{
    bisection b = {.values = values, .commands = operands, .command_count = count, .change = NAN};
    pyro_error error;
    int exit_code;

    if (count == 0)
        return pyro_common_complain("history bisect needs the command to measure, such as "
                                    "pyrometer history bisect --good v1.2 './infer'");
    pyro_error_clear(&error);
    if (find_range(&b, &error) != PYRO_OK) {
        exit_code = pyro_common_fail(NULL, &error);
    } else if (pyro_file_make_temporary_folder(&b.folder, &error) != PYRO_OK) {
        exit_code = pyro_common_fail(NULL, &error);
    } else {
        char output[4096];

        exit_code = search(&b);
        snprintf(output, sizeof output, "%s/result.json", b.folder);
        unlink(output);
        rmdir(b.folder);
    }
    free(b.folder);
    free(b.good);
    free(b.bad);
    free(b.commits);
    pyro_buf_free(&b.text);
    return exit_code;
}

/* Orders a query by the commits of the git repository in the current folder. */
#include <pyrometer/history.h>

#include "history/git.h"

#include <stdio.h>
#include <stdlib.h>

struct pyro_history_order {
    pyro_buf commit_text, other_text;
    const char **commits, **others;
};

/* The branch, as this repository or its origin knows it; else HEAD. */
static char *find_tip(const char *branch)
{
    const char *const prefixes[] = {"refs/heads/", "refs/remotes/origin/"};
    char *tip = NULL, *reference;

    for (size_t i = 0; branch && !tip && i < 2; i++) {
        if (asprintf(&reference, "%s%s", prefixes[i], branch) < 0)
            return NULL;
        tip = pyro_git_line((const char *const[]){"rev-parse", "-q", "--verify", reference, NULL});
        free(reference);
    }
    return tip || branch
               ? tip
               : pyro_git_line((const char *const[]){"rev-parse", "-q", "--verify", "HEAD", NULL});
}

void pyro_history_order_free(pyro_history_order *order)
{
    if (!order)
        return;
    free(order->commits);
    free(order->others);
    pyro_buf_free(&order->commit_text);
    pyro_buf_free(&order->other_text);
    free(order);
}

/* Enough for years of commits; older ones count as vanished and keep their time. */
#define COMMITS_MAX "-n100000"

pyro_history_order *pyro_history_order_by_git(pyro_history_query *query)
{
    pyro_history_order *order = calloc(1, sizeof *order);
    char *tip = order ? find_tip(query->branch) : NULL;
    bool is_known =
        tip &&
        pyro_git(&order->commit_text, (const char *const[]){"rev-list", "--topo-order", "--reverse",
                                                            COMMITS_MAX, tip, NULL}) &&
        pyro_split_lines(&order->commits, &query->commit_count, &order->commit_text) &&
        pyro_git(&order->other_text,
                 (const char *const[]){"rev-list", "--all", COMMITS_MAX, "--not", tip, NULL}) &&
        pyro_split_lines(&order->others, &query->other_count, &order->other_text);

    free(tip);
    if (!is_known) {
        query->commit_count = query->other_count = 0;
        pyro_history_order_free(order);
        return NULL;
    }
    query->commits = order->commits;
    query->others = order->others;
    /* Ancestry decides, not the name of the branch at the time of the measurement. */
    query->branch = NULL;
    return order;
}

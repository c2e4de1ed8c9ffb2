/* Reads the state of a git work tree from git's own files, without starting git. */
#include "bench/git_files.h"

#include "bench/system_files.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_commit(const char *text)
{
    size_t length = strspn(text, "0123456789abcdef");

    return (length == 40 || length == 64) && text[length] == '\0';
}

/* Looks a branch up in its own file, then among the packed ones. */
static bool resolve_reference(const char *folder, const char *reference, char *out, size_t size)
{
    char path[2 * PATH_MAX + 1024], *packed, *rest;
    bool found = false;

    snprintf(path, sizeof path, "%s/%s", folder, reference);
    if (pyro_system_line(path, out, size) && is_commit(out))
        return true;
    snprintf(path, sizeof path, "%s/packed-refs", folder);
    packed = malloc(PYRO_SYSTEM_TEXT);
    if (packed && pyro_system_text(path, packed, PYRO_SYSTEM_TEXT)) {
        for (char *line = strtok_r(packed, "\n", &rest); line && !found;
             line = strtok_r(NULL, "\n", &rest)) {
            char *space = strchr(line, ' ');

            if (!space || strcmp(space + 1, reference) != 0)
                continue;
            *space = '\0';
            found = is_commit(line);
            if (found)
                snprintf(out, size, "%s", line);
        }
    }
    free(packed);
    return found;
}

/*
 * The folder that holds HEAD for a work tree: .git itself, or where the file .git points; and the
 * folder of the tree.
 */
static bool find_git_folder(char *folder, size_t size, char *tree, size_t tree_size)
{
    char at[PATH_MAX], path[PATH_MAX + 16], line[PATH_MAX + 16];

    if (!getcwd(at, sizeof at))
        return false;
    for (;;) {
        snprintf(path, sizeof path, "%s/.git/HEAD", at);
        if (access(path, R_OK) == 0) {
            snprintf(folder, size, "%s/.git", at);
            snprintf(tree, tree_size, "%s", at);
            return true;
        }
        snprintf(path, sizeof path, "%s/.git", at);
        if (pyro_system_line(path, line, sizeof line) && strncmp(line, "gitdir: ", 8) == 0) {
            snprintf(folder, size, "%s%s%s", line[8] == '/' ? "" : at, line[8] == '/' ? "" : "/",
                     line + 8);
            snprintf(tree, tree_size, "%s", at);
            return true;
        }
        char *slash = strrchr(at, '/');
        if (!slash || slash == at)
            return false;
        *slash = '\0';
    }
}

bool pyro_git_commit(char *commit, size_t size)
{
    char folder[2 * PATH_MAX + 64], path[3 * PATH_MAX + 128], head[512], common[PATH_MAX];
    char tree[PATH_MAX];

    if (!find_git_folder(folder, sizeof folder, tree, sizeof tree))
        return false;
    snprintf(path, sizeof path, "%s/HEAD", folder);
    if (!pyro_system_line(path, head, sizeof head))
        return false;
    if (strncmp(head, "ref: ", 5) != 0) {
        snprintf(commit, size, "%.*s", (int)size - 1, head);
        return is_commit(commit);
    }
    if (resolve_reference(folder, head + 5, commit, size))
        return true;
    /* A linked work tree keeps its branches in the main one. */
    snprintf(path, sizeof path, "%s/commondir", folder);
    if (!pyro_system_line(path, common, sizeof common))
        return false;
    snprintf(path, sizeof path, "%s%s%s", common[0] == '/' ? "" : folder,
             common[0] == '/' ? "" : "/", common);
    return resolve_reference(path, head + 5, commit, size);
}

bool pyro_git_branch(char *branch, size_t size)
{
    static const char prefix[] = "ref: refs/heads/";
    char folder[2 * PATH_MAX + 64], path[3 * PATH_MAX + 128], head[512], tree[PATH_MAX];

    if (!find_git_folder(folder, sizeof folder, tree, sizeof tree))
        return false;
    snprintf(path, sizeof path, "%s/HEAD", folder);
    if (!pyro_system_line(path, head, sizeof head) || strncmp(head, prefix, sizeof prefix - 1) != 0)
        return false;
    snprintf(branch, size, "%s", head + sizeof prefix - 1);
    return true;
}

bool pyro_git_tree_name(char *name, size_t size)
{
    char folder[2 * PATH_MAX + 64], tree[PATH_MAX];

    if (!find_git_folder(folder, sizeof folder, tree, sizeof tree))
        return false;
    const char *slash = strrchr(tree, '/');
    snprintf(name, size, "%s", slash ? slash + 1 : tree);
    return name[0] != '\0';
}

/* What a job of GitHub Actions reads: annotations, and the summary of its step. */
#ifndef PYRO_CLI_GITHUB_H
#define PYRO_CLI_GITHUB_H

#include <stddef.h>

/* "::error::text" or "::warning::text" on standard error, as one line. */
void pyro_github_annotate(const char *level, const char *text);

/*
 * Adds Markdown to the file that GITHUB_STEP_SUMMARY names, behind what is there; nothing where that
 * is not set. What cannot be written is a warning.
 */
void pyro_github_summarize(const char *markdown, size_t size);

#endif

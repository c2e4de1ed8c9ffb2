/* Writes annotations and step summaries for GitHub Actions. */
#ifndef PYRO_CLI_GITHUB_H
#define PYRO_CLI_GITHUB_H

#include <stddef.h>

/* Prints "::error::text" or "::warning::text" as one line on standard error. */
void pyro_github_annotate(const char *level, const char *text);

/*
 * Appends Markdown to the file that GITHUB_STEP_SUMMARY names; does nothing when it is not set.
 * Only warns when the file cannot be written.
 */
void pyro_github_summarize(const char *markdown, size_t size);

#endif

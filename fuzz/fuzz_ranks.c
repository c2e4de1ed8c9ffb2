/* Fuzzes rank summaries: valid input can be written, read again, merged and analyzed. */
#include <pyrometer/ranks.h>

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const pyro_report_options json = {.format = PYRO_FORMAT_JSON};
    pyro_rank_summary *summary, *again;
    pyro_ranks *ranks;
    pyro_error error;
    char *text, *second;
    size_t length, second_length;

    pyro_error_clear(&error);
    if (pyro_rank_summary_read(&summary, data, size, &error) != PYRO_OK)
        return 0;
    if (pyro_rank_summary_write(&text, &length, summary, &error) != PYRO_OK ||
        pyro_rank_summary_read(&again, text, length, &error) != PYRO_OK ||
        pyro_rank_summary_merge(again, summary, &error) != PYRO_OK ||
        pyro_rank_summary_write(&second, &second_length, again, &error) != PYRO_OK)
        abort();
    /* Merging adds no part twice. */
    if (length != second_length || memcmp(text, second, length) != 0)
        abort();
    pyro_free(text);
    pyro_free(second);
    if (pyro_ranks_analyze(&ranks, summary, 0, &error) != PYRO_OK)
        abort();
    for (int view = PYRO_RANKS_OVERVIEW; view <= PYRO_RANKS_STRAGGLERS; view++) {
        if (pyro_report_ranks(&text, &length, ranks, (pyro_ranks_view)view, view ? NULL : &json,
                              &error) != PYRO_OK)
            abort();
        pyro_free(text);
    }
    pyro_ranks_free(ranks);
    pyro_rank_summary_free(again);
    pyro_rank_summary_free(summary);
    return 0;
}

/* The writers of an answer about many ranks. */
#ifndef PYRO_REPORT_RANKS_RANKS_H
#define PYRO_REPORT_RANKS_RANKS_H

#include "base/containers/buf.h"
#include <pyrometer/ranks.h>

void pyro_write_ranks_text(pyro_buf *buf, const pyro_ranks *ranks, pyro_ranks_view view,
                           const pyro_report_options *options);
void pyro_write_ranks_json(pyro_buf *buf, const pyro_ranks *ranks);
void pyro_write_ranks_csv(pyro_buf *buf, const pyro_ranks *ranks, pyro_ranks_view view);

#endif

/* Passes: what happened between two calls, written as Chrome JSON by a thread of the recorder. */
#include "capture/session.h"

#include <stdlib.h>

uint64_t pyro_passes_need_from(const pyro_session *session)
{
    uint64_t from = UINT64_MAX;
    for (size_t i = 0; i < session->open_pass_count; i++)
        if (session->open_passes[i] < from)
            from = session->open_passes[i];
    for (const pyro_pass_job *job = session->first_job; job; job = job->next)
        if (job->begin_raw < from)
            from = job->begin_raw;
    return from;
}

static void free_job(pyro_pass_job *job)
{
    free(job->path);
    free(job->model);
    free(job);
}

void pyro_passes_forget(pyro_session *session)
{
    while (session->first_job) {
        pyro_pass_job *job = session->first_job;
        session->first_job = job->next;
        free_job(job);
    }
    session->last_job = NULL;
    session->job_count = session->open_pass_count = 0;
}

void pyro_passes_stop(pyro_session *session)
{
    pyro_passes_forget(session);
}

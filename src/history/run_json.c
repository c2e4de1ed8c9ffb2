/* Writes runs that are not stored yet as the JSON of a history, which pyro_runs_parse() reads. */
#include "history/run.h"

#include "base/error.h"
#include "base/json/write.h"
#include "history/history.h"

#include <stdio.h>

static void write_metric(pyro_json_writer *w, const pyro_run_metric *metric)
{
    pyro_json_begin_object(w);
    pyro_json_member_string(w, "benchmark", metric->benchmark);
    pyro_json_member_string(w, "metric", metric->metric);
    pyro_json_member_string(w, "unit", metric->unit);
    pyro_json_member_string(w, "method", metric->method);
    pyro_json_member_string(w, "better", metric->higher_is_better ? "higher" : "lower");
    if (metric->samples) {
        pyro_json_key(w, "samples");
        pyro_json_begin_array_inline(w);
        for (size_t i = 0; i < metric->count; i++)
            pyro_json_number(w, metric->samples[i]);
        pyro_json_end_array(w);
    } else {
        pyro_json_member_number(w, "value", metric->value);
    }
    pyro_json_end_object(w);
}

static void write_run(pyro_json_writer *w, const pyro_run *run)
{
    char key[PYRO_SHA256_HEX], time[32];

    pyro_run_key(run, key);
    snprintf(time, sizeof time, "%lld",
             (long long)(run->time_ns != 0 ? run->time_ns : pyro_history_now_ns()));
    pyro_json_begin_object(w);
    pyro_json_member_string(w, "key", key);
    pyro_json_member_string(w, "kind", run->kind);
    pyro_json_member_string(w, "project", run->project);
    pyro_json_member_string(w, "commit", run->commit);
    pyro_json_member_string(w, "branch", run->branch);
    pyro_json_member_string(w, "time_ns", time);
    pyro_json_member_string(w, "tool", run->tool);
    pyro_json_member_string(w, "tags", run->tags);
    pyro_json_member_string(w, "machine_class", run->machine_class);
    pyro_json_member_string(w, "fingerprint", run->fingerprint);
    pyro_json_member_string(w, "machine", run->machine);
    pyro_json_key(w, "metrics");
    pyro_json_begin_array(w);
    for (size_t i = 0; i < run->metric_count; i++)
        write_metric(w, &run->metrics[i]);
    pyro_json_end_array(w);
    pyro_json_end_object(w);
}

int pyro_runs_write(pyro_buf *out, const pyro_runs *runs, pyro_error *error)
{
    pyro_json_writer w;

    pyro_json_writer_init(&w, out, 2);
    pyro_json_begin_object(&w);
    pyro_json_member_string(&w, "schema", PYRO_HISTORY_SCHEMA);
    pyro_json_key(&w, "runs");
    pyro_json_begin_array(&w);
    for (size_t i = 0; i < runs->count; i++)
        write_run(&w, runs->items[i]);
    pyro_json_end_array(&w);
    pyro_json_end_object(&w);
    pyro_buf_addc(out, '\n');
    return out->failed ? pyro_fail_memory(error) : PYRO_OK;
}

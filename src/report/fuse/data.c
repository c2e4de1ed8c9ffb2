/* Writes a fusion as JSON (schemas/fuse.schema.json) and as CSV, a record per group. */
#include "report/csv.h"
#include "report/writers.h"

#define SCHEMA "pyrometer.fuse/1"
#define COLUMNS "group,kind,layer,times,flops,bytes_before,bytes_after,operators,members"

static void write_totals(pyro_json_writer *w, const char *key, const pyro_fuse_totals *totals)
{
    pyro_json_key(w, key);
    pyro_json_begin_object(w);
    pyro_json_member_integer(w, "kernels", totals->kernels);
    pyro_json_member_integer(w, "flops", totals->flops);
    pyro_json_member_integer(w, "bytes", totals->bytes);
    pyro_json_member_number(w, "arithmetic_intensity", totals->arithmetic_intensity);
    pyro_json_end_object(w);
}

static void write_member(pyro_json_writer *w, const pyro_cost_node *node)
{
    pyro_json_begin_object(w);
    pyro_json_member_string(w, "name", node->name);
    pyro_json_member_string(w, "op", node->op);
    pyro_json_member_string(w, "type", node->type);
    pyro_json_member_string(w, "layer", node->layer);
    pyro_json_member_string(w, "shape", node->shape);
    pyro_json_end_object(w);
}

static void write_group(pyro_json_writer *w, const pyro_fused_group *group,
                        const pyro_cost_node *nodes)
{
    pyro_json_begin_object(w);
    pyro_json_member_string(w, "kind", pyro_fused_kind_name(group->kind));
    pyro_json_member_string(w, "layer", group->layer);
    pyro_json_member_integer(w, "times", group->times);
    pyro_json_member_integer(w, "flops", group->flops);
    pyro_json_member_integer(w, "bytes_before", group->bytes_before);
    pyro_json_member_integer(w, "bytes_after", group->bytes_after);
    pyro_json_key(w, "members");
    pyro_json_begin_array(w);
    for (size_t i = 0; i < group->member_count; i++)
        write_member(w, &nodes[group->members[i]]);
    pyro_json_end_array(w);
    pyro_json_end_object(w);
}

int pyro_write_fusion_json(pyro_buf *buf, const pyro_report_request *request)
{
    const pyro_fusion *fusion = request->fusion;
    size_t count;
    const pyro_cost_node *nodes = pyro_cost_nodes(fusion->cost, &count);
    pyro_json_writer w;

    pyro_json_writer_init(&w, buf, 2);
    pyro_json_begin_object(&w);
    pyro_json_member_string(&w, "schema", SCHEMA);
    pyro_json_member_string(&w, "model", pyro_model_name(pyro_cost_model(fusion->cost)));
    pyro_json_member_string(&w, "dtype", pyro_cost_dtype(fusion->cost));
    pyro_json_member_string(&w, "convention",
                            pyro_convention_name(pyro_cost_convention(fusion->cost)));
    pyro_json_member_string(&w, "strategy", pyro_fuse_strategy_name(fusion->strategy));
    write_totals(&w, "before", &fusion->before);
    write_totals(&w, "after", &fusion->after);
    pyro_json_key(&w, "groups");
    pyro_json_begin_array(&w);
    for (size_t i = 0; i < fusion->group_count; i++)
        write_group(&w, &fusion->groups[i], nodes);
    pyro_json_end_array(&w);
    pyro_json_end_object(&w);
    pyro_buf_addc(buf, '\n');
    return PYRO_OK;
}

int pyro_write_fusion_csv(pyro_buf *buf, const pyro_report_request *request)
{
    const pyro_fusion *fusion = request->fusion;
    size_t count;
    const pyro_cost_node *nodes = pyro_cost_nodes(fusion->cost, &count);
    pyro_buf names = PYRO_BUF_INIT;

    pyro_csv_header(buf, COLUMNS);
    for (size_t i = 0; i < fusion->group_count; i++) {
        const pyro_fused_group *group = &fusion->groups[i];

        pyro_buf_reset(&names);
        for (size_t m = 0; m < group->member_count; m++)
            pyro_buf_addf(&names, "%s%s", m ? " " : "", nodes[group->members[m]].name);
        pyro_csv_integer(buf, (int64_t)i + 1, false);
        pyro_csv_text(buf, pyro_fused_kind_name(group->kind), false);
        pyro_csv_text(buf, group->layer, false);
        pyro_csv_integer(buf, group->times, false);
        pyro_csv_integer(buf, group->flops, false);
        pyro_csv_integer(buf, group->bytes_before, false);
        pyro_csv_integer(buf, group->bytes_after, false);
        pyro_csv_integer(buf, (int64_t)group->member_count, false);
        pyro_csv_text(buf, names.failed ? "" : names.data, true);
        buf->failed |= names.failed;
    }
    pyro_buf_free(&names);
    return PYRO_OK;
}

/* Writes maps as JSON (schemas/map-1.json) and as CSV, a record per model, chip and layer. */
#include "report/csv.h"
#include "report/writers.h"

#define SCHEMA "pyrometer.map/1"
#define COLUMNS \
    "model,phase,dtype,batch,gpus,chip,layer,time_ns,low_ns,high_ns,least_ns,measured_ns,bound," \
    "utilisation,energy_joules,flops,bytes,kernels"

/* null for what is unknown. */
static void member(pyro_json_writer *w, const char *key, double value)
{
    pyro_json_key(w, key);
    if (value >= 0)
        pyro_json_number(w, value);
    else
        pyro_json_null(w);
}

static void write_row(pyro_json_writer *w, const pyro_map_row *row)
{
    pyro_json_begin_object(w);
    pyro_json_member_string(w, "name", row->name);
    member(w, "time_ns", row->time_ns);
    member(w, "low_ns", row->low_ns);
    member(w, "high_ns", row->high_ns);
    member(w, "least_ns", row->least_ns);
    member(w, "measured_ns", row->measured_ns);
    pyro_json_member_string(w, "bound", pyro_map_bound_name(row->bound));
    member(w, "utilisation", row->utilisation);
    member(w, "energy_joules", row->energy_joules);
    member(w, "flops", row->flops);
    member(w, "bytes", row->bytes);
    member(w, "kernels", row->kernels);
    pyro_json_end_object(w);
}

static void write_tokens(pyro_json_writer *w, const pyro_map_chip *chip)
{
    pyro_json_key(w, "tokens");
    pyro_json_begin_array(w);
    for (size_t i = 0; i < chip->token_count; i++) {
        const pyro_map_tokens *row = &chip->tokens[i];
        pyro_json_begin_object_inline(w);
        pyro_json_member_integer(w, "context", row->context);
        pyro_json_member_integer(w, "sequences", row->sequences);
        member(w, "prefill_per_s", row->prefill_per_s);
        member(w, "decode_per_s", row->decode_per_s);
        member(w, "decode_ms", row->decode_ms);
        pyro_json_member_boolean(w, "fits", row->fits);
        pyro_json_end_object(w);
    }
    pyro_json_end_array(w);
}

static void write_kinds(pyro_json_writer *w, const pyro_map_chip *chip)
{
    pyro_json_key(w, "kinds");
    pyro_json_begin_array(w);
    for (size_t i = 0; i < chip->kind_count; i++) {
        pyro_json_begin_object_inline(w);
        pyro_json_member_string(w, "kind", chip->kinds[i].kind);
        member(w, "time_ns", chip->kinds[i].time_ns);
        member(w, "measured_ns", chip->kinds[i].measured_ns);
        member(w, "kernels", chip->kinds[i].kernels);
        pyro_json_end_object(w);
    }
    pyro_json_end_array(w);
}

static void write_known(pyro_json_writer *w, const pyro_map_chip *chip)
{
    static const char *const keys[] = {"learnt_ns", "calibrated_ns", "data_sheet_ns"};
    pyro_json_key(w, "known");
    pyro_json_begin_object(w);
    for (int i = 0; i < PYRO_MAP_ORIGIN_COUNT; i++)
        member(w, keys[i], chip->known_ns[i]);
    pyro_json_end_object(w);
}

static void write_chip(pyro_json_writer *w, const pyro_map_chip *chip)
{
    pyro_json_begin_object(w);
    pyro_json_member_string(w, "chip", chip->name);
    pyro_json_key(w, "total");
    write_row(w, &chip->total);
    member(w, "device_ns", chip->device_ns);
    member(w, "launch_ns", chip->launch_ns);
    member(w, "communication_ns", chip->communication_ns);
    member(w, "unpriced_ns", chip->unpriced_ns);
    write_known(w, chip);
    member(w, "memory_bytes", chip->memory_bytes > 0 ? (double)chip->memory_bytes : -1);
    member(w, "available_bytes", chip->available_bytes > 0 ? (double)chip->available_bytes : -1);
    pyro_json_member_boolean(w, "fits", chip->fits);
    member(w, "saturating_batch", chip->saturating_batch > 0 ? (double)chip->saturating_batch : -1);
    pyro_json_member_boolean(w, "is_saturated", chip->is_saturated);
    member(w, "samples_per_s", chip->samples_per_s > 0 ? chip->samples_per_s : -1);
    member(w, "price_per_million", chip->price_per_million > 0 ? chip->price_per_million : -1);
    write_tokens(w, chip);
    write_kinds(w, chip);
    pyro_json_key(w, "layers");
    pyro_json_begin_array(w);
    for (size_t i = 0; i < chip->layer_count; i++)
        if (chip->layers[i].time_ns > 0 || chip->layers[i].measured_ns > 0)
            write_row(w, &chip->layers[i]);
    pyro_json_end_array(w);
    pyro_json_end_object(w);
}

static void member_chip(pyro_json_writer *w, const char *key, const pyro_mapping *map, int index)
{
    pyro_json_member_string(w, key, index < 0 ? NULL : map->chips[index].name);
}

static void write_map(pyro_json_writer *w, const pyro_mapping *map)
{
    pyro_json_begin_object(w);
    pyro_json_member_string(w, "model", map->model);
    pyro_json_member_string(w, "phase", map->phase);
    pyro_json_member_string(w, "dtype", map->dtype);
    member(w, "batch", map->batch > 0 ? (double)map->batch : -1);
    member(w, "sequence", map->sequence > 0 ? (double)map->sequence : -1);
    pyro_json_member_integer(w, "gpus", map->gpus);
    pyro_json_member_string(w, "parallel", pyro_parallel_name(map->parallel));
    pyro_json_member_boolean(w, "fused", map->fused);
    pyro_json_member_string(w, "measured_on", map->measured_on[0] ? map->measured_on : NULL);
    member_chip(w, "best_by_time", map, map->best_by_time);
    member_chip(w, "best_by_energy", map, map->best_by_energy);
    member_chip(w, "best_by_price", map, map->best_by_price);
    pyro_json_key(w, "chips");
    pyro_json_begin_array(w);
    for (size_t i = 0; i < map->chip_count; i++)
        write_chip(w, &map->chips[i]);
    pyro_json_end_array(w);
    pyro_json_end_object(w);
}

int pyro_write_map_json(pyro_buf *buf, const pyro_report_request *request)
{
    pyro_json_writer w;

    pyro_json_writer_init(&w, buf, 2);
    pyro_json_begin_object(&w);
    pyro_json_member_string(&w, "schema", SCHEMA);
    pyro_json_key(&w, "maps");
    pyro_json_begin_array(&w);
    for (size_t i = 0; i < request->map.count; i++)
        write_map(&w, request->map.maps[i]);
    pyro_json_end_array(&w);
    pyro_json_end_object(&w);
    pyro_buf_addc(buf, '\n');
    return PYRO_OK;
}

static void csv_row(pyro_buf *buf, const pyro_mapping *map, const pyro_map_chip *chip,
                    const pyro_map_row *row)
{
    pyro_csv_text(buf, map->model, false);
    pyro_csv_text(buf, map->phase, false);
    pyro_csv_text(buf, map->dtype, false);
    pyro_csv_integer(buf, map->batch, false);
    pyro_csv_integer(buf, map->gpus, false);
    pyro_csv_text(buf, chip->name, false);
    pyro_csv_text(buf, row->name, false);
    pyro_csv_number(buf, row->time_ns, false);
    pyro_csv_number(buf, row->low_ns, false);
    pyro_csv_number(buf, row->high_ns, false);
    pyro_csv_number(buf, row->least_ns, false);
    pyro_csv_number(buf, row->measured_ns, false);
    pyro_csv_text(buf, pyro_map_bound_name(row->bound), false);
    pyro_csv_number(buf, row->utilisation, false);
    pyro_csv_number(buf, row->energy_joules, false);
    pyro_csv_number(buf, row->flops, false);
    pyro_csv_number(buf, row->bytes, false);
    pyro_csv_number(buf, row->kernels, true);
}

int pyro_write_map_csv(pyro_buf *buf, const pyro_report_request *request)
{
    pyro_csv_header(buf, COLUMNS);
    for (size_t m = 0; m < request->map.count; m++) {
        const pyro_mapping *map = request->map.maps[m];
        for (size_t c = 0; c < map->chip_count; c++) {
            const pyro_map_chip *chip = &map->chips[c];
            csv_row(buf, map, chip, &chip->total);
            for (size_t i = 0; i < chip->layer_count; i++)
                if (chip->layers[i].time_ns > 0 || chip->layers[i].measured_ns > 0)
                    csv_row(buf, map, chip, &chip->layers[i]);
        }
    }
    return PYRO_OK;
}

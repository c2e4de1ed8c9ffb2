/* Adds the tensors of a recorded operator as uses and made values of a step. */
#ifndef PYRO_DATAFLOW_RECORD_STEP_H
#define PYRO_DATAFLOW_RECORD_STEP_H

#include "dataflow/program.h"
#include "dataflow/storage_records.h"

typedef struct pyro_step_recorder {
    pyro_program *program;
    const pyro_trace *trace;
    pyro_tracker tracker;
    pyro_map weight_of_tensor, weight_of_storage; /* numbers of weights */
    pyro_map weight_of_place; /* the same by storage and first byte, which tied weights share */
    pyro_map input_of_tensor; /* entry of trace->weights */
    pyro_storage_record *inputs; /* of the current step; its outputs follow */
    size_t input_count, seen_count, input_capacity;
    unsigned char *how; /* by output of the step: how it was made */
    size_t how_capacity;
    bool only_views; /* no output of the step is new, or has new contents */
    pyro_map made_elsewhere; /* storages that operators on other threads made */
    int64_t foreign, from_elsewhere, to_elsewhere; /* numbers of noted tensors and operators */
    char first_foreign[160], first_from[160], first_to[240]; /* where the first of them were */
} pyro_step_recorder;

/* False when memory is out. */
bool pyro_step_recorder_init(pyro_step_recorder *recorder, pyro_program *program,
                             const pyro_trace *trace);
void pyro_step_recorder_free(pyro_step_recorder *recorder);
/* True when the operator returned a tensor. */
bool pyro_step_recorder_makes(const pyro_step_recorder *recorder, const pyro_op_detail *detail);
/* Adds uses and made values to the last step of the program. */
bool pyro_step_recorder_add(pyro_step_recorder *recorder, uint32_t step, const char *op,
                            const pyro_op_detail *detail);

/* Handles an operator on another thread, while the model runs: it is not a step. */
bool pyro_step_recorder_elsewhere(pyro_step_recorder *recorder, const char *op,
                                  const pyro_op_detail *detail);
/* Notes where data left the recorded operators, and came back. */
bool pyro_step_recorder_note(pyro_step_recorder *recorder);

#endif

/* Predicts how much faster a stored benchmark would be on other chips, by pyrometer map. */
#ifndef PYRO_CLI_HISTORY_PREDICT_H
#define PYRO_CLI_HISTORY_PREDICT_H

#include "cli/history/history.h"
#include "cli/options/model.h"

#include <pyrometer/map.h>

enum { PYRO_PREDICTED_TEXT = 512 };

/* The chips of --on, and the chip of the line that was predicted last. */
typedef struct pyro_predictor {
    const pyro_history_values *values;
    pyro_model_words names;
    pyro_mapper *targets, *source;
    char source_name[PYRO_PREDICTED_TEXT];
} pyro_predictor;

/* Service times on a chip over those on the chip that was measured. */
typedef struct pyro_predicted_ratio {
    char chip[PYRO_PREDICTED_TEXT], measured_on[PYRO_PREDICTED_TEXT];
    char why_not[PYRO_PREDICTED_TEXT]; /* "": there is a prediction */
    double ratio, low, high;
} pyro_predicted_ratio;

/* PYRO_ERROR_ARGUMENT if --on has an unknown chip. */
int pyro_predictor_open(pyro_predictor *predictor, const pyro_history_values *values,
                        pyro_error *error);
void pyro_predictor_close(pyro_predictor *predictor);
size_t pyro_predictor_count(const pyro_predictor *predictor);
/* Fills one ratio per chip of --on; what cannot be predicted gets its reason. */
void pyro_predict_line(pyro_predicted_ratio *out, pyro_predictor *predictor,
                       const pyro_history_line *line);

#endif

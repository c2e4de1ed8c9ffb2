/* The setting of a computation: amounts that follow from options, layout and chip. */
#include "fit/fit.h"

void fit_set_amounts(fit_setting *setting, const fit_load *load, const pyro_fit_options *options,
                     const pyro_layout *layout)
{
    setting->concurrent = options->concurrent ? options->concurrent
                          : load->batch > 0   ? load->batch
                                              : 1;
    setting->micro_batches = options->micro_batches ? options->micro_batches
                             : load->train          ? layout->pipeline
                                                    : 1;
}

fit_setting fit_setting_of(const fit_run *run, const pyro_fit_answer *answer)
{
    fit_setting setting = run->setting;
    setting.memory_bytes = answer->memory_bytes;
    setting.link_bytes_per_s = answer->link_bytes_per_s;
    setting.driver_share = answer->driver_share;
    fit_set_amounts(&setting, &run->load, run->options, &answer->layout);
    return setting;
}

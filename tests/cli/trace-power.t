# Power, energy and throttling, from counters of the GPU.
$ pyrometer trace ../trace/planted/gpu-throttled.hit.json --by step --top 3
================================================================================
TRACE PROFILE: gpu-throttled.hit.json
================================================================================

Steps (parts of the span that do not overlap) (top 3 of 10 by time):
  Step                Span   Compute  Comm.  Copy     Idle  Idle %
  ----------------------------------------------------------------
  ProfilerStep#0  100.0 ms  100.0 ms      -     -  20.0 us   <0.1%
  ProfilerStep#1  100.0 ms  100.0 ms      -     -  20.0 us   <0.1%
  ProfilerStep#2  100.0 ms  100.0 ms      -     -  20.0 us   <0.1%

Device time of the steps by phase:
  Step            Kernels    Device  Forward  Backward  Optimizer     Other
  -------------------------------------------------------------------------
  ProfilerStep#0        1  100.0 ms        -         -          -  100.0 ms
  ProfilerStep#1        1  100.0 ms        -         -          -  100.0 ms
  ProfilerStep#2        1  100.0 ms        -         -          -  100.0 ms

Power and energy of the steps (top 3 of 10 by time):
  Step  GPU  Power W  Max W  Energy J  +/- J  Throttled  SM MHz
  -------------------------------------------------------------
     0    0      400    400        40      4       0.0%    1980
     1    0      400    400        40      4       0.0%    1980
     2    0      400    400        40      4       0.0%    1980
  Sampled every 10.0 ms; the sensor's values change every 10.0 ms. An energy is
  right within +/-: what the device uses in that time. Steps that are shorter
  share a sample.

$ pyrometer trace ../trace/planted/gpu-throttled.hit.json --by step --top 2 -q | tail -6

Power and energy of the steps (top 2 of 10 by time):
  Step  GPU  Power W  Max W  Energy J  +/- J  Throttled  SM MHz
  -------------------------------------------------------------
     0    0      400    400        40      4       0.0%    1980
     1    0      400    400        40      4       0.0%    1980

$ COLUMNS=110 pyrometer trace ../trace/planted/gpu-throttled.hit.json --by step --top 2 | grep -A4 "Power and"
Power and energy of the steps (top 2 of 10 by time):
  Step  GPU  Power W  Max W  Energy J  +/- J  Throttled  SM MHz  Power cap  Heat C  Tensor %  DRAM %
  --------------------------------------------------------------------------------------------------
     0    0      400    400        40      4       0.0%    1980       0.0%       -         -       -
     1    0      400    400        40      4       0.0%    1980       0.0%       -         -       -

$ pyrometer trace ../trace/planted/gpu-throttled.hit.json | grep -E "GPU power|clocks"
  GPU power:            400 W, at most 600 W; 40 J per step (within 0.4 J)
  1. Heat or the hardware lowered the GPU's clocks
     clocks were lowered in 6% of the samples (6% by heat), in steps 4; SM clock

$ pyrometer trace ../trace/planted/gpu-throttled.miss.json | grep -E "GPU power|clocks"
  GPU power:            400 W, at most 600 W; 40 J per step (within 0.4 J)
  - the power cap lowered the GPU's clocks in 51% of the samples (SM clock 1410

$ pyrometer trace ../trace/planted/gpu-throttled.hit.json --by counter
================================================================================
TRACE PROFILE: gpu-throttled.hit.json
================================================================================

Counters:
  Name          Series         Process  Samples     Min    Mean     Max
  ---------------------------------------------------------------------
  GPU clock     SM MHz               0      101  1410.0  1946.1  1980.0
  GPU clock     memory MHz           0      101  3201.0  3201.0  3201.0
  GPU energy    J                    0      101  1000.0  1200.0  1400.0
  GPU power     W                    0      101   400.0   411.9   600.0
  GPU throttle  clock setting        0      101     0.0     0.0     0.0
  GPU throttle  hardware             0      101     0.0     0.1     1.0
  GPU throttle  heat                 0      101     0.0     0.1     1.0
  GPU throttle  power cap            0      101     0.0     0.0     0.0

$ pyrometer trace ../trace/planted/gpu-throttled.hit.json --format json | grep -E '"(samples|sensor|interval_ns|update_ns|max_power_w|joules_per_token|throttled_steps)": [0-9nul]+,?$'
    "samples": 101,
    "sensor": null,
    "interval_ns": 10000000,
    "update_ns": 10000000,
    "max_power_w": 600,
    "joules_per_token": null,
    "throttled_steps": 1

# The counters are in Chrome JSON, and read from there the same.
$ pyrometer trace ../trace/planted/gpu-throttled.hit.json --chrome $TMP/a.json -q -o $TMP/a.txt; pyrometer trace $TMP/a.json | grep "GPU power"
  GPU power:            400 W, at most 600 W; 40 J per step (within 0.4 J)

# Peaks that were measured on another machine.
$ echo '{"schema":"pyrometer.peaks/2","measured":"2026-11-17","devices":[{"device":"cuda","name":"NVIDIA H200","float32_flops_per_s":5e13,"tf32_flops_per_s":4e14,"bytes_per_s":4e12}]}' > $TMP/peaks.json; pyrometer trace trace/h200_resnet18_train.json.gz --by op --top 3 --peaks $TMP/peaks.json
================================================================================
TRACE PROFILE: h200_resnet18_train.json.gz
================================================================================

Ops (top 3 of 75 by device time):
  Op                            Calls      Self  Share   FLOP/s  Type  Host self
  ------------------------------------------------------------------------------
  aten::convolution_backward       40   2.72 ms  45.0%  41.27 T  fp32    4.49 ms
  aten::cudnn_convolution          40   1.04 ms  17.3%  55.67 T  fp32    3.09 ms
  aten::cudnn_b…_norm_backward     40  718.0 us  11.9%  553.5 G  fp32    1.50 ms

Work of these ops (from shapes) and its rates:
  Op                      FLOPs      Moved   Peak  Bandwidth     Least      Lost
  ------------------------------------------------------------------------------
  aten::con…n_backward  112.3 G  579.2 MiB  10.3%       5.6%  242.0 us   2.48 ms
  aten::cud…onvolution  58.03 G  370.0 MiB  13.9%       9.3%  128.9 us  913.5 us
  aten::cud…m_backward  397.4 M  455.0 MiB   0.1%      16.6%   99.4 us  618.6 us
  Peak: of products of that type and of memory, measured on NVIDIA H200 on
  2026-11-17.

$ echo '{"devices":3}' > $TMP/bad.json; pyrometer trace trace/good-1-training.json --peaks $TMP/bad.json
pyrometer: $TMP/bad.json: not a file of pyrometer doctor --calibrate (pyrometer.peaks/2)
[2]

$ pyrometer trace trace/good-1-training.json --peaks $TMP/none.json
pyrometer: $TMP/none.json: cannot open: No such file or directory
[2]

# The overview, one trace after the other: what ours is like, then dialects.
$ cd trace; pyrometer trace h200_resnet18_train.json.gz --model resnet18
================================================================================
TRACE PROFILE: h200_resnet18_train.json.gz
================================================================================

Summary:
  Events:               17,189, over 65.6 ms
  Device:               NVIDIA H200
  Device time:          6.04 ms (736 kernels); busy 9.2% of the span
  Profiler:             about 36% of a step; 17.6 to 23.8 ms without it

Where the time went (2 steps, median 32.4 ms):
  Compute                 6.03 ms    9.3%  ###
  Idle                    58.7 ms   90.7%  ################################
    host in Python        25.4 ms   39.3%  ##############
    host in ops           25.0 ms   38.6%  ##############
    launch latency        6.68 ms   10.3%  ####
    queued, not started  783.4 us    1.2%
    before first kernel  657.6 us    1.0%
    after last kernel    170.8 us    0.3%
  Device time: forward 26.9%, backward 62.9%, optimizer 10.1%, other <0.1%
  Categories: convolution 44.3%, copy 19.3%, norm 17.6%, optimizer 10.1%,
              elementwise 4.6%, reduction 3.6%
  Least time: 802.7 us of 5.43 ms with known work (14.8%); 4.63 ms lost

Findings:
  1. The device waits for the host to launch kernels, at gputraces.py(15):
     <lambda> (up to 33.1 ms to gain)
     the device waited 81.5% of the step time without the profiler (33.118 ms)
     for the host, besides 24.007 ms that the profiler takes; 519 kernels were
     launched after all earlier ones had finished; threshold 10%
     - Python code outside of ops, at gputraces.py(21): step: 12.1 ms
     - ops and calls of the runtime: 14.4 ms
     - until a launch took effect: 6.68 ms
     - Kernels are shorter than their launches: 558 of 736 launches (75.8%) took
       longer than their kernels, which run 1.908 ms in total
     - The device waits for launch calls: 736 launch calls take 7.637 ms; the
       device waits for them for up to 18.8% of the step time without the
       profiler
     -> replay the work as graphs: torch.compile(mode="reduce-overhead") or
        torch.cuda.graphs; fuse kernels with torch.compile; move the Python code
        that --by cause lists out of the loop
  2. Convolutions change the layout of tensors, at conv1 (up to 1.57 ms to gain)
     278 conversions between NCHW and NHWC take 1.127 ms, the convolutions
     themselves 2.415 ms: 31.8% of both; batch norms in NCHW take 0.444 ms more
     than their bytes need; threshold 10%
     -> use model.to(memory_format=torch.channels_last), and convert the input
        too
  3. Nearly all products use 32 bits or more, at conv1 (up to 1.22 ms to gain)
     100.0% of the time in matrix products (2.446 of 2.446 ms) uses 32 bits or
     more; threshold 90%
     -> try torch.autocast("cuda", dtype=torch.bfloat16)

Layers (top 5 of 60 by own device time):
  Layer                Calls   Forward  Backward      Self   Share   FLOP/s
  -------------------------------------------------------------------------
  bn1                      2  103.1 us  306.0 us  409.2 us    6.8%  533.7 G
  conv1                    2  164.0 us  177.9 us  341.9 us    5.7%  22.09 T
  layer4.1.conv1           2   74.9 us  177.9 us  252.7 us    4.2%  43.91 T
  layer4.1.conv2           2   74.7 us  176.5 us  251.2 us    4.2%  44.17 T
  layer4.0.conv2           2   75.1 us  174.1 us  249.2 us    4.1%  44.53 T
  -------------------------------------------------------------------------
  (55 more layers)                                 3.92 ms   64.9%
  (outside any layer)                              7.07 us    0.1%
  (optimizer)                                     610.9 us   10.1%
  Device total                                     6.04 ms  100.0%

Ops (top 3 of 75 by device time):
  Op                            Calls      Self  Share   FLOP/s  Type  Host self
  ------------------------------------------------------------------------------
  aten::convolution_backward       40   2.72 ms  45.0%  41.27 T  fp32    4.49 ms
  aten::cudnn_convolution          40   1.04 ms  17.3%  55.67 T  fp32    3.09 ms
  aten::cudnn_b…_norm_backward     40  718.0 us  11.9%  553.5 G  fp32    1.50 ms

Kernels (top 3 of 60 by device time):
  Kernel                                Calls     Total  Share    Median  Tensor
  ------------------------------------------------------------------------------
  nchwToNhwcKernel<float> (variant 1)     124  528.0 us   8.7%   2.66 us  -
  bn_bw_1C11_kernel_new<float, float2>      2  306.0 us   5.1%  153.0 us  -
  nchwToNhwcKernel<float> (variant 2)      68  304.7 us   5.0%   3.34 us  -

Next:
  pyrometer trace h200_resnet18_train.json.gz --by layer
  pyrometer trace h200_resnet18_train.json.gz --by cause
  pyrometer trace h200_resnet18_train.json.gz --by finding
  pyrometer trace h200_resnet18_train.json.gz -o results.json

$ cd trace; pyrometer trace h200_vit_b16_forward.json.gz
================================================================================
TRACE PROFILE: h200_vit_b16_forward.json.gz
================================================================================

Summary:
  Events:               4,249, over 10.9 ms
  Device:               NVIDIA H200
  Device time:          3.05 ms (150 kernels); busy 27.8% of the span
  Profiler:             about 39% of the time; 5.65 to 7.65 ms without it
  Peak memory:          373.9 MiB on cuda:0

Where the time went:
  Compute                 3.05 ms   27.8%  ##########
  Idle                    7.89 ms   72.2%  #########################
    host in Python        1.77 ms   16.2%  ######
    host in ops           2.23 ms   20.4%  #######
    launch latency       771.7 us    7.1%  ##
    queued, not started  201.8 us    1.8%  #
    before first kernel   2.72 ms   24.8%  #########
    after last kernel    195.1 us    1.8%  #
  Device time: forward 100.0%
  Categories: gemm 81.6%, attention 11.4%, norm 3.1%, elementwise 2.0%,
              convolution 1.4%
  Least time: 126.9 us of 3.04 ms with known work (4.2%); 2.92 ms lost

Findings:
  1. The device waits for the host to launch kernels, at
     torchvision/models/vision_transformer.py(110): forward (up to 2.36 ms to
     gain)
     the device waited 35.6% of the time without the profiler (2.365 ms) for the
     host, besides 2.413 ms that the profiler takes; 78 kernels were launched
     after all earlier ones had finished; threshold 10%
     - Python code outside of ops: 772.6 us
     - ops and calls of the runtime: 820.4 us
     - until a launch took effect: 771.7 us
     - Kernels are shorter than their launches: 90 of 150 launches (60.0%) took
       longer than their kernels, which run 0.241 ms in total
     - The device waits for launch calls: 150 launch calls take 1.313 ms; the
       device waits for them for up to 19.7% of the time without the profiler
     -> replay the work as graphs: torch.compile(mode="reduce-overhead") or
        torch.cuda.graphs; fuse kernels with torch.compile; move the Python code
        that --by cause lists out of the loop
  2. float32 products do not use TF32, at
     VisionTransformer_0.Encoder_0.Sequential_0.EncoderBlock_9.MLPBlock_9.Linear_19
     (up to 2.15 ms to gain)
     81.6% of the device time (2.484 ms) is in float32 products that do not use
     TF32, on a chip that supports it; threshold 5%
     - Nearly all products use 32 bits or more: 100.0% of the time in matrix
       products (2.836 of 2.836 ms) uses 32 bits or more
     -> call torch.set_float32_matmul_precision("high") and set
        torch.backends.cudnn.allow_tf32 = True
  3. The host works before it launches the first kernel, at
     torchvision/models/vision_transformer.py(268): _process_input (up to 894.4
     us to gain)
     before the first launch the host took 13.4% of the time without the
     profiler (0.894 ms, besides 1.823 ms that the profiler takes), 0.731 ms of
     it there; threshold 10%
     -> this is the model's own work on the host before its first kernel: record
        several passes in a row, in which the host prepares a pass while the
        device works on the one before

Layers (top 5 of 89 by own device time):
  Layer                      Calls   Forward  Backward      Self   Share  FLOP/s
  ------------------------------------------------------------------------------
  V0.E0.S0.E9.M9.Linear_19       1  100.8 us         -  100.8 us    3.3%  9.22 T
  V0.E0.S0.E3.M3.Linear_7        1   98.8 us         -   98.8 us    3.2%  9.41 T
  V0.E0.S0.E10…10.Linear_21      1   98.7 us         -   98.7 us    3.2%  9.42 T
  V0.E0.S0.E0.M0.Linear_1        1   97.7 us         -   97.7 us    3.2%  9.51 T
  V0.E0.S0.E7.M7.Linear_15       1   97.2 us         -   97.2 us    3.2%  9.57 T
  ------------------------------------------------------------------------------
  (84 more layers)                                       2.55 ms   83.8%
  Device total                                           3.05 ms  100.0%

Ops (top 3 of 30 by device time):
  Op                            Calls      Self  Share   FLOP/s  Type  Host self
  ------------------------------------------------------------------------------
  aten::addmm                      49   2.50 ms  82.0%  13.40 T  fp32    1.03 ms
  aten::_effici…ention_forward     12  347.5 us  11.4%   4.21 T  fp32   139.0 us
  aten::native_layer_norm          25   93.9 us   3.1%  282.1 G  fp32   273.3 us

Kernels (top 3 of 13 by device time):
  Kernel                                 Calls     Total  Share   Median  Tensor
  ------------------------------------------------------------------------------
  sgemm_largek_lds64                        12   1.11 ms  36.6%  92.4 us  -
  sm80_xmma_gemm_f32…ma_aligna4_alig...     24  782.2 us  25.7%  32.6 us  -
  sm80_xmma_gemm_f32…fma_aligna4_ali...     12  548.1 us  18.0%  45.6 us  -

Next:
  pyrometer trace h200_vit_b16_forward.json.gz --by layer
  pyrometer trace h200_vit_b16_forward.json.gz --by cause
  pyrometer trace h200_vit_b16_forward.json.gz --by memory
  pyrometer trace h200_vit_b16_forward.json.gz --by finding
  pyrometer trace h200_vit_b16_forward.json.gz -o results.json

$ cd trace; pyrometer trace good-1-training.json
================================================================================
TRACE PROFILE: good-1-training.json
================================================================================

Summary:
  Events:               70, over 2.10 ms
  Device:               NVIDIA H100 80GB HBM3
  Device time:          200.0 us (12 kernels); busy 9.5% of the span
  Peak memory:          12.0 KiB on cuda:0

Where the time went (2 steps, median 1.00 ms):
  Compute                180.0 us    9.0%  ###
  Copies alone            20.0 us    1.0%
  Idle                    1.80 ms   90.0%  ################################
    host in Python        1.01 ms   50.5%  ##################
    host in ops          520.0 us   26.0%  #########
    launch latency       140.0 us    7.0%  ##
    before first kernel   10.0 us    0.5%
    after last kernel    120.0 us    6.0%  ##
  Device time: forward 40.0%, backward 30.0%, optimizer 10.0%, other 20.0%
  Categories: gemm 70.0%, copy 10.0%, optimizer 10.0%, reduction 10.0%
  Least time: 4 ns of 140.0 us with known work (<0.1%); 140.0 us lost

Findings:
  1. The device waits for the host to launch kernels, at train.py(12): step (up
     to 1.49 ms to gain)
     the device waited 76.1% of the step time (1.485 ms) for the host; 12
     kernels were launched after all earlier ones had finished; threshold 10%
     - Python code outside of ops: 933.2 us
     - ops and calls of the runtime: 421.9 us
     - until a launch took effect: 130.0 us
     - The device waits for launch calls: 12 launch calls take 0.060 ms; the
       device waits for them for up to 3.1% of the step time
     -> replay the work as graphs: torch.compile(mode="reduce-overhead") or
        torch.cuda.graphs; fuse kernels with torch.compile; move the Python code
        that --by cause lists out of the loop
  2. The device idles after the host has waited for it, at train.py(12): step
     (up to 137.8 us to gain)
     the device idled 0.138 ms, 7.1% of the step time, after the host had waited
     for it; 2 waits, 1.0 per step, most of this after cudaStreamSynchronize;
     threshold 2%
     -> avoid .item(), .cpu(), print and boolean tests on tensors inside the
        loop; accumulate values on the device and fetch them every few steps
  3. float32 products do not use TF32, at Net_0.Linear_0 (up to 121.0 us to
     gain)
     70.0% of the device time (0.140 ms) is in float32 products that do not use
     TF32, on a chip that supports it; threshold 5%
     - Nearly all products use 32 bits or more: 100.0% of the time in matrix
       products (0.140 of 0.140 ms) uses 32 bits or more
     -> call torch.set_float32_matmul_precision("high") and set
        torch.backends.cudnn.allow_tf32 = True

Layers:
  Layer                Calls  Forward  Backward      Self   Share   FLOP/s
  ------------------------------------------------------------------------
  Net_0.Linear_0           2  40.0 us   30.0 us   70.0 us   35.0%  237.7 M
  Net_0.Linear_1           2  40.0 us   30.0 us   70.0 us   35.0%  237.7 M
  ------------------------------------------------------------------------
  (outside any layer)                             40.0 us   20.0%
  (optimizer)                                     20.0 us   10.0%
  Device total                                   200.0 us  100.0%

Ops (top 3 of 7 by device time):
  Op                   Calls     Self  Share   FLOP/s  Type  Host self
  --------------------------------------------------------------------
  aten::addmm              4  80.0 us  40.0%  211.2 M  fp32   220.0 us
  aten::mm                 4  60.0 us  30.0%  273.1 M  fp32   180.0 us
  aten::_foreach_add_      2  20.0 us  10.0%        -  -       90.0 us

Kernels (top 3 of 4 by device time):
  Kernel                     Calls    Total  Share   Median  Tensor
  -----------------------------------------------------------------
  ampere_sgemm_32x32_tn          4  80.0 us  40.0%  20.0 us  -
  ampere_sgemm_32x32_nt          4  60.0 us  30.0%  15.0 us  -
  multi_tensor_apply_kernel      2  20.0 us  10.0%  10.0 us  -

Next:
  pyrometer trace good-1-training.json --by layer
  pyrometer trace good-1-training.json --by cause
  pyrometer trace good-1-training.json --by memory
  pyrometer trace good-1-training.json --by finding
  pyrometer trace good-1-training.json -o results.json

$ cd trace; pyrometer trace good-2-annotations.json --layers-from 'fwd\|(.*)'
================================================================================
TRACE PROFILE: good-2-annotations.json
================================================================================

Summary:
  Events:               12, over 290.0 us
  Device:               NVIDIA H100 80GB HBM3
  Device time:          90.0 us (3 kernels); busy 31.0% of the span

Where the time went:
  Compute                 90.0 us   31.0%  ###########
  Idle                   200.0 us   69.0%  ########################
    host in Python        80.0 us   27.6%  ##########
    host in ops           20.0 us    6.9%  ##
    launch latency        60.0 us   20.7%  #######
    before first kernel   20.0 us    6.9%  ##
    after last kernel     20.0 us    6.9%  ##
  Device time: forward 100.0%
  Categories: elementwise 100.0%

Findings:
  1. The device waits for the host to launch kernels, at stem.norm (up to 156.2
     us to gain)
     the device waited 54.9% of the time (0.156 ms) for the host; 2 kernels were
     launched after all earlier ones had finished; threshold 10%
     - Python code outside of ops: 77.7 us
     - ops and calls of the runtime: 18.5 us
     - until a launch took effect, at stem.conv: 60.0 us
     - The device waits for launch calls: 3 launch calls take 0.015 ms; the
       device waits for them for up to 5.3% of the time
     -> replay the work as graphs: torch.compile(mode="reduce-overhead") or
        torch.cuda.graphs; fuse kernels with torch.compile; record with
        with_stack=True to see which lines are slow (--by cause)
  2. Chains of elementwise kernels are not fused, at stem.conv (up to 60.0 us to
     gain)
     1 chain of 3 or more elementwise kernels (3 kernels, 0.090 ms) is 100.0% of
     the device time; threshold 10%
     -> use torch.compile: it fuses each chain into one kernel, which reads and
        writes once

Layers:
  Layer         Calls  Forward  Backward     Self   Share  FLOP/s
  ---------------------------------------------------------------
  stem.conv         1  30.0 us         -  30.0 us   33.3%       -
  stem.norm         1  30.0 us         -  30.0 us   33.3%       -
  head              1  30.0 us         -  30.0 us   33.3%       -
  ---------------------------------------------------------------
  Device total                            90.0 us  100.0%

Ops:
  Op          Calls     Self   Share  FLOP/s  Type  Host self
  -----------------------------------------------------------
  aten::relu      3  90.0 us  100.0%       -  -      165.0 us

Kernels:
  Kernel              Calls    Total   Share   Median  Tensor
  -----------------------------------------------------------
  elementwise_kernel      3  90.0 us  100.0%  30.0 us  -

Next:
  pyrometer trace good-2-annotations.json --by layer
  pyrometer trace good-2-annotations.json --by cause
  pyrometer trace good-2-annotations.json --by finding
  pyrometer trace good-2-annotations.json -o results.json

$ cd trace; pyrometer trace good-3-cpu-only.json
================================================================================
TRACE PROFILE: good-3-cpu-only.json
================================================================================

Summary:
  Events:               6, over 300.0 us
  Times:                of the host

Where the time went:
  Forward                110.0 us   36.7%  #############
  Python outside ops     190.0 us   63.3%  ######################

Layers:
  Layer           Calls   Forward  Backward      Self  Share   FLOP/s
  -------------------------------------------------------------------
  Net_0               1  300.0 us         -  150.0 us  50.0%   1.08 G
  Net_0.Linear_0      1  100.0 us         -  100.0 us  33.3%   3.22 G
  Net_0.ReLU_0        1   50.0 us         -   50.0 us  16.7%  32.00 M

Ops:
  Op            Calls     Self  Share   FLOP/s  Type  With callees
  ----------------------------------------------------------------
  aten::addmm       1  60.0 us  54.5%        -  -          60.0 us
  aten::relu        1  30.0 us  27.3%  53.33 M  fp32       30.0 us
  aten::linear      1  20.0 us  18.2%   4.02 G  fp32       80.0 us

Next:
  pyrometer trace good-3-cpu-only.json --by layer
  pyrometer trace good-3-cpu-only.json -o results.json

$ cd trace; pyrometer trace good-4-bare-array.json
================================================================================
TRACE PROFILE: good-4-bare-array.json
================================================================================

Summary:
  Events:               2, over 12.5 us
  Times:                of the host
  Profiler:             about 12% of the time; 9.71 to 12.2 us without it

Where the time went:
  Ops                     7.25 us   58.0%  ####################
  Python outside ops      5.25 us   42.0%  ###############

  no layers in this trace: record it with
  torch.profiler.profile(with_stack=True), or take them from annotations with
  --layers-from

Ops:
  Op         Calls     Self  Share  FLOP/s  Type  With callees
  ------------------------------------------------------------
  aten::add      1  4.25 us  58.6%       -  -          4.25 us
  aten::mul      1  3.00 us  41.4%       -  -          3.00 us

Next:
  pyrometer trace good-4-bare-array.json --by op
  pyrometer trace good-4-bare-array.json -o results.json

$ cd trace; pyrometer trace good-5-names-of-2021.json -q
================================================================================
TRACE PROFILE: good-5-names-of-2021.json
================================================================================

Summary:
  Events:               4, over 62.0 us
  Device:               NVIDIA H100 80GB HBM3
  Device time:          27.0 us (1 kernel); busy 43.5% of the span

Where the time went:
  Compute                 27.0 us   43.5%  ###############
  Idle                    35.0 us   56.5%  ####################
    launch latency        20.0 us   32.3%  ###########
    before first kernel   10.0 us   16.1%  ######
    launch not in file    5.00 us    8.1%  ###
  Categories: elementwise 92.6%, copy 7.4%
  Least time: 0 ns of 25.0 us with known work (0.0%); 25.0 us lost

Ops:
  Op          Calls     Self  Share   FLOP/s  Type  Host self
  -----------------------------------------------------------
  aten::relu      1  25.0 us  92.6%  640.0 k  -       52.0 us

Kernels:
  Kernel       Calls    Total  Share   Median  Tensor
  ---------------------------------------------------
  relu_kernel      1  25.0 us  92.6%  25.0 us  -

Defects of the trace (--check says why):
  - Device work has no launch in the file: 1 of 2 kernels, copies and memsets,
    2.00 us of device time

$ cd trace; pyrometer trace good-6-rocm.json -q
================================================================================
TRACE PROFILE: good-6-rocm.json
================================================================================

Summary:
  Events:               5, over 90.0 us
  Device:               AMD Instinct MI300X
  Device time:          80.0 us (2 kernels); busy 66.7% of the span

Where the time went:
  Compute                 60.0 us   66.7%  #######################
  Idle                    30.0 us   33.3%  ############
    launch latency        20.0 us   22.2%  ########
    before first kernel   10.0 us   11.1%  ####
  Categories: gemm 100.0%

Ops:
  Op        Calls     Self   Share  FLOP/s  Type  Host self
  ---------------------------------------------------------
  aten::mm      1  80.0 us  100.0%       -  -       70.0 us

Kernels:
  Kernel                 Calls    Total   Share   Median  Tensor
  --------------------------------------------------------------
  Cijk_Alik_Bljk_BBS_BH      2  80.0 us  100.0%  40.0 us  -

$ cd trace; pyrometer trace good-7-collectives.json -q
================================================================================
TRACE PROFILE: good-7-collectives.json
================================================================================

Summary:
  Events:               6, over 150.0 us
  Device:               NVIDIA H100 80GB HBM3
  Device time:          160.0 us (2 kernels); busy 66.7% of the span

Where the time went:
  Compute                 60.0 us   40.0%  ##############
  Communication alone     40.0 us   26.7%  #########
  Idle                    50.0 us   33.3%  ############
    launch latency        40.0 us   26.7%  #########
    before first kernel   10.0 us    6.7%  ##
  Categories: communication 62.5%, gemm 37.5%

Ops:
  Op                  Calls      Self  Share  FLOP/s  Type  Host self
  -------------------------------------------------------------------
  record_param_comms      1  100.0 us  62.5%       -  -       25.0 us
  aten::mm                1   60.0 us  37.5%       -  -       25.0 us

Kernels:
  Kernel                                Calls     Total  Share    Median  Tensor
  ------------------------------------------------------------------------------
  ncclDevKernel_All…ce_Sum_f32_RING_LL      1  100.0 us  62.5%  100.0 us  -
  ampere_sgemm_128x64_nn                    1   60.0 us  37.5%   60.0 us  -

$ cd trace; pyrometer trace good-8-cuda-graph.json -q
================================================================================
TRACE PROFILE: good-8-cuda-graph.json
================================================================================

Summary:
  Events:               4, over 85.0 us
  Device:               NVIDIA H100 80GB HBM3
  Device time:          45.0 us (3 kernels); busy 52.9% of the span

Where the time went:
  Compute                 45.0 us   52.9%  ###################
  Idle                    40.0 us   47.1%  ################
    launch latency        30.0 us   35.3%  ############
    queued, not started   10.0 us   11.8%  ####

Layers:
  Layer               Calls  Forward  Backward     Self   Share  FLOP/s
  ---------------------------------------------------------------------
  CUDA graph 1.other      0  45.0 us         -  45.0 us  100.0%       -
  ---------------------------------------------------------------------
  Device total                                  45.0 us  100.0%

Kernels:
  Kernel   Calls    Total  Share   Median  Tensor
  -----------------------------------------------
  fused_0      1  15.0 us  33.3%  15.0 us  -
  fused_1      1  15.0 us  33.3%  15.0 us  -
  fused_2      1  15.0 us  33.3%  15.0 us  -

$ cd trace; pyrometer trace good-9-compiled.json -q
================================================================================
TRACE PROFILE: good-9-compiled.json
================================================================================

Summary:
  Events:               4, over 100.0 us
  Device:               NVIDIA H100 80GB HBM3
  Device time:          12.0 us (1 kernel); busy 12.0% of the span

Where the time went:
  Compute                 12.0 us   12.0%  ####
  Idle                    88.0 us   88.0%  ###############################
    launch latency        10.0 us   10.0%  ####
    before first kernel   20.0 us   20.0%  #######
    after last kernel     58.0 us   58.0%  ####################
  Categories: elementwise 100.0%

Ops:
  Op                           Calls     Self   Share  FLOP/s  Type  Host self
  ----------------------------------------------------------------------------
  triton_poi_fused_add_relu_0      1  12.0 us  100.0%       -  -       34.0 us

Kernels:
  Kernel                       Calls    Total   Share   Median  Tensor
  --------------------------------------------------------------------
  triton_poi_fused_add_relu_0      1  12.0 us  100.0%  12.0 us  -

$ cd trace; pyrometer trace good-10-odd-names.json.gz -q
================================================================================
TRACE PROFILE: good-10-odd-names.json.gz
================================================================================

Summary:
  Events:               4, over 45.0 us
  Device:               NVIDIA H100 80GB HBM3
  Device time:          5.00 us (1 kernel); busy 11.1% of the span
  Profiler:             about 3% of the time; 40.3 to 46.7 us without it

Where the time went:
  Compute                 5.00 us   11.1%  ####
  Idle                    40.0 us   88.9%  ###############################
    launch latency        18.0 us   40.0%  ##############
    before first kernel   22.0 us   48.9%  #################

Ops:
  Op                    Calls     Self   Share  FLOP/s  Type  Host self
  ---------------------------------------------------------------------
  =cmd|' /C calc'!A0        1  5.00 us  100.0%       -  -       5.00 us
  say "hi" \ é中🔥 ?[31m      1        -    0.0%       -  -       10.0 us

Kernels:
  Kernel    Calls    Total   Share   Median  Tensor
  -------------------------------------------------
  k<float>      1  5.00 us  100.0%  5.00 us  -

# Standard input is a file like any other, compressed or not.
$ cd trace; pyrometer trace - -q < good-10-odd-names.json.gz | head -7
================================================================================
TRACE PROFILE: standard input
================================================================================

Summary:
  Events:               4, over 45.0 us
  Device:               NVIDIA H100 80GB HBM3

$ cd trace; gunzip -c good-10-odd-names.json.gz | pyrometer trace - -q | sed -n 6p
  Events:               4, over 45.0 us

# Known defects of the trace itself: exit code 1 if one makes numbers wrong.

$ pyrometer trace trace/bad-2-defects.json --check
================================================================================
TRACE PROFILE: bad-2-defects.json
================================================================================

Defects of the trace:
  1. The file is damaged or incomplete [damaged-file, warning]
     1 event with negative duration (taken as 0); and 2 more
     cause: the process was killed while it wrote the file, or Kineto (before
            July 2026) did not escape quotes in names
     -> let the profiler finish; record again with a newer torch
  2. Device work was launched before the recording began [launched-before, info]
     1 of 1 kernels, copies and memsets, 20.0 us of device time
     cause: the device was behind the host when the profiler started
     -> call torch.cuda.synchronize() before the profiler starts, or use a
        schedule with warm-up

Warnings:
  - 1 event with negative duration (taken as 0)
  - 1 event with a value that is not JSON, such as NaN or N/A (left out)
  - 1 event with unescaped quotes or other damage (repaired)
[1]

$ pyrometer trace trace/good-1-training.json --check -q
================================================================================
TRACE PROFILE: good-1-training.json
================================================================================

  no known defect: launches have their kernels, kernels their launches, and
  clocks agree

$ pyrometer trace trace/good-1-training.json --by counter -q
================================================================================
TRACE PROFILE: good-1-training.json
================================================================================

  no counters in this trace

# One table at full length.
$ cd trace; pyrometer trace h200_resnet18_train.json.gz --model resnet18 --by layer --depth 1
================================================================================
TRACE PROFILE: h200_resnet18_train.json.gz
================================================================================

Layers:
  Layer                Calls   Forward  Backward      Self   Share   FLOP/s
  -------------------------------------------------------------------------
  layer4                   2  381.5 us  839.4 us   1.22 ms   20.2%  32.35 T
  layer1                   2  341.9 us  849.1 us   1.19 ms   19.7%  37.49 T
  layer3                   2  278.0 us  718.7 us  996.7 us   16.5%  39.67 T
  layer2                   2  256.7 us  682.1 us  938.8 us   15.5%  42.20 T
  bn1                      2  103.1 us  306.0 us  409.2 us    6.8%  533.7 G
  conv1                    2  164.0 us  177.9 us  341.9 us    5.7%  22.09 T
  maxpool                  2   55.8 us  159.1 us  214.9 us    3.6%  149.5 G
  relu                     2   20.0 us   35.4 us   55.4 us    0.9%  463.5 G
  fc                       2   13.8 us   29.8 us   43.5 us    0.7%   1.13 T
  avgpool                  2   6.30 us   3.68 us   9.98 us    0.2%  80.42 G
  -------------------------------------------------------------------------
  (outside any layer)                              7.07 us    0.1%
  (optimizer)                                     610.9 us   10.1%
  Device total                                     6.04 ms  100.0%

Predicted (from shapes) and measured cost, including sublayers:
  Layer      FLOPs      Moved   Peak  Bandwidth     Least      Lost
  -----------------------------------------------------------------
  layer4   39.50 G  331.5 MiB   6.5%       5.9%  102.0 us   1.12 ms
  layer1   44.65 G  885.4 MiB   7.6%      16.2%  228.9 us  962.1 us
  layer3   39.54 G  326.8 MiB   8.0%       7.2%  124.2 us  872.5 us
  layer2   39.62 G  569.4 MiB   8.5%      13.3%  170.0 us  768.8 us
  bn1      218.4 M  245.0 MiB   0.1%      13.1%   53.5 us  355.6 us
  conv1     7.55 G  116.6 MiB   4.5%       7.5%   25.5 us  316.4 us
  maxpool  32.11 M  196.0 MiB  <0.1%      19.9%   42.8 us  172.0 us
  relu     25.69 M  245.0 MiB  <0.1%      96.6%   53.5 us   1.91 us
  fc       49.18 M   12.1 MiB   0.2%       6.1%   2.63 us   40.9 us
  avgpool  802.8 k   4.63 MiB  <0.1%      10.1%   1.01 us   8.98 us
  Peak: of the chip's data sheet; pyrometer doctor --calibrate measures what
  this device reaches.

$ cd trace; pyrometer trace good-1-training.json --by layer
================================================================================
TRACE PROFILE: good-1-training.json
================================================================================

Layers:
  Layer                Calls  Forward  Backward      Self   Share   FLOP/s
  ------------------------------------------------------------------------
  Net_0.Linear_0           2  40.0 us   30.0 us   70.0 us   35.0%  237.7 M
  Net_0.Linear_1           2  40.0 us   30.0 us   70.0 us   35.0%  237.7 M
  ------------------------------------------------------------------------
  (outside any layer)                             40.0 us   20.0%
  (optimizer)                                     20.0 us   10.0%
  Device total                                   200.0 us  100.0%

Predicted (from shapes) and measured cost, including sublayers:
  Layer             FLOPs     Moved   Peak  Bandwidth  Least     Lost
  -------------------------------------------------------------------
  Net_0.Linear_0  16.64 k  8.13 KiB  <0.1%      <0.1%   0 ns  70.0 us
  Net_0.Linear_1  16.64 k  8.13 KiB  <0.1%      <0.1%   0 ns  70.0 us
  Peak: of the chip's data sheet; pyrometer doctor --calibrate measures what
  this device reaches.

$ cd trace; pyrometer trace good-1-training.json --by layer -v
================================================================================
TRACE PROFILE: good-1-training.json
================================================================================

Layers (times include sublayers, self excludes them):
  Layer                Calls  Forward  Backward      Self   Share   FLOP/s
  ------------------------------------------------------------------------
  Net_0                    2  80.0 us   60.0 us         -    0.0%  237.7 M
    Linear_0               2  40.0 us   30.0 us   70.0 us   35.0%  237.7 M
    Linear_1               2  40.0 us   30.0 us   70.0 us   35.0%  237.7 M
  ------------------------------------------------------------------------
  (outside any layer)                             40.0 us   20.0%
  (optimizer)                                     20.0 us   10.0%
  Device total                                   200.0 us  100.0%

Predicted (from shapes) and measured cost, including sublayers:
  Layer             FLOPs     Moved   Peak  Bandwidth  Least     Lost
  -------------------------------------------------------------------
  Net_0.Linear_0  16.64 k  8.13 KiB  <0.1%      <0.1%   0 ns  70.0 us
  Net_0.Linear_1  16.64 k  8.13 KiB  <0.1%      <0.1%   0 ns  70.0 us
  Peak: of the chip's data sheet; pyrometer doctor --calibrate measures what
  this device reaches.

$ cd trace; pyrometer trace good-1-training.json --by op --top 2
================================================================================
TRACE PROFILE: good-1-training.json
================================================================================

Ops (top 2 of 7 by device time):
  Op           Calls     Self  Share   FLOP/s  Type  Host self
  ------------------------------------------------------------
  aten::addmm      4  80.0 us  40.0%  211.2 M  fp32   220.0 us
  aten::mm         4  60.0 us  30.0%  273.1 M  fp32   180.0 us

Work of these ops (from shapes) and its rates:
  Op             FLOPs     Moved   Peak  Bandwidth  Least     Lost
  ----------------------------------------------------------------
  aten::addmm  16.90 k  8.25 KiB  <0.1%      <0.1%   2 ns  80.0 us
  aten::mm     16.38 k  8.00 KiB  <0.1%      <0.1%   2 ns  60.0 us
  Peak: of the chip's data sheet; pyrometer doctor --calibrate measures what
  this device reaches.

$ cd trace; pyrometer trace good-1-training.json --by shape
================================================================================
TRACE PROFILE: good-1-training.json
================================================================================

Ops by input shapes:
  Op                       Input shapes     Calls     Self  Share   FLOP/s  Type
  ------------------------------------------------------------------------------
  aten::addmm              16, 8x16, 16x16      4  80.0 us  40.0%  211.2 M  fp32
  aten::mm                 16x8, 8x16           4  60.0 us  30.0%  273.1 M  fp32
  aten::_foreach_add_                           2  20.0 us  10.0%        -  -
  aten::item                                    2  20.0 us  10.0%        -  -
  AddmmBackward0                                4        -   0.0%        -  -
  aten::linear             8x16, 16x16, 16      4        -   0.0%        -  fp32
  autograd::e…mmBackward0                       4        -   0.0%        -  -

$ cd trace; pyrometer trace good-1-training.json --by kernel
================================================================================
TRACE PROFILE: good-1-training.json
================================================================================

Kernels:
  Kernel                     Calls    Total  Share   Median  Tensor
  -----------------------------------------------------------------
  ampere_sgemm_32x32_tn          4  80.0 us  40.0%  20.0 us  -
  ampere_sgemm_32x32_nt          4  60.0 us  30.0%  15.0 us  -
  multi_tensor_apply_kernel      2  20.0 us  10.0%  10.0 us  -
  reduce_kernel                  2  20.0 us  10.0%  10.0 us  -

$ cd trace; COLUMNS=120 pyrometer trace good-1-training.json --by kernel --top 1
================================================================================
TRACE PROFILE: good-1-training.json
================================================================================

Kernels (top 1 of 4 by device time):
  Kernel                 Calls    Total  Share   Median  Tensor      Max  Occ. %  Waves  Op
  --------------------------------------------------------------------------------------------------
  ampere_sgemm_32x32_tn      4  80.0 us  40.0%  20.0 us  -       20.0 us       -    0.2  aten::addmm

$ cd trace; pyrometer trace good-1-training.json --by step
================================================================================
TRACE PROFILE: good-1-training.json
================================================================================

Steps (parts of the span that do not overlap):
  Step               Span  Compute  Comm.     Copy      Idle  Idle %
  ------------------------------------------------------------------
  ProfilerStep#1  1.00 ms  90.0 us      -  10.0 us  900.0 us   90.0%
  ProfilerStep#2  1.00 ms  90.0 us      -  10.0 us  900.0 us   90.0%

Device time of the steps by phase:
  Step            Kernels    Device  Forward  Backward  Optimizer    Other
  ------------------------------------------------------------------------
  ProfilerStep#1        6  100.0 us  40.0 us   30.0 us    10.0 us  20.0 us
  ProfilerStep#2        6  100.0 us  40.0 us   30.0 us    10.0 us  20.0 us

$ cd trace; pyrometer trace good-1-training.json --by gap --top 4
================================================================================
TRACE PROFILE: good-1-training.json
================================================================================

Gaps, in which a device was idle (top 4 of 13 by length):
        At      Idle  Kind       Host was in            Layer
  --------------------------------------------------------------------
  880.0 us  240.0 us  host wait  cudaStreamSynchronize  -
  545.0 us  185.0 us  host wait  train.py(12): step     -
   1.65 ms  185.0 us  host wait  train.py(12): step     -
  260.0 us  170.0 us  host wait  aten::mm               Net_0.Linear_1
  All gaps: host wait 1.76 ms, kernel wait 0 ns, other 0 ns

$ cd trace; pyrometer trace good-1-training.json --by copy
================================================================================
TRACE PROFILE: good-1-training.json
================================================================================

Copies:
  Copy           Calls      Bytes     Time  Share  GB/s
  -----------------------------------------------------
  HtoD pageable      2  128.0 KiB  20.0 us  10.0%   6.6

$ cd trace; pyrometer trace good-7-collectives.json --by collective
================================================================================
TRACE PROFILE: good-7-collectives.json
================================================================================

Collectives:
  Kind       Group  Type     Ranks  Calls     Bytes      Time  Exposed  Bus GB/s
  ------------------------------------------------------------------------------
  allreduce  0      float32      4      1  4.00 MiB  100.0 us  40.0 us      62.9

$ cd trace; pyrometer trace good-1-training.json --by collective
================================================================================
TRACE PROFILE: good-1-training.json
================================================================================

  no collectives in this trace

$ cd trace; pyrometer trace good-1-training.json --by sync
================================================================================
TRACE PROFILE: good-1-training.json
================================================================================

Synchronising calls:
  Call                   Calls  Host time  Op          Line
  -----------------------------------------------------------------------
  cudaStreamSynchronize      2   100.0 us  aten::item  train.py(12): step

$ cd trace; pyrometer trace good-1-training.json --by memory
================================================================================
TRACE PROFILE: good-1-training.json
================================================================================

Memory of cuda:0:
  Peak:                 12.0 KiB, 135.0 us after the start
  Reserved at most:     2.00 MiB
  Allocations:          3, 14.0 KiB in total
  Frees:                1

Live at the peak:
  Allocated in layer  Op           Blocks     Bytes   Share
  ---------------------------------------------------------
  Net_0.Linear_0      aten::addmm       2  12.0 KiB  100.0%

$ cd trace; pyrometer trace good-1-training.json --by stack --top 2
================================================================================
TRACE PROFILE: good-1-training.json
================================================================================

Stacks, innermost frame first (top 2 of 12 by device time):
     Time  Share  Frames
  -------------------------------------------------------------------
  30.0 us  15.0%  ampere_sgemm_32x32_nt
                  cudaLaunchKernel
                  aten::mm
                  AddmmBackward0
                  autograd::engine::evaluate_function: AddmmBackward0
                  Net_0.Linear_1
                  (backward)
  30.0 us  15.0%  ampere_sgemm_32x32_nt
                  cudaLaunchKernel
                  aten::mm
                  AddmmBackward0
                  autograd::engine::evaluate_function: AddmmBackward0
                  Net_0.Linear_0
                  (backward)

$ cd trace; pyrometer trace good-3-cpu-only.json --by memory
================================================================================
TRACE PROFILE: good-3-cpu-only.json
================================================================================

  no memory events in this trace: record it with
  torch.profiler.profile(profile_memory=True)

# A part of it.
$ cd trace; pyrometer trace good-1-training.json --step 2 --by step
================================================================================
TRACE PROFILE: good-1-training.json
================================================================================

Steps (parts of the span that do not overlap):
  Step               Span  Compute  Comm.     Copy      Idle  Idle %
  ------------------------------------------------------------------
  ProfilerStep#2  1.00 ms  90.0 us      -  10.0 us  900.0 us   90.0%

Device time of the steps by phase:
  Step            Kernels    Device  Forward  Backward  Optimizer    Other
  ------------------------------------------------------------------------
  ProfilerStep#2        6  100.0 us  40.0 us   30.0 us    10.0 us  20.0 us

$ cd trace; pyrometer trace good-1-training.json --step 7
pyrometer: good-1-training.json: no step 7: the trace has steps 1 to 2
[2]

$ cd trace; pyrometer trace good-1-training.json --phase backward --by kernel
================================================================================
TRACE PROFILE: good-1-training.json
================================================================================

Kernels:
  Kernel                 Calls    Total   Share   Median  Tensor
  --------------------------------------------------------------
  ampere_sgemm_32x32_nt      4  60.0 us  100.0%  15.0 us  -

$ cd trace; pyrometer trace good-1-training.json --filter addmm --by op
================================================================================
TRACE PROFILE: good-1-training.json
================================================================================

Ops:
  Op           Calls     Self  Share   FLOP/s  Type  Host self
  ------------------------------------------------------------
  aten::addmm      4  80.0 us  40.0%  211.2 M  fp32   220.0 us

Work of these ops (from shapes) and its rates:
  Op             FLOPs     Moved   Peak  Bandwidth  Least     Lost
  ----------------------------------------------------------------
  aten::addmm  16.90 k  8.25 KiB  <0.1%      <0.1%   2 ns  80.0 us
  Peak: of the chip's data sheet; pyrometer doctor --calibrate measures what
  this device reaches.

# For spreadsheets.
$ cd trace; pyrometer trace good-1-training.json --format csv --by step
name,number,start_ns,span_ns,compute_ns,communication_ns,communication_exposed_ns,copy_ns,copy_exposed_ns,idle_ns,host_only_ns,data_loading_ns,forward_ns,backward_ns,optimizer_ns,other_ns,device_total_ns,kernels,device_start_ns,device_span_ns,device_lag_ns
ProfilerStep#1,1,1000000,1000000,90000,0,0,10000,10000,900000,350000,0,40000,30000,10000,20000,100000,6,1020000,1100000,0
ProfilerStep#2,2,2100000,1000000,90000,0,0,10000,10000,900000,350000,0,40000,30000,10000,20000,100000,6,2120000,860000,0

$ cd trace; pyrometer trace good-1-training.json --format csv
path,class,parent,depth,calls,backward_calls,forward_host_ns,forward_host_self_ns,forward_device_ns,forward_device_self_ns,backward_host_ns,backward_host_self_ns,backward_device_ns,backward_device_self_ns,kernels,flops,bytes,shapes,macs,allocated_bytes,dtype,flops_per_s,peak_share,bytes_per_s,bandwidth_share,shared_ns,least_ns,lost_ns
Net_0,Net,,0,2,2,400000,80000,80000,0,320000,0,60000,0,8,33280,16640,"[[8, 16], [16, 16], [16]]",16384,14336,float32,2.37714e+08,4.80716e-07,1.18857e+08,3.54797e-05,0,0,140000
Net_0.Linear_0,Linear,0,1,2,2,160000,160000,40000,40000,160000,160000,30000,30000,4,16640,8320,"[[8, 16], [16, 16], [16]]",8192,14336,float32,2.37714e+08,4.80716e-07,1.18857e+08,3.54797e-05,0,0,70000
Net_0.Linear_1,Linear,0,1,2,2,160000,160000,40000,40000,160000,160000,30000,30000,4,16640,8320,"[[8, 16], [16, 16], [16]]",8192,0,float32,2.37714e+08,4.80716e-07,1.18857e+08,3.54797e-05,0,0,70000

$ cd trace; pyrometer trace good-1-training.json --format csv --depth 0
path,class,parent,depth,calls,backward_calls,forward_host_ns,forward_host_self_ns,forward_device_ns,forward_device_self_ns,backward_host_ns,backward_host_self_ns,backward_device_ns,backward_device_self_ns,kernels,flops,bytes,shapes,macs,allocated_bytes,dtype,flops_per_s,peak_share,bytes_per_s,bandwidth_share,shared_ns,least_ns,lost_ns
Net_0,Net,,0,2,2,400000,400000,80000,80000,320000,320000,60000,60000,8,33280,16640,"[[8, 16], [16, 16], [16]]",16384,14336,float32,2.37714e+08,4.80716e-07,1.18857e+08,3.54797e-05,0,0,140000

$ cd trace; pyrometer trace good-10-odd-names.json.gz --format csv --by op
name,shapes,calls,host_total_ns,host_self_ns,device_total_ns,device_self_ns,flops,bytes,dtype,flops_per_s,phase,peak_share,bytes_per_s,bandwidth_share,least_ns,lost_ns
'=cmd|' /C calc'!A0,,1,10000,5000,5000,5000,,,,,other,,,,,
"say ""hi"" \ é中🔥 ?[31m",,1,10000,10000,0,0,,,,,other,,,,,

$ cd trace; pyrometer trace good-3-cpu-only.json good-1-training.json --format csv --by kernel
file,name,short_name,op,shapes,category,calls,total_ns,min_ns,max_ns,median_ns,tensor_core,occupancy_percent,waves,outliers,source
good-1-training.json,ampere_sgemm_32x32_tn,ampere_sgemm_32x32_tn,aten::addmm,"[[16], [8, 16], [16, 16], [], []]",gemm,4,80000,20000,20000,20000,0,,0.25,0,
good-1-training.json,ampere_sgemm_32x32_nt,ampere_sgemm_32x32_nt,aten::mm,"[[16, 8], [8, 16]]",gemm,4,60000,15000,15000,15000,0,,0.25,0,
good-1-training.json,multi_tensor_apply_kernel,multi_tensor_apply_kernel,aten::_foreach_add_,,optimizer,2,20000,10000,10000,10000,0,,0.25,0,
good-1-training.json,reduce_kernel,reduce_kernel,aten::item,,reduction,2,20000,10000,10000,10000,0,,0.25,0,

# For flame-graph tools: device time, and host time where there is no device.
$ cd trace; pyrometer trace good-1-training.json --folded
(backward);Net_0.Linear_1;autograd::engine::evaluate_function: AddmmBackward0;AddmmBackward0;aten::mm;cudaLaunchKernel;ampere_sgemm_32x32_nt 30000
(backward);Net_0.Linear_0;autograd::engine::evaluate_function: AddmmBackward0;AddmmBackward0;aten::mm;cudaLaunchKernel;ampere_sgemm_32x32_nt 30000
ProfilerStep#1;train.py(12): step;Net_0;Net_0.Linear_0;aten::linear;aten::addmm;cudaLaunchKernel;ampere_sgemm_32x32_tn 20000
ProfilerStep#1;train.py(12): step;Net_0;Net_0.Linear_1;aten::linear;aten::addmm;cudaLaunchKernel;ampere_sgemm_32x32_tn 20000
ProfilerStep#2;train.py(12): step;Net_0;Net_0.Linear_0;aten::linear;aten::addmm;cudaLaunchKernel;ampere_sgemm_32x32_tn 20000
ProfilerStep#2;train.py(12): step;Net_0;Net_0.Linear_1;aten::linear;aten::addmm;cudaLaunchKernel;ampere_sgemm_32x32_tn 20000
ProfilerStep#1;cudaMemcpyAsync;HtoD 10000
ProfilerStep#1;train.py(12): step;Optimizer.step#SGD.step;aten::_foreach_add_;cudaLaunchKernel;multi_tensor_apply_kernel 10000
ProfilerStep#1;train.py(12): step;aten::item;cudaLaunchKernel;reduce_kernel 10000
ProfilerStep#2;cudaMemcpyAsync;HtoD 10000
ProfilerStep#2;train.py(12): step;Optimizer.step#SGD.step;aten::_foreach_add_;cudaLaunchKernel;multi_tensor_apply_kernel 10000
ProfilerStep#2;train.py(12): step;aten::item;cudaLaunchKernel;reduce_kernel 10000

$ cd trace; pyrometer trace good-3-cpu-only.json --folded
Net_0 150000
Net_0;Net_0.Linear_0;aten::linear;aten::addmm 60000
Net_0;Net_0.ReLU_0;aten::relu 30000
Net_0;Net_0.Linear_0 20000
Net_0;Net_0.Linear_0;aten::linear 20000
Net_0;Net_0.ReLU_0 20000

$ cd trace; pyrometer trace good-1-training.json --folded -o $TMP/run.folded && wc -l < $TMP/run.folded
wrote $TMP/run.folded (text)
12

# The account of lost time: every part has one cause.
$ cd trace; pyrometer trace good-1-training.json --by cause
================================================================================
TRACE PROFILE: good-1-training.json
================================================================================

Where the time went, by cause (parts that do not overlap):
  Cause                    Time   Share  Where the host was
  ------------------------------------------------------------------------------
  device work          180.0 us    9.0%
  copies alone          20.0 us    1.0%
  host in Python        1.01 ms   50.5%
                       680.0 us   34.0%  train.py(12): step
                       100.0 us    5.0%  train.py(12): step,…mizer.step#SGD.step
                        80.0 us    4.0%  train.py(12): step, Net_0
  host in ops          520.0 us   26.0%
                        60.0 us    3.0%  train.py(12): step,…dmm, Net_0.Linear_0
                        60.0 us    3.0%  train.py(12): step,…dmm, Net_0.Linear_1
                        60.0 us    3.0%  train.py(12): step, aten::_foreach_add_
  launch latency       140.0 us    7.0%
                        20.0 us    1.0%  train.py(12): step,…dmm, Net_0.Linear_0
                        20.0 us    1.0%  train.py(12): step,…dmm, Net_0.Linear_1
                        20.0 us    1.0%  aten::mm, Net_0.Linear_1
  before first kernel   10.0 us    0.5%
  after last kernel    120.0 us    6.0%
                        60.0 us    3.0%  train.py(12): step, aten::item
                        10.0 us    0.5%  train.py(12): step
  ------------------------------------------------------------------------------
  All                   2.00 ms  100.0%

$ cd trace; pyrometer trace good-1-training.json --by cause --format csv | head -4
step,cause,time_ns,profiler_ns
1,compute,90000,0
1,copy,10000,0
1,python,530000,3400

# Findings can be left out by their ids.
$ cd trace; pyrometer trace good-1-training.json --by finding --format csv | cut -d, -f1
id
host-bound
synchronizing-calls
tf32-off

$ cd trace; pyrometer trace good-1-training.json --by finding --format csv --ignore host-bound | cut -d, -f1
id
synchronizing-calls
tf32-off
launch-overhead

$ cd trace; pyrometer trace good-1-training.json --ignore host
pyrometer: --ignore: no finding has the id "host" (the reference of traces lists all)
[2]

# Device time by what kernels do, and by phase.
$ cd trace; pyrometer trace good-1-training.json --by category
================================================================================
TRACE PROFILE: good-1-training.json
================================================================================

Categories of kernels:
  Category      Total  Share  Forward  Backward  Optimizer  Other phase
  ---------------------------------------------------------------------
  gemm       140.0 us  70.0%  80.0 us   60.0 us          -            -
  copy        20.0 us  10.0%        -         -          -      20.0 us
  optimizer   20.0 us  10.0%        -         -    20.0 us            -
  reduction   20.0 us  10.0%        -         -          -      20.0 us

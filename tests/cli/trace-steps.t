# Steps of traces that mark none: inferred, and labelled so; chosen by name; none without a loop.
$ cd ../trace/steps; pyrometer trace optimizer.json | head -16
================================================================================
TRACE PROFILE: optimizer.json
================================================================================

Summary:
  Events:               43, over 7.87 ms
  Device:               NVIDIA H100 80GB HBM3
  Device time:          2.00 ms (8 kernels); busy 25.4% of the span
  Start-up:             4.00 ms before the first step: imports 2.00 ms, device
                        calls 1.00 ms, ops 500.0 us, other host time 500.0 us

Where the time went (4 inferred steps, median 1.00 ms):
  Compute                 2.00 ms   51.7%  ##################
  Idle                    1.87 ms   48.3%  #################
    host in Python        1.09 ms   28.1%  ##########
    host in ops          386.0 us   10.0%  ###

$ cd ../trace/steps; pyrometer trace optimizer.json | grep -A2 "^Notes"
Notes:
  - the trace marks no steps: 4 are inferred from updates of the optimizer
    Optimizer.step#SGD.step; --steps-from REGEX chooses other ranges

$ cd ../trace/steps; pyrometer trace module.json --by step --top 2
================================================================================
TRACE PROFILE: module.json
================================================================================

Inferred steps (parts of the span that do not overlap) (top 2 of 5 by time):
  Step       Span   Compute  Comm.  Copy      Idle  Idle %
  --------------------------------------------------------
  step 0  1.00 ms  300.0 us      -     -  700.0 us   70.0%
  step 1  1.00 ms  300.0 us      -     -  700.0 us   70.0%

Device time of the steps by phase:
  Step    Kernels    Device   Forward  Backward  Optimizer  Other
  ---------------------------------------------------------------
  step 0        3  300.0 us  300.0 us         -          -      -
  step 1        3  300.0 us  300.0 us         -          -      -

$ cd ../trace/steps; pyrometer trace annotated.json --steps-from 'iteration ([0-9]+)$' --by step --top 2
================================================================================
TRACE PROFILE: annotated.json
================================================================================

Steps (parts of the span that do not overlap) (top 2 of 4 by time):
  Step              Span   Compute  Comm.  Copy      Idle  Idle %
  ---------------------------------------------------------------
  iteration 10  900.0 us  300.0 us      -     -  600.0 us   66.7%
  iteration 11  900.0 us  300.0 us      -     -  600.0 us   66.7%

Device time of the steps by phase:
  Step          Kernels    Device  Forward  Backward  Optimizer     Other
  -----------------------------------------------------------------------
  iteration 10        1  300.0 us        -         -          -  300.0 us
  iteration 11        1  300.0 us        -         -          -  300.0 us

$ cd ../trace/steps; pyrometer trace annotated.json --steps-from 'nothing' | grep -A2 "^Notes"
Notes:
  - nothing matches 'nothing': steps come from elsewhere
  - the trace marks no steps: 4 are inferred from the range iteration #;

$ cd ../trace/steps; pyrometer trace annotated.json --steps-from '('
pyrometer: --steps-from: "(" is not a regular expression: Unmatched ( or \( (see pyrometer trace --help)
[2]

$ cd ../trace/steps; pyrometer trace module-once.miss.json --by step
================================================================================
TRACE PROFILE: module-once.miss.json
================================================================================

Steps (parts of the span that do not overlap):
  Step              Span  Compute  Comm.  Copy     Idle  Idle %
  -------------------------------------------------------------
  (whole trace)  4.65 ms  1.20 ms      -     -  3.45 ms   74.2%

Device time of the steps by phase:
  Step           Kernels   Device  Forward  Backward  Optimizer  Other
  --------------------------------------------------------------------
  (whole trace)       12  1.20 ms  1.20 ms         -          -      -

$ cd ../trace/steps; pyrometer trace leak.json --by finding | grep -A4 grows
  1. Memory grows from step to step, at aten::linear
     memory on cuda:0 grows by 1.00 MiB per step, 7.7% of its peak, in 100% of
     the steps; threshold 1% per step in 95%
     -> something keeps tensors alive: losses collected without .item() or
        .detach(), caches, hooks
  2. The device waits for the host to launch kernels (up to 5.42 ms to gain)

$ cd ../trace/steps; pyrometer trace host.json | sed -n 5,15p
Summary:
  Events:               18, over 2.87 ms
  Times:                of the host

Where the time went (3 inferred steps, median 1.00 ms):
  Forward                600.0 us   20.9%  #######
  Backward               600.0 us   20.9%  #######
  Optimizer              150.0 us    5.2%  ##
  Data loading            24.0 us    0.8%
  Other ops               60.0 us    2.1%  #
  Python outside ops      1.44 ms   50.0%  ##################

$ cd ../trace/steps; pyrometer trace host.json --by step
================================================================================
TRACE PROFILE: host.json
================================================================================

Inferred steps (host time: ops by phase, Python outside ops):
  Step        Span   Forward  Backward  Optimizer     Data  Other ops    Python
  -----------------------------------------------------------------------------
  step 0   1.00 ms  200.0 us  200.0 us    50.0 us  8.00 us    20.0 us  522.0 us
  step 1   1.00 ms  200.0 us  200.0 us    50.0 us  8.00 us    20.0 us  522.0 us
  step 2  870.0 us  200.0 us  200.0 us    50.0 us  8.00 us    20.0 us  392.0 us

$ cd ../trace/steps; pyrometer trace host.json --by training --format csv
number,start_ns,span_ns,forward_ns,backward_ns,optimizer_ns,data_ns,communication_ns,other_ns,communication_total_ns,forward_op_ns,backward_op_ns,optimizer_op_ns,other_op_ns,python_ns,flops,torch_flops,dtype,flops_per_s,peak_flops_per_s
0,0,1000000,200000,200000,100000,8000,0,492000,0,200000,200000,50000,20000,522000,1024,1024,float32,1.024e+06,
1,1000000,1000000,200000,200000,100000,8000,0,492000,0,200000,200000,50000,20000,522000,1024,1024,float32,1.024e+06,
2,2000000,870000,200000,200000,100000,8000,0,362000,0,200000,200000,50000,20000,392000,1024,1024,float32,1.17701e+06,

$ cd ../trace/steps; pyrometer trace optimizer.json --by training --top 2
================================================================================
TRACE PROFILE: optimizer.json
================================================================================

Inferred steps (device time by phase) (top 2 of 4 by time):
  Step       Span   Forward  Backward     Data     Other  Of peak
  ---------------------------------------------------------------
  step 0  1.00 ms  300.0 us  200.0 us  8.00 us  492.0 us    <0.1%
  step 1  1.00 ms  300.0 us  200.0 us  8.00 us  492.0 us    <0.1%

$ cd ../trace/steps; pyrometer trace vllm.json | sed -n 5,26p
Summary:
  Events:               35, over 11.9 ms
  Device:               NVIDIA H100 80GB HBM3
  Device time:          5.60 ms (7 kernels); busy 47.1% of the span

Where the time went (7 steps, median 1.00 ms):
  Compute                 5.60 ms   82.4%  #############################
  Idle                    1.20 ms   17.6%  ######
    host in Python       860.0 us   12.6%  ####
    host in ops          120.0 us    1.8%  #
    launch latency       140.0 us    2.1%  #
    before first kernel   80.0 us    1.2%
  Categories: gemm 100.0%

Serving, per step (annotations of vLLM):
  Kind     Steps  Requests  Tokens   Median   Busy  Tokens/s  MFU  Bandwidth
  --------------------------------------------------------------------------
  prefill      1         1     512  1.00 ms  80.0%   512,000    -          -
  mixed        1         3     258  1.00 ms  80.0%   258,000    -          -
  decode       5         3       3  1.00 ms  83.3%     3,750    -          -
  Steady state: steps 2 to 5, 4,103 tokens/s

$ cd ../trace/steps; pyrometer trace vllm.json --by serving
================================================================================
TRACE PROFILE: vllm.json
================================================================================

Serving steps:
  Step  Kind     Requests  Tokens      Span   Busy  Tokens/s  MFU  Bandwidth  Steady
  ----------------------------------------------------------------------------------
     0  prefill         1     512   1.00 ms  80.0%   512,000    -          -  -
     1  mixed           3     258   1.00 ms  80.0%   258,000    -          -  -
     2  decode          4       4   1.00 ms  80.0%     4,000    -          -  yes
     3  decode          4       4   1.00 ms  80.0%     4,000    -          -  yes
     4  decode          4       4   1.00 ms  80.0%     4,000    -          -  yes
     5  decode          4       4  900.0 us  88.9%     4,444    -          -  yes
     6  decode          2       2  900.0 us  88.9%     2,222    -          -  -
  Steady state: steps 2 to 5, 4,103 tokens/s

$ cd ../trace/steps; pyrometer trace vllm-without-shapes.json --by serving --model gpt2 --top 3
================================================================================
TRACE PROFILE: vllm-without-shapes.json
================================================================================

Serving steps (top 3 of 7 by time):
  Step  Kind     Requests  Tokens     Span   Busy  Tokens/s   MFU  Bandwidth  Steady
  ----------------------------------------------------------------------------------
     0  prefill         1     512  1.00 ms  80.0%   512,000  9.3%       8.0%  -
     1  mixed           3     258  1.00 ms  80.0%   258,000  4.6%       8.3%  -
     2  decode          4       4  1.00 ms  80.0%     4,000  0.1%       9.6%  yes
  Steady state: steps 2 to 5, 4,103 tokens/s

$ cd ../trace/steps; pyrometer trace vllm-without-shapes.json | grep -A4 "^Notes"
Notes:
  - serving: heads and head size are unknown, so attention has no FLOPs; give
    --model, or record shapes

Next:

$ cd ../trace/steps; pyrometer trace sglang.json --by serving --format csv
kind,number,start_ns,span_ns,busy_ns,waited_ns,requests,context_requests,generation_requests,tokens,context_tokens,generation_tokens,steady,tokens_per_s,attention_flops,flops,bytes,peak_share,bandwidth_share
prefill,0,0,1000000,600000,0,2,2,0,300,300,0,0,300000,,,,,
mixed,1,1000000,700000,600000,0,3,1,2,102,100,2,1,145714,,,,,
decode,2,3000000,1000000,600000,0,2,0,2,2,0,2,1,2000,,,,,
verify,3,4000000,1000000,600000,0,2,0,2,8,0,8,1,8000,,,,,
decode,4,5000000,700000,600000,0,2,0,2,2,0,2,1,2857.14,,,,,

$ cd ../trace/steps; pyrometer trace serving.miss.json --by serving
================================================================================
TRACE PROFILE: serving.miss.json
================================================================================

  no serving steps in this trace: vLLM and SGLang annotate them while they
  profile

$ cd ../trace/steps; python3 make.py --check

# SGLang can write names of both grammars, one in the other.
$ cd ../trace/steps; pyrometer trace sglang-both.json | grep -A8 "^Serving"
Serving, per step (annotations of SGLang):
  Kind     Steps  Requests  Tokens   Median   Busy  Tokens/s  MFU  Bandwidth
  --------------------------------------------------------------------------
  prefill      1         1     512  1.00 ms  80.0%   512,000    -          -
  mixed        1         3     258  1.00 ms  80.0%   258,000    -          -
  decode       5         3       3  1.00 ms  83.3%     3,750    -          -
  Steady state: steps 2 to 5, 4,103 tokens/s

Findings:

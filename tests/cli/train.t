# Training steps.

$ pyrometer cost good-10-static.pt2 --train --optimizer sgd
================================================================================
TRAINING STEP: good-10-static
================================================================================

Model Summary:
  Model:                good-10-static (pt2 8.20, torch 2.13.0)
  Inputs:               x float32 [2, 8]
  Training:             optimizer sgd, checkpoint none, precision float32 as in
                        the file
  Parameters:           212 trainable, 0 frozen
  FLOPs:                convention full: FLOPs = 2 x MACs + elementwise, norm,
                        pooling and activation work

Training Step:
  Part       MACs   FLOPs  Of forward   Traffic
  ---------------------------------------------
  Forward     384     840      100.0%  1.42 KiB
  Backward    512  1.10 k      130.5%  1.92 KiB
  Optimizer     0     424       50.5%  2.48 KiB
  ---------------------------------------------
  Step        896  2.36 k      281.0%  5.83 KiB

Memory:
  Peak:                 1.88 KiB in the backward of first (first); without the
                        scratch memory of kernels
  Weights:              848 B
  Gradients:            848 B
  Optimizer states:     0 B
  Optimizer scratch:    0 B (only during its step)
  Inputs:               64 B
  Saved activations:    160 B (kept from the forward to the backward)
  At the peak:          160 B of activations and their gradients

Memory over the Step:
  forward    1.02 KiB  #####################
  forward    1.14 KiB  ########################
  forward    1.05 KiB  ######################
  backward   1.47 KiB  ###############################
  backward   1.56 KiB  #################################
  backward   1.88 KiB  ######################################## peak
  optimizer  1.75 KiB  #####################################

  Alive at the peak       Name             Layer   Bytes  Share
  -------------------------------------------------------------
  weights                                          848 B  44.2%
  gradient of parameter   p_first_weight   first   512 B  26.7%
  gradient of parameter   p_second_weight  second  256 B  13.3%
  gradient of activation  first                    128 B   6.7%
  inputs                                            64 B   3.3%
  gradient of parameter   p_first_bias     first    64 B   3.3%
  saved activation        second           second   32 B   1.7%
  gradient of parameter   p_second_bias    second   16 B   0.8%

Layers (3 of 3, by FLOPs of the step):
  Layer    Forward  Backward  Saved  Gradients  States
  ----------------------------------------------------
  first        544       544    0 B      576 B     0 B
  second       264       520   32 B      272 B     0 B
  (model)       32        32  128 B        0 B     0 B

Coverage:
  all 3 operators priced

$ pyrometer cost good-10-static.pt2 --train --format csv
name,type,forward_macs,forward_flops,forward_memory,backward_macs,backward_flops,backward_memory,recompute_macs,recompute_flops,recompute_memory,optimizer_flops,optimizer_memory,trainable_params,gradient_bytes,optimizer_state_bytes,saved_activation_bytes
first,linear,256,544,768,256,544,768,0,0,0,2016,4032,144,576,1152,0
(model),relu,0,32,256,0,32,384,0,0,0,0,0,0,0,0,128
second,linear,128,264,432,256,520,816,0,0,0,952,1904,68,272,544,32

$ pyrometer cost good-10-static.pt2 --optimizer sgd
pyrometer: --optimizer requires --train
[2]

$ pyrometer cost good-10-static.pt2 --train --optimizer adagrad
pyrometer: --optimizer: unknown value "adagrad" (one of: sgd, adam, adamw, adafactor, lion, adam8bit) (see pyrometer cost --help)
[2]

$ pyrometer cost good-10-static.pt2 --train --freeze '[' 2>&1 | grep -o "freeze: '.' is not a regular expression"
freeze: '[' is not a regular expression

$ pyrometer cost good-10-static.pt2 --train --lora 8
pyrometer: good-10-static.pt2: lora: '8' is not RANK:REGEX such as 8:q_proj|v_proj
[2]

$ pyrometer cost good-10-static.pt2 resnet18 --train
pyrometer: --train prices one model at a time
[2]

$ pyrometer cost bad-2-truncated.pt2 --train
pyrometer: bad-2-truncated.pt2: no end-of-archive record: the file is truncated or not a zip archive (at byte 869)
[2]

$ pyrometer cost resnet18 --train --checkpoint blocks --optimizer sgd --format json | python3 -c "import json, sys; d = json.load(sys.stdin); print(d['peak_memory']['phase'], d['recompute']['macs'] > 0)"
backward True

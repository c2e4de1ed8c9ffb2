# One GPU: weights, KV cache, activations, the largest sizes, measures, assumptions.
$ pyrometer fit llama3_8b --on l40s --seq 8192
================================================================================
DOES IT FIT: llama3_8b on 1 x L40S
================================================================================

Yes, it fits. It needs 20.8 GiB on the GPU, which has 48.0 GiB: 27.2 GiB (56.6%)
are free.

  Model:                llama3_8b, 8.03 G parameters, inference in bfloat16
  Sizes:                batch 1 x 8,192 tokens; KV cache of 1 sequence in
                        bfloat16
  Layout:               1 x L40S
  Peak in:              forward of mul_17 (model.layers.0.mlp)

  Per GPU          Whole  At the peak  Of memory
  ----------------------------------------------
  Weights       15.0 GiB     15.0 GiB      31.2%
  Activations  740.1 MiB    740.1 MiB       1.5%
  KV cache      1.00 GiB     1.00 GiB       2.1%
  Buffers       64.0 MiB     64.0 MiB       0.1%
  Reserve       4.09 GiB     4.09 GiB       8.5%
  ----------------------------------------------
  Total                      20.8 GiB      43.4%

Largest that fits, other sizes as above:
  Batch:                15
  Sequence:             127,291 tokens, by memory alone
  Concurrency:          28 sequences in the KV cache

  One more measure             Saves     Total  Fits  How
  ------------------------------------------------------------------
  linear layers in 8 bits   6.40 GiB  14.4 GiB  yes   quantisation
  linear layers in 4 bits   9.65 GiB  11.2 GiB  yes   quantisation
  KV cache in 8 bits       512.0 MiB  20.3 GiB  yes   --kv-cache fp8
  twice the tensor ranks    7.98 GiB  12.9 GiB  yes   tp x 2

Assumptions:
  - KV cache: paged in blocks of 16 tokens; sliding windows are not used to
    shorten it
  - activations: one forward pass over the batch (a prefill), without splitting
    prompts into chunks; logits of the last token of each sequence
  - reserve: 600 MiB for the CUDA context, 7% of the memory for the driver and
    error correction; for fragmentation 2% of activations and gradients, and 60%
    of the largest allocation; --reserve replaces the first two
  - buffers: 64 MiB for workspaces of kernels

Notes:
  - transformers: causal masks, and heads repeated for them, that only an export
    makes are not counted

# Several chips; the fewest GPUs, and how they divide the model.
$ pyrometer fit llama3_70b --on h100,mi300x --parallel auto --seq 4096 | head -12
================================================================================
DOES IT FIT: llama3_70b on 2 x H100 SXM and 1 more
================================================================================

  Chip      GPUs  Layout   Fits       Used     Memory     Margin  Batch
  ---------------------------------------------------------------------
  H100 SXM     2  tp=2     yes    68.6 GiB   80.0 GiB  +11.4 GiB     11
  MI300X       1  one GPU  yes   136.1 GiB  192.0 GiB  +55.9 GiB     27
  Batch: the largest that fits. Details of the first chip:

Yes, it fits. It needs 68.6 GiB on the fullest GPU, which has 80.0 GiB: 11.4 GiB
(14.2%) are free.

# Training with sharding; the communication of a step.
$ pyrometer fit resnet50 --on t4 --gpus 4 --train --batch 32 --parallel fsdp
================================================================================
DOES IT FIT: resnet50 on 4 x T4
================================================================================

Yes, it fits. It needs 5.09 GiB on the fullest GPU, which has 16.0 GiB: 10.9 GiB
(68.2%) are free.

  Model:                resnet50, 25.56 M parameters, training with adamw,
                        checkpoint none, precision float32 as in the file
  Sizes:                batch 32 per micro-batch of each replica
  Layout:               4 x T4, dp=4,fsdp
  Peak in:              backward of relu__48 (layer4.2.relu)

  Per GPU                Whole  At the peak  Of memory
  ----------------------------------------------------
  Weights             24.6 MiB     24.6 MiB       0.2%
  Gradients           24.4 MiB     1.95 MiB      <0.1%
  Optimizer states    48.7 MiB     48.7 MiB       0.3%
  Optimizer scratch   24.4 MiB          0 B       0.0%
  Activations         2.58 GiB     2.58 GiB      16.2%
  Buffers            141.0 MiB    141.0 MiB       0.9%
  Reserve             2.29 GiB     2.29 GiB      14.3%
  ----------------------------------------------------
  Total                            5.09 GiB      31.8%

Largest that fits, other sizes as above:
  Batch:                157

Communication per step, sent by each GPU:
  Sent:                 219.4 MiB (data 219.4 MiB); 18.0 ms at 13 GB/s of the
                        link's 16

  One more measure             Saves     Total  Fits  How
  ------------------------------------------------------------------------
  activation checkpointing  1.60 GiB  3.48 GiB  yes   --checkpoint blocks
  8-bit optimizer states    36.3 MiB  5.05 GiB  yes   --optimizer adam8bit
  bfloat16 for everything   1.44 GiB  3.65 GiB  yes   --precision bf16
  LoRA adapters of rank 16  2.40 GiB  2.69 GiB  yes   --lora 16:.
  optimizer on the host     48.7 MiB  5.04 GiB  yes   offloading

Assumptions:
  - training: the loss is computed from the model's outputs without memory of
    its own; gradients are set to None before each step
  - reserve: 600 MiB for the CUDA context, 7% of the memory for the driver and
    error correction, 400 MiB for NCCL per kind of parallelism; for
    fragmentation 2% of activations and gradients, and 60% of the largest
    allocation; --reserve replaces the first three
  - buffers: 64 MiB for workspaces of kernels, the gathered weights of two
    blocks and of what is outside of blocks, and the gradients of one block

# It does not fit: what is missing, the fewest GPUs, and what would help.
$ pyrometer fit llama3_8b --on 24GB --train --precision bf16 --seq 2048 | sed -n '5,6p;/One more/,/^$/p'
No, it does not fit. It needs 77.4 GiB on the GPU, which has 24.0 GiB: 53.4 GiB
are missing. The fewest GPUs that hold it: 4 x 24GB (tp=4).
  One more measure             Saves     Total  Fits  How
  ------------------------------------------------------------------------
  8-bit optimizer states    30.0 GiB  47.4 GiB  no    --optimizer adam8bit
  LoRA adapters of rank 16  49.5 GiB  27.9 GiB  no    --lora 16:.
  optimizer on the host     45.2 GiB  32.2 GiB  no    offloading
  twice the tensor ranks    37.8 GiB  39.5 GiB  no    tp x 2

# Heads and words that ranks do not divide evenly are padded.
$ pyrometer fit mixtral_8x7b --on h100 --parallel tp=3 --seq 512 | sed -n '/^Notes/,$p'
Notes:
  - 32 attention heads on 3 ranks are padded to 33
  - 8 key and value heads on 3 ranks: every rank holds 3
  - a vocabulary of 32000 words is padded to 32256, a multiple of 128 x 3
  - transformers: causal masks, and heads repeated for them, that only an export
    makes are not counted

# For spreadsheets.
$ pyrometer fit gpt2 --on t4 --format csv
chip,memory_bytes,gpus,layout,fits,total_bytes,margin_bytes,largest_batch,largest_sequence,largest_concurrent,communication_bytes,weights,master_weights,gradients,optimizer_states,optimizer_scratch,activations,kv_cache,buffers,reserve
T4,17179869184,1,one GPU,true,2413805894,14766063290,859,1024,1565,0,497759232,0,0,0,0,6686720,9437184,67108864,1832813894

# Exit code 1 where it does not fit, for scripts.
$ pyrometer fit llama3_8b --on t4 --strict -q -o $TMP/fit.json
[1]

# Wrong options are one line each.
$ pyrometer fit gpt2
pyrometer: fit needs a chip: --on h100, or a size of memory: --on 24GB
[2]

$ pyrometer fit gpt2 --on h1000
pyrometer: "h1000" is no known chip: use a name such as h100, a100-80gb, l40s or mi300x, or a size of memory such as 24GB
[2]

$ pyrometer fit gpt2 --on h100 --parallel tp=2,xx=4
pyrometer: "xx=4" is no layout: use auto, or tp=N, pp=N, dp=N and ep=N with zero1, zero2, zero3, fsdp or sp, separated by commas
[2]

$ pyrometer fit gpt2 --on h100 --gpus 3 --parallel tp=2
pyrometer: the layout has tp 2 x pp 1 x dp 1 = 2 GPUs, not 3
[2]

$ pyrometer fit gpt2 --on h100 --train --concurrent 4
pyrometer: --concurrent is for inference: training has no key-value cache
[2]

$ pyrometer fit gpt2 --on h100 --kv-cache banana
pyrometer: "banana" is no type of a cache: use bfloat16, float16, fp8, int8, fp4 or another element type
[2]

$ pyrometer fit gpt2 --on h100 --reserve lots
pyrometer: --reserve: "lots" is not a size such as 2GB
[2]

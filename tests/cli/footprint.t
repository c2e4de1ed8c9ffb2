# Traffic and footprint are two things: bytes that move, and bytes that are held.
$ pyrometer cost llama3_1_8b --decode --past 131072 --batch 4 | grep -A3 Footprint
  Footprint:            79.0 GiB held (weights and KV cache, no activations)
    Weights:            15.0 GiB
    KV cache:           64.0 GiB (4 sequences of 131,072 tokens)
  Decoding Step:        1 token of 4 sequences over 131072 past tokens

$ pyrometer cost llama3_1_8b --seq 8192 --batch 2 --dtype float32 | grep -A3 Footprint
  Footprint:            33.9 GiB held (weights and KV cache, no activations)
    Weights:            29.9 GiB
    KV cache:           4.00 GiB (2 sequences of 8,192 tokens)

$ pyrometer cost llama3_1_8b --decode --past 131072 --batch 4 --format json | grep '"footprint"\|kv_cache_read_bytes"' | sed 's/"kv_cache_read_bytes_per.*//'
  "footprint": {"total_bytes": 84779999232, "weight_bytes": 16060522496, "kv_cache_bytes": 68719476736},
  "decode": {"past_tokens": 131072, "sequences": 4, "kv_cache_read_bytes": 68719476736, 

$ pyrometer cost llama3_8b --decode | grep -i 'memory:\|memory share'
[1]

# Sizes stand for themselves in text; which may change is said beside them.
$ pyrometer cost resnet18 --batch 3 | grep 'Inputs\|Open'; pyrometer cost good-1-flat-layout.pt2 | grep 'Inputs\|Open'; pyrometer cost good-10-static.pt2 | grep 'Inputs\|Open'
  Inputs:               x float32 [3, 3, 224, 224]
  Open Sizes:           batch, height, width
  Inputs:               x float32 [2, 3, 32, 16]
  Open Sizes:           dim 0, 2 of x
  Inputs:               x float32 [2, 8]

# Shapes as people and Python write them.
$ for shape in '1, 3, 64, 64' '(1, 3, 64, 64)' '[1,3,64,64]' 1x3x64x64 '1 3 64 64'; do pyrometer cost resnet18 --input-shape "$shape" | grep Inputs; done; pyrometer cost bert_base --input 'input_ids=2, 64' | grep Inputs
  Inputs:               x float32 [1, 3, 64, 64]
  Inputs:               x float32 [1, 3, 64, 64]
  Inputs:               x float32 [1, 3, 64, 64]
  Inputs:               x float32 [1, 3, 64, 64]
  Inputs:               x float32 [1, 3, 64, 64]
  Inputs:               input_ids int64 [2, 64]

$ pyrometer cost resnet18 --input-shape '1,3,64,'; pyrometer cost resnet18 --input-shape '(1,3'
pyrometer: --input-shape: "1,3,64," is not a list of sizes such as 1,3,224,224
pyrometer: --input-shape: "(1,3" is not a list of sizes such as 1,3,224,224
[2]

# What bounds the whole decides which hardware pays, and nothing else says otherwise.
$ pyrometer cost resnet18 | sed -n '/^Advice/,/^$/p'
Advice:
  - convolution-heavy (99.7% of the FLOPs, more than 70%): the elementwise work
    around convolutions can be fused into them, and they lose little accuracy in
    int8
  - memory-bound as a whole (31.1 FLOPs per byte, ridge 50): bandwidth matters
    more than FLOP/s, and a smaller element type moves fewer bytes; weights are
    40% of the traffic

$ pyrometer cost resnet18 --batch 64 --dtype bfloat16 --ridge 10 | sed -n '/^Advice/,/^$/p'
Advice:
  - convolution-heavy (99.7% of the FLOPs, more than 70%): the elementwise work
    around convolutions can be fused into them, and they lose little accuracy in
    int8
  - compute-bound as a whole (102.6 FLOPs per byte, ridge 10): FLOP/s matter
    more than bandwidth

$ pyrometer cost llama3_1_8b --decode --dtype float8_e4m3fn | grep 'smaller element type\|FLOP/s pays'
[1]

# Hints keep the options that the numbers are for.
$ pyrometer cost llama3_8b --decode --past 4096 --dtype float16 | sed -n '/^Next/,$p'
Next:
  pyrometer cost llama3_8b --decode --past 4096 --dtype float16 --verbose
  pyrometer cost llama3_8b --decode --past 4096 --dtype float16 --batch 32
  pyrometer cost llama3_8b --decode --past 4096 --dtype float16 -o cost.json

$ pyrometer cost resnet18 --batch 32 --convention torch | sed -n '/^Next/,$p'
Next:
  pyrometer cost resnet18 --batch 32 --convention torch --verbose
  pyrometer cost resnet18 --convention torch --batch 64
  pyrometer cost resnet18 --batch 32 --convention torch --dtype float16
  pyrometer cost resnet18 --batch 32 --convention torch -o cost.json

$ pyrometer cost resnet18 --input-shape '1, 3, 64, 64' | sed -n '/^Next/,$p'
Next:
  pyrometer cost resnet18 --input-shape '1, 3, 64, 64' --verbose
  pyrometer cost resnet18 --input-shape '1, 3, 64, 64' --dtype float16
  pyrometer cost resnet18 --input-shape '1, 3, 64, 64' -o cost.json

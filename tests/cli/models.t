# What is known by name. How many there are changes, so that is not told here.
$ pyrometer models 'resnet18' -q | awk 'NR > 2 && NF && !/models/ { print $1 }'
quantized_resnet18
resnet18
that

$ pyrometer models 'resnet1?' --format csv | cut -d, -f1,2,5,6
name,display_name,params,published_params
resnet18,ResNet-18,11689512,11689512

$ pyrometer models 'resnet1?' --format json | grep -v -e macs -e family -e builder -e task
{
  "schema": "pyrometer.models/1",
  "models": [
    {
      "name": "resnet18",
      "display_name": "ResNet-18",
      "params": 11689512,
      "published_params": 11689512,
      "params_source": "torchvision's metadata of ResNet18_Weights.IMAGENET1K_V1",
      "input": [{"name": "x", "shape": [1, 3, 224, 224]}],
      "dims": [
        {"what": "batch", "input": "x", "axis": 0, "min": 1, "max": null, "multiple": 1},
        {"what": "height", "input": "x", "axis": 2, "min": 1, "max": null, "multiple": 1},
        {"what": "width", "input": "x", "axis": 3, "min": 1, "max": null, "multiple": 1}
      ],
      "decode": false,
      "own": false,
      "hides_builtin": false,
      "problem": null
    }
  ]
}

$ pyrometer models resnet --sort params -q | awk 'NR > 2 && NF { print $1 }' | head -3
wide_resnet101_2
wide_resnet50_2
deeplabv3_resnet101

$ pyrometer models --task image-classification --format csv | cut -d, -f1 | grep -c resnet18
2

$ pyrometer models nothing_like_this
pyrometer: nothing_like_this: no such file or model (pyrometer models lists the * built-in ones) (glob)
[2]

$ pyrometer models --family nothing | cut -c1-58
pyrometer: unknown family nothing (one of: albert, alexnet, bart, *, wide_resnet, yolos) (glob)

$ pyrometer models resnet resnet
pyrometer: models takes one PATTERN, or check, add or remove (see pyrometer models --help)
[2]

# A name is found however it is spelled; a folder of that name is no model.
$ pyrometer cost ResNet-18 -q | sed -n 6p
  Model:                resnet18 (pt2 8.20, torch 2.13.0)

$ mkdir $TMP/f $TMP/f/resnet18; cd $TMP/f; pyrometer cost resnet18 -q | sed -n 6p
  Model:                resnet18 (pt2 8.20, torch 2.13.0)

# Sizes that a model takes.
$ pyrometer cost vit_b_16 --input-shape 2,3,224,224 -q | grep 'Total MACs'
  Total MACs:           35.13 G (35,127,656,448)

$ pyrometer cost vit_b_16 --input-shape 1,3,384,384
pyrometer: vit_b_16: input 'x': dim 2 is fixed at 224, not 384; valid shapes are [batch, 3, 224, 224] (batch 1 or more); models for other sizes: vit_b_16_384 (384)
[2]

$ pyrometer cost vit_b_16 --seq 12
pyrometer: vit_b_16: the model has no variable sequence length
[2]

$ pyrometer cost resnet18 --prefill 12
pyrometer: resnet18: --prefill is for language models; this one has no variable sequence length
[2]

$ pyrometer cost resnet18 --past 12
pyrometer: resnet18: --past requires --decode
[2]

$ pyrometer cost resnet18 --decode
pyrometer: resnet18: the model has no graph of a decoding step ("decode" in pyrometer models --format json lists those that do)
[2]

$ pyrometer cost good-1-flat-layout.pt2 --decode
pyrometer: good-1-flat-layout.pt2: only built-in models and folders with a config.json have a graph of a decoding step; export yours with its cache as an input and price that
[2]

$ pyrometer cost resnet18 --decode --seq 3
pyrometer: resnet18: --decode prices one token: use --past with it, not --prefill or --seq
[2]

$ pyrometer cost resnet18 --seq 3 --prefill 3
pyrometer: resnet18: --prefill and --seq set the same size: give one of them
[2]

# Models of one's own.
$ pyrometer models add mine good-10-static.pt2
added mine; pyrometer cost mine prices it

$ pyrometer cost MINE -q | sed -n 2p
GRAPH PROFILE: mine

$ pyrometer models mine -q
Model       Params  MACs  Input  Task
-------------------------------------
mine (own)     212   384  2x8

1 of * models. MACs are for one forward pass at that input; * marks the sizes (glob)
that may change.
(own): added by you; pyrometer models remove NAME deletes it.

$ pyrometer models add mine good-1-flat-layout.pt2
pyrometer: you already have a model called mine (force replaces it)
[2]

$ pyrometer models add Mi_ne good-1-flat-layout.pt2
pyrometer: your model mine counts as the same name; remove it first or choose another name
[2]

$ pyrometer models add mine good-1-flat-layout.pt2 --force -q; pyrometer cost mine -q | grep 'Total MACs'
  Total MACs:           55.30 k (55,296)

$ pyrometer models add ../mine good-1-flat-layout.pt2
pyrometer: "../mine" is not a valid model name: use letters, digits and, after the first character, . _ -; at most 100 characters, no extension
[2]

$ pyrometer models add mine.pt2 good-1-flat-layout.pt2
pyrometer: "mine.pt2" is not a valid model name: use letters, digits and, after the first character, . _ -; at most 100 characters, no extension
[2]

$ pyrometer models add '' good-1-flat-layout.pt2
pyrometer: "" is not a valid model name: use letters, digits and, after the first character, . _ -; at most 100 characters, no extension
[2]

$ pyrometer models add resnet-18 good-1-flat-layout.pt2
pyrometer: resnet18 is a built-in model; choose another name (force hides the built-in one)
[2]

$ pyrometer models add resnet18 good-1-flat-layout.pt2 --force; pyrometer cost resnet18 | grep -A2 Notes
added resnet18; pyrometer cost resnet18 prices it
Notes:
  - this is your own model; it hides the built-in one of that name (pyrometer
    models remove resnet18 brings that back)

$ pyrometer models 'resnet18' -v | grep -e '^resnet18' -e hides | cut -c1-26
resnet18 (own)          21
resnet18            11.69 
resnet18 hides the built-i

$ pyrometer models remove resnet18
removed resnet18

$ pyrometer models remove resnet18
pyrometer: resnet18 is a built-in model, which cannot be removed
[2]

$ pyrometer models remove nothing
pyrometer: you have no model called nothing
[2]

$ pyrometer models add
pyrometer: models add takes NAME and FILE.pt2 or module.py:function (see pyrometer models --help)
[2]

$ pyrometer models add broken bad-2-truncated.pt2
pyrometer: bad-2-truncated.pt2: no end-of-archive record: the file is truncated or not a zip archive (at byte 869)
[2]

$ ls -A $TMP/data/pyrometer/models
mine.pt2

$ printf 'garbage' > $TMP/data/pyrometer/models/spoiled.pt2; pyrometer models spoiled -q
Model          Params  MACs  Input  Task
----------------------------------------
spoiled (own)       -     -  -

1 of * models. MACs are for one forward pass at that input; * marks the sizes (glob)
that may change.
spoiled cannot be used: not a model file in a known format (.pt2 archive, exported program as JSON, the same JSON in gzip, ONNX, safetensors, GGUF); export the model with torch.export.save(torch.export.export(model, inputs), "model.pt2")
(own): added by you; pyrometer models remove NAME deletes it.

$ pyrometer cost spoiled
pyrometer: $TMP/data/pyrometer/models/spoiled.pt2: not a model file in a known format (.pt2 archive, exported program as JSON, the same JSON in gzip, ONNX, safetensors, GGUF); export the model with torch.export.save(torch.export.export(model, inputs), "model.pt2")
[2]

$ rm $TMP/data/pyrometer/models/spoiled.pt2

# Many at once: each is whole, and of those that want one name a single one wins.
$ for i in 1 2 3 4 5 6 7 8; do (pyrometer models add same good-10-static.pt2 2>/dev/null && echo won >> $TMP/won) & done; wait; wc -l < $TMP/won; pyrometer cost same -q | sed -n 2p
1
GRAPH PROFILE: same

$ HOME= XDG_DATA_HOME= pyrometer models add x good-10-static.pt2
pyrometer: x: no folder for the model registry: set HOME to an absolute path
[2]

$ pyrometer models add x good-10-static.pt2 --input-shape 1,x
pyrometer: --input-shape: "1,x" is not a list of sizes such as 1,3,224,224
[2]

# Checking a file needs no Python; checking code does.
$ pyrometer models check good-1-flat-layout.pt2
good-1-flat-layout.pt2: can be traced: 1 operators, 55.30 k MACs, 216 parameters

$ pyrometer models check good-1-flat-layout.pt2 --format csv
model,traceable,operators,macs,params,stage,type,message,file,line,code
good-1-flat-layout.pt2,yes,1,55296,216,,,,,0,

$ pyrometer models check bad-2-truncated.pt2
pyrometer: bad-2-truncated.pt2: no end-of-archive record: the file is truncated or not a zip archive (at byte 869)
[2]

$ pyrometer models check model.py:build --python $TMP/no-such-python
pyrometer: model.py:build: $TMP/no-such-python: no such program; install Python 3.11 or newer, or name one with --python
[2]

$ printf '#!/bin/sh\nexec python3 -S -E "$@"\n' > $TMP/bare; chmod +x $TMP/bare; pyrometer models check model.py:build --python $TMP/bare
pyrometer: model.py:build: $TMP/bare has no torch; pip install torch (or name another Python with --python)
[2]

$ pyrometer models add code model.py:build --python $TMP/bare
pyrometer: model.py:build: $TMP/bare has no torch; pip install torch (or name another Python with --python)
[2]

$ pyrometer cost gpt2 --prefill 4096
pyrometer: gpt2: input 'input_ids': sequence cannot be 4096: it must be 1 to 1024; valid shapes are [batch, sequence] (batch 1 or more; sequence 1 to 1024)
[2]

$ pyrometer cost gpt2 --decode --past 1024
pyrometer: gpt2: input 'past_keys_0': past cannot be 1024: it must be 1 to 1023; valid shapes are [batch, 12, past, 64] (batch 1 or more; past 1 to 1023)
[2]

$ pyrometer cost roberta_base --input-shape 1,513
pyrometer: roberta_base: input 'input_ids': sequence cannot be 513: it must be 1 to 512; valid shapes are [batch, sequence] (batch 1 or more; sequence 1 to 512)
[2]

# The cache of 131,072 tokens is read once, grouped heads as they are: 14 GiB of weights, 16 of cache.
$ pyrometer cost llama3_1_8b --decode --past 131072 --format json | grep -e total_memory -e '"transformers:' | cut -c 1-40
  "total_memory": 32215223112,
    "transformers: causal masks, and hea

# The overview, versions and unknown commands.
$ pyrometer
pyrometer 0.1.0: what a PyTorch model costs, and where its time goes

Usage: pyrometer COMMAND [OPTION...] [OPERAND...]

Commands:
  cost      predict what a model costs: parameters, MACs, FLOPs, bytes per layer
  models    list the models known by name; check and add your own
  check     compare our FLOP count with fvcore, torch and torchvision
  diff      show what changed between two models, two runs or two results
  graph     show a model as a graph of modules or operators; find where to cut it
  fuse      find operators that can run as one kernel, and what that saves
  hardware  list chips and compare them
  fit       check whether a model fits into GPU memory, and find the most that does
  map       predict how long a model or a run takes on chips
  trace     analyze a run: layers, ops, kernels, idle time, memory
  ranks     find the straggler among the ranks of a distributed run
  bench     measure commands and models, and detect regressions
  report    show any input or result as one HTML page
  serve     show a folder of traces and results in a browser
  history   keep results over commits, find where they changed, alert
  run       run a Python program and record what its models do
  top       show a growing recording in the terminal
  python    run a Python program with @capture_model switched on
  learn     keep how efficiently ops ran, for predictions
  replay    write a script that runs ops of a trace again
  doctor    check what works on this machine, and how to fix what does not
  help      show the help of a command: pyrometer help cost

Start here:
  pyrometer cost resnet18       a built-in model
  pyrometer cost model.pt2      your model, saved with torch.export.save
  pyrometer trace run.json.gz   your run, recorded by torch.profiler

pyrometer COMMAND --help explains a command and shows examples.

$ pyrometer --help | head -1
pyrometer 0.1.0: what a PyTorch model costs, and where its time goes

$ pyrometer help help | head -1
pyrometer 0.1.0: what a PyTorch model costs, and where its time goes

$ pyrometer --version
pyrometer 0.1.0

$ pyrometer cst
pyrometer: unknown command cst; did you mean cost? (see pyrometer --help)
[2]

$ pyrometer frobnicate
pyrometer: unknown command frobnicate (see pyrometer --help)
[2]

$ pyrometer help cots
pyrometer: unknown command cots; did you mean cost? (see pyrometer --help)
[2]

$ pyrometer resnet18
pyrometer: resnet18 is a model, not a command; did you mean pyrometer cost resnet18?
[2]

$ pyrometer --format json
pyrometer: --format: options come after the command: pyrometer cost --format (see pyrometer --help)
[2]

# The help of a command is written from its option table.
$ pyrometer cost --help
Usage: pyrometer cost [MODEL...] [OPTION...]

Reads a model's graph, not its weights, and computes what one forward pass costs
on any hardware: parameters, multiply-accumulates (MACs), FLOPs, bytes read and
written, and arithmetic intensity, for the model and for each layer. Files and
built-in models are not run and need no PyTorch.

MODEL is a .pt2 file (torch.export.save(torch.export.export(model, args),
"model.pt2")), FILE.pt2:NAME for one of several models in a file, an ONNX file,
a folder with the config.json of a known family, a safetensors or GGUF file
(weights only), or the name of a built-in model or of one that you added (see
pyrometer models). Hugging Face and timm ids (meta-llama/Llama-3.1-8B,
timm/resnet50.a1_in1k) select the built-in model; nothing is downloaded.
FILE.py:FUNCTION, package.module:FUNCTION and folders of other families are
first built and exported by the interpreter of --python. All commands accept
these kinds of MODEL. Several models are shown side by side.

Arithmetic intensity is FLOPs divided by bytes moved. A layer below the ridge is
memory-bound, one above it is compute-bound. Operators without a price are
always listed; --strict makes them an error.

Models and tables:
      --model MODEL
          Model, or a comma-separated list; the same as operands. May be
          repeated. Default: resnet18.
      --top N
          Number of rows in the layer table; 0 shows all layers. Default: 10.
      --sort flops|macs|bytes|params|ai
          Sort key of the layer table, largest first. JSON and CSV keep the
          order of the graph. Default: flops.
      --on CHIP
          Use the ridge of this chip for the model's type: h100, mi300x. --ridge
          wins. 'pyrometer hardware' lists the chips.
      --strict
          Exit with 1 when an operator has no price. The result is still
          written.

Sizes:
      --input-shape N,N,...
          Shape of the first input: 1,3,384,384. Sizes that depend on it follow.
          Changing a size that the file fixes is an error. Default: as in the
          file.
      --input NAME=N,N,...
          Shape of the input called NAME: input_ids=2,128. May be repeated.
      --batch N
          Batch size, if it is dynamic in the model.
      --seq N
          Sequence length in tokens or frames, if it is dynamic in the model.
      --prefill N
          Price reading a prompt of N tokens, for language models.
      --size SYMBOL=N
          Value of a symbolic size in the file: s0=4. JSON output lists the
          symbols. May be repeated.

One token of a language model:
      --decode
          Price one new token of a language model with a key-value cache; the
          bytes read from the cache are reported. Needs a built-in model with a
          decode graph.
      --past N
          With --decode: number of tokens in the cache. Default: as stored.

Pricing:
      --convention full|torch|fvcore|torchvision
          What counts as a FLOP. full: 2 x MACs plus elementwise, norm, pooling
          and activation work; torch, fvcore, torchvision: as these tools count.
          MACs do not change. Default: full.
      --dtype DTYPE
          Price floating-point tensors as this type, such as float16 or
          bfloat16. Default: as in the file.
      --depth N
          Sum layers nested deeper than N into their ancestor; layer1.0.conv1
          has depth 3. Default: every layer separately.
      --ridge N
          Arithmetic intensity, in FLOPs per byte, above which a layer counts as
          compute-bound. For your hardware: peak FLOP/s divided by bytes/s.
          Default: 50.

Training:
      --train
          Price a training step: forward, backward and optimizer, gradients,
          optimizer states and the peak of memory.
      --optimizer sgd|adam|adamw|adafactor|lion|adam8bit
          With --train: the optimizer. Default: adamw.
      --checkpoint none|blocks|full
          With --train: activation checkpointing. blocks runs each repeated
          block again before its backward; full also runs what lies between the
          blocks again. Default: none.
      --precision fp32|bf16-mixed|bf16|fp8
          With --train: element types. bf16-mixed keeps float32 parameters and
          runs products in bfloat16, as torch.autocast does; fp8 also runs
          linear layers in 8 bits. Default: as in the file.
      --freeze REGEX
          With --train: parameters whose path matches are not trained:
          '^encoder|embed'.
      --lora RANK:REGEX
          With --train: train low-rank adapters beside the linear layers whose
          weight's path matches, and nothing else: 16:q_proj|v_proj.

Python:
      --python PROGRAM
          Python interpreter with torch, the models' packages and, for check,
          the counters. Default: python3 of the environment that holds
          pyrometer, or on PATH.

Output:
      --format text|json|csv|html
          Output format: text for people, json for programs, csv for
          spreadsheets or html for a browser. Default: text, or by the extension
          of --output.
  -o, --output FILE
          Write to FILE. Its extension (.json, .csv, .html or .txt) selects the
          format. An error leaves no partial file. Default: standard output.
  -q, --quiet
          Print only the numbers: no notes, advice or hints.
  -v, --verbose
          Print everything, not only the largest parts.
      --color auto|always|never
          Colour the text; auto means on a terminal, unless NO_COLOR is set.
          Default: auto.
  -h, --help
          Show this help.

Examples:
  pyrometer cost resnet18
          Cost of a built-in model by layer, and what bounds it.
  pyrometer cost model.pt2 --verbose
          Every module and layer of your model.
  pyrometer cost model.pt2 --batch 32 --dtype bfloat16
          Another batch size (if it is dynamic) and precision.
  pyrometer cost net.py:build --input-shape 1,3,64,64
          A function that returns an nn.Module, or the module and its inputs.
  pyrometer cost meta-llama/Llama-3.1-8B --decode --past 8192
          One new token of the built-in model for a Hugging Face id.
  pyrometer cost model.pt2 -o cost.csv
          Every layer, for a spreadsheet.
  pyrometer cost resnet50 --batch 32 --train --checkpoint blocks
          A training step: FLOPs, gradients, optimizer states, the peak of
          memory.
  pyrometer cost small.pt2 large.pt2
          Two models side by side.
  pyrometer cost model.pt2 --strict -q -o cost.json
          In a script: exit code 1 if an operator has no price.

$ pyrometer diff -h
Usage: pyrometer diff BEFORE AFTER [OPTION...]

Compares two models, two traces or two results of pyrometer bench.

Models are priced as by pyrometer cost. Shown are the totals, then the layers
that were added, removed or changed, largest change of FLOPs first. Layers are
matched by their dotted path (layer1.0.conv1); unchanged layers are only
counted. Size and pricing options apply to both models.

For two traces or recordings (as for pyrometer trace), shown are the layers, ops
and kernels whose own time per step or pass changed most.

For two JSON results of pyrometer bench, each metric gets a verdict: regressed,
improved, no change, or cannot tell (too few samples, a different or busy
machine). The verdict 'cannot tell' exits with 3, or with 0 and a warning under
--fail-on regression. docs/reference/statistics.md explains the method. If
GITHUB_STEP_SUMMARY is set, the verdict is appended to that file as Markdown.

Tables:
      --top N
          Number of rows in the table of changed layers; 0 shows all. Default:
          10.

Sizes of both models:
      --input-shape N,N,...
          Shape of the first input: 1,3,384,384. Sizes that depend on it follow.
          Changing a size that the file fixes is an error. Default: as in the
          file.
      --input NAME=N,N,...
          Shape of the input called NAME: input_ids=2,128. May be repeated.
      --batch N
          Batch size, if it is dynamic in the model.
      --seq N
          Sequence length in tokens or frames, if it is dynamic in the model.
      --prefill N
          Price reading a prompt of N tokens, for language models.
      --size SYMBOL=N
          Value of a symbolic size in the file: s0=4. JSON output lists the
          symbols. May be repeated.

One token of a language model:
      --decode
          Price one new token of a language model with a key-value cache; the
          bytes read from the cache are reported. Needs a built-in model with a
          decode graph.
      --past N
          With --decode: number of tokens in the cache. Default: as stored.

Pricing:
      --convention full|torch|fvcore|torchvision
          What counts as a FLOP. full: 2 x MACs plus elementwise, norm, pooling
          and activation work; torch, fvcore, torchvision: as these tools count.
          MACs do not change. Default: full.
      --dtype DTYPE
          Price floating-point tensors as this type, such as float16 or
          bfloat16. Default: as in the file.
      --depth N
          Sum layers nested deeper than N into their ancestor; layer1.0.conv1
          has depth 3. Default: every layer separately.
      --ridge N
          Arithmetic intensity, in FLOPs per byte, above which a layer counts as
          compute-bound. For your hardware: peak FLOP/s divided by bytes/s.
          Default: 50.

Python:
      --python PROGRAM
          Python interpreter with torch, the models' packages and, for check,
          the counters. Default: python3 of the environment that holds
          pyrometer, or on PATH.

Verdict on two results:
      --delta SHARE
          Relative change that still counts as no change: 2%, or 0.02. Default:
          2%.
      --floor TIME
          Absolute change of a time that still counts as no change, whatever its
          percentage: 0.1ms. Default: none.
      --noise SHARE
          Noise between two identical runs on this machine; smaller changes
          count as no change. Default: as measured in the results.
      --fail-on regression|cannot-tell
          Exit with 1 on a regression; the verdict 'cannot tell' then exits with
          0 and a warning. With cannot-tell, exit with 1 on both. May be
          repeated. Default: never 1; 3 when there is no verdict.
      --any-machine
          Compare results even if they come from different machines.

Output:
      --format text|json|csv|html
          Output format: text for people, json for programs, csv for
          spreadsheets or html for a browser. Default: text, or by the extension
          of --output.
  -o, --output FILE
          Write to FILE. Its extension (.json, .csv, .html or .txt) selects the
          format. An error leaves no partial file. Default: standard output.
  -q, --quiet
          Print only the numbers: no notes, advice or hints.
  -v, --verbose
          Print everything, not only the largest parts.
      --color auto|always|never
          Colour the text; auto means on a terminal, unless NO_COLOR is set.
          Default: auto.
  -h, --help
          Show this help.

Examples:
  pyrometer diff before.pt2 after.pt2
          How a change of the model changed its cost.
  pyrometer diff before.pt2 after.pt2 --depth 1
          The same by top-level module.
  pyrometer diff before.pt2 after.pt2 -o diff.csv
          Every changed layer, for a spreadsheet.
  pyrometer diff base.json new.json --fail-on regression
          Exit with 1 when a result of pyrometer bench regressed.

$ test "$(pyrometer help cost)" = "$(pyrometer cost --help)" && echo same
same

$ pyrometer cost --help --color always | grep -c "$(printf '\033')"
8

$ pyrometer cost --help | grep -c "$(printf '\033')"
0
[1]

# Mistakes are one line on standard error that says what was perhaps meant.
$ pyrometer cost --ouput x.json
pyrometer: unknown option --ouput; did you mean --output? (see pyrometer cost --help)
[2]

$ pyrometer cost --conv torch
pyrometer: unknown option --conv; did you mean --convention? (see pyrometer cost --help)
[2]

$ pyrometer cost --qqqqq
pyrometer: unknown option --qqqqq (see pyrometer cost --help)
[2]

$ pyrometer cost -z
pyrometer: unknown option -z (see pyrometer cost --help)
[2]

$ pyrometer cost --format xml
pyrometer: --format: unknown value "xml"; did you mean html? (one of: text, json, csv, html) (see pyrometer cost --help)
[2]

$ pyrometer cost --format=jsn
pyrometer: --format: unknown value "jsn"; did you mean json? (one of: text, json, csv, html) (see pyrometer cost --help)
[2]

$ pyrometer cost --sort
pyrometer: --sort needs a value: --sort KEY (see pyrometer cost --help)
[2]

$ pyrometer cost --output --quiet
pyrometer: --output needs a value, not --quiet (write --output=--quiet if it is meant) (see pyrometer cost --help)
[2]

$ pyrometer cost --quiet=yes
pyrometer: --quiet takes no value (see pyrometer cost --help)
[2]

$ pyrometer cost --top many
pyrometer: --top: "many" is not a whole number (see pyrometer cost --help)
[2]

$ pyrometer cost --top -1
pyrometer: --top: -1 is too small (at least 0) (see pyrometer cost --help)
[2]

$ pyrometer cost --top 99999999999999999999
pyrometer: --top: "99999999999999999999" is not a whole number (see pyrometer cost --help)
[2]

$ pyrometer cost --batch 0
pyrometer: --batch: 0 is too small (at least 1) (see pyrometer cost --help)
[2]

$ pyrometer cost --ridge nan
pyrometer: --ridge: "nan" is not a number (see pyrometer cost --help)
[2]

$ pyrometer cost --ridge 0
pyrometer: --ridge: 0 is too small (at least 0.001) (see pyrometer cost --help)
[2]

$ pyrometer cost --input-shape 1,x,3
pyrometer: --input-shape: "1,x,3" is not a list of sizes such as 1,3,224,224
[2]

$ pyrometer cost --input-shape ,
pyrometer: --input-shape: "," is not a list of sizes such as 1,3,224,224
[2]

$ pyrometer cost --input-shape 1,99999999999999999999
pyrometer: --input-shape: "1,99999999999999999999" is not a list of sizes such as 1,3,224,224
[2]

$ pyrometer cost --input x
pyrometer: --input: "x" is not NAME=N,N,... such as input_ids=2,128
[2]

$ pyrometer cost --size batch
pyrometer: --size: "batch" is not SYMBOL=N such as s0=4
[2]

$ pyrometer diff resnet18
pyrometer: diff needs two models, traces or results, got 1: pyrometer diff BEFORE AFTER
[2]

$ pyrometer diff a b c
pyrometer: diff needs two models, traces or results, got 3: pyrometer diff BEFORE AFTER
[2]

$ pyrometer cost --nope >/dev/null 2>&1; echo $?
2

$ pyrometer cost --nope 2>/dev/null
[2]

# The overview, versions and unknown commands.
$ pyrometer
pyrometer 0.1.0: what a PyTorch model should cost, and what a run did cost

Usage: pyrometer COMMAND [OPTION...] [OPERAND...]

Commands:
  cost      what a model should cost: parameters, MACs, FLOPs, bytes, by layer
  models    the models that are known by name; checking and adding your own
  check     our count of a model beside another counter's, and where they part
  diff      what changed between two models, two runs or two results
  graph     a model as a graph: modules or operators, the tensors between them, and cuts
  trace     what a run did cost: layers, ops, kernels, idle time, memory
  ranks     many ranks of one run: who is waited for, communication, skew
  bench     how long commands and models take, and whether that got worse
  run       run a Python program and record what its models do
  python    run a Python program with @capture_model switched on
  doctor    what works on this machine, and how to mend what does not
  help      show the help of a command: pyrometer help cost

Start here:
  pyrometer cost resnet18       a model that is built in
  pyrometer cost model.pt2      one of yours, saved with torch.export.save
  pyrometer trace run.json.gz   a run of yours, recorded by torch.profiler

pyrometer COMMAND --help explains a command and shows examples of it.

$ pyrometer --help | head -1
pyrometer 0.1.0: what a PyTorch model should cost, and what a run did cost

$ pyrometer help help | head -1
pyrometer 0.1.0: what a PyTorch model should cost, and what a run did cost

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
pyrometer: --format: options follow a command: pyrometer cost --format (see pyrometer --help)
[2]

# The help of a command is written from its option table.
$ pyrometer cost --help
Usage: pyrometer cost [MODEL...] [OPTION...]

Reads a model's graph, never its weights, and says what one forward pass should
cost on any hardware: parameters, multiply-accumulates (MACs), FLOPs, bytes read
and written, and arithmetic intensity, for the model and for each of its layers.
A file or a built-in model needs no PyTorch and is not run.

MODEL is a .pt2 file (torch.export.save(torch.export.export(model, args),
"model.pt2")), FILE.pt2:NAME for one of several models in a file, or the name of
a built-in model or of one of yours (pyrometer models). Ids of Hugging Face and
timm (meta-llama/Llama-3.1-8B, timm/resnet50.a1_in1k) find the built-in model;
nothing is downloaded. FILE.py:FUNCTION, package.module:FUNCTION and a folder
with a config.json are built and exported in the Python of --python first. Every
command that takes a model takes all of these. Several models give one table
side by side.

Arithmetic intensity is FLOPs divided by bytes moved. A layer below the ridge
waits for memory (memory-bound), one above it for arithmetic (compute-bound).
Operators that could not be priced are always listed; --strict makes them an
error.

Models and tables:
      --model MODEL
          A model, or several with commas between; the same as naming them as
          operands. May be repeated. Default: resnet18.
      --top N
          Rows of the layer table; 0 shows every layer. Default: 10.
      --sort flops|macs|bytes|params|ai
          What the layer table is sorted by, largest first. JSON and CSV stay in
          the order of the graph. Default: flops.
      --strict
          Exit with 1 when an operator could not be priced (the result is
          written all the same).

Sizes:
      --input-shape N,N,...
          Shape of the first input: 1,3,384,384. Every size of the model that
          depends on it follows; a size that the file fixes is an error, never a
          silent rescaling. Default: as in the file.
      --input NAME=N,N,...
          Shape of the input called NAME: input_ids=2,128. May be repeated.
      --batch N
          Batch size, where the file leaves it open.
      --seq N
          Length of the sequence of tokens or frames, where the model leaves it
          open.
      --prefill N
          A language model reads a prompt of N tokens.
      --decode
          A language model makes one new token, with the keys and values of
          earlier ones in a cache; what it reads of that is told. Of built-in
          models that have such a graph.
      --past N
          With --decode: tokens in the cache. Default: as stored.
      --size SYMBOL=N
          Value of one symbolic size of the file: s0=4. JSON output lists the
          symbols. May be repeated.

Pricing:
      --convention full|torch|fvcore|torchvision
          What is called a FLOP. full: 2 x MACs plus elementwise, norm, pooling
          and activation work; torch, fvcore, torchvision: as those count. MACs
          never depend on it. Default: full.
      --dtype DTYPE
          Price floating point tensors as if they were of this type: float16 or
          bfloat16, say. Default: as in the file.
      --depth N
          Roll layers that are nested deeper than N up into their ancestor;
          layer1.0.conv1 is at depth 3. Default: every layer on its own.
      --ridge N
          Arithmetic intensity, in FLOPs a byte, above which a layer counts as
          compute-bound. For your hardware: its peak FLOP/s divided by its
          bytes/s. Default: 50.

Python:
      --python PROGRAM
          The Python that has torch and the models' packages; counters too,
          where some are asked. Default: python3.

Output:
      --format text|json|csv
          Write text for people, json for programs or csv for spreadsheets.
          Default: text, or by the extension of --output.
  -o, --output FILE
          Write to FILE (.json, .csv or .txt says the format). It appears whole
          or not at all. Default: standard output.
  -q, --quiet
          The numbers only: no notes, advice or hints.
  -v, --verbose
          Everything there is, not only the largest parts.
      --color auto|always|never
          Colour in text; auto means on a terminal, unless NO_COLOR is set.
          Default: auto.
  -h, --help
          Show this help.

Examples:
  pyrometer cost resnet18
          A built-in model: where its work is, and what bounds it.
  pyrometer cost model.pt2 --verbose
          Every module and every layer of a model of yours.
  pyrometer cost model.pt2 --batch 32 --dtype bfloat16
          The same at another batch size (where the export left it open) and
          precision.
  pyrometer cost net.py:build --input-shape 1,3,64,64
          What a function returns: an nn.Module, or one with its inputs.
  pyrometer cost meta-llama/Llama-3.1-8B --decode --past 8192
          The built-in model of a Hugging Face id, one new token.
  pyrometer cost model.pt2 -o cost.csv
          Every layer, for a spreadsheet.
  pyrometer cost small.pt2 large.pt2
          Models side by side.
  pyrometer cost model.pt2 --strict -q -o cost.json
          In a script: exit code 1 if anything could not be priced.

$ pyrometer diff -h
Usage: pyrometer diff BEFORE AFTER [OPTION...]

Prices two models as pyrometer cost does and shows what changed: the totals,
then the layers that were added, removed or changed, those whose FLOPs changed
most first. Layers are matched by their dotted path (layer1.0.conv1); those that
cost the same in both are only counted.

BEFORE and AFTER are models as for pyrometer cost. Sizes and pricing options
apply to both.

They may also be two traces or recordings, as for pyrometer trace: then the
layers, ops and kernels are shown whose own time changed most, a step or pass
each.

Or they are results that pyrometer bench wrote as JSON. Then every metric is
judged: regressed, improved, no change, or cannot tell (too few samples, another
machine, or one that was busy), which exits with 3, with --fail-on regression
with 0 and a warning. docs/reference/statistics.md says how. Where
GITHUB_STEP_SUMMARY is set, the verdict is added to that file as Markdown.

Tables:
      --top N
          Rows of the table of changed layers; 0 shows them all. Default: 10.

Sizes, of both models:
      --input-shape N,N,...
          Shape of the first input: 1,3,384,384. Every size of the model that
          depends on it follows; a size that the file fixes is an error, never a
          silent rescaling. Default: as in the file.
      --input NAME=N,N,...
          Shape of the input called NAME: input_ids=2,128. May be repeated.
      --batch N
          Batch size, where the file leaves it open.
      --seq N
          Length of the sequence of tokens or frames, where the model leaves it
          open.
      --prefill N
          A language model reads a prompt of N tokens.
      --decode
          A language model makes one new token, with the keys and values of
          earlier ones in a cache; what it reads of that is told. Of built-in
          models that have such a graph.
      --past N
          With --decode: tokens in the cache. Default: as stored.
      --size SYMBOL=N
          Value of one symbolic size of the file: s0=4. JSON output lists the
          symbols. May be repeated.

Pricing:
      --convention full|torch|fvcore|torchvision
          What is called a FLOP. full: 2 x MACs plus elementwise, norm, pooling
          and activation work; torch, fvcore, torchvision: as those count. MACs
          never depend on it. Default: full.
      --dtype DTYPE
          Price floating point tensors as if they were of this type: float16 or
          bfloat16, say. Default: as in the file.
      --depth N
          Roll layers that are nested deeper than N up into their ancestor;
          layer1.0.conv1 is at depth 3. Default: every layer on its own.
      --ridge N
          Arithmetic intensity, in FLOPs a byte, above which a layer counts as
          compute-bound. For your hardware: its peak FLOP/s divided by its
          bytes/s. Default: 50.

Python:
      --python PROGRAM
          The Python that has torch and the models' packages; counters too,
          where some are asked. Default: python3.

Verdict, of two results:
      --delta SHARE
          Changes up to this do not matter: 2%, or 0.02. Default: 2%.
      --floor TIME
          Nor do changes of times by less than this (0.1ms), however many
          percent they are. Default: none.
      --noise SHARE
          Nor what this machine shows between two runs of the same. Default:
          what the results say.
      --fail-on regression|cannot-tell
          Exit with 1 on a regression; cannot tell is then a warning and exits
          with 0, unless cannot-tell is given too, which exits with 1 on both.
          May be repeated. Default: never 1; 3 where it cannot be told.
      --any-machine
          Judge although the results come from machines that differ.

Output:
      --format text|json|csv
          Write text for people, json for programs or csv for spreadsheets.
          Default: text, or by the extension of --output.
  -o, --output FILE
          Write to FILE (.json, .csv or .txt says the format). It appears whole
          or not at all. Default: standard output.
  -q, --quiet
          The numbers only: no notes, advice or hints.
  -v, --verbose
          Everything there is, not only the largest parts.
      --color auto|always|never
          Colour in text; auto means on a terminal, unless NO_COLOR is set.
          Default: auto.
  -h, --help
          Show this help.

Examples:
  pyrometer diff before.pt2 after.pt2
          What a change of the model did to its cost.
  pyrometer diff before.pt2 after.pt2 --depth 1
          The same by top-level module.
  pyrometer diff before.pt2 after.pt2 -o diff.csv
          Every changed layer, for a spreadsheet.
  pyrometer diff base.json new.json --fail-on regression
          Exit with 1 when a result of pyrometer bench got worse.

$ test "$(pyrometer help cost)" = "$(pyrometer cost --help)" && echo same
same

$ pyrometer cost --help --color always | grep -c "$(printf '\033')"
6

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
pyrometer: --format: unknown value "xml" (one of: text, json, csv) (see pyrometer cost --help)
[2]

$ pyrometer cost --format=jsn
pyrometer: --format: unknown value "jsn"; did you mean json? (one of: text, json, csv) (see pyrometer cost --help)
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
pyrometer: diff compares two models, traces or results, 1 given: pyrometer diff BEFORE AFTER
[2]

$ pyrometer diff a b c
pyrometer: diff compares two models, traces or results, 3 given: pyrometer diff BEFORE AFTER
[2]

$ pyrometer cost --nope >/dev/null 2>&1; echo $?
2

$ pyrometer cost --nope 2>/dev/null
[2]

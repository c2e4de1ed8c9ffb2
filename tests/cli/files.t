# Files that are not read: one line that says what they are and what to do.
$ for file in bad-*; do pyrometer cost $file; test $? = 2 || echo "wrong exit code"; done
pyrometer: bad-1-empty.pt2: the file is empty
pyrometer: bad-10-schema.pt2:models/model.json: schema version 99.20 is newer than 8.x; a newer pyrometer may read it
pyrometer: bad-11-no-graph.pt2:models/model.json: the JSON contains no exported program
pyrometer: bad-12-not-json.pt2:models/model.json: expected a key or '}', got ''' (at byte 1)
pyrometer: bad-13-deep-nesting.pt2:models/model.json: unexpected end of input inside an object or array (at byte 1000011)
pyrometer: bad-14-bomb.pt2:models/model.json: unexpected end of input: expected a value (at byte 33554432)
pyrometer: bad-15-no-model.pt2: a zip archive without an exported program; export the model with torch.export.save(torch.export.export(model, inputs), "model.pt2")
pyrometer: bad-2-truncated.pt2: no end-of-archive record: the file is truncated or not a zip archive (at byte 869)
pyrometer: bad-3-flipped-bit.pt2: models/model.json: wrong checksum (4e582c2c, the directory says 0c35a7db) (at byte 2820)
pyrometer: bad-4-cycle.pt2:models/model.json: 'second' is used by 'first' (aten.linear.default) before it is made: the graph is cyclic or damaged (at byte 275)
pyrometer: bad-5-duplicate-name.pt2:models/model.json: 'first' is made twice (at byte 684)
pyrometer: bad-6-unknown-value.pt2:models/model.json: 'nobody' is used by 'relu' (aten.relu.default) before it is made: the graph is cyclic or damaged (at byte 684)
pyrometer: bad-7-overflow.pt2: 'first' (aten.linear.default) is too large: its numbers do not fit in 64 bits (at byte 275)
pyrometer: bad-8-absurd-rank.pt2:models/model.json: expected no more than 64 dims, got an object (at byte 2419)
pyrometer: bad-9-negative-size.pt2:models/model.json: expected a size of 0 or more, got -3 (at byte 1597)

$ for file in other-*; do pyrometer cost $file; test $? = 2 || echo "wrong exit code"; done
pyrometer: other-1-torchscript.pt:m/data.pkl: invalid pickle at byte 2: no single value
pyrometer: other-2-checkpoint.pth: an archive of torch without tensors; export the model with torch.export.save(torch.export.export(model, inputs), "model.pt2")
pyrometer: other-3-legacy-checkpoint.pth: a pickle, which is never unpickled; export the model with torch.export.save(torch.export.export(model, inputs), "model.pt2")
pyrometer: other-6-text.pt2: not a model file in a known format (.pt2 archive, exported program as JSON, the same JSON in gzip, ONNX, safetensors, GGUF); export the model with torch.export.save(torch.export.export(model, inputs), "model.pt2")
pyrometer: other-7-plain.zip: a zip archive without an exported program; export the model with torch.export.save(torch.export.export(model, inputs), "model.pt2")

$ pyrometer cost .
pyrometer: .: is a directory without a config.json or a single .pt2 file; name a file
[2]

$ pyrometer cost none.pt2
pyrometer: none.pt2: no such file or model (pyrometer models lists the * built-in ones) (glob)
[2]

$ pyrometer cost resnet19
pyrometer: resnet19: no such file or model; did you mean resnet18, resnet101 or resnet152? (pyrometer models lists the * built-in ones) (glob)
[2]

$ pyrometer cost good-4-two-models.pt2
pyrometer: good-4-two-models.pt2: the file has 2 models (decoder, encoder): choose one with FILE:NAME
[2]

$ pyrometer cost good-4-two-models.pt2:enc
pyrometer: good-4-two-models.pt2: no model 'enc' in the file; it has: decoder, encoder
[2]

$ pyrometer cost ''
pyrometer: : no such file or model (pyrometer models lists the * built-in ones) (glob)
[2]

$ head -c 700 good-10-static.pt2 > $TMP/cut.pt2; pyrometer cost $TMP/cut.pt2
pyrometer: $TMP/cut.pt2: no end-of-archive record: the file is truncated or not a zip archive (at byte 700)
[2]

# Errors of pyrometer serve; tests/python/live/test_serve.py tests the server.
$ pyrometer serve $TMP/missing
pyrometer: $TMP/missing: cannot open it: No such file or directory
[2]
$ pyrometer serve /dev/null
pyrometer: /dev/null: neither a folder nor a regular file
[2]
$ pyrometer serve a b
pyrometer: serve takes one folder or file, but 2 were given (see pyrometer serve --help)
[2]
$ pyrometer serve --port 70000
pyrometer: --port: 70000 is too large (at most 65535) (see pyrometer serve --help)
[2]

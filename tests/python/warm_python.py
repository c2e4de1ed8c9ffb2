"""A Python interpreter that has already imported torch, for programs whose own start is not tested.

`warm_python.py SOCKET` imports torch and its exporter once, then forks for every program that
`client()` sends: `client -c CODE`, `client -m MODULE` or `client FILE`, each with its arguments.
A program has the folder, environment variables and standard streams of its client, which exits as
the program does. Variables that torch reads when it is imported are those of the server.
"""

import atexit
import gc
import json
import os
import runpy
import socket
import sys
import threading

CLIENT = """#!{python} -SE
import json, os, socket, struct, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    program = {{"words": sys.argv[1:], "folder": os.getcwd(), "variables": dict(os.environ)}}
    data = json.dumps(program).encode()
    socket.send_fds(server, [struct.pack("<Q", len(data))], [0, 1, 2])
    server.sendall(data)
    answer = server.recv(8)
code = int(answer or b"1")
if code < 0:
    os.kill(os.getpid(), -code)
os._exit(code)
"""


def client(folder, python=sys.executable):
    """Writes the program that stands for the interpreter; returns it and the socket's address."""
    address, path = os.path.join(folder, "socket"), os.path.join(folder, "python3")
    with open(path, "w", encoding="utf-8") as file:
        file.write(CLIENT.format(python=python, address=address))
    os.chmod(path, 0o755)
    return path, address


def receive(connection):
    """The program to run, after its streams have become those of this process."""
    size, streams, _, _ = socket.recv_fds(connection, 8, 3)
    data = b""
    while len(data) < int.from_bytes(size, "little"):
        data += connection.recv(1 << 16)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    return json.loads(data)


def serve(address):
    """Returns the program to run, each time in another process."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(address)
        server.listen()
        print("ready", flush=True)
        while True:
            connection, _ = server.accept()
            if os.fork() == 0:
                break
            connection.close()
            # A process that waits for its program ends a little after it: collect all that did.
            while os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG) is not None:
                pass
    program = receive(connection)
    child = os.fork()
    if child == 0:
        connection.close()
        return program
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    connection.sendall(str(status).encode())
    os._exit(0)


def run(program):
    """Runs as the interpreter would."""
    os.chdir(program["folder"])
    os.environ.clear()
    os.environ.update(program["variables"])
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    sys.path[:1] = [path for path in paths if path not in sys.path]
    option, *words = program["words"]
    is_safe = option == "-P"  # without the current folder in sys.path
    if is_safe:
        option, *words = words
    if option == "-c":
        sys.path[:0] = [] if is_safe else [""]
        sys.argv = ["-c", *words[1:]]
        exec(compile(words[0], "<string>", "exec"), {"__name__": "__main__"})
    elif option == "-m":
        sys.path.insert(0, program["folder"])
        sys.argv = words
        runpy.run_module(words[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv = [option, *words]
        if os.path.isfile(option) and not option.endswith(".zip"):
            sys.path.insert(0, os.path.dirname(os.path.abspath(option)))
        runpy.run_path(option, run_name="__main__")


def run_and_exit(program):
    """Ends as the interpreter would, except that modules are not taken apart, which would copy all
    memory of the server and take seconds."""
    code = 0
    try:
        run(program)
    except SystemExit as end:
        code = end.code or 0
        if not isinstance(code, int):
            print(code, file=sys.stderr)
            code = 1
    except BaseException:
        sys.excepthook(*sys.exc_info())
        code = 1
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    import torch
    import torch._dynamo
    import torch.export._trace

    torch.set_num_threads(1)
    gc.freeze()
    run_and_exit(serve(sys.argv[1]))

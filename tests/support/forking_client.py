# Runs in place of Python, without its site packages: its program is a fork of forking_python.py's.
# This process is the visible one: it forwards its streams, its signals and its end, and dies with its fork.
# It becomes the replaced Python where a fork would behave differently: other flags, namespaces, another user.
import _socket
import marshal
import os
import signal
import sys

PYTHON, SERVER = "@PYTHON@", "@SERVER@"
SURROUNDINGS = "@SURROUNDINGS@"


def surroundings():
    namespaces = (os.readlink(f"/proc/self/ns/{kind}") for kind in ("mnt", "net", "pid", "user"))
    return " ".join([str(os.getuid()), *namespaces])


def itself():
    os.execv(PYTHON, [PYTHON, *sys.argv[1:]])


def fits():
    rest = [argument for argument in sys.argv[1:] if argument not in ("-u", "-P")]
    place = sys.argv[1:].index(rest[0]) if rest else 0
    program = sys.argv[1 + place :]
    if not program or (program[0].startswith("-") and program[0] != "-m") or (program[0] == "-m" and len(program) < 2):
        return False
    return set(sys.argv[1 : 1 + place]) <= {"-u", "-P"} and surroundings() == SURROUNDINGS


def main():
    if not fits():
        itself()
    umask = os.umask(0)
    os.umask(umask)
    request = marshal.dumps((sys.argv[1:], os.getcwd(), dict(os.environ), umask))
    server = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        server.connect(SERVER)
        data = len(request).to_bytes(4, "big") + request
        descriptors = b"".join(number.to_bytes(4, sys.byteorder) for number in (0, 1, 2))
        sent = server.sendmsg([data], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, descriptors)])
    except OSError:
        itself()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, lambda number, _: server.send(bytes([number])))
    while sent < len(data):
        sent += server.send(data[sent:])
    status = b""
    while len(status) < 4:
        if not (more := server.recv(4 - len(status))):
            os._exit(70)  # the server is gone, and its forks with it
        status += more
    code = os.waitstatus_to_exitcode(int.from_bytes(status, "big"))
    if code < 0:
        if -code != signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


main()

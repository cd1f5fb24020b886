# SPDX-License-Identifier: GPL-2.0-or-later
"""What a worker of the tests has for itself: directories where every file that appears is tapir's, and orphans."""
import ctypes
import os
import sys
import time
import traceback

libc = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNS = 0x20000
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 1 << 18
PR_SET_CHILD_SUBREAPER = 36
OWN_DIRECTORIES = ("/tmp", "/dev/shm", "/run")
TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def mount(source, target, kind, flags, data=None):
    if libc.mount(source.encode(), target.encode(), kind, flags, data):
        raise OSError(ctypes.get_errno(), f"cannot mount {source} on {target}")


def enter():
    """A mount namespace of its own with empty /tmp, /dev/shm and /run, where only a clone below one of them stays;
    orphaned descendants become our children."""
    if libc.unshare(CLONE_NEWNS):
        raise OSError(ctypes.get_errno(), "no mount namespace")
    mount("none", "/", None, MS_REC | MS_PRIVATE)
    tree = os.open(TREE, os.O_PATH)
    for path in OWN_DIRECTORIES:
        mount("tmpfs", path, b"tmpfs", 0, b"size=256m")
        if TREE.startswith(path + "/"):
            os.makedirs(TREE)
            mount(f"/proc/self/fd/{tree}", TREE, None, MS_BIND)
    os.close(tree)
    os.chmod("/tmp", 0o1777)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def files(*more):
    """Every path below this worker's own directories, except the clone and the socket on which a JVM is asked."""
    found = set()
    for top in (*OWN_DIRECTORIES, *more):
        for home, directories, names in os.walk(top):
            directories[:] = [name for name in directories if os.path.join(home, name) != TREE]
            found.update(os.path.join(home, name) for name in names + directories if not name.startswith(".java_pid"))
    return found


def children():
    """pid -> comm, state of our own children, orphans among them."""
    found = {}
    for task in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{task}/children", encoding="ascii") as file:
                pids = [int(word) for word in file.read().split()]
        except OSError:
            continue
        for pid in pids:
            found[pid] = stat(pid)
    return found


def stat(pid):
    """(comm, state) of a process, None when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            head, _, tail = file.read().rpartition(")")
        return head.split("(", 1)[1], tail.split()[0]
    except OSError:
        return None


def orphans(known, seconds):
    """Children besides the known ones that are still there after so long; zombies are reaped."""
    end = time.monotonic() + seconds
    while True:
        left = {}
        for pid, seen in children().items():
            if pid in known:
                continue
            if seen and seen[1] != "Z":
                left[pid] = seen
                continue
            try:
                os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                pass
        if not left or time.monotonic() > end:
            return left
        time.sleep(0.01)


def in_child(function, *args):
    """The pid of a copy of this process that runs the function among directories of its own."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        enter()
        function(*args)
        code = 0
    except SystemExit as stop:
        print(stop, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(code)

# SPDX-License-Identifier: GPL-2.0-or-later
"""Processes by cgroup: those in it and below it, and nobody else."""
import ctypes
import os
import signal
import time


class Hierarchy:
    """A cgroup of our own, `inside` one below it and `outside` beside it; all removed again."""

    def __init__(self, t, root):
        self.top = os.path.join(root, f"tapir-test-{os.getpid()}")
        self.inside, self.outside = os.path.join(self.top, "inside"), self.top + "-outside"
        try:
            for path in (self.top, self.inside, self.outside):
                os.mkdir(path)
        except OSError as error:
            t.skip(f"cannot make a cgroup: {error}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for path in (self.inside, self.top, self.outside):
            try:
                os.rmdir(path)
            except OSError:
                pass  # its last process is still being reaped


def start_in(t, cgroup, *args):
    storm = t.target_path("storm")
    return t.start("sh", "-c", f'echo $$ > {cgroup}/cgroup.procs; exec {storm} "$@"', "sh", *args)


def check_hierarchy(t, root, settle_s=0):
    file = t.path("trace.tapir")
    with Hierarchy(t, root) as h:
        early = start_in(t, h.top, "--wait-attached", 0, 300, 2)
        other = start_in(t, h.outside, "--wait", 0, 500, 1)
        early.wait_line("pid ")
        other.wait_line("pid ")
        tapir = t.start_tapir("record", "storm:hit", "--cgroup", h.top, "-o", file)
        t.eq(early.wait().rc, 0, "exit of the process that was in it")
        late = start_in(t, h.inside, "--wait", 0, 200, 1)
        late.wait_line("pid ")
        time.sleep(settle_s)
        late.go()
        t.eq(late.wait().rc, 0, "exit of the process that came later, further down")
        other.go()
        t.eq(other.wait().rc, 0, "exit of the other")
        tapir.signal(signal.SIGINT)
        t.eq(tapir.wait().rc, 0, "exit")
    by_pid = {early.pid: 600, late.pid: 200}
    events = t.events(file)
    t.eq({pid: sum(e["pid"] == pid for e in events) for pid in {e["pid"] for e in events}}, by_pid, "events")


def test_processes_are_found_when_the_cgroup_is_of_version_1(t):
    root = "/sys/fs/cgroup/pids"
    if not os.path.exists(os.path.join(root, "cgroup.procs")) or os.path.exists("/sys/fs/cgroup/cgroup.controllers"):
        t.skip("no cgroup v1 hierarchy")
    check_hierarchy(t, root, settle_s=1.2)  # who joins is looked for every 0.5 s


def test_processes_are_found_when_the_cgroup_is_of_version_2(t):
    if os.path.exists("/sys/fs/cgroup/cgroup.controllers"):
        check_hierarchy(t, "/sys/fs/cgroup")
        return
    root, libc = t.path("cgroup2"), ctypes.CDLL(None, use_errno=True)
    os.mkdir(root)
    if libc.mount(b"none", root.encode(), b"cgroup2", 0, None):
        t.skip(f"cannot mount cgroup2: {os.strerror(ctypes.get_errno())}")
    try:
        check_hierarchy(t, root)
    finally:
        libc.umount2(root.encode(), 2)


def test_cgroup_is_named_when_it_does_not_exist(t):
    result = t.tapir("record", "storm:hit", "--cgroup", "/no/such/cgroup", "-o", t.path("x.tapir"), expect=1)
    t.ok("/no/such/cgroup" in result.err, result.err)

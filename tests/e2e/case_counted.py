# SPDX-License-Identifier: GPL-2.0-or-later
"""Each event is recorded once, or counted as lost: for all ways to select processes, to fire events, and for all lanes."""
import collections
import functools
import os
import re
import shutil
import signal
import time

from harness import EVENTS_ONLY, PATIENCE, args_of

TARGETS = ("counted", "countplug")

# Relative, since a path may have characters that options of a mount give a meaning to.
OVERLAY = ('mkdir lower upper work root; mount --bind "$2" lower; '
           "mount -t overlay none -o lowerdir=lower,upperdir=upper,workdir=work root")


def copy_of(t, name):
    """The program, as a file of its own with a comm of its own: no other case's recorder takes it."""
    directory = t.path(name + ".d")
    os.makedirs(directory)
    comm = f"ct{os.getpid()}{name}"[:15]
    for target in TARGETS:
        shutil.copy2(t.target_path(target), os.path.join(directory, comm if target == TARGETS[0] else target))
    return os.path.join(directory, comm)


def mounted(t, program, kind, nth):
    """A command that runs a program at its nth mount, in a mount namespace of its own."""
    directory, name = os.path.split(program)
    where = t.path(f"mount{nth}")
    os.makedirs(where, exist_ok=True)
    mount = {"containers": OVERLAY, "bind": 'mkdir root; mount --bind "$2" root'}[kind]
    script = f'set -e; mount -t tmpfs none "$1"; cd "$1"; {mount}; shift 2; exec "$@"'
    return [t.need("unshare"), "--mount", "--propagation", "private", "sh", "-c", script, "sh", where, directory,
            f"{where}/root/{name}"]


def start_waiting(t, argv):
    process = t.start(*argv, "--wait")
    process.wait_line("pid ")
    return process


def times_of(events, pids):
    """How often each (pid, who, i) is there."""
    return collections.Counter(tuple(args_of(e)) for e in events if e["pid"] in pids)


def record_containers(t, program, *options):
    """Two containers of one image fire 300 each, traced by their pids or as options say: how often each event is there."""
    file = t.path("trace.tapir")
    # Both at the same path: each has a mount namespace of its own.
    both = [start_waiting(t, [*mounted(t, program, "containers", 0), "one", "300"]) for _ in range(2)]
    pids = [process.pid for process in both]
    tapir = t.start_tapir("record", "Counted:*", "--lane", "probe", *EVENTS_ONLY, *(options or ("-p", f"{pids[0]},{pids[1]}")),
                          "-f", "-o", file)
    tapir.wait_ready()
    for process in both:
        process.go()
    t.eq([process.wait().witness()["fired"] for process in both], [300, 300], "fired")
    tapir.signal(signal.SIGINT)
    t.eq(tapir.wait().rc, 0, "exit of tapir")
    t.eq(t.report(file)["lost"], {}, "lost")
    return times_of(t.events(file), pids)


def test_two_containers_of_one_image_are_counted_once_each(t):
    program = copy_of(t, "two")
    for options in (("--comm", os.path.basename(program)), ()):
        times = record_containers(t, program, *options)
        t.eq((len(times), set(times.values())), (600, {1}), f"events, times each, with {options or '-p'}")


def site_of(t, program, pid):
    """Where the process has the code of its first probe, and the byte that the file has there."""
    va = int(re.search(r"Provider: Counted\s+Name: Tick\s+Location: (0x[0-9a-f]+)", t.run(t.need("readelf"), "-n", program).out)[1], 16)
    with open(program, "rb") as file:
        elf = file.read()
    for line in t.run("readelf", "-lW", program).out.splitlines():
        fields = line.split()
        if fields[:1] == ["LOAD"] and int(fields[2], 16) <= va < int(fields[2], 16) + int(fields[4], 16):
            at = va - int(fields[2], 16) + int(fields[1], 16)
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
        for line in maps:
            fields = line.split()
            start, end = (int(word, 16) for word in fields[0].split("-"))
            if fields[1][2] == "x" and fields[-1] == program and 0 <= at - int(fields[2], 16) < end - start:
                return start + at - int(fields[2], 16), elf[at]
    t.ok(False, f"process {pid} maps no code of {program}")


def wait_trap(t, pid, site, is_there):
    """Waits until the process has a breakpoint at its site, or has none."""
    address, byte = site
    end = time.monotonic() + 20 * PATIENCE
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        while time.monotonic() < end:
            memory.seek(address)
            if (memory.read(1)[0] != byte) == is_there:
                return
            time.sleep(0.01)
    t.ok(False, f"process {pid} {'has no' if is_there else 'still has a'} breakpoint after {20 * PATIENCE:.0f} s")


def test_program_no_longer_traps_when_its_ring_has_the_events(t):
    program, file = copy_of(t, "after"), t.path("trace.tapir")
    tapir = t.start_tapir("record", "Counted:*", *EVENTS_ONLY, "-f", "-o", file, "--", program, "--wait", "after", str(COUNT), "200")
    pid = int(tapir.wait_line("pid ").split()[1])
    site = site_of(t, program, pid)
    wait_trap(t, pid, site, True)  # from before its first event on
    os.kill(pid, signal.SIGUSR1)
    wait_trap(t, pid, site, False)
    os.kill(pid, signal.SIGUSR1)  # it makes children, which have no ring yet
    wait_trap(t, pid, site, True)
    os.kill(pid, signal.SIGUSR1)
    result = tapir.wait()
    t.eq(result.rc, 0, "exit of tapir")
    fired, report = result.witness()["fired"], t.report(file)
    times = collections.Counter(tuple(args_of(e)) for e in t.events(file))
    t.eq(set(times.values()), {1}, "how often an event is there")
    t.eq(len(times) + sum(report["lost"].values()), fired, f"captured and lost {report['lost']}")
    t.eq(report["gaps"], [], "gaps")


def test_process_is_found_by_its_executable_when_it_calls_itself_otherwise(t):
    program, file = copy_of(t, "other"), t.path("trace.tapir")
    name = os.path.basename(program)
    process = start_waiting(t, [program, "--renamed", "fork", str(COUNT)])
    tapir = t.start_tapir("record", "Counted:*", *EVENTS_ONLY, "--comm", name, "-f", "-o", file)
    said = tapir.wait_ready()
    process.go()
    fired = process.wait().witness()["fired"]
    tapir.signal(signal.SIGINT)
    result = tapir.wait()
    t.ok(f"no process is called {name}: 1 that executes a file of this name" in result.err, said + result.err)
    times = collections.Counter(tuple(args_of(e)) for e in t.events(file))
    t.eq((set(times.values()), len(times) + sum(t.report(file)["lost"].values())), ({1}, fired), "times each; captured and lost")


# ---- the matrix --------------------------------------------------------------------------------------

WHO = ("p", "children", "comm", "cgroup", "all", "cmd")
WAYS = ("one", "early", "fork", "exec", "late", "dlopen", "dlmopen", "containers", "bind")
LANES = ("probe", "ring", "auto")

# Cells that make check runs as well: each of WHO, WAYS and LANES is in some of them.
QUICK = {("cmd", "one", "auto"), ("cmd", "early", "auto"), ("cmd", "fork", "auto"), ("cmd", "fork", "ring"), ("cmd", "exec", "auto"),
         ("cmd", "late", "auto"), ("cmd", "dlopen", "auto"), ("cmd", "dlmopen", "auto"), ("children", "fork", "auto"),
         ("children", "exec", "auto"), ("children", "late", "ring"), ("children", "dlmopen", "probe"), ("comm", "early", "ring"),
         ("comm", "fork", "auto"), ("comm", "late", "auto"), ("comm", "containers", "probe"), ("comm", "bind", "auto"),
         ("cgroup", "one", "auto"), ("cgroup", "fork", "auto"), ("cgroup", "containers", "auto"), ("all", "one", "auto"),
         ("all", "fork", "auto"), ("all", "exec", "probe"), ("all", "late", "ring"), ("p", "one", "ring"), ("p", "fork", "probe"),
         ("p", "late", "auto"), ("p", "dlopen", "auto"), ("p", "containers", "auto"), ("p", "bind", "probe")}

COUNT = 300


class Cgroup:
    """A cgroup in a mount of its own, removed again; wrap() starts programs in it."""

    def __init__(self, t, name):
        self.t, self.root = t, t.path("cgroup2")
        self.path = os.path.join(self.root, f"tapir-{name}")
        os.mkdir(self.root)
        if t.run("mount", "-t", "cgroup2", "none", self.root).rc:
            t.skip("cannot mount cgroup2")
        try:
            os.mkdir(self.path)
        except OSError as error:
            t.run("umount", self.root)
            t.skip(f"cannot make a cgroup: {error}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            os.rmdir(self.path)
        except OSError:
            pass  # its last process is still being reaped
        self.t.run("umount", "-l", self.root)

    def wrap(self, argv):
        return ["sh", "-c", f'echo $$ > {self.path}/cgroup.procs; exec "$@"', "sh", *argv]


def commands(t, way, lane, program):
    """What is started: one command, or two of one image."""
    # Where nothing but a ring has an event, one that is fired before the ring is open is in a GAP.
    options = ["--await"] if lane == "ring" else []
    if way == "containers":
        return [[*mounted(t, program, way, nth), *options, "one", str(COUNT)] for nth in range(2)]
    if way == "bind":
        return [[program, *options, "one", str(COUNT)], [*mounted(t, program, way, 0), *options, "one", str(COUNT)]]
    return [[program, *options, way, str(COUNT)]]


def record_running(t, who, all_argv, comm, options):
    """The programs' witnesses; they were there before the recording."""
    processes = [start_waiting(t, argv) for argv in all_argv]
    pids = ",".join(str(process.pid) for process in processes)
    chosen = {"p": ["-p", pids], "children": ["-p", pids, "--children"], "comm": ["--comm", comm], "all": ["-a"]}
    tapir = t.start_tapir("record", *options, *(chosen[who] if who in chosen else ["--cgroup", who]))
    tapir.wait_ready()
    for process in processes:
        process.go()
    said = [process.wait().witness() for process in processes]
    tapir.signal(signal.SIGINT)
    t.eq(tapir.wait().rc, 0, "exit of tapir")
    return said


def record_started(t, all_argv, options):
    """Likewise, of programs that tapir starts."""
    script, words = [], []
    for argv in all_argv:
        script.append(" ".join(f'"${{{len(words) + i + 1}}}"' for i in range(len(argv))) + " &")
        words += argv
    command = all_argv[0] if len(all_argv) == 1 else ["sh", "-c", " ".join(script) + " wait", "sh", *words]
    return [line for line in t.tapir("record", *options, "--", *command).json_lines() if "fired" in line]


def covered_by_gaps(said, parent, times, gaps):
    """How many events at most can be missing in processes that have a GAP; children fire COUNT each."""
    captured = collections.Counter(pid for pid, *_ in times.elements())
    due = {gap["pid"]: said["here"] if gap["pid"] == parent else COUNT for gap in gaps
           if gap["reason"] == "ring_unopened" and "Counted in " in gap["path"] or gap["reason"] == "attach_late"}
    return sum(max(0, cnt - captured[pid]) for pid, cnt in due.items())


def check_unawaited(way, t):
    """A program that does not wait for its ring: what it fired before is in a GAP of its process, or counted."""
    file = t.path("trace.tapir")
    tapir = t.tapir("record", "Counted:*", "--lane", "ring", *EVENTS_ONLY, "-f", "-o", file, "--", copy_of(t, "un" + way), way,
                    str(COUNT), expect=None)
    parent = int(re.search(r"^pid (\d+)$", tapir.out, re.M)[1])
    said = next(line for line in tapir.json_lines() if "fired" in line)
    times, report = times_of_all(t.events(file)), t.report(file)
    figures = f"fired {said}, captured {len(times)}, lost {report['lost']}, gaps {report['gaps']}"
    t.eq({n for n in times.values() if n != 1}, set(), "how often an event is there that is not there once")
    missing = said["fired"] - len(times) - sum(report["lost"].values())
    t.ok(0 <= missing <= covered_by_gaps(said, parent, times, report["gaps"]), figures)
    t.ok(all(gap["until_ns"] > gap["from_ns"] for gap in report["gaps"]), figures)


def times_of_all(events):
    return collections.Counter(tuple(args_of(e)) for e in events)


def may_be_missing(who, way, lane, gaps, times):
    """Events that a GAP is about and that are not there: the first of `countplug`, mapped before its probes were attached; or all of
    its second mapping, whose semaphores the kernel does not raise."""
    reasons = {gap["reason"] for gap in gaps if "/countplug" in gap["path"]}
    if lane == "ring" or way not in ("dlopen", "dlmopen"):
        return 0
    plugs = (1,) if way == "dlopen" else (1, 2)
    missing = {plug: sorted(set(range(COUNT)) - {i for _, who, i, _ in times if who == plug}) for plug in plugs}
    firsts = {plug: len(gone) for plug, gone in missing.items() if gone == list(range(len(gone)))}
    # A program that tapir did not start is not held until a library's probes are attached.
    if who != "cmd" and reasons & {"attach_late", "attach_failed"}:
        return sum(firsts.values())
    is_second = any(gap["reason"] == "second_mapping" and "/countplug at 0x" in gap["path"] for gap in gaps)
    return COUNT if is_second and sorted(firsts.values()) == [0, COUNT] else 0


def check_cell(who, way, lane, t):
    """Captured and lost are what fired, each event once; or a GAP names the file and the mapping that has none."""
    program, file = copy_of(t, f"{who[:2]}{way[:4]}{lane[0]}"), t.path("trace.tapir")
    comm = os.path.basename(program)
    options = ["Counted:*", "--lane", lane, *EVENTS_ONLY, "-f", "-o", file]
    all_argv = commands(t, way, lane, program)
    if who == "cmd":
        said = record_started(t, all_argv, options)
    elif who == "cgroup":
        with Cgroup(t, comm) as cgroup:
            said = record_running(t, cgroup.path, [cgroup.wrap(argv) for argv in all_argv], comm, options)
    else:
        said = record_running(t, who, all_argv, comm, options)
    fired = sum(one["here" if who == "p" else "fired"] for one in said)
    times = collections.Counter(tuple(args_of(e)) + (e["pid"],) for e in t.events(file) if e["comm"] == comm)
    report = t.report(file)
    # In a recording of the machine other processes lose events as well.
    lost = report["lost"] if who != "all" else {}
    others = report["lost"].get("ring_lane_child", 0) if who == "all" else 0
    t.eq({n for n in times.values() if n != 1}, set(), f"how often an event is there that is not there once: {times.most_common(3)}")
    missing = fired - len(times) - sum(lost.values())
    figures = f"fired {fired}, captured {len(times)}, lost {lost}, gaps {report['gaps']}"
    t.ok(0 <= missing <= may_be_missing(who, way, lane, report["gaps"], times) + others, figures)


def add_cells():
    """As functions of this module, of which make check-matrix runs all and make check some."""
    matrix = set()
    for who in WHO:
        for way in WAYS:
            for lane in LANES:
                name = f"test_cell_{who}_{way}_{lane}"
                globals()[name] = functools.partial(check_cell, who, way, lane)
                if (who, way, lane) not in QUICK:
                    matrix.add(name)
    for way in ("one", "early", "fork", "exec", "leave", "late", "dlopen", "dlmopen"):
        globals()[f"test_unawaited_ring_{way}"] = functools.partial(check_unawaited, way)
    return matrix


CHECK_MATRIX = add_cells()

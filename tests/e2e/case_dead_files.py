# SPDX-License-Identifier: GPL-2.0-or-later
"""A traced process's files on a file system that stops answering: tapir continues and ends when asked to.

The file system is a FUSE server of the tests (fuse/deadfs.c). Its process is killed at the end, which makes
the kernel fail every request, so that nothing stays blocked.
"""
import contextlib
import os
import shutil
import signal
import subprocess
import time

from harness import EVENTS_ONLY

CHECK_LONG = {"test_what_only_looks_ends_when_a_file_does_not_answer"}
END_SECONDS = 1.0  # from Ctrl-C to the end
# Each is reached by something that tapir does, or must be shown not to be.
OPERATIONS = ("lookup", "getattr", "open", "read", "flush", "release", "statfs", "readlink", "access", "getxattr")


class DeadFs:
    """A mount that serves a directory of this case."""

    def __init__(self, t):
        server = os.path.join(t.build, "tests", "tools", "deadfs")
        if not os.path.exists("/dev/fuse"):
            t.skip("no /dev/fuse")
        if not os.path.exists(server):
            t.skip("deadfs is not built (libfuse3-dev)")
        self.source, self.mount = t.path("source"), t.path("dead")
        os.makedirs(self.source, exist_ok=True)
        os.makedirs(self.mount)
        self.process = subprocess.Popen([server, self.source, self.mount], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, start_new_session=True)
        if self.process.stdout.readline() != b"mounted\n":
            self.close()
            t.skip("FUSE file systems cannot be mounted here")

    def add(self, path, name=None):
        """Copies a file into it; returns its path there."""
        name = name or os.path.basename(path)
        target = os.path.join(self.source, name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copy(path, target)
        return os.path.join(self.mount, name)

    def command(self, text):
        self.process.stdin.write(text.encode() + b"\n")
        self.process.stdin.flush()
        while self.process.stdout.readline() not in (b"ok\n", b""):
            pass

    def hang(self, operation):
        self.command("hang " + operation)

    def close(self):
        self.process.kill()  # the kernel aborts the connection
        self.process.wait()
        subprocess.run(["umount", "--lazy", self.mount], stderr=subprocess.DEVNULL, check=False)
        os.rmdir(self.mount)


@contextlib.contextmanager
def dead_fs(t):
    fs = DeadFs(t)
    started = len(t.processes)
    try:
        yield fs
    finally:
        for process in t.processes[started:]:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        fs.close()  # before anybody waits for them
        for process in t.processes[started:]:
            process.kill()
        del t.processes[started:]


def start_from(t, fs, *args):
    """A program that runs from the file system and fires at 100 a second until it is killed."""
    program = fs.add(t.target_path("storm"))
    process = t.start(program, *(args or (100, 1000000)))
    process.wait_line("pid ")
    return process


def end_by_interrupt(t, tapir, what, seconds=END_SECONDS):
    """Its result; Ctrl-C must end it within a second."""
    tapir.signal(signal.SIGINT)
    result, took = tapir.wait_timed(10)
    t.ok(took <= seconds, f"{what}: from Ctrl-C to the end {took:.1f} s\n{result.err}")
    t.eq(result.rc, 0, f"{what}: exit: {result.err}")
    return result


def events_of(t, file, pid):
    return [event for event in t.events(file) if event["pid"] == pid]


def check_named(t, fs, result, what):
    """The file system is named in one of the last lines."""
    t.ok(any("does not answer" in line and fs.mount in line for line in result.err.splitlines()[-5:]),
         f"{what}: the file system is not named:\n{result.err}")


def record_both(t, fs, operation, *options, seconds=END_SECONDS):
    """A program from the file system that hangs at `operation` and a healthy one: the healthy one is recorded."""
    what = f"{operation} {' '.join(options)}"
    file = t.path("trace.tapir")
    sick, healthy = start_from(t, fs), t.target("storm", "--wait-attached", 1000, 400)
    fs.hang(operation)
    targets = options or ("-p", f"{sick.pid},{healthy.pid}")
    tapir = t.start_tapir("record", "storm:hit", "-f", "-o", file, *EVENTS_ONLY, *targets)
    fired = healthy.wait(30).witness()["fired"]
    result = end_by_interrupt(t, tapir, what, seconds)
    t.eq(len(events_of(t, file, healthy.pid)), fired, f"{what}: events of the healthy process")
    if not events_of(t, file, sick.pid):
        check_named(t, fs, result, what)
    return result, sick


def test_record_continues_when_a_mapped_file_does_not_answer(t):
    for operation in OPERATIONS:
        with dead_fs(t) as fs:
            record_both(t, fs, operation)


def test_record_continues_when_the_server_of_a_mapped_file_has_gone(t):
    """The kernel answers for it, with errors that no file of a disk has."""
    for options in ((), ("-a", "--lane", "probe")):
        with dead_fs(t) as fs:
            file = t.path("gone.tapir")
            sick, healthy = start_from(t, fs), t.target("storm", "--wait-attached", 1000, 400)
            fs.process.kill()
            fs.process.wait()
            tapir = t.start_tapir("record", "storm:hit", "-f", "-o", file, *EVENTS_ONLY, *(options or ("-p", f"{sick.pid},{healthy.pid}")))
            fired = healthy.wait(30).witness()["fired"]
            end_by_interrupt(t, tapir, f"gone {options}", seconds=3)
            t.eq(len(events_of(t, file, healthy.pid)), fired, f"events of the healthy process, {options}")
            gaps = [gap for gap in t.report(file)["gaps"] if gap["pid"] == sick.pid]
            t.eq([gap["reason"] for gap in gaps if gap["path"].startswith(fs.mount)], ["not_read"], f"gaps, {options}: {gaps}")


def test_record_of_the_machine_continues_when_a_mapped_file_does_not_answer(t):
    """With -a nobody can be left out beforehand; the report names what was not read."""
    for operation in ("open", "read"):
        with dead_fs(t) as fs:
            # Its end is also that of probes in everybody else's programs.
            _, sick = record_both(t, fs, operation, "-a", "--lane", "probe", seconds=3)
            gaps = [gap for gap in t.report(t.path("trace.tapir"))["gaps"] if gap["pid"] == sick.pid]
            t.ok(any(gap["reason"] == "not_read" and gap["path"].startswith(fs.mount) for gap in gaps), f"gaps: {gaps}")


def test_samples_keep_their_names_when_another_file_does_not_answer(t):
    """Names are read by another thread than probes are."""
    with dead_fs(t) as fs:
        sick, healthy = start_from(t, fs), t.target("burner", 2000)  # still there when the other was given up
        fs.hang("read")
        file = t.path("trace.tapir")
        tapir = t.start_tapir("record", "-F", 499, "-f", "-o", file, "-p", f"{sick.pid},{healthy.pid}")
        healthy.wait(60)
        check_named(t, fs, end_by_interrupt(t, tapir, "samples"), "samples")
        folded = t.tapir("export", "--format", "folded", file).out
        t.ok("burn_much" in folded, f"no names of the healthy process:\n{folded[:2000]}")
        t.ok(t.tapir("report", file).out and t.tapir("flamegraph", "-f", "-o", t.path("f.svg"), file), "read afterwards")


def test_record_ends_when_its_own_program_does_not_answer(t):
    """The program itself, before it was started and while it starts."""
    for operation in ("lookup", "getattr", "open", "read"):
        with dead_fs(t) as fs:
            program = fs.add(t.target_path("storm"))
            fs.hang(operation)
            tapir = t.start_tapir("record", "storm:hit", "-f", "-o", t.path("own.tapir"), "--", program, 0, 10)
            time.sleep(1)
            if tapir.child.poll() is None:
                tapir.signal(signal.SIGINT)
            _, took = tapir.wait_timed(10)
            t.ok(took <= END_SECONDS + 1, f"{operation}: from Ctrl-C to the end {took:.1f} s\n{''.join(tapir.err)}")


def test_what_only_looks_ends_when_a_file_does_not_answer(t):
    """list and doctor end without Ctrl-C."""
    for operation in ("lookup", "getattr", "open", "read", "statfs"):
        with dead_fs(t) as fs:
            sick = start_from(t, fs)
            fs.hang(operation)
            for args in (("list", "-p", sick.pid), ("list", fs.add(t.target_path("storm"), "other")), ("list", "--all"),
                         ("doctor", "-p", sick.pid)):
                result, took = t.start_tapir(*args).wait_timed(20)
                t.ok(took < 6, f"{operation}: tapir {args[0]} {args[1]}: takes too long")
                found = "storm" in result.out and "hit" in result.out
                if args[0] == "list" and args[1] != "--all" and not found:
                    t.ok("does not answer" in result.err, f"{operation}: tapir {args}: {result.out}{result.err}")


def test_trace_continues_when_a_mapped_file_does_not_answer(t):
    with dead_fs(t) as fs:
        sick, healthy = start_from(t, fs), t.target("storm", "--wait-attached", 1000, 500)
        fs.hang("open")
        tapir = t.start_tapir("trace", "storm:hit", "--json", "-p", f"{sick.pid},{healthy.pid}")
        fired = healthy.wait(30).witness()["fired"]
        time.sleep(0.3)
        result = end_by_interrupt(t, tapir, "trace")
        t.eq(sum(1 for line in result.json_lines() if line.get("event") == "hit"), fired, "events")
        check_named(t, fs, result, "trace")


def test_events_of_a_live_fuse_file_are_exact_and_named(t):
    """Foreign does not mean lost: probes, symbols and debug files of such a file work as of any other."""
    with dead_fs(t) as fs:
        program = fs.add(t.target_path("storm"))
        file = t.path("live.tapir")
        result = t.tapir("record", "storm:hit", "--stack", *EVENTS_ONLY, "-f", "-o", file, "--", program, 0, 2000, 2)
        t.eq(len(t.events(file)), result.witness()["fired"], "events")
        t.ok("storm`run" in t.tapir("export", "--format", "folded", file).out or
             any("run" in str(event.get("stack", "")) for event in t.events(file)), "names of its functions")
        t.ok("does not answer" not in result.err, result.err)


def test_a_dead_perf_map_keeps_nobody_waiting(t):
    """A file of names for generated code on it, read again and again: first it answers, then not."""
    with dead_fs(t) as fs:
        os.makedirs(os.path.join(fs.source, "tmp"))
        os.chmod(os.path.join(fs.source, "tmp"), 0o1777)
        targets = os.path.dirname(t.target_path("jitter"))  # may be below /tmp
        inside = f"mount --bind {targets} /mnt && mount --bind {fs.mount}/tmp /tmp && exec /mnt/jitter map 2000 before@0 after@1 last@2"
        sick = t.start(t.need("unshare"), "--mount", "sh", "-c", inside)
        sick.wait_line("pid ")
        healthy = t.target("storm", "--wait-attached", 1000, 2500)
        file = t.path("trace.tapir")
        tapir = t.start_tapir("record", "storm:hit", "-F", 499, "-f", "-o", file, "-p", f"{sick.pid},{healthy.pid}")
        tapir.wait_ready("1 probe")
        time.sleep(0.7)
        fs.hang("all")
        fired = healthy.wait(30).witness()["fired"]
        result = end_by_interrupt(t, tapir, "perf map")
        t.eq(len(events_of(t, file, healthy.pid)), fired, "events of the healthy process")
        names = {frame["name"] for sample in t.events(file, "sample") if sample["pid"] == sick.pid
                 for frame in sample.get("stack", [])}
        t.ok("before" in names, f"names while it answered: {names}")
        t.ok("fuse.deadfs at /tmp does not answer" in result.err, f"not named as its process sees it: {result.err}")

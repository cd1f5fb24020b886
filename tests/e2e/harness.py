# SPDX-License-Identifier: GPL-2.0-or-later
"""What an end-to-end case is given: tapir, traced programs, a directory, comparisons.

A case is a function test_behaviour_when_condition(t) in case_*.py; t is a Case. What it starts
is gone when it ends: every program runs in a process group of its own, which is killed by id.
"""
import contextlib
import fcntl
import functools
import json
import os
import queue
import shutil
import signal
import subprocess
import tempfile
import threading
import time


# How many times as long an emulated machine takes (tests/kernels/guest): limits that detect a hang are multiplied.
SLOWNESS = float(os.environ.get("TAPIR_SLOWNESS", "1"))
# Limits that detect a hang are as long as a busy machine needs; a case that passes never waits for them.
PATIENCE = 4 * SLOWNESS
BASIC_PROF = "--perf-basic-prof"  # of node
EVENTS_ONLY = ("--no-samples", "--no-sched")  # without them, record also samples and records switches
READY = "press Ctrl-C to stop"  # ends the line that record and trace print when they have attached


class Skip(Exception):
    """The case cannot run here; the message says why."""


class Failure(Exception):
    """What the case saw is not what it must see."""


def made_once(function):
    """For a function(t, ...) that makes something below build/ for all cases: one case at a time makes it."""
    @functools.wraps(function)
    def locked(t, *args, **options):
        locks = os.path.join(t.build, "tests", "locks")
        os.makedirs(locks, exist_ok=True)
        name = "-".join([function.__name__, *(word for word in args if isinstance(word, str))])
        with open(os.path.join(locks, name.replace("/", "+")), "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            return function(t, *args, **options)
    return locked


class Result:
    """How a command ended."""

    def __init__(self, argv, rc, out, err):
        self.argv, self.rc, self.out, self.err = argv, rc, out, err

    def json_lines(self):
        """The lines of stdout that are JSON objects."""
        return [json.loads(line) for line in self.out.splitlines() if line.startswith("{")]

    def witness(self):
        """The last JSON line: what a target says it fired."""
        lines = self.json_lines()
        if not lines:
            raise Failure(f"{describe(self.argv)} printed no JSON (exit {self.rc})\n{self.out}{self.err}")
        return lines[-1]


class Process:
    """A program in the background."""

    def __init__(self, argv, env=None):
        self.argv = argv
        self.child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, start_new_session=True, env=env)
        self.pid = self.child.pid
        self.out, self.err = [], []
        self.fresh = queue.Queue()
        self.readers = [threading.Thread(target=self._read, args=pair, daemon=True)
                        for pair in ((self.child.stdout, self.out), (self.child.stderr, self.err))]
        for reader in self.readers:
            reader.start()

    def _read(self, stream, lines):
        for line in stream:
            text = line.decode("utf-8", "replace")
            lines.append(text)
            self.fresh.put(text)

    def wait_line(self, start, timeout=10):
        """The next line, of stdout or stderr, that starts with `start`."""
        return self._wait_for(lambda line: line.startswith(start), repr(start), timeout)

    def wait_ready(self, what="", timeout=10):
        """Of record and trace: the line that they have attached, with `what` as its first words."""
        return self._wait_for(lambda line: line.startswith("tapir: " + what) and READY in line,
                              f"'tapir: {what} ... {READY}'", timeout)

    def watch(self):
        return Watch(self.pid)

    def wait_timed(self, timeout=30):
        """Its Result and how long it took to end, as Watch has it."""
        watch, end = self.watch(), time.monotonic() + timeout * PATIENCE
        while self.child.returncode is None and not has_ended(self.pid) and time.monotonic() < end:
            watch.look()
            time.sleep(0.01)
        seconds = watch.seconds()
        return self.wait(0.1), seconds

    def wait_cpu(self, seconds, timeout=30):
        wait_cpu(self.pid, seconds, timeout, describe(self.argv))

    def _wait_for(self, is_it, what, timeout):
        end = time.monotonic() + timeout * PATIENCE
        while True:
            try:
                line = self.fresh.get(timeout=max(0.0, min(0.1, end - time.monotonic())))
            except queue.Empty:
                if time.monotonic() >= end or (self.child.poll() is not None and self.fresh.empty()):
                    raise Failure(f"{describe(self.argv)}: no line {what} in {timeout * PATIENCE:.0f} s\n"
                                  + "".join(self.out + self.err)) from None
                continue
            if is_it(line):
                return line.rstrip("\n")

    def signal(self, number):
        self.child.send_signal(number)

    def stop(self):
        """Stops it; returns when it has stopped: a thread that runs does not stop at once on a busy machine."""
        self.signal(signal.SIGSTOP)
        end = time.monotonic() + 10 * PATIENCE
        while any(state not in "TtZX" for state in self.thread_states()):
            if time.monotonic() >= end:
                raise Failure(f"{describe(self.argv)} does not stop in {10 * PATIENCE:.0f} s")
            time.sleep(0.005)

    def thread_states(self):
        for task in os.listdir(f"/proc/{self.pid}/task"):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                with open(f"/proc/{self.pid}/task/{task}/stat", encoding="latin-1") as file:
                    yield file.read().rsplit(")", 1)[1].split()[0]

    def go(self):
        """Lets a target go on that was started with --wait."""
        self.signal(signal.SIGUSR1)

    def wait(self, timeout=30):
        try:
            rc = self.child.wait(timeout * PATIENCE)
        except subprocess.TimeoutExpired:
            raise Failure(f"{describe(self.argv)} still runs after {timeout * PATIENCE:.0f} s\n"
                          + "".join(self.out + self.err)) from None
        for reader in self.readers:
            reader.join(5)
        return Result(self.argv, rc, "".join(self.out), "".join(self.err))

    def kill(self):
        """Ends it and what it has started in its process group."""
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.child.wait()
        try:  # a JVM that is killed leaves it, in the way of the next process of that number
            os.unlink(f"/tmp/.java_pid{self.pid}")
        except OSError:
            pass


def has_ended(pid):
    """Of a child: it is left as it is, so that /proc still has what its first thread waited."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None


class Watch:
    """Times a process without what it, or this program, waited for a CPU meanwhile: what a busy machine takes is no part. The waits of
    all its threads are added up, which is more than those that one waits for the other. A thread that ends is seen by look() alone."""

    def __init__(self, pid):
        self.pid, self.waits, self.began = pid, {}, time.monotonic()
        self.before = self.look()

    def look(self):
        for path in (f"/proc/{self.pid}/task", "/proc/self/task"):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                for tid in os.listdir(path):
                    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                        with open(f"{path}/{tid}/schedstat", encoding="ascii") as file:
                            self.waits[path, tid] = int(file.read().split()[1])
        return dict(self.waits)

    def seconds(self):
        took = time.monotonic() - self.began
        waited = sum(ns - self.before.get(thread, 0) for thread, ns in self.look().items())
        return took - waited / 1e9


def cpu_seconds(pid):
    """The CPU time a process has used: a clock that other programs do not move."""
    with open(f"/proc/{pid}/stat", encoding="latin-1") as file:
        words = file.read().rsplit(")", 1)[1].split()
    return sum(map(int, words[11:13])) / os.sysconf("SC_CLK_TCK")


def wait_cpu(pid, seconds, timeout=30, name=None):
    """Waits until a process has used that much more CPU time: what it compiles at first is compiled then, however busy the machine is."""
    begin, end = cpu_seconds(pid), time.monotonic() + timeout * PATIENCE
    while cpu_seconds(pid) - begin < seconds:
        if time.monotonic() >= end:
            raise Failure(f"{name or f'process {pid}'}: no {seconds} s of CPU time in {timeout * PATIENCE:.0f} s")
        time.sleep(0.02)


def describe(argv):
    return " ".join(str(word) for word in argv)


def short(value, limit=300):
    text = repr(value)
    return text if len(text) <= limit else f"{text[:limit]}... ({len(text)} characters)"


class Case:
    """One run of one case."""

    def __init__(self, build, verbose=False):
        self.build = os.path.abspath(build)
        self.verbose = verbose
        self.processes = []
        self.outside = []  # directories that are elsewhere
        self.maps = []     # which programs wrote for perf, by their pid
        # Not /tmp: tests drop file pages, which tmpfs keeps.
        os.makedirs(os.path.join(self.build, "tests", "tmp"), exist_ok=True)
        self.tmp = tempfile.mkdtemp(dir=os.path.join(self.build, "tests", "tmp"))

    def close(self):
        for process in reversed(self.processes):
            process.kill()
        for directory in (self.tmp, self.tmp + "-own", *self.outside):
            shutil.rmtree(directory, ignore_errors=True)
        for path in self.maps:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)

    # ---- programs -----------------------------------------------------------------------

    def runtime_dir(self, uid):
        """A directory as XDG_RUNTIME_DIR is one: of that user, below directories that only root can write,
        which the case's own directory is not in a clone below /tmp."""
        parent = tempfile.mkdtemp(prefix="test-of-tapir-", dir="/run")
        self.outside.append(parent)
        os.chmod(parent, 0o755)
        run = os.path.join(parent, "run")
        os.mkdir(run, 0o700)
        os.chown(run, uid, uid)
        return run

    def path(self, name):
        """A file in this case's own directory."""
        return os.path.join(self.tmp, name)

    def target_path(self, name):
        path = os.path.join(self.build, "tests", "targets", name)
        if not os.path.exists(path):
            raise Failure(f"target {name} is not built: make targets")
        return path

    def start(self, *argv, env=None):
        argv = [str(word) for word in argv]
        if BASIC_PROF in argv:  # it would also write a log into the working directory
            at = argv.index(BASIC_PROF) + 1
            argv[at:at] = ["--logfile=/dev/null", "--no-logfile-per-isolate"]
        if self.verbose:
            print(f"      $ {describe(argv)}", flush=True)
        process = Process(argv, env)
        self.processes.append(process)
        if BASIC_PROF in argv:
            self.maps.append(f"/tmp/perf-{process.pid}.map")
        return process

    def run(self, *argv, timeout=30, env=None):
        process = self.start(*argv, env=env)
        result = process.wait(timeout)
        process.kill()  # what it may have left behind
        self.processes.remove(process)
        return result

    def target(self, name, *args):
        """Starts a traced program; returns when it has said its pid.

        One that waits for its semaphore is a file of its own: a tracer of another case raises that in all processes of a file."""
        path = self.target_path(name)
        if "--wait-attached" in args:
            own = os.path.join(self.tmp + "-own", name)
            if not os.path.exists(own):
                os.makedirs(os.path.dirname(own), exist_ok=True)
                shutil.copy2(path, own)
            path = own
        process = self.start(path, *args)
        process.wait_line("pid ")
        return process

    @property
    def tapir_path(self):
        path = os.path.join(self.build, "tapir")
        if not os.access(path, os.X_OK):
            raise Skip(f"{os.path.relpath(path)} is not built")
        return path

    def tapir(self, *args, timeout=60, expect=0):
        """Runs tapir to its end; `expect` is its exit code, None for any."""
        result = self.run(self.tapir_path, *args, timeout=timeout)
        if expect is not None and result.rc != expect:
            raise Failure(f"{describe(result.argv)}: exit {result.rc}, expected {expect}\n"
                          f"{result.out[-2000:]}{result.err[-2000:]}")
        return result

    def start_tapir(self, *args):
        return self.start(self.tapir_path, *args)

    def record_waiting(self, target, file, *options):
        """Records a target that was started with --wait, from then on to its end; what it says of itself."""
        tapir = self.start_tapir("record", *options, "-p", target.pid, "-o", file)
        tapir.wait_ready()
        target.go()
        said = target.wait().json_lines()[0]
        result = tapir.wait()
        self.eq(result.rc, 0, result.err)
        self.ok(", 0 lost, " in result.err, result.err)
        return said

    def record(self, specs, command, *options, timeout=60):
        """Records a target's events, and nothing else, from its first instruction. Returns
        (witness lines, events)."""
        file = self.path("trace.tapir")
        name, *args = command
        result = self.tapir("record", *specs, *EVENTS_ONLY, *options, "-f", "-o", file, "--", self.target_path(name),
                            *args, timeout=timeout)
        return result.json_lines(), self.events(file)

    def events(self, file, kind="event", *globs):
        """The records of one type (None: all) as `tapir events FILE --json` shows them; events that match."""
        start = f'{{"type":"{kind}",' if kind else "{"  # it is the first member: what is not asked for is not parsed
        return [json.loads(line) for line in self.tapir("events", file, *globs, "--json").out.splitlines() if line.startswith(start)]

    def report(self, file, *options):
        return json.loads(self.tapir("report", file, "--json", *options).out)

    # ---- saying what must be ---------------------------------------------------------------

    def skip(self, reason):
        raise Skip(reason)

    def need(self, *programs):
        """Paths of programs; skips the case where one is missing."""
        paths = [shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
                 for program in programs]
        missing = [program for program, path in zip(programs, paths) if not path]
        if missing:
            raise Skip("not installed: " + ", ".join(missing))
        return paths[0] if len(paths) == 1 else paths

    def lacks(self, feature):
        """Whether tapir doctor reports that the kernel does not have this feature."""
        checks = json.loads(self.tapir("doctor", "--json", expect=None).out)["checks"]
        return any(check["name"] == feature and check["state"] != "ok" for check in checks)

    def need_others(self):
        """Skips the case where another user may not run what was built."""
        path = os.path.realpath(self.build)
        while path != "/" and os.stat(path).st_mode & 0o001:
            path = os.path.dirname(path)
        if path != "/":
            raise Skip(f"other users may not enter {path}")

    def ok(self, condition, message):
        if not condition:
            raise Failure(message)

    def eq(self, actual, expected, what):
        if actual != expected:
            raise Failure(f"{what}: {short(actual)}, expected {short(expected)}")


def args_of(event):
    """An event's arguments as a list, in the order of the probe."""
    return list(event["args"].values())


def named(events, name):
    """The events of one probe, given as provider:event."""
    return [e for e in events if f"{e['provider']}:{e['event']}" == name]


def comms(pid):
    """The names of a process's threads, by tid, without those that end meanwhile."""
    names = {}
    for tid in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{tid}/comm", encoding="utf-8", errors="replace") as file:
                names[int(tid)] = file.read().strip()
        except (FileNotFoundError, ProcessLookupError):
            pass
    return names


def maps_of_us(pid):
    """(line, file) of each mapping of tapir in a process. The repository's own directory may bear any name."""
    with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as maps:
        lines = [(line, line.rstrip("\n").split(maxsplit=5)) for line in maps]
    return [(line, words[5]) for line, words in lines if len(words) == 6 and "tapir" in os.path.basename(words[5])]

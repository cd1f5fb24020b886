# SPDX-License-Identifier: GPL-2.0-or-later
"""The programs of the corpus: how each is started, and what its report is to say, by the program's own count. Nothing here uses what
tapir says of a recording, but for the time from its first context switch to its last one, in which both counted."""
import contextlib
import pathlib
import shutil
import subprocess

from answers import Sums, Witness
from case_answers import cpu_cgroup, sampled
from clients import CLIENTS
from dotnet_program import build_dotnet
from recording import NO_CPU, Recording, expected, finding, waiting
from servers import SERVERS

PROGRAMS = pathlib.Path(__file__).resolve().parent.parent / "e2e" / "programs"
PYTHON = "/usr/bin/python3"


class Python(Recording):
    runtime, version = "CPython", (PYTHON, "--version")

    def prepare(self, _case, home):
        shutil.copy(PROGRAMS / self.words[0], home)
        return (PYTHON, str(home / self.words[0]), *self.words[1:])


class Node(Recording):
    runtime, version = "Node.js", ("node", "--version")

    def __init__(self, *words_and_expect, is_named=False, **limits):
        super().__init__(*words_and_expect, **limits)
        self.flags = ["--perf-basic-prof"] if is_named else []

    def prepare(self, _case, home):
        shutil.copy(PROGRAMS / self.words[0], home)
        return ("node", *self.flags, str(home / self.words[0]), *self.words[1:], str(home))


class Jvm(Recording):
    runtime, version = "JVM", ("java", "-version")

    def prepare(self, _case, home):
        subprocess.run(["javac", "--release", "11", "-d", str(home), str(PROGRAMS / f"{self.words[0]}.java")], check=True)
        return ("java", "-Xmx1g", "-Xmn100m", "-XX:+UseG1GC", "-cp", str(home), *self.words)


class JvmAndDatabase(Jvm):
    """The dependency is a process of its own, which ends when its client has ended."""

    @contextlib.contextmanager
    def around(self, _case):
        with contextlib.ExitStack() as self.after:
            yield

    def prepare(self, case, home):
        argv = super().prepare(case, home)
        database = Witness("java", "-Xmx64m", "-cp", str(home), "JvmDefects", "database")
        self.after.callback(database.end)
        return tuple(f"slow:{database.first()}" if word == "slow" else word for word in argv)


class DotNet(Recording):
    runtime, version = ".NET", ("dotnet", "--version")

    def __init__(self, *words_and_expect, env=(), **limits):
        """env: words like NAME=VALUE."""
        super().__init__(*words_and_expect, **limits)
        self.env = env

    def prepare(self, case, home):
        built = pathlib.Path(build_dotnet(case, self.words[0]))
        shutil.copytree(built.parent, home / "out")
        return ("env", *self.env, str(home / "out" / built.name), *self.words[1:])

    def begin(self, witness):
        """It says "counting" first."""
        witness.ask()
        witness.child.stdout.readline()


class Awaiting(DotNet):
    """A web service that has its clients and the service that it asks with it. What it awaits is compiled, and connections are there."""

    def __init__(self, mode, expect, seconds=0.8, **limits):
        super().__init__(("Awaiting", mode), expect, seconds=seconds, warm_up=10, **limits)

    def prepare(self, case, home):
        built = pathlib.Path(build_dotnet(case, "Awaiting", "Microsoft.NET.Sdk.Web"))
        shutil.copytree(built.parent, home / "out")
        return (str(home / "out" / built.name), *self.words[1:])


class Throttled(DotNet):
    """It may use a twentieth of a CPU."""

    @contextlib.contextmanager
    def around(self, case):
        with cpu_cgroup(case, 5) as (self.group, self.throttled):
            yield

    def begin(self, witness):
        super().begin(witness)
        (self.group / "cgroup.procs").write_text(str(witness.child.pid))

    def recorded(self, record):
        with sampled(self.throttled) as sums:
            record()
        return {"throttled": sums}


class Native(Recording):
    runtime, version = "native", ("g++", "--version")

    def prepare(self, _case, home):
        subprocess.run(["g++", "-O2", str(PROGRAMS / f"{self.words[0]}.cc"), "-o", str(home / "shop"), "-pthread"], check=True)
        return (str(home / "shop"), *self.words[1:])


class OnDisk(Native):
    """Its file is in a directory where a disk is waited for."""

    def prepare(self, case, home):
        return ("sh", "-c", 'cd /var/tmp && exec "$@"', "sh", *super().prepare(case, home))


COLLECTIONS = "GarbageCollectorMXBean"


def waits(kind, *words, **limits):
    return lambda c: expected(waiting(c, kind, *words, **limits))


def turns(*words):
    """How many await their turn. It is compared over more of the recording than the part in which tapir knows all of them."""
    return lambda c: expected(waiting(c, "await-turns", "awaits at a time for", *words, tolerance=0.1))


def slow_requests(*words):
    """The cause and the place of what requests await."""
    return lambda _: expected(finding("requests", "of it awaiting", *words))


def slow_by_clients(*words):
    """And how long they take: the 99th percentile of those that its clients made within the recording, by their clock."""
    def expect(c):
        took = sorted(until - begin for begin, until in c.said["requests"] if c.begin <= begin and until <= c.end)
        p99 = took[-(-99 * len(took) // 100) - 1] / 1e6
        return expected(finding("requests", "of it awaiting", *words, magnitude=p99, witness="its clients' own clock, in ms"))
    return expect


def is_idle(_counted):
    return expected(finding("idle", "s of CPU in "), only=["idle"])


def gil_held(c):
    return expected(waiting(c, "locks", "for the GIL", "most in add_up gil.py", f"thread {c.said['holder']} ("))


def lock_hog(c):
    return expected(waiting(c, "locks", "for a Python lock: ", ", in got_lock python_locks.py", f"thread {c.said['holder']} ("))


def loop(*words):
    """The time in which the loop did not turn, in percent."""
    return lambda c: expected(finding("event-loop", *words, magnitude=100 * c.waiting(), less=100 * c.no_cpu,
                                      witness=f"its handlers' own clock; {NO_CPU % (100 * c.no_cpu)}"))


def calls(*words):
    return lambda c: expected(finding("event-loop", *words, magnitude=c.blocked(), less=100 * c.no_cpu,
                                      witness=f"the clock around its calls; {NO_CPU % (100 * c.no_cpu)}"))


def active(c):
    """Percent of the time, by performance.eventLoopUtilization()."""
    return Sums(c.said["utilization"]).rate("active_ns", c.begin, c.end) / 1e7


def node_pair(*words, also=None):
    """What else it does it may do at once before, or after: the loop is no longer blocked than it is active."""
    def expect(c):
        wanted = finding("event-loop", *words)
        wanted.update(between=[round(0.95 * c.blocked() - 100 * c.no_cpu, 4), round(1.05 * active(c), 4)], magnitude=round(c.blocked(), 4),
                      witness="the clock around its calls, and performance.eventLoopUtilization()")
        return expected(wanted, *[finding(also)] * bool(also))
    return expect


def node_busy(c):
    return expected(finding("busy-loop", " in burn event_loop.js:", magnitude=active(c), less=100 * c.no_cpu,
                            witness=f"performance.eventLoopUtilization(); {NO_CPU % (100 * c.no_cpu)}"))


def deadlock(*words):
    return lambda _: expected(finding("deadlock", *words, magnitude=2, tolerance=0, witness="how many threads the program made so"))


def rate(kind, *words, key, what, globs=(), between=None, unit=1, tolerance=0.05):
    between = "event" if globs else between
    return lambda c: expected(finding(kind, *words, magnitude=c.rate(key, *globs, kind=between) / unit, tolerance=tolerance, witness=what))


def both(first, second):
    """Of two defects the first is worse."""
    return lambda _: expected(first, second)


def no_alarm(*kinds):
    """Nothing is found but of these kinds."""
    return lambda _: expected(only=["idle", *kinds])


def paused(c):
    """Percent of the time. Events are around all of a pause, of which the runtime's own sum has less: threads stop and go on, too."""
    return expected(finding("gc", "in GC: ", " pauses of ", "Defects.RenderPage()", magnitude=c.rate("pause_ns") / 1e7, tolerance=0.1,
                            more=0.2 * c.rate("pause_ns") / 1e7, witness="GC.GetTotalPauseDuration()"))


def computing(*words):
    """The process's CPU time has that of tapir's library, too, which is none of the program's."""
    return lambda c: expected(finding("cpu", *words, magnitude=c.rate("cpu_ns") / 1e9, tolerance=0.1, witness="its own CPU time"))


def ticking(c):
    """What timers call takes so much; what it takes to call it is in no count of its own."""
    share = 100 * c.rate("ns") / c.rate("cpu_ns")
    return expected(finding("timers", "of the CPU in timers, most in Defects.OnTick(object)", magnitude=share, more=100 - 1.05 * share,
                            witness="the CPU time of OnTick(): that much at least"))


def percent_of_cpu(kind, words):
    """Its own thread does nothing else; the JVM's compilers are the rest. Where compiled code keeps no frame pointers the stack of a helper that it
    calls does not say what it is for: that much less is said, never more."""
    def expect(c):
        share = 100 * c.sums.between("work_ns", c.begin, c.end) / c.sums.between("cpu_ns", c.begin, c.end)
        return expected(finding(kind, words, magnitude=share, less=0.15 * share, witness="the CPU time of its thread, and of the process"))
    return expect


def finalizing(c):
    """Seconds. It begins when a collection finds the first of them."""
    return expected(finding("finalizer", "the finalizer thread is saturated", "most in JvmDefects", magnitude=c.seconds, tolerance=0.02,
                            less=0.1 * c.seconds, witness="it has work all the time"))


def throttled(c):
    """Percent of the time. The kernel counts at the end of each period of 0.1 s."""
    share = 100 * Sums(c.said["throttled"]).rate("ns", c.begin, c.end) / 1e9
    return expected(finding("quota", "by a quota of 5% of a CPU (cgroup ", magnitude=share, tolerance=0, less=5, more=5, witness="the cgroup's cpu.stat"))


def jvm_starved(_counted):
    return expected(finding("starvation", "of 4 threads of the pool pool-1-thread-* wait for other tasks in JvmDefects.lambda$starve$", magnitude=4,
                            witness="all threads of the pool wait"))


PROGRAMS_ALONE = {
    "python-gil-held": Python(("gil.py", "held"), gil_held),
    "python-gil-released": Python(("gil.py", "released"), lambda _: expected(absent=["locks"])),
    "python-gil-shared": Python(("gil.py", "shared"), lambda _: expected(finding("locks", "for the GIL", "threads take turns in the interpreter"))),
    "python-computes": Python(("python_hot.py",), lambda _: expected(finding("cpu", "of the CPU in weigh python_hot.py"))),
    "python-loop-computes-in-a-callback": Python(("asyncio_loop.py", "computing-callback"), loop("event loop", " in count_up asyncio_loop.py")),
    "python-idle": Python(("gil.py", "idle"), is_idle),
    "python-lock-convoy": Python(("python_locks.py", "convoy"), waits("locks", "for a Python lock: ", ", in got_lock python_locks.py",
                                                                      "; the holder sleeps")),
    "python-lock-hog": Python(("python_locks.py", "hog"), lock_hog),
    "python-work-queue": Python(("python_locks.py", "queue"), lambda _: expected(absent=["locks", "deadlock"])),
    "python-lock-pair": Python(("python_locks.py", "pair"), waits("locks", "for a Python lock: ", ", in got_lock python_locks.py")),
    "python-full-queue": Python(("python_locks.py", "full"), waits("waits", "for a full queue in fill python_locks.py")),
    "python-deadlock": Python(("python_locks.py", "deadlock"), waits("deadlock", "for a Python lock throughout", " in transfer python_locks.py")),
    "python-pool": Python(("python_locks.py", "pool"), lambda _: expected(absent=["locks", "deadlock"])),
    "python-loop-sleeps": Python(("asyncio_loop.py", "sleep"), loop("event loop", "asleep")),
    "python-loop-computes": Python(("asyncio_loop.py", "compute"), loop("event loop",)),
    "python-loop-callback": Python(("asyncio_loop.py", "callback"), loop("event loop", "asleep")),
    "python-loop-idle": Python(("asyncio_loop.py", "idle"), lambda _: expected(absent=["event-loop"])),
    "python-gil-and-lock": Python(("python_pairs.py", "gil-lock"), waits("locks", "for the GIL", "of the interpreter's CPU time")),
    "python-lock-and-gil": Python(("python_pairs.py", "lock-gil"), waits("locks", "for a Python lock: ", "in hold")),
    "python-loop-and-exceptions": Python(("python_pairs.py", "loop-exceptions"), loop("asleep")),
    "node-computes": Node(("event_loop.js", "report"), calls(" in burn event_loop.js:"), is_named=True),
    "node-computes-without-a-map": Node(("event_loop.js", "report"), calls(" in burn event_loop.js:")),
    "node-parses-and-leaks": Node(("event_loop.js", "parse leak"), node_pair("v8::internal::Builtin_JsonParse", also="memory-growth"), is_named=True, seconds=3),
    "node-regex": Node(("event_loop.js", "regex read"), node_pair("event_loop.js:"), is_named=True),
    "node-promises": Node(("event_loop.js", "promises"), node_pair("to make promises and run their callbacks, all at one go"), is_named=True),
    "node-serves-many": Node(("event_loop.js", "short"), node_busy, is_named=True),
    "node-waits-for-child": Node(("event_loop.js", "child"), calls("in a call of node::SyncProcessRunner::", "waiting for a child")),
    "node-calm": Node(("event_loop.js", "calm"), no_alarm("cpu")),
    "node-sleeps": Node(("event_loop.js", "sleep"), calls("AtomicsWait", "waiting for a condition")),
    "node-idle": Node(("event_loop.js", "idle"), lambda _: expected(absent=["event-loop", "busy-loop"])),
    "node-reads-files": Node(("event_loop.js", "read"), calls("in node::fs::Read"), is_named=True),
    "jvm-monitor-convoy": Jvm(("JvmDefects", "convoy"), waits("locks", "for a monitor", "clerk-*")),
    "jvm-juc-lock": Jvm(("JvmDefects", "lock"), waits("locks", "for a java.util.concurrent lock", "cashier-*")),
    "jvm-deadlock": Jvm(("JvmDefects", "deadlock"), deadlock("transfer-*", "for a monitor throughout", "in JvmDefects.transfer(")),
    "jvm-pool-starved": Jvm(("JvmDefects", "starved"), jvm_starved),
    "jvm-full-queue": Jvm(("JvmDefects", "appender"), waits("waits", "for a full queue in JvmDefects.log(")),
    "jvm-idle": Jvm(("JvmDefects", "idle"), is_idle),
    "jvm-more-threads": Jvm(("JvmDefects", "watchers"), rate("thread-growth", "more threads each second", "in JvmDefects.sleep(", key="count",
                                                             what="its own count of threads"), seconds=3),
    "jvm-slow-database": JvmAndDatabase(("JvmDefects", "slow"), waits("waits", "for a socket", "in JvmDefects.askDatabase(")),
    "jvm-finalizer": Jvm(("JvmDefects", "finalizer"), finalizing, seconds=2, warm_up=3),
    "jvm-system-gc": Jvm(("JvmDefects", "systemgc"), rate("induced-gc", "System.gc()", key="gcs", between="counter", what=COLLECTIONS), seconds=2.5),
    "jvm-humongous": Jvm(("JvmDefects", "humongous"), rate("humongous", key="gcs", between="counter", what=COLLECTIONS), seconds=2.5),
    "jvm-leak": Jvm(("JvmDefects", "leak"), rate("heap-growth", "the old generation grows", key="bytes", between="counter", unit=1e6,
                                                 tolerance=0.1, what="its own count of bytes that it keeps, which five collections move"), seconds=3),
    "jvm-classes": Jvm(("JvmDefects", "metaspace"), rate("class-growth", "metaspace", key="classes", between="counter", what="ClassLoadingMXBean"),
                       seconds=2.5),
    "jvm-exceptions": Jvm(("JvmDefects", "exceptions"), percent_of_cpu("exception-cpu", "of the CPU creates and throws exceptions"), warm_up=2),
    "jvm-regex": Jvm(("JvmDefects", "regex"), percent_of_cpu("cpu-purpose", "of the CPU matches regular expressions"), warm_up=2),
    "jvm-convoy-and-leak": Jvm(("JvmDefects", "convoy", "leak"), both(finding("locks", "for a monitor", "clerk-*"), finding("heap-growth")), seconds=3),
    "jvm-system-gc-and-slow-database": JvmAndDatabase(("JvmDefects", "systemgc", "slow"), both(finding("induced-gc", "System.gc()"), finding("waits")),
                                                      seconds=2.5),
    "jvm-balanced": Jvm(("JvmDefects", "balanced"), no_alarm(), warm_up=3),
    "jvm-computes": Jvm(("JvmDefects", "computing"), no_alarm("cpu", "cpu-purpose"), warm_up=3),
    "dotnet-pool-starved": DotNet(("Defects", "starvation"), waits("starvation", "pool threads are blocked", "Defects.HandleOrder()", tolerance=0.08)),
    "dotnet-pool-sleeps": DotNet(("Defects", "sleepers"), waits("starvation", "pool threads are blocked", "Defects.SleepInPool()", tolerance=0.08)),
    "dotnet-deadlock-before": DotNet(("Defects", "deadlock"), deadlock("2 threads wait for each other's locks", "Defects.Transfer(", "3 more wait")),
    "dotnet-lock-convoy": DotNet(("Defects", "convoy"), waits("locks", "Defects.Reserve()")),
    "dotnet-slow-database": DotNet(("Defects", "slow"), waits("waits", "for a socket", "Defects.AskDatabase(")),
    "dotnet-induced-gc": DotNet(("Defects", "induced"), rate("induced-gc", "Defects.CleanUp()", "are induced", key="gen2",
                                                             what="GC.CollectionCount(2)")),
    "dotnet-exceptions": DotNet(("Defects", "exceptions"), rate("exceptions", "System.FormatException", "Defects.ParsePrice(string)", key="count",
                                                                globs=("*:ExceptionThrown*",), what="its own count of exceptions"),
                                seconds=0.5, warm_up=2),
    "dotnet-deadlock": DotNet(("Defects", "deadlock-later"), deadlock("2 threads wait for each other's locks", "Defects.Transfer(", "3 more wait"),
                              seconds=3, warm_up=1.5),
    "dotnet-large-objects": DotNet(("Defects", "loh"), paused, seconds=0.7, warm_up=2),
    "dotnet-leak": DotNet(("Defects", "leak"), rate("heap-growth", "MB/s", key="ns", globs=("*:GCHeapStats*",), unit=1e6,
                                                    what="its own count of bytes that it keeps"), seconds=4),
    "dotnet-native-memory": DotNet(("Defects", "native"), rate("memory-growth", "resident memory grows by", "no collection", key="ns", unit=1e6,
                                                               what="its own count of bytes that it keeps", tolerance=0.1), seconds=3, warm_up=2),
    "dotnet-compilation": DotNet(("Defects", "jit"), lambda _: expected(finding("jit", "of the CPU in the JIT compiler", "Defects.")), seconds=0.7,
                                 warm_up=2),
    "dotnet-backtracking": DotNet(("Defects", "regex"), computing("Defects.CheckMail()", "RegularExpressions"), warm_up=2),
    "dotnet-timers": DotNet(("Defects", "timers"), ticking, warm_up=2),
    "dotnet-finalizer": DotNet(("Defects", "finalizer"), lambda _: expected(finding("finalizer", "the finalizer thread has not caught up"))),
    "dotnet-quota": Throttled(("Defects", "regex"), throttled, warm_up=2),
    "dotnet-orders": DotNet(("Defects", "orders"), lambda _: expected(finding("requests", "Shop-Orders:Order takes ", "of their time awaiting Task.Delay")),
                            seconds=3, options=("Shop-Orders", "--activities")),
    "dotnet-orders-without-ids": DotNet(("Defects", "orders"), lambda _: expected(absent=["requests"]), seconds=2, options=("Shop-Orders",)),
    "dotnet-full-pipe": DotNet(("Defects", "full-pipe"), lambda _: expected(finding("deadlock", "never released: 3 threads", "3 in Defects.WriteLog()",
                                                                                    "waits in Defects.WriteLog() (pipe)"))),
    "dotnet-convoy-and-exceptions": DotNet(("Defects", "convoy", "exceptions"), lambda _: expected(finding("locks", "Defects.Reserve()"),
                                                                                                   finding("exceptions")), warm_up=2),
    "dotnet-deadlock-and-exceptions": DotNet(("Defects", "deadlock", "exceptions"), both(finding("deadlock", "Defects.Transfer("), finding("exceptions")),
                                             seconds=0.7, warm_up=2),
    "dotnet-exceptions-and-slow-database": DotNet(("Defects", "exceptions", "slow"), both(finding("exceptions", "Defects.ParsePrice(string)"),
                                                                                          finding("waits")), seconds=0.4, warm_up=2),
    "dotnet-finalizer-and-convoy": DotNet(("Defects", "finalizer", "convoy"), both(finding("finalizer"), finding("locks", "Defects.Reserve()")),
                                          seconds=3),
    "dotnet-pool-sleeps-and-backtracking": DotNet(("Defects", "sleepers", "regex"), both(finding("starvation", "Defects.SleepInPool()"),
                                                                                         finding("cpu", "Defects.CheckMail()"))),
    "dotnet-full-pipe-and-native-memory": DotNet(("Defects", "full-pipe", "native"), both(finding("deadlock", "Defects.WriteLog()"),
                                                                                          finding("memory-growth")), seconds=3, warm_up=2),
    "dotnet-induced-gc-and-slow-database": DotNet(("Defects", "induced", "slow"), both(finding("induced-gc", "Defects.CleanUp()"), finding("waits"))),
    "dotnet-processes": DotNet(("Defects", "processes"), rate("processes", "processes are started a second, most by Defects.ConvertImage()", key="count",
                                                              tolerance=0.1, what="its own count of processes"), seconds=0.8),
    "dotnet-serializer": DotNet(("Defects", "serializer"), lambda _: expected(finding("cpu-purpose", "JsonSerializerOptions", "Defects.WriteOrder()")),
                                warm_up=2),
    "dotnet-connections": DotNet(("Defects", "connections"), rate("connections", "connections are opened a second, most for Defects.FetchPrice (async)",
                                                                  "an HttpClient", key="count", tolerance=0.1, what="its own count of answers"), seconds=0.25,
                                 warm_up=2),
    "dotnet-large-objects-of-a-server": DotNet(("Defects", "loh"), paused, seconds=0.5, warm_up=2, env=("DOTNET_gcServer=1",)),
    "dotnet-balanced": DotNet(("Defects", "balanced"), no_alarm(), warm_up=2),
    "dotnet-computes": DotNet(("Defects", "computing"), no_alarm("cpu", "cpu-purpose"), warm_up=2),
    "dotnet-seats": DotNet(("Defects", "seats"), lambda _: expected(finding("await-turns", "for a semaphore in Defects.ReserveSeat (async)", magnitude=19,
                                                                            witness="how many the program starts, but for one that has the seat"))),
    "dotnet-awaits-semaphore": Awaiting("semaphore", turns("a semaphore in Awaiting.ReserveSeat (async)", "one gets it each")),
    "dotnet-awaits-lock": Awaiting("lock", turns("a semaphore in Awaiting.RefreshRates (async)", "one gets it each")),
    "dotnet-awaits-channel": Awaiting("channel", turns("a ValueTask, such as a channel's, in Awaiting.PlaceOrder (async)", "one ends each")),
    "dotnet-awaits-connections": Awaiting("connections", turns("a free connection in Awaiting.AskPrice (async)", "one gets it each")),
    "dotnet-awaits-slow": Awaiting("slow", slow_requests("HTTP in Awaiting.AskPrice (async)")),
    "dotnet-awaits-calls": Awaiting("calls", slow_requests("HTTP in Awaiting.AskPrice (async)")),
    "dotnet-awaits-one-percent": Awaiting("one-percent", slow_requests("HTTP in Awaiting.AskPrice (async)")),
    "dotnet-awaits-polling": Awaiting("polling", slow_requests("a delay in Awaiting.AwaitJob (async)")),
    "dotnet-awaits-one-slow": Awaiting("one-slow", slow_by_clients("HTTP in Awaiting.AskPrice (async)")),
    "dotnet-awaits-blocking": Awaiting("blocking", lambda _: expected(finding("starvation", "pool threads are blocked", "Awaiting.AskPriceNow(int)"))),
    "dotnet-awaits-throttled": Awaiting("throttled", turns("a semaphore in Awaiting.AskThrottled (async)", "one gets it each")),
    "dotnet-awaits-rented": Awaiting("rented", turns("a ValueTask, such as a channel's, in Awaiting.RentConnection (async)", "one ends each")),
    "dotnet-awaits-delay": Awaiting("delay", slow_by_clients("a delay in Awaiting.SettlePayment (async)")),
    "dotnet-awaits-retry": Awaiting("retry", slow_by_clients("a delay in Awaiting.AskAgain (async)")),
    "dotnet-awaits-batch": Awaiting("batch", slow_by_clients("a task in Awaiting.AwaitBatch (async)")),
    "dotnet-awaits-submitted": Awaiting("submitted", slow_by_clients("a task in Awaiting.SubmitOrder (async)")),
    "dotnet-awaits-timeout": Awaiting("timeout", slow_by_clients("a delay in Awaiting.AskInTime (async)")),
    "dotnet-awaits-pages": Awaiting("pages", slow_by_clients("HTTP in Awaiting.ReadPages (async)")),
    "dotnet-awaits-sql": Awaiting("sql", slow_by_clients("HTTP in Awaiting.LoadOrder (async)")),
    "dotnet-awaits-workers": Awaiting("workers", no_alarm("cpu", "awaits")),
    "dotnet-awaits-calm": Awaiting("calm", no_alarm("cpu")),
    "dotnet-pool-queue": DotNet(("Defects", "crowd"), lambda _: expected(finding("pool-queue", "for a thread of the pool: ")), seconds=0.7, warm_up=2,
                                options=("--profile", "threadpool")),
    "dotnet-idle": DotNet(("Defects", "idle"), is_idle),
    "dotnet-convoy-and-slow": DotNet(("Defects", "convoy", "slow"), lambda _: expected(finding("locks", "Defects.Reserve()"), finding("waits"))),
    "native-mutex-convoy": Native(("native_defects", "convoy"), waits("locks", "for a mutex: ", ", in Stock::reserve")),
    "native-sort": Native(("native_defects", "sort"), lambda _: expected(finding("cpu", "% of the CPU in sort_prices (", " within std::"))),
    "native-deadlock": Native(("native_defects", "deadlock"), deadlock("2 threads wait for each other's locks", " in transfer")),
    "native-journal": OnDisk(("native_defects", "journal"), lambda _: expected(finding("disk", " for a disk in Journal::commit"))),
    "native-queue": Native(("native_defects", "queue"), no_alarm()),
    "native-idle": Native(("native_defects", "idle"), is_idle),
}
# What they say where others have the CPUs: the neighbours may be the first finding, which replay.py leaves out.
UNDER_LOAD = ("python-gil-held", "python-lock-convoy", "python-loop-sleeps", "python-deadlock", "node-computes", "node-waits-for-child",
              "jvm-monitor-convoy", "jvm-deadlock", "jvm-system-gc", "jvm-slow-database", "dotnet-pool-sleeps", "dotnet-lock-convoy",
              "dotnet-exceptions", "dotnet-slow-database", "native-mutex-convoy", "native-sort", "postgresql-row-lock")
ALONE = {**PROGRAMS_ALONE, **SERVERS, **CLIENTS}
RECORDINGS = {**ALONE, **{f"{name}-under-load": ALONE[name].beside_others() for name in UNDER_LOAD}}

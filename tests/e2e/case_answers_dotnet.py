# SPDX-License-Identifier: GPL-2.0-or-later
"""The defects of case_answers.py with .NET 8, 9, single-file and NativeAOT, with a server's collector, and two at once: several processes in one
recording, each compared with what it counted itself."""
import contextlib
import json
import os
import re
import time

from answers import Sums, first_finding, measured, measures, near, span, started, times
from case_answers import service
from case_dotnet_stream import AOT
from dotnet_program import made, publish_dotnet
from harness import made_once

TIMEOUT = 300
CHECK_DOTNET = {"test_defects_of_dotnet_8", "test_defects_of_dotnet_9", "test_defects_of_a_single_file_app", "test_defects_of_native_aot",
                "test_what_is_made_for_each_call_leads", "test_queue_of_awaits_leads",
                "test_collector_of_a_server_leads", "test_worse_of_two_defects_leads"}
SECONDS = "6"


class Recorded:
    """One process of a recording: its report, what it counted, and where to find more of it."""

    def __init__(self, t, file, pid, said):
        self.t, self.file, self.pid, self.said = t, file, pid, said
        self.sums = Sums(said["sums"])
        self.report = json.loads(t.tapir("report", file, "-p", str(pid), "--json").out)
        self.first = None

    def view(self, name):
        return json.loads(self.t.tapir("report", self.file, "-p", str(self.pid), "--view", name, "--json").out)

    def times(self, *glob):
        return times(self.t, self.file, *glob, pid=self.pid)

    def rate(self, key):
        """A second, over the time of the recording."""
        return self.sums.rate(key, *span(self.t, self.file))


def recorded_at_once(t, modes, program=None, env=None):
    """mode -> Recorded, of as many processes in one recording."""
    t.need_others()
    file = t.path("answers.tapir")
    with contextlib.ExitStack() as stack:
        running = {mode: stack.enter_context(service(t, *mode.split("+"), program=program, env=env)) for mode in modes}
        for one in running.values():
            one.count()
        time.sleep(2)
        t.tapir("record", "-p", ",".join(str(one.pid) for one in running.values()), "-d", SECONDS, "-f", "-o", file, timeout=90)
        found = {mode: Recorded(t, file, one.pid, one.counted()) for mode, one in running.items()}
    if t.verbose:
        for mode, one in found.items():
            print(f"      {mode}: {one.report['headline']}", flush=True)
    return found


# ---- how much, by the program's own count -----------------------------------------------------------


def waiting(t, one):
    near(t, one.first["magnitude"], one.rate("waited_ns") / 1e9, "waiting threads")


def blocked(t, one):
    near(t, one.first["magnitude"], one.rate("waited_ns") / 1e9, "blocked threads")


def exactly(number):
    def is_it(t, one):
        t.eq(one.first["magnitude"], number, one.first["text"])
    return is_it


def deadlocked(t, one):
    """.NET 8 and single-file describe nothing: who holds a lock is not known of waits from before the recording."""
    is_known = "2 threads wait for each other's locks" in one.first["text"]
    t.ok(is_known or "5 threads waited for locks throughout" in one.first["text"], one.first["text"])
    t.eq(one.first["magnitude"], 2 if is_known else 5, one.first["text"])


def thrown(t, one):
    begin, end, cnt = one.times("*:ExceptionThrown*")
    near(t, one.first["magnitude"], one.sums.rate("count", begin, end), "exceptions a second")
    near(t, cnt, one.sums.between("count", begin, end), "exceptions")


def pauses(t, one):
    said = re.search(r"(\d+) pauses? of ([\d.]+) (m?s) in all", one.first["text"])
    ms = float(said.group(2)) * (1000 if said.group(3) == "s" else 1)
    begin, end, _ = one.times("*:GC*EE*")
    # Events are around all of a pause; the runtime's own sum has less of the time in which threads stop and go on (13 % where CPUs are scarce).
    own_ms = one.sums.between("pause_ns", begin, end) / 1e6
    measures(t, 0.95 * own_ms <= ms <= 1.3 * own_ms, f"ms of pauses: {ms}, its own count is {own_ms}")


def compiled(t, one):
    most = one.view("jit")["groups"][0]
    t.eq((most["name"], most["dynamic"]), ("lambda_method#", "dynamic"), "generated code is one row")
    begin, end, _ = one.times("*:MethodLoadVerbose*")
    near(t, most["count"], one.sums.between("count", begin, end), "methods")


def heap_grown(t, one):
    begin, end, _ = one.times("*:GCHeapStats*")
    near(t, one.first["magnitude"], one.sums.rate("ns", begin, end) / 1e6, "MB/s")


def resident_grown(t, one):
    points, zero = one.view("memory")["memory"], started(t, one.file)
    begin, end = (zero + points[i]["at_ns"] for i in (1, -1))  # the first second has the attach
    near(t, one.first["magnitude"], one.sums.rate("ns", begin, end) / 1e6, "MB/s")


def computing(t, one):
    near(t, one.first["magnitude"], one.rate("cpu_ns") / 1e9, "CPUs")


def collected(t, one):
    near(t, one.first["magnitude"], one.rate("gen2"), "collections a second")


def ticking(t, one):
    """What timers call takes so much; what it takes to call it is in no count of its own."""
    share = 100 * one.rate("ns") / one.rate("cpu_ns")
    measures(t, 0.95 * share <= one.first["magnitude"] <= 100, f"{one.first['text']}; in OnTick {share} %")


def idle(t, one):
    used_s = float(re.match(r"idle: ([\d.]+) s", one.first["text"]).group(1))
    cpu_s = one.sums.between("cpu_ns", *span(t, one.file)) / 1e9
    measures(t, used_s <= cpu_s + 0.05, f"{used_s} s of CPU, by its own clock {cpu_s}")


def not_finalized(t, one):
    said = int(re.search(r"in (\d+) collections?", one.first["text"]).group(1))
    near(t, said, one.sums.between("collections", *span(t, one.file)), "collections")


# mode: the finding's kind, words of its text, how much.
CAUSES = {
    "starvation": ("starvation", ("pool threads are blocked", "Defects.HandleOrder()"), blocked),
    "sleepers": ("starvation", ("pool threads are blocked", "Defects.SleepInPool()"), blocked),
    "convoy": ("locks", ("Defects.Reserve()",), waiting),
    "deadlock": ("deadlock", ("Defects.Transfer(",), deadlocked),
    "full-pipe": ("deadlock", ("never released: 3 threads", "Defects.WriteLog()"), exactly(3)),
    "slow": ("waits", ("for a socket", "Defects.AskDatabase("), waiting),
    "idle": ("idle", ("s of CPU in ",), idle),
    "finalizer": ("finalizer", ("the finalizer thread has not caught up",), not_finalized),
    "exceptions": ("exceptions", ("System.FormatException", "Defects.ParsePrice(string)"), thrown),
    "loh": ("gc", (" in GC: ", "Defects.RenderPage()"), pauses),
    "jit": ("jit", ("of the CPU in the JIT compiler", "Defects."), compiled),
    "leak": ("heap-growth", ("MB/s",), heap_grown),
    "native": ("memory-growth", ("resident memory grows by",), resident_grown),
    "regex": ("cpu", ("Defects.CheckMail()", "RegularExpressions"), computing),
    "induced": ("induced-gc", ("Defects.CleanUp()", "are induced"), collected),
    "timers": ("timers", ("of the CPU in timers, most in Defects.OnTick(object)",), ticking),
}
# At once: those that wait; those that need a CPU, as many as there are some for.
TOGETHER = (("starvation", "sleepers", "convoy", "deadlock", "full-pipe", "slow", "idle", "finalizer"), ("exceptions", "loh", "jit"),
            ("leak", "native", "regex"), ("induced", "timers"))


def leads_everywhere(t, program, causes=CAUSES):
    for modes in TOGETHER:
        modes = [mode for mode in modes if mode in causes]
        for mode, one in recorded_at_once(t, modes, program).items():
            kind, words, how_much = causes[mode]
            one.first = first_finding(t, one.report, kind, *words)
            how_much(t, one)


@measured
def test_defects_of_dotnet_8(t):
    leads_everywhere(t, publish_dotnet(t, "Defects", "8.0.33"))


@measured
def test_defects_of_dotnet_9(t):
    leads_everywhere(t, publish_dotnet(t, "Defects", "9.0.22"))


# The compiler is a part of the program's file there: what it takes is seen as that of the methods for which it works.
SINGLE_FILE = {mode: cause for mode, cause in CAUSES.items() if mode != "jit"}


@measured
def test_defects_of_a_single_file_app(t):
    leads_everywhere(t, publish_dotnet(t, "Defects", "9.0.22", single_file=True), SINGLE_FILE)


@made_once
def publish_aot(t):
    t.need("gcc")
    done, said = made(t, "Defects", "Defects-aot", lambda: AOT % "net9.0", "publish", "-r", "linux-x64", "-p:CppCompilerAndLinker=gcc",
                      env={"NUGET_PACKAGES": os.path.join(t.build, "tests", "dotnet", "nuget")}, timeout=240)
    if not done:
        t.skip(f"dotnet publishes no net9.0 program ahead of time here: {said}")
    return done


# Ahead of time nothing is compiled in the program, and its methods are functions of its file: which of them are its own is not known, so that
# what is told by them is not (starvation, deadlocks, waits for others, timers); tapir-dotnet(7) says so.
COMPILED_AHEAD = {"convoy": ("locks", ("for locks",), waiting), "idle": CAUSES["idle"],
                  "exceptions": ("exceptions", ("System.FormatException",), thrown), "loh": ("gc", (" in GC: ",), pauses),
                  "leak": CAUSES["leak"], "native": CAUSES["native"], "induced": ("induced-gc", ("are induced",), collected)}


@measured
def test_defects_of_native_aot(t):
    leads_everywhere(t, publish_aot(t), COMPILED_AHEAD)


# ---- what is made anew for each call ------------------------------------------------------------------


@measured
def test_what_is_made_for_each_call_leads(t):
    one = recorded_at_once(t, ["processes"])["processes"]
    one.first = first_finding(t, one.report, "processes", "processes are started a second, most by Defects.ConvertImage()")
    near(t, one.first["magnitude"], one.rate("count"), "processes a second")
    one = recorded_at_once(t, ["serializer"])["serializer"]
    one.first = first_finding(t, one.report, "cpu-purpose", "JsonSerializerOptions", "Defects.WriteOrder()")
    one = recorded_at_once(t, ["connections"])["connections"]
    one.first = first_finding(t, one.report, "connections", "connections are opened a second, most for Defects.FetchPrice (async)", "an HttpClient")
    near(t, one.first["magnitude"], one.rate("count"), "connections a second")
    one = recorded_at_once(t, ["journal"])["journal"]
    one.first = first_finding(t, one.report, "disk", "for a disk in Defects.WriteJournal()")
    # A call that waits for the disk uses a CPU, too, and may wait for one.
    flushing = one.rate("waited_ns") / 1e9
    measures(t, 0.3 * flushing <= one.first["magnitude"] <= flushing, f"{one.first['text']}; in Flush {flushing} threads")


# ---- a lock around an await ---------------------------------------------------------------------------


@measured
def test_queue_of_awaits_leads(t):
    """No thread is blocked, and hardly any CPU used."""
    one = recorded_at_once(t, ["seats"])["seats"]
    one.first = first_finding(t, one.report, "await-turns", "for a semaphore in Defects.ReserveSeat (async)")
    near(t, one.first["magnitude"], 19, "awaits")  # another one has the seats


# ---- a server's collector ---------------------------------------------------------------------------


@measured
def test_collector_of_a_server_leads(t):
    """It has a thread for each CPU, which collect at the same time. DATAS, which .NET 9 and 10 begin with, uses one of them at first."""
    for adapts in ("1", "0"):
        env = {"DOTNET_gcServer": "1", "DOTNET_GCDynamicAdaptationMode": adapts}
        one = recorded_at_once(t, ["loh"], env=env)["loh"]
        t.eq((one.said["is_server"], one.said["collectors"]), (True, len(os.sched_getaffinity(0))), "what the program says of its collector")
        one.first = first_finding(t, one.report, "gc", " in GC: ", "Defects.RenderPage()")
        pauses(t, one)


# ---- two at once ------------------------------------------------------------------------------------

# Of each pair the first is worse; each defect is in one at least.
PAIRS = (
    {"deadlock+exceptions": ("deadlock", "exceptions"), "starvation+loh": ("starvation", "gc"), "convoy+slow": ("locks", "waits"),
     "exceptions+slow": ("exceptions", "waits"), "finalizer+convoy": ("finalizer", "locks")},
    {"sleepers+regex": ("starvation", "cpu"), "full-pipe+native": ("deadlock", "memory-growth"), "leak+slow": ("heap-growth", "waits"),
     "induced+slow": ("induced-gc", "waits"), "deadlock+idle": ("deadlock", None)},
    {"jit+slow": ("jit", "waits"), "timers+slow": ("timers", "waits"), "slow+native": ("waits", "memory-growth")},
)


@measured
def test_worse_of_two_defects_leads(t):
    paired = {mode for pairs in PAIRS for both in pairs for mode in both.split("+")}
    t.eq(set(CAUSES) - paired, set(), "defects that are in no pair")
    for pairs in PAIRS:
        for mode, one in recorded_at_once(t, pairs).items():
            worse, other = pairs[mode]
            first_finding(t, one.report, worse)
            kinds = [f["kind"] for f in one.report["findings"] if f["kind"] != "neighbour"]
            t.ok(not other or other in kinds[:3], f"{mode}: {[f['text'] for f in one.report['findings']]}")

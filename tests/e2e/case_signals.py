# SPDX-License-Identifier: GPL-2.0-or-later
"""Signals and ends of processes: those that the programs say they sent, and those that the kernel sent."""
import json
import os
import signal
import sys

SENDS = """
import json, os, signal
got = []
signal.signal(signal.SIGUSR1, lambda *_: got.append(1))
signal.signal(signal.SIGHUP, signal.SIG_IGN)
for _ in range(50):
    os.kill(os.getpid(), signal.SIGUSR1)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
for _ in range(5):
    os.kill(os.getpid(), signal.SIGUSR2)
for _ in range(3):
    os.kill(os.getpid(), signal.SIGHUP)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
signal.setitimer(signal.ITIMER_REAL, 0.001)
signal.sigwait([signal.SIGALRM])
print(json.dumps({"pid": os.getpid(), "handled": len(got)}), flush=True)
"""
FAULTS = "import ctypes; ctypes.string_at(0)"
EATS = """
import sys
with open(sys.argv[1], "w") as procs:
    procs.write("0")
held = []
while True:
    held.append(b"x" * (1 << 20))
"""


def python(*args):
    """The interpreter itself: a wrapper would start processes of its own."""
    return [os.path.realpath(sys.executable), "-S", "-E", *args]


def record(t, *command, options=(), expect=0):
    file = t.path("signals.tapir")
    result = t.tapir("record", "--signals", "--no-samples", "--no-sched", "-f", *options, "-o", file, "--", *command,
                     expect=expect)
    return file, result


def view(t, file, name):
    return json.loads(t.tapir("report", file, "--view", name, "--top", 10000, "--json").out)


def test_each_signal_is_recorded_with_its_fate(t):
    file, result = record(t, *python("-c", SENDS))
    said = result.json_lines()[0]
    sent = [s for s in t.events(file, "signal") if s["to_pid"] == said["pid"]]
    fates = {}
    for s in sent:
        key = (s["signal"], s["way"], s["result"])
        fates[key] = fates.get(key, 0) + 1
    t.eq(said["handled"], 50, "signals that the program handled")
    t.eq(fates, {("SIGUSR1", "kill", "delivered"): 50, ("SIGUSR2", "kill", "delivered"): 1,
                 ("SIGUSR2", "kill", "pending already"): 4, ("SIGHUP", "kill", "ignored"): 3,
                 ("SIGALRM", "kernel", "delivered"): 1}, "signals by what became of them")
    t.eq({s["pid"] for s in sent if s["way"] == "kill"}, {said["pid"]}, "who sent them")
    t.eq({s["pid"] for s in sent if s["way"] == "kernel"}, {0}, "no process sent the timer's")
    t.eq({s["comm"] for s in t.events(file, "signal") if s["comm"] and s["comm"].startswith("tapir")}, set(), "none of tapir's")
    rows = view(t, file, "signals")["signals"]
    t.eq({(r["signal"], r["count"]) for r in rows if r["to_pid"] == said["pid"]},
         {("SIGUSR1", 50), ("SIGUSR2", 5), ("SIGHUP", 3), ("SIGALRM", 1)}, "the view")
    lines = [line for line in t.tapir("events", file).out.splitlines() if "gets SIGALRM from the kernel" in line]
    t.eq(len(lines), 1, "the line of the timer's")
    t.eq(json.loads(t.tapir("query", file, "SELECT count(*) AS n FROM signals WHERE number = 10", "--json").out)[0]["n"], 50,
         "the table")


def test_who_killed_whom_is_named(t):
    file, result = record(t, "sh", "-c", 'sleep 100 & echo $$ $!; kill -9 $!; wait $!; (exit 3); exit 0')
    shell, sleeper = map(int, result.out.split()[:2])
    tree = view(t, file, "tree")
    killed = tree["killed"]
    t.eq([(k["pid"], k["parent_pid"], k["status"], k["killer_pid"]) for k in killed], [(sleeper, shell, 9, shell)], "killed")
    t.eq(killed[0]["end"], f"SIGKILL by sh ({shell})", "in words")
    t.eq((tree["killed_count"], tree["failed_count"]), (1, 1), "one was killed, one failed")
    depth = {p["pid"]: p["depth"] for p in tree["processes"]}
    t.eq((depth[shell], depth[sleeper]), (0, 1), "a child is below its parent")
    report = t.report(file)
    t.eq([f["kind"] for f in report["findings"] if f["kind"] in ("killed", "crash")], ["killed"], "the finding")
    screen = t.tapir("report", file).out
    t.ok(f"was killed: SIGKILL by sh ({shell})" in " ".join(screen.split()), f"on the first screen: {screen}")


def test_crash_leads(t):
    file, _ = record(t, "sh", "-c", '"$@"; exit 0', "sh", *python("-c", FAULTS))
    t.eq([k["end"].split(",")[0].split(" ")[0] for k in view(t, file, "tree")["killed"]], ["SIGSEGV"], "killed")
    finding = t.report(file)["findings"][0]
    t.eq(finding["kind"], "crash", "the first finding")
    t.ok("SIGSEGV" in finding["text"], finding["text"])


def test_end_is_known_without_signals_and_its_cause_is_not(t):
    file = t.path("ends.tapir")
    t.tapir("record", "-f", "-o", file, "--", "sh", "-c", "sleep 100 & kill -9 $!; wait $!; exit 0", expect=0)
    tree = view(t, file, "tree")
    t.eq([k["end"] for k in tree["killed"]], ["SIGKILL"], "killed")
    t.ok(any("--signals" in note for note in tree["notes"]), f"what is not known: {tree['notes']}")
    nothing = t.tapir("report", file, "--view", "signals").out
    t.ok("were not recorded: `tapir record --signals` records them" in nothing, nothing)


def test_receiver_hears_who_sent_it(t):
    """Of a process that is traced, also what one that is not traced sends."""
    file = t.path("receiver.tapir")
    receiver = t.start(*python("-c", "import signal\nprint('pid', __import__('os').getpid(), flush=True)\n"
                               "signal.sigwait({signal.SIGUSR1})\n"))
    receiver.wait_line("pid ")
    tapir = t.start_tapir("record", "--signals", "--no-samples", "--no-sched", "-p", receiver.pid, "-f", "-o", file)
    tapir.wait_ready()
    os.kill(receiver.pid, signal.SIGUSR1)
    t.eq(receiver.wait().rc, -signal.SIGUSR1, "the signal ends it")
    t.eq(tapir.wait().rc, 0, "record ends with its process")
    sent = [s for s in t.events(file, "signal") if s["signal"] == "SIGUSR1"]
    t.eq([(s["pid"], s["to_pid"], s["of_process"]) for s in sent], [(os.getpid(), receiver.pid, True)], "sender and receiver")


def limited_cgroup(t):
    """A cgroup of ours with 32 MB, of whichever version has the memory controller."""
    name = f"tapir-signals-{os.getpid()}"
    for root, limit in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
        path = os.path.join(root, name)
        try:
            os.mkdir(path)
        except OSError:
            continue
        if os.path.exists(os.path.join(path, limit)):
            with open(os.path.join(path, limit), "w", encoding="ascii") as file:
                file.write(str(32 << 20))
            return path
        os.rmdir(path)
    t.skip("no memory controller: a process cannot be made to run out of memory")
    return None


def test_process_that_finds_no_memory_is_named(t):
    cgroup = limited_cgroup(t)
    try:
        file, _ = record(t, "sh", "-c", '"$@"; exit 0', "sh", *python("-c", EATS, os.path.join(cgroup, "cgroup.procs")))
    finally:
        os.rmdir(cgroup)
    killed = view(t, file, "tree")["killed"]
    t.eq([(k["status"], k["oom_killed"]) for k in killed], [(9, 1)], "killed for want of memory")
    t.ok(killed[0]["end"].startswith("SIGKILL, out of memory"), killed[0]["end"])
    t.eq(t.report(file)["findings"][0]["kind"], "crash", "the first finding")
    ended = [p for p in t.events(file, "process") if p.get("oom_killed")]
    t.eq([p["pid"] for p in ended], [killed[0]["pid"]], "in the events")

# SPDX-License-Identifier: GPL-2.0-or-later
"""Processes that come and go: their names stay, memory does not grow."""
import os
import shutil
import time

# Beside other programs, what is sampled of processes that live for milliseconds is a matter of luck.
CHECK_LONG = {"test_five_hundred_processes_a_second_keep_their_names"}
HZ = 997
SECONDS, EARLY_SECONDS, RATE = 5, 2, 500


def rss_kb(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))


def innermost(samples):
    return [s["stack"][0]["name"] for s in samples if s.get("stack")]


def test_five_hundred_processes_a_second_keep_their_names(t):
    file = t.path("trace.tapir")
    tapir = t.start_tapir("record", "-F", HZ, "--no-sched", "--comm", "swarm", "-o", file)
    tapir.wait_ready()
    swarm = t.target("swarm", SECONDS, RATE, 1500)
    time.sleep(EARLY_SECONDS)
    early = rss_kb(tapir.pid)
    said = swarm.wait().witness()
    late = rss_kb(tapir.pid)
    tapir.signal(2)
    t.eq(tapir.wait().rc, 0, "exit")
    count = SECONDS * RATE
    t.eq(said["processes"], count, "processes")
    samples = t.events(file, "sample")
    leaves = {s["pid"] for s in samples} - {swarm.pid}
    t.ok(len(leaves) >= 0.62 * count, f"{len(leaves)} of {count} processes sampled: each burns 1.5 ticks")
    lives = [s for s in samples if "short_life" in innermost([s])]
    t.ok(len({s["pid"] for s in lives}) >= 0.5 * count, f"{len(lives)} samples in short_life")
    inside = [s for s in samples if s.get("stack") and any(f["name"] == "main" for f in s["stack"])]
    unnamed = [f for s in inside for f in s["stack"] if not f["name"]]
    t.ok(len(unnamed) <= 0.005 * len(inside), f"{len(unnamed)} frames without a name in {len(inside)} stacks")
    t.eq(t.report(file)["lost"], {}, "lost")
    # What a process was is kept until the segment after its end, 10 to 20 s.
    t.ok(late - early <= count * 4, f"resident memory grew from {early} to {late} KB for {count} processes")


def test_file_that_is_gone_after_five_milliseconds_keeps_its_names(t):
    """Each program is a new file, deleted while it runs, and none is stopped. One that has ended before its file was read has no build ID."""
    file = t.path("trace.tapir")
    tapir = t.start_tapir("record", "-F", 4999, "-a", "-o", file)
    tapir.wait_ready()
    time.sleep(1)  # what runs already is read first: the first of these would have to wait
    pids = []
    for i in range(20):
        mayfly = t.path(f"mayfly{i}")
        shutil.copy(t.target_path("swarm"), mayfly)
        process = t.start(mayfly, "leaf", 5000)
        os.unlink(mayfly)
        pids.append(process.pid)
        process.wait()
    tapir.signal(2)
    t.eq(tapir.wait().rc, 0, "exit")
    samples = [s for s in t.events(file, "sample") if s["pid"] in pids]
    named = {s["pid"] for s in samples if "short_life" in innermost([s])}
    t.eq({s["pid"] for s in samples}, set(pids), "programs that have samples")
    read = {m["pid"] for m in t.events(file, "mapping") if m.get("build_id") and "mayfly" in m.get("path", "")}
    t.eq(named, read & set(pids), "programs whose function has its name: those whose file was read")
    t.ok(named, "no file was read in time")


def launched(words):
    """The process id of /bin/true with these arguments, which has ended."""
    pid = os.posix_spawn("/bin/true", words, os.environ)
    os.waitpid(pid, 0)
    return pid


def test_programs_of_a_millisecond_keep_their_command_lines(t):
    """All of them, as the launcher gave them. A line that is too long to be copied at once may be cut, and is marked as cut."""
    file = t.path("trace.tapir")
    tapir = t.start_tapir("record", "-F", 99, "--no-sched", "-a", "-o", file)
    tapir.wait_ready()
    lines = [["true", f"--one={i}", "", "two words", "é"] for i in range(200)] + [["true", "x" * 3900, "end"]]
    started = {launched(words): words for words in lines}
    cut = {launched(words): words for words in (["true", "y" * 6000, "end"], ["true", *["z" * 1000] * 40])}
    waits = ["sh", "-c", "sleep 1; :", "v" * 20000, "end"]
    lives = os.posix_spawn("/bin/sh", waits, os.environ)
    os.waitpid(lives, 0)
    tapir.signal(2)
    t.eq(tapir.wait().rc, 0, "exit")
    seen = {p["pid"]: p for p in t.events(file, "process") if p["kind"] == "exec"}
    t.eq({pid: seen.get(pid, {}).get("cmdline") for pid in started}, started, "command lines of short programs")
    t.eq({seen[pid]["exe"] for pid in started}, {os.path.realpath("/bin/true")}, "their file")
    t.ok(not any("cmdline_is_cut" in seen[pid] for pid in started), "none of them is said to be cut")
    for pid, words in cut.items():
        whole, got = "\0".join(words), "\0".join(seen[pid]["cmdline"])
        t.ok(whole.startswith(got) and len(got) >= 4000, f"{len(got)} bytes of {len(whole)} are its beginning")
        t.eq("cmdline_is_cut" in seen[pid], got != whole, f"{len(got)} bytes of {len(whole)}: said to be cut")
    t.eq((seen[lives]["cmdline"], "cmdline_is_cut" in seen[lives]), (waits, False), "a long line of a program that is still there")

# SPDX-License-Identifier: GPL-2.0-or-later
"""What goes wrong in production: each fault ends in one clear line and loses nothing recorded."""
import ctypes
import json
import os
import pathlib
import re
import signal
import struct
import subprocess
import time

from harness import EVENTS_ONLY, PATIENCE, args_of, named

CHECK_LONG = {"test_file_is_whole_when_the_interrupt_comes_after_the_target_ended"}
NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all",
          "--ambient-caps=-all")


def refused(t, result, rc, part):
    t.eq(result.rc, rc, f"exit of {result.argv}: {result.err}")
    lines = result.err.splitlines()
    t.ok(lines and lines[-1].startswith("tapir: ") and part in lines[-1], f"{part!r} in {result.err!r}")


def without(feature):
    return {**os.environ, "TAPIR_DISABLE": feature}


def record_storm(t, *options, env=None, count=1000):
    file = t.path("trace.tapir")
    return file, t.run(t.tapir_path, "record", "storm:hit", "-f", "-o", file, *options, "--",
                       t.target_path("storm"), 0, count, 2, env=env)


# ---- rights and kernels ----------------------------------------------------------------------


def test_capabilities_are_named_when_they_are_missing(t):
    t.need_others()
    t.need("setpriv")
    os.chmod(t.tmp, 0o777)
    if t.run(*NOBODY, t.tapir_path, "--version").rc:
        t.skip("nobody may not run the build")
    own = t.start(*NOBODY, "sleep", "60")
    while pathlib.Path(f"/proc/{own.pid}/comm").read_text() != "sleep\n":
        time.sleep(0.01)
    for pid, part in ((own.pid, "require CAP_BPF and CAP_PERFMON"), (os.getpid(), "it belongs to another user (uid 0)")):
        result = t.run(*NOBODY, t.tapir_path, "record", "storm:hit", "-p", pid, "-o", t.path("n.tapir"))
        refused(t, result, 3, part)
    t.ok(not os.path.exists(t.path("n.tapir")), "no file was left")


def test_what_the_kernel_lacks_is_named(t):
    for feature in ("btf", "ring_buffer", "task_storage", "sleepable"):
        _, result = record_storm(t, env=without(feature))
        refused(t, result, 3, f"cannot trace: this kernel has no {feature}")


def test_events_are_exact_when_there_is_no_uprobe_multi(t):
    file, result = record_storm(t, env=without("uprobe_multi"))
    t.eq(result.rc, 0, result.err)
    t.eq(len(t.events(file)), result.witness()["fired"], "events by perf events")


def test_many_sites_are_refused_when_there_is_no_uprobe_multi(t):
    target = t.target("manysites", "--wait")
    result = t.run(t.tapir_path, "record", "manysites:*", "-p", target.pid, "-o", t.path("m.tapir"),
                   env=without("uprobe_multi"))
    refused(t, result, 1, "select at most 16, or use --force")


def test_events_of_all_threads_come_when_the_pid_filter_is_broken(t):
    file = t.path("trace.tapir")
    target = t.target("storm", "--wait-attached", 0, 5000, 4)
    tapir = t.start(t.tapir_path, "record", "storm:hit", "-p", target.pid, "-o", file,
                    env=without("pid_filter"))
    fired = target.wait().witness()["fired"]
    t.eq(tapir.wait().rc, 0, "exit")
    t.eq(len(t.events(file)), fired, "events")


# ---- targets -------------------------------------------------------------------------------


def test_process_is_named_when_it_does_not_exist(t):
    child = subprocess.Popen(["true"])
    child.wait()
    refused(t, t.tapir("record", "storm:hit", "-p", child.pid, "-o", t.path("x.tapir"), expect=None), 1,
            f"process {child.pid} does not exist")


def test_recording_ends_when_its_process_is_killed(t):
    file = t.path("trace.tapir")
    target = t.target("storm", "--wait-attached", 1000, 100000000, 1)
    tapir = t.start_tapir("record", "storm:hit", "-p", target.pid, "-o", file)
    tapir.wait_ready("1 probe")
    time.sleep(0.5)
    target.signal(signal.SIGKILL)
    result = tapir.wait(10)
    t.eq(result.rc, 0, "exit")
    t.ok(re.search(rf"^tapir: process {target.pid} exited after \d+\.\d s$", result.err, re.M), f"why it is over: {result.err}")
    t.ok(len(t.events(file)) > 100, "events until it died")


def test_samples_come_and_the_rest_is_named_in_another_pid_namespace(t):
    """In a pid namespace the kernel's numbers differ: probes and switches would be searched without success."""
    inside = [t.need("unshare"), "--pid", "--mount", "--fork", "--kill-child", "--mount-proc"]
    if t.run(*inside, "true").rc:
        t.skip("no such namespaces can be made here")
    file = t.path("inside.tapir")
    result = t.run(*inside, t.tapir_path, "record", "-F", 499, "-o", file, "--", t.target_path("burner"), 200, 1,
                   timeout=20)
    t.eq(result.rc, 0, result.err)
    t.eq(result.err.count("pid namespace"), 1, result.err)
    t.ok("no context switches" in result.err and "--pid=host" in result.err, result.err)
    t.ok(len(t.events(file, "sample")) > 0.2 * 499 * 0.5, "samples")
    refused(t, t.run(*inside, t.tapir_path, "record", "storm:hit", "--lane", "probe", "-o", t.path("no.tapir"), "--",
                     t.target_path("storm")), 3, "cannot attach probes in a container's pid namespace")


def test_every_child_is_whole_when_processes_begin_and_end_all_the_time(t):
    """tapir attaches while processes are at every stage of fork, exec and exit."""
    said, events = t.record(["spawner"], ["spawner", 60, 2])
    t.eq(said[-1]["bad_exits"], 0, "children that failed")
    t.eq(len(events), 120, "events")


def test_near_miss_is_named_when_a_probe_is_misspelt(t):
    target = t.target("storm", "--wait", 0, 10, 1)
    refused(t, t.tapir("record", "storm:hti", "-p", target.pid, "-o", t.path("x.tapir"), expect=None), 1,
            "the nearest is storm:hit")
    refused(t, t.tapir("record", "sotrm:hit", "-o", t.path("y.tapir"), "--", t.target_path("storm"), 0, 10,
                       expect=None), 1, "the nearest is storm:hit")


def test_program_is_named_when_it_cannot_run(t):
    refused(t, t.tapir("record", "a:b", "-o", t.path("x.tapir"), "--", "/no/such/program", expect=None), 1,
            "no such program")
    t.ok(not os.path.exists(t.path("x.tapir")), "no file is left of it")


def test_program_has_its_own_limits_and_signals(t):
    """The program that tapir starts inherits none of tapir's own settings (limits, signals)."""
    script = "ulimit -n; ulimit -l; trap; grep -E 'Sig(Blk|Ign)' /proc/self/status"
    plain = t.run("sh", "-c", script)
    traced = t.run(t.tapir_path, "record", "storm:hit", "-o", t.path("x.tapir"), "--", "sh", "-c", script)
    t.eq(traced.out, plain.out, "limits and signals")


# ---- two at once, and the end of one -------------------------------------------------------------


def test_both_see_every_event_when_two_tapirs_share_a_site(t):
    files = t.path("a.tapir"), t.path("b.tapir")
    target = t.target("storm", "--wait", 20000, 40000, 2)
    tapirs = [t.start_tapir("record", "storm:hit", "-p", target.pid, "-o", file) for file in files]
    for tapir in tapirs:
        tapir.wait_ready("1 probe")
    target.go()
    fired = target.wait().witness()["fired"]
    for tapir, file in zip(tapirs, files):
        t.eq(tapir.wait().rc, 0, "exit")
        t.eq(len(t.events(file)), fired, "events")


def semaphore(pid, path):
    """The counter of storm:hit in the memory of a process."""
    notes = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=True).stdout
    address = int(re.search(r"Semaphore: (0x[0-9a-f]+)", notes).group(1), 16)
    headers = subprocess.run(["readelf", "-hW", path], capture_output=True, text=True, check=True).stdout
    base = 0
    if "DYN" in headers:
        with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
            base = next(int(line.split("-")[0], 16) for line in maps if line.rstrip().endswith(path))
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        memory.seek(base + address)
        return struct.unpack("<H", memory.read(2))[0]


def test_target_is_unharmed_and_file_is_readable_when_tapir_is_killed(t):
    file = t.path("trace.tapir")
    target = t.target("storm", "--wait-attached", 10000, 60000, 1)
    tapir = t.start_tapir("record", "storm:hit", "-p", target.pid, "-o", file)
    tapir.wait_ready("1 probe")
    t.eq(semaphore(target.pid, os.readlink(f"/proc/{target.pid}/exe")), 1, "semaphore while tapir records")
    time.sleep(2.6)
    tapir.signal(signal.SIGKILL)
    tapir.wait()
    end = time.monotonic() + 5 * PATIENCE
    while semaphore(target.pid, os.readlink(f"/proc/{target.pid}/exe")) and time.monotonic() < end:
        time.sleep(0.05)
    t.eq(semaphore(target.pid, os.readlink(f"/proc/{target.pid}/exe")), 0, "semaphore afterwards")
    t.eq(target.wait().rc, 0, "exit of the target")
    indexes = [args_of(e)[1] for e in t.events(file)]
    t.eq(indexes, list(range(len(indexes))), "events, without a hole")
    t.ok(len(indexes) >= 14000, f"all but the last second is there: {len(indexes)} events of about 26,000")


def ok_checks(t):
    """What this kernel and user can do, of what the doctor checks."""
    checks = json.loads(t.tapir("doctor", "--json", expect=None).out)["checks"]
    return {check["name"] for check in checks if check["state"] == "ok"}


def test_no_breakpoint_leaks_when_tapir_is_killed_while_it_attaches_or_detaches(t):
    """A fatal signal interrupts what the kernel does for the task that has it pending."""
    has_multi = "uprobe_multi" in ok_checks(t)
    sites, ready = ("*", "500 probes") if has_multi else ("s00*", "10 probes")  # without uprobe_multi each one is detached separately
    target = t.target("manysites", "--wait")
    pids = set()
    for i in range(24):
        tapir = t.start_tapir("record", f"manysites:{sites}", "-p", target.pid, *EVENTS_ONLY, "-f", "-o", t.path("k.tapir"))
        pids.add(tapir.pid)
        if i % 2:
            tapir.wait_ready(ready)
            tapir.signal(signal.SIGINT)
            time.sleep(0.002 * i)
        else:
            time.sleep(0.01 * i)
        tapir.signal(signal.SIGKILL)
        tapir.wait()
    time.sleep(0.2)
    log = t.run(t.need("dmesg"))
    if log.rc:
        t.skip("the kernel's log cannot be read")
    leaks = re.findall(r"uprobe: \S+:(\d+) failed to unregister", log.out)
    t.eq([pid for pid in leaks if int(pid) in pids], [], "uprobes that the kernel could not remove")


def test_held_program_continues_when_tapir_is_killed(t):
    """The death of the holder, which goes with tapir, resumes everything it held."""
    tapir = t.start_tapir("record", "dlopener", "-o", t.path("x.tapir"), "--", t.target_path("spawner"), 200, 1)
    line = tapir.wait_line("pid ")
    time.sleep(0.1)
    tapir.signal(signal.SIGKILL)
    tapir.wait()
    pid, end = int(line.split()[1]), time.monotonic() + 10 * PATIENCE
    while os.path.exists(f"/proc/{pid}") and time.monotonic() < end:
        time.sleep(0.05)
    t.ok(not os.path.exists(f"/proc/{pid}"), "the program came to its end")


def test_second_interrupt_ends_at_once(t):
    t.target("storm", "--wait-attached", 1000, 100000, 1)  # two signals may be merged into one: then it ends normally
    tapir = t.start_tapir("record", "storm:hit", "-a", "-o", t.path("x.tapir"))
    tapir.wait_ready()
    tapir.signal(signal.SIGINT)
    tapir.signal(signal.SIGINT)
    result = tapir.wait(5)
    t.ok(result.rc in (0, -signal.SIGINT), f"exit {result.rc}")


def test_file_is_whole_when_the_interrupt_comes_after_the_target_ended(t):
    """The recording stops by itself then; a Ctrl-C in that moment is the first, not the second."""
    for delay_ms in range(0, 60, 12):
        file = t.path("trace.tapir")
        target = t.target("storm", "--wait-attached", 0, 20000, 2)
        tapir = t.start_tapir("record", "storm:hit", "-f", "--no-compress", "-p", target.pid, "-o", file)
        fired = target.wait().witness()["fired"]
        time.sleep(delay_ms / 1000)
        if tapir.child.poll() is None:
            tapir.signal(signal.SIGINT)
        result = tapir.wait()
        t.eq(result.rc, 0, f"exit, {delay_ms} ms after the target's: {result.err}")
        events = t.events(file)
        first, last = args_of(events[0]), args_of(events[-1])
        report = t.report(file)
        t.eq(len(events), fired, f"events, from {first} to {last}, lost {report['lost']}, gaps {report['gaps']}")


# ---- where the file goes -------------------------------------------------------------------------


class SmallDisk:
    """A file system of 16 MB: four chunks and no more."""

    def __init__(self, t):
        self.path = t.path("small")
        os.mkdir(self.path)
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mount(b"none", self.path.encode(), b"tmpfs", 0, b"size=16m"):
            t.skip(f"cannot mount a tmpfs: {os.strerror(ctypes.get_errno())}")
        self.libc = libc

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.libc.umount2(self.path.encode(), 2)


def test_recorded_part_is_kept_when_the_disk_is_full(t):
    with SmallDisk(t) as disk:
        file = os.path.join(disk.path, "trace.tapir")
        result = t.run(t.tapir_path, "record", "storm:hit", "--no-compress", "-o", file, "--",
                       t.target_path("storm"), 0, 300000, 1)
        refused(t, result, 1, "No space left on device")
        kept = t.tapir("events", file, "--json", expect=None).json_lines()
        events = [line for line in kept if line["type"] == "event"]
        t.ok(events, "events that fitted are there")
        t.eq([args_of(e)[1] for e in events], list(range(len(events))), "events, without a hole")
        t.eq(result.witness()["fired"], 300000, "the target went on")


def test_output_is_refused_when_it_cannot_be_written(t):
    result = t.run(t.tapir_path, "record", "storm:hit", "-o", "/no/such/dir/x.tapir", "--", t.target_path("storm"), 0, 10)
    refused(t, result, 1, "its directory does not exist")
    kept = t.path("kept.tapir")
    with open(kept, "w", encoding="utf-8") as f:
        f.write("precious")
    result = t.run(t.tapir_path, "record", "storm:hit", "-o", kept, "--", t.target_path("storm"), 0, 10)
    refused(t, result, 1, "use --force")
    with open(kept, encoding="utf-8") as f:
        t.eq(f.read(), "precious", "the file that was there")


def test_old_recording_is_kept_when_a_forced_one_cannot_begin(t):
    kept, link = t.path("kept.tapir"), t.path("link.tapir")
    with open(kept, "w", encoding="utf-8") as f:
        f.write("precious")
    os.symlink(kept, link)
    target = t.target("storm", "--wait", 0, 10, 1)
    for path in (kept, link):
        result = t.tapir("record", "no:such", "-p", target.pid, "-f", "-o", path, expect=1)
        t.ok("no probe matches" in result.err, result.err)
        with open(path, encoding="utf-8") as f:
            t.eq(f.read(), "precious", "the file that was there")
    t.ok(os.path.islink(link), "the link is one still")
    t.eq(sorted(os.listdir(t.tmp)), ["kept.tapir", "link.tapir"], "nothing else is left")


def test_fifo_without_a_reader_is_refused_at_once(t):
    fifo = t.path("fifo")
    os.mkfifo(fifo)
    result = t.run(t.tapir_path, "record", "storm:hit", "-o", fifo, "--", t.target_path("storm"), 0, 10, timeout=10)
    refused(t, result, 1, "no process reads from it")


def test_link_of_a_stranger_is_not_followed(t):
    link = t.path("null.tapir")
    os.symlink("/dev/null", link)
    os.lchown(link, 65534, 65534)
    result = t.run(t.tapir_path, "record", "storm:hit", "-f", "-o", link, "--", t.target_path("storm"), 0, 10)
    refused(t, result, 1, "it is a symbolic link of another user")


def test_pipe_is_written_and_its_end_is_noticed(t):
    whole = t.run("sh", "-c", f"{t.tapir_path} record storm:hit -o - -- {t.target_path('storm')} 0 100 1 "
                              f"2>/dev/null | tail -c +1 > {t.path('p.tapir')}")
    t.eq(whole.rc, 0, "exit of the pipe")
    t.eq(t.tapir("events", t.path("p.tapir"), expect=None).rc, 1,
         "the target's own words are in the pipe, too, and that is said")
    result = t.run("bash", "-c", f"{t.tapir_path} record storm:hit -o - -p $$ | head -c 10 >/dev/null", timeout=20)
    t.ok(result.rc in (0, 1), f"exit {result.rc}")
    target = t.target("storm", "--wait-attached", 10000, 100000, 1)
    broken = t.run("bash", "-c", f"set -o pipefail; {t.tapir_path} record storm:hit -o - -p {target.pid} | head -c 100 "
                                 ">/dev/null", timeout=20)
    t.ok("Broken pipe" in broken.err, f"the closed pipe is named: {broken.err}")
    target.kill()


def test_reader_stops_quietly_when_nobody_reads(t):
    file, _ = record_storm(t, count=20000)
    for command in ("events", "events --json", "report"):
        result = t.run("bash", "-c", f"{t.tapir_path} {command} {file} | head -1")
        t.eq((result.rc, result.err), (0, ""), command)


# ---- damaged files ----------------------------------------------------------------------------


def test_cut_file_is_read_as_far_as_it_goes(t):
    file, _ = record_storm(t, "--no-compress", count=200)
    with open(file, "rb") as f:
        whole = f.read()
    all_cnt, counts = len(t.events(file)), []
    for i in range(40):
        with open(t.path("cut.tapir"), "wb") as f:
            f.write(whole[:len(whole) * i // 40])
        result = t.tapir("events", t.path("cut.tapir"), "--json", expect=None)
        t.ok(result.rc in (0, 1) and result.err.startswith("tapir: "), f"{i}/40: {result.rc} {result.err}")
        counts.append(len([line for line in result.json_lines() if line["type"] == "event"]))
    t.eq(counts, sorted(counts), "events by length")
    t.ok(counts[-1] <= all_cnt, "no event was made up")


def test_flipped_file_is_said_to_be_damaged(t):
    file, _ = record_storm(t, count=200)
    with open(file, "rb") as f:
        whole = bytearray(f.read())
    for at in range(0, len(whole), max(1, len(whole) // 40)):
        flipped = bytearray(whole)
        flipped[at] ^= 0x41
        with open(t.path("flipped.tapir"), "wb") as f:
            f.write(flipped)
        for command in (("events",), ("report", "--json")):
            result = t.tapir(*command, t.path("flipped.tapir"), expect=None, timeout=20)
            t.ok(result.rc in (0, 1), f"byte {at}: exit {result.rc} {result.err}")

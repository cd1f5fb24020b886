# SPDX-License-Identifier: GPL-2.0-or-later
"""tapir record --continuous: what is in the files is what happened before the trigger, by the program's own log."""
import ctypes
import glob
import os
import signal
import struct
import time

from harness import PATIENCE

# Seconds long: rings that fill, disks that are full, recorders that are killed.
CHECK_SERVE = {
    "test_ring_discards_the_oldest_and_keeps_its_bound", "test_recorder_continues_when_the_disk_of_its_segments_is_full",
    "test_names_of_a_running_jvm_are_in_a_frozen_file", "test_cooldown_and_number_of_files_are_kept",
    "test_counters_and_exits_are_triggers",
}
SECOND = 1_000_000_000


def log_of(t, name="log"):
    with open(t.path(name), "rb") as file:
        data = file.read()
    return list(struct.unpack(f"<{len(data) // 8}Q", data))


def files(t, stem="fr"):
    return sorted(glob.glob(t.path(stem) + "-*.tapir"))


def wait_files(t, cnt, stem="fr", seconds=20):
    end = time.monotonic() + seconds * PATIENCE
    while len(files(t, stem)) < cnt:
        t.ok(time.monotonic() < end, f"{files(t, stem)} after {seconds * PATIENCE} s, not {cnt} files")
        time.sleep(0.02)
    return files(t, stem)


def beats(t, file):
    """{number: time} of the beats in a file."""
    return {list(e["args"].values())[0]: e["time_ns"] for e in t.events(file) if e["event"] == "beat"}


def start(t, *options, period_us=1000, count=60000, alarm=-1, job_ms=0, specs=("pulse:beat",)):
    """A recorder of a program that beats; the program waits for go()."""
    target = t.target("pulse", "--wait", t.path("log"), period_us, count, alarm, job_ms)
    recorder = t.start_tapir("record", "-p", target.pid, *specs, "--no-samples", "--no-sched", "-o", t.path("fr.tapir"),
                             "--continuous", *options)
    recorder.wait_ready()
    return target, recorder


def check_beats(t, file, from_ns, until_ns, slack_ns=0.0):
    """The file has each beat from from_ns to until_ns, none older than from_ns - slack_ns, and no hole."""
    seen, log = beats(t, file), log_of(t)
    wanted = {n for n, ns in enumerate(log) if ns and from_ns <= ns <= until_ns}
    t.ok(wanted, "the program did not beat then")
    t.eq(sorted(wanted - set(seen)), [], f"beats that are missing in {file}")
    t.eq(sorted(seen), list(range(min(seen), max(seen) + 1)), "numbers of beats")
    for n, ns in seen.items():
        t.ok(log[n] <= ns, f"beat {n} was recorded before it was")
    t.ok(log[min(seen)] + slack_ns >= from_ns, f"the file begins {(from_ns - log[min(seen)]) / 1e9} s too early")
    t.eq(t.events(file, "loss"), [], "losses")


def test_file_of_an_event_is_what_happened_before_it(t):
    target, recorder = start(t, 8, "--window", 0.3, "--trigger", "event=pulse:alarm if arg0 = 500", alarm=500)
    target.go()
    line = recorder.wait_line("tapir: event=pulse:alarm if arg0 = 500 (pulse:alarm in process ")
    log = log_of(t)
    file, = wait_files(t, 1)
    t.ok(file in line, line)
    # From so long before the alarm was seen, which is after it fired; some time passes until it is seen.
    seen = beats(t, file)
    t.ok(log[min(seen)] >= log[500] - 0.3 * SECOND, f"begins at beat {min(seen)}")
    check_beats(t, file, log[min(seen)], log[500])
    t.ok(max(seen) > 500, "half a second after it is in the file, too")
    end_ns = time.monotonic_ns()
    recorder.signal(signal.SIGINT)
    result = recorder.wait()
    t.eq(result.rc, 0, "exit")
    t.ok("2 files, 0 triggers ignored" in result.err, result.err)
    last = [file for file in files(t) if file not in line]
    check_beats(t, last[0], end_ns - SECOND // 100, end_ns, slack_ns=0.3 * SECOND)


def test_segments_of_a_killed_recorder_are_recordings(t):
    os.mkdir(t.path("ring"))
    target, recorder = start(t, 8, "--window", 5, "--segments", t.path("ring"))
    target.go()
    end = time.monotonic() + 20 * PATIENCE
    while len(os.listdir(t.path("ring"))) < 2:
        t.ok(time.monotonic() < end, "no second segment")
        time.sleep(0.02)
    killed_ns = time.monotonic_ns()
    recorder.signal(signal.SIGKILL)
    recorder.wait()
    seen = {}
    for name in sorted(os.listdir(t.path("ring"))):
        part = beats(t, os.path.join(t.path("ring"), name)) if os.path.getsize(os.path.join(t.path("ring"), name)) > 32 else {}
        t.ok(not set(part) & set(seen), "a beat is in two segments")
        seen.update(part)
    t.eq(sorted(seen), list(range(min(seen), max(seen) + 1)), "numbers of beats")
    log = log_of(t)
    t.ok(log[min(seen)] == log[0], "the first beat is in the first segment")
    t.ok(killed_ns - log[max(seen)] < 3 * SECOND, "all but the last seconds are there")
    t.eq(files(t), [], "files of a killed recorder")


def test_slow_intervals_are_triggers_before_they_end(t):
    # --distance: the former name of --cooldown, which works for a version.
    target, recorder = start(t, 8, "--window", 0.5, "--trigger", "slow=job>300ms", "--distance", 1, alarm=300, job_ms=60000,
                             specs=("pulse:*",))
    target.go()
    line = recorder.wait_line("tapir: slow=job>300ms (")
    t.ok("and not ended" in line, line)
    file, = wait_files(t, 1)
    starts = [e for e in t.events(file) if e["event"] == "job__start"]
    done = [e for e in t.events(file) if e["event"] == "job__done"]
    t.ok(len(starts) <= len(done) + 1, "one job is open")
    recorder.signal(signal.SIGTERM)
    t.eq(recorder.wait().rc, 0, "exit")


def test_options_that_make_no_sense_are_refused(t):
    for options, text in (
            (("--trigger", "exit"), "--trigger and --segments require --continuous"),
            (("--continuous", "64", "--trigger", "event"), "no trigger 'event'"),
            (("--continuous", "64", "--trigger", "slow=gc"), "no limit in trigger 'slow=gc'"),
            (("--continuous", "64", "--trigger", "counter=x>y"), "no condition 'x>y'"),
            (("--continuous", "64", "--trigger", "event=a:b if"), "a:b if"),
            (("--continuous", "64", "--trigger", "event=a:b if x ~ 1"), "no condition 'x ~ 1'"),
            (("--continuous", "64", "-o", "-"), "not standard output"),
            (("--continuous", "1"), "--continuous"),
            (("--continuous", "64", "--max-size", "5"), "excludes --max-size")):
        result = t.tapir("record", "-p", os.getpid(), *options, expect=2)
        t.ok(text in result.err, f"{options}: {result.err}")
    result = t.tapir("record", "-p", os.getpid(), "--continuous", 8, "--segments", t.path("none"), expect=1)
    missing = t.tapir("record", "-p", os.getpid(), "--continuous", 8, "-o", t.path("none/x"), expect=1)
    t.ok("cannot write files to" in missing.err and "No such file or directory" in missing.err, missing.err)
    t.ok("cannot keep segments in" in result.err and "No such file or directory" in result.err, result.err)


# ---- check-serve ------------------------------------------------------------------------------------------------------


def test_cooldown_and_number_of_files_are_kept(t):
    target, recorder = start(t, 8, "--window", 1, "--cooldown", 3, "--max-files", 2)
    target.go()
    for _ in range(10):  # 5 s of them: the first one, and one 3 s after it
        recorder.signal(signal.SIGUSR2)
        time.sleep(0.5)
    wait_files(t, 2)
    recorder.wait_line("tapir: warning: SIGUSR2 is ignored: the last file is ")
    recorder.signal(signal.SIGUSR2)
    recorder.wait_line("tapir: warning: SIGUSR2 is ignored: 2 files were begun (--max-files)")
    recorder.signal(signal.SIGINT)
    result = recorder.wait()
    t.eq(result.rc, 0, "exit")
    t.ok("no file at the end: 2 were written before (--max-files)" in result.err, result.err)
    t.eq(len(files(t)), 2, "files")
    first, second = (beats(t, file) for file in files(t))
    log = log_of(t)
    t.ok(log[max(second)] - log[max(first)] >= 3 * SECOND * 0.99, "cooldown between the files")


def test_counters_and_exits_are_triggers(t):
    target, recorder = start(t, 8, "--window", 1, "--trigger", "exit=failed")
    target.go()
    time.sleep(0.5)
    target.signal(signal.SIGKILL)
    result = recorder.wait()
    t.ok(f"tapir: exit=failed (process {target.pid} was killed by signal 9): the last" in result.err, result.err)
    t.eq(len(files(t)), 1, "files")
    jvm = start_jvm(t)
    recorder = t.start_tapir("record", "-p", jvm.pid, "--continuous", 8, "--window", 1, "-o", t.path("jvm"), "--no-samples",
                             "--trigger", "counter=hsperfdata/old-*tion>1000")
    recorder.wait_line("tapir: counter=", timeout=20)
    recorder.signal(signal.SIGINT)
    t.eq(recorder.wait().rc, 0, "exit")


def start_jvm(t):
    java, javac = t.need("java", "javac")
    source = t.path("Spin.java")
    with open(source, "w", encoding="ascii") as file:
        file.write("""public class Spin {
            static long turn(long x) { for (int i = 0; i < 100000; i++) x = x * 31 + i; return x; }
            public static void main(String[] a) throws Exception {
                System.out.println("pid " + ProcessHandle.current().pid());
                byte[][] keep = new byte[64][];
                for (long x = 1;; x = turn(x)) keep[(int) (x & 63)] = new byte[4096];
            } }""")
    t.eq(t.run(javac, source).rc, 0, "javac")
    jvm = t.start(java, "-cp", t.tmp, "-XX:+PreserveFramePointer", "Spin")
    jvm.wait_line("pid ")
    return jvm


def test_names_of_a_running_jvm_are_in_a_frozen_file(t):
    """After many segments, in a file that begins long after its methods were compiled."""
    jvm = start_jvm(t)
    recorder = t.start_tapir("record", "-p", jvm.pid, "--continuous", 8, "--window", 3, "--cooldown", 1, "-o", t.path("fr"))
    recorder.wait_ready()
    time.sleep(7)
    recorder.signal(signal.SIGUSR2)
    file, = wait_files(t, 1)
    report = t.report(file)
    text = t.tapir("report", file, "--all").out
    t.ok("Spin.turn" in text, text[:3000])
    t.ok(report["seconds"] < 5 if "seconds" in report else True, "length of the file")
    recorder.signal(signal.SIGINT)
    t.eq(recorder.wait().rc, 0, "exit")


def test_ring_discards_the_oldest_and_keeps_its_bound(t):
    """Random texts that do not compress: 8 MB hold a few seconds of them."""
    os.mkdir(t.path("ring"))
    storm = t.target("storm", "--wait", 0, 40_000_000)
    recorder = t.start_tapir("record", "-p", storm.pid, "storm:hit", "--no-samples", "--no-sched", "--no-compress", "-o",
                             t.path("fr"), "--continuous", 8, "--window", 60, "--segments", t.path("ring"))
    recorder.wait_ready()
    storm.go()
    most, end = 0, time.monotonic() + 6
    while time.monotonic() < end:
        most = max(most, sum(entry.stat().st_size for entry in os.scandir(t.path("ring"))))
        time.sleep(0.01)
    recorder.signal(signal.SIGINT)
    result = recorder.wait()
    t.eq(result.rc, 0, "exit")
    t.ok(4 << 20 < most <= 8 << 20, f"{most} bytes of segments")
    t.ok("the ring of 8 MB holds " in result.err, result.err)
    t.eq(os.listdir(t.path("ring")), [], "segments afterwards")
    file, = files(t)
    numbers = [list(e["args"].values())[1] for e in t.events(file)]
    lost = t.report(file)["lost"]
    t.ok(len(numbers) == len(set(numbers)), "an event is there twice")
    t.ok(lost or max(numbers) - min(numbers) + 1 == len(numbers), "events are missing, and no loss is told")


def test_recorder_continues_when_the_disk_of_its_segments_is_full(t):
    libc = ctypes.CDLL(None, use_errno=True)
    disk = t.path("disk")
    os.mkdir(disk)
    if libc.mount(b"none", disk.encode(), b"tmpfs", 0, b"size=3m"):
        t.skip(f"cannot mount tmpfs: {os.strerror(ctypes.get_errno())}")
    try:
        storm = t.target("storm", "--wait", 100000, 100_000_000)
        recorder = t.start_tapir("record", "-p", storm.pid, "storm:hit", "--no-samples", "--no-sched", "--no-compress", "-o",
                                 t.path("fr"), "--continuous", 64, "--window", 4, "--segments", disk)
        recorder.wait_ready()
        storm.go()
        recorder.wait_line("tapir: warning: cannot continue writing ", timeout=30)
        time.sleep(2)
        recorder.signal(signal.SIGINT)
        result = recorder.wait()
        t.eq(result.rc, 0, "exit")
        file, = files(t)
        disk_loss = [e for e in t.events(file, "loss") if e["cause"] == "disk"]
        t.ok(sum(e["count"] for e in disk_loss) > 0, "the loss is in the file")
        t.ok(len(t.events(file)) > 1000, "events before and after it")
    finally:
        recorder.kill()
        libc.umount2(disk.encode(), 2)

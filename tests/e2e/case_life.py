# SPDX-License-Identifier: GPL-2.0-or-later
"""From the first option to the exit status: outputs that cannot be written, targets that are dead, readers that stall."""
import collections
import datetime
import os
import re
import shutil
import signal
import subprocess
import time

from harness import EVENTS_ONLY, PATIENCE, Watch, args_of, has_ended

ENDS_SECONDS = 3  # a signal ends tapir within one; the rest is the machine's


def one_error(t, result, rc, *parts):
    """The exit status, and one line of error that says what is wrong."""
    t.eq(result.rc, rc, f"exit of {result.argv}: {result.err}")
    errors = [line for line in result.err.splitlines() if not line.startswith(("tapir: next", "tapir: 0 "))]
    t.ok(errors and all(part in errors[-1] for part in parts), f"{parts} in {result.err!r}")


def content(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        return f.read()


# ---- where the file goes -------------------------------------------------------------------------


def on_full_disk(t, script):
    """Runs a shell script in a mount namespace of its own, where $disk is a file system without room."""
    unshare = t.need("unshare")
    disk = t.path("disk")
    os.makedirs(disk, exist_ok=True)
    if t.run(unshare, "-m", "true").rc:
        t.skip("no mount namespace can be made here")
    return t.run(unshare, "-m", "sh", "-c", f"""
        mount -t tmpfs -o size=128k none '{disk}' || exit 99
        disk='{disk}'; cd "$disk"
        printf precious >old.tapir
        cat /dev/zero >fill 2>/dev/null
        {script}
        echo "rc $?"; rm -f fill; ls -A; cat old.tapir""")


def test_old_recording_is_kept_when_the_disk_has_no_room(t):
    storm, tapir = t.target_path("storm"), t.tapir_path
    for room in (0, 4096, 8192):  # bytes free: none; enough for the header; for the header and little more
        free = f"truncate -s -{room} fill;" if room else ""
        result = on_full_disk(t, f"{free} '{tapir}' record storm:hit --no-compress -f -o old.tapir -- '{storm}' 0 3000 1")
        t.ok("rc 1\n" in result.out, f"{room}: exit status: {result.out} {result.err}")
        t.ok("No space left on device" in result.err and "existing file is unchanged" in result.err, f"{room}: {result.err}")
        t.ok(result.out.endswith("rc 1\nold.tapir\nprecious"), f"{room}: files that are left: {result.out!r}")
        t.ok("->" not in result.err, f"{room}: no file is promised: {result.err}")


def test_nothing_is_left_when_the_disk_has_no_room(t):
    storm, tapir = t.target_path("storm"), t.tapir_path
    for room in (0, 4096):
        free = f"truncate -s -{room} fill;" if room else ""
        result = on_full_disk(t, f"{free} '{tapir}' record storm:hit --no-compress -o new.tapir -- '{storm}' 0 3000 1")
        t.ok("No space left on device" in result.err, f"{room}: {result.err}")
        t.ok(result.out.endswith("rc 1\nold.tapir\nprecious"), f"{room}: files that are left: {result.out!r}")


def test_old_recording_is_replaced_when_the_new_one_has_data(t):
    file = t.path("kept.tapir")
    with open(file, "w", encoding="utf-8") as f:
        f.write("precious")
    target = t.target("storm", "--wait-attached", 1000, 10000000, 1)
    tapir = t.start_tapir("record", "storm:hit", "-p", target.pid, "-f", "-o", file)
    end = time.monotonic() + 10 * PATIENCE
    while content(file) == "precious" and time.monotonic() < end:
        time.sleep(0.05)
    t.eq(os.listdir(t.tmp), ["kept.tapir"], "files while it records")
    tapir.child.kill()
    tapir.wait()
    t.ok(t.tapir("events", file, "--json", expect=None).json_lines(), "a killed recorder leaves its events")
    target.kill()


def test_output_is_reported_when_it_was_deleted(t):
    directory = t.path("od")
    os.mkdir(directory)
    target = t.target("storm", "--wait-attached", 1000, 10000000, 1)
    tapir = t.start_tapir("record", "storm:hit", "-p", target.pid, "-o", os.path.join(directory, "x.tapir"))
    tapir.wait_ready("1 probe")
    time.sleep(0.3)
    os.unlink(os.path.join(directory, "x.tapir"))
    os.rmdir(directory)
    result = tapir.wait(10)  # it ends by itself: recording on would only lose more
    one_error(t, result, 1, "x.tapir", "deleted")
    t.ok("->" not in result.err, f"no file is promised: {result.err}")
    counts = [int(cnt.replace(",", "")) for cnt in re.findall(r"([\d,]+) (?:events|samples|switches|lost)", result.err)]
    t.ok(max(counts, default=0) < 10**6, f"no count is below none: {result.err}")
    target.kill()


def test_output_is_reported_when_it_was_renamed(t):
    file = t.path("x.tapir")
    target = t.target("storm", "--wait-attached", 1000, 10000000, 1)
    tapir = t.start_tapir("record", "storm:hit", "-p", target.pid, "-o", file)
    tapir.wait_ready("1 probe")
    os.rename(file, t.path("y.tapir"))
    time.sleep(0.3)
    tapir.signal(signal.SIGINT)
    result = tapir.wait(10)
    t.eq(result.rc, 0, result.err)
    t.ok("renamed" in result.err and "->" not in result.err, f"where it is: {result.err}")
    t.ok(t.events(t.path("y.tapir")), "its events")
    target.kill()


def test_each_wrong_output_is_one_line(t):
    storm = t.target_path("storm")
    os.mkdir(t.path("closed"))
    os.mkfifo(t.path("fifo"))
    os.symlink(t.path("nothing"), t.path("dangling"))
    cases = (("/no/such/dir/x", "its directory does not exist"), (t.path("fifo"), "no process reads from it"),
             ("/dev/full", "No space left on device"), (t.path("dangling"), "it exists"), (storm + "/x", "Not a directory"))
    for path, part in cases:
        result = t.run(t.tapir_path, "record", "storm:hit", "-o", path, "--", storm, 0, 10, timeout=20)
        one_error(t, result, 1, path, part)
        t.ok("->" not in result.err, f"no file is promised: {result.err}")
    t.eq(sorted(os.listdir(t.tmp)), ["closed", "dangling", "fifo"], "files that are left")


def test_export_is_refused_when_no_process_reads_a_fifo(t):
    file, fifo = t.path("trace.tapir"), t.path("fifo")
    t.record(["storm:hit"], ["storm", 0, 100, 1])
    os.mkfifo(fifo)
    for command in (("export", "--format", "folded", "--event", "storm:*"), ("flamegraph",)):
        one_error(t, t.run(t.tapir_path, *command, file, "-o", fifo, timeout=10), 1, "fifo", "no process reads from it")


def test_link_in_the_output_path_is_replaced_not_followed(t):
    victim, link = t.path("victim"), t.path("out")
    with open(victim, "w", encoding="utf-8") as f:
        f.write("precious")
    t.record(["storm:hit"], ["storm", 0, 100, 1])
    for command in (("export", "--format", "folded", "--event", "storm:*", t.path("trace.tapir")),
                    ("record", "storm:hit", "-p", t.target("storm", "--wait", 0, 1, 1).pid, "-d", "0.1")):
        os.symlink(victim, link)
        t.tapir(*command, "-f", "-o", link)
        t.ok(not os.path.islink(link), f"{command[0]}: the link was replaced")
        t.eq(content(victim), "precious", f"{command[0]}: where the link led")
        os.unlink(link)


def test_standard_output_by_its_path_is_no_file(t):
    """Refused even with -f: what would be replaced is a link that everybody uses."""
    target = t.target("storm", "--wait-attached", 1000, 1000000, 1)
    result = t.run("sh", "-c", f"'{t.tapir_path}' record storm:hit -p {target.pid} -d 0.5 -f -o /dev/stdout >'{t.path('x.tapir')}'")
    t.eq(result.rc, 0, result.err)
    t.ok("->" not in result.err, result.err)
    t.ok(t.events(t.path("x.tapir")), "events")
    t.ok(os.path.islink("/dev/stdout"), "the link")
    target.kill()


# ---- readers that stall --------------------------------------------------------------------------


def stalled(t, *args):
    """tapir with a stdout that nobody reads; its stderr is read."""
    read_end, write_end = os.pipe()
    tapir = subprocess.Popen([t.tapir_path, *map(str, args)], stdin=subprocess.DEVNULL, stdout=write_end,
                             stderr=subprocess.PIPE, text=True)
    os.close(write_end)
    return tapir, read_end


def recording_began(tapir):
    while "probe" not in (tapir.stderr.readline() or "probe"):
        pass


def ended(t, tapir, what, later=0, may_be_killed=False):
    """Of a tapir that has been told to end, or is to end so much later: what its threads wait for a CPU is no part of the time."""
    watch, until = Watch(tapir.pid), time.monotonic() + 20 * PATIENCE
    while not has_ended(tapir.pid) and time.monotonic() < until:
        watch.look()
        time.sleep(0.01)
    seconds = watch.seconds() - later
    tapir.kill()  # it has ended, or never will
    _, err = tapir.communicate()
    t.ok(seconds < ENDS_SECONDS, f"{what}: ended after {seconds:.1f} s")
    if tapir.returncode != -signal.SIGINT or not may_be_killed:
        t.eq(tapir.returncode, 1, f"{what}: {err}")
        t.ok("stalled" in err, f"{what}: {err}")


def test_recording_ends_when_the_reader_of_its_pipe_stalls(t):
    for command in (("record", "-o", "-", "--no-compress"), ("trace",)):
        target = t.target("storm", "--wait-attached", 20000, 100000000, 2)
        args = (*command, "storm:hit", "-p", target.pid)
        tapir, pipe = stalled(t, *args)
        recording_began(tapir)
        time.sleep(1)  # the pipe is full
        tapir.send_signal(signal.SIGINT)
        ended(t, tapir, f"{command[0]}, SIGINT")
        os.close(pipe)
        tapir, pipe = stalled(t, *args, "-d", 1)
        recording_began(tapir)
        ended(t, tapir, f"{command[0]}, -d", later=1)
        os.close(pipe)
        target.kill()


def test_pipe_gets_everything_when_its_reader_is_slow(t):
    """A slow reader is not a stalled one: it also gets what is left when the recording ends."""
    target = t.target("storm", "--wait-attached", 20000, 100000000, 2)
    tapir, pipe = stalled(t, "record", "-o", "-", "--no-compress", "storm:hit", "-p", target.pid, "-d", 1)
    recording_began(tapir)
    time.sleep(1.2)
    with open(t.path("slow.tapir"), "wb") as f:
        while data := os.read(pipe, 16384):
            f.write(data)
            time.sleep(0.002)
    os.close(pipe)
    _, err = tapir.communicate(timeout=20 * PATIENCE)
    t.eq(tapir.returncode, 0, err)
    t.ok(len(t.events(t.path("slow.tapir"))) > 1000, "events")
    target.kill()


def test_reading_ends_when_the_reader_of_its_pipe_stalls(t):
    file = t.path("trace.tapir")
    t.record(["storm:hit"], ["storm", 0, 20000, 2], "--stack")
    for command in (("events",), ("events", "--json"), ("export", "--format", "perfscript", "--event", "*")):
        tapir, pipe = stalled(t, *command, file)
        time.sleep(0.5)
        t.eq(tapir.poll(), None, f"{command}: it waits for its reader")
        tapir.send_signal(signal.SIGINT)
        ended(t, tapir, str(command), may_be_killed=True)
        os.close(pipe)


# ---- targets that cannot be traced -----------------------------------------------------------------


class Zombie:
    """A process that has ended and for which its parent does not wait."""

    def __init__(self, t):
        self.parent = t.start("/usr/bin/python3", "-c", "import os, sys, time\npid = os.fork()\n"
                              "if not pid: os._exit(0)\nprint('zombie', pid, flush=True)\ntime.sleep(600)")
        self.pid = int(self.parent.wait_line("zombie ").split()[1])
        while content(f"/proc/{self.pid}/stat").rsplit(")", 1)[1].split()[0] != "Z":
            time.sleep(0.01)


def test_zombie_is_named_and_not_waited_for(t):
    zombie = Zombie(t)
    for command in (("record", "-o", t.path("z.tapir")), ("record", "-o", t.path("z.tapir"), "--lane", "ring"),
                    ("trace", "a:b"), ("list",), ("doctor",)):
        result = t.run(t.tapir_path, *command, "-p", zombie.pid, timeout=15)
        one_error(t, result, 1, str(zombie.pid), "zombie", str(zombie.parent.pid))
    t.eq(os.listdir(t.tmp), [], "files that are left")


def test_process_counts_when_its_first_thread_has_ended(t):
    """/proc shows a process whose first thread has ended as a zombie, but its other threads run."""
    program = t.start("/usr/bin/python3", "-c", "import ctypes, threading, time\n"
                      "threading.Thread(target=lambda: [sum(range(10000)) for _ in iter(int, 1)]).start()\n"
                      "print('ready', flush=True)\nctypes.CDLL(None).syscall(60, 0)")
    program.wait_line("ready")
    while content(f"/proc/{program.pid}/stat").rsplit(")", 1)[1].split()[0] != "Z":
        time.sleep(0.01)
    t.tapir("record", "-p", program.pid, "-d", "1.5", "-o", t.path("n.tapir"))
    report = t.report(t.path("n.tapir"))
    t.ok(report["duration_ns"] > 1.4e9, "it was recorded to the end")
    t.ok(len(t.events(t.path("n.tapir"), "sample")) > 20, "samples of the other thread")


def test_recording_ends_when_its_process_becomes_a_zombie(t):
    """With BPF programs, which report the end of a process, and without them."""
    for name, prefix in (("root", ()), ("nobody", ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
                                                  "--inh-caps=-all", "--ambient-caps=-all"))):
        if prefix:
            t.need_others()
            t.need("setpriv")
            os.chmod(t.tmp, 0o777)
        parent = t.start(*prefix, "/usr/bin/python3", "-c", "import os, sys, time\npid = os.fork()\n"
                         "if not pid: time.sleep(2); os._exit(0)\nprint('child', pid, flush=True)\ntime.sleep(600)")
        pid = int(parent.wait_line("child ").split()[1])
        result = t.run(*prefix, t.tapir_path, "record", "-p", pid, "-o", t.path(f"{name}.tapir"), timeout=15)
        if prefix and "Not allowed to sample" in result.err:
            continue
        t.eq(result.rc, 0, f"{name}: {result.err}")
        t.ok(f"process {pid} exited" in result.err, f"{name}: {result.err}")


def test_kernel_thread_is_named(t):
    if content("/proc/2/comm") != "kthreadd\n":
        t.skip("no kernel threads here")
    result = t.tapir("record", "-p", 2, "-d", "0.2", "-o", t.path("k.tapir"))
    t.ok("process 2 (kthreadd) is a kernel thread" in result.err, result.err)
    result = t.tapir("list", "-p", 2, expect=3)
    t.ok("process 2 (kthreadd) is a kernel thread" in result.err, result.err)
    one_error(t, t.tapir("doctor", "-p", 2, expect=None), 3, "process")


def test_name_that_no_process_has_is_named(t):
    for options in ((), ("--no-samples",), ("--no-sched",)):
        result = t.tapir("record", "--comm", "no-such-prog*", "-d", "0.3", *options, "-f", "-o", t.path("n.tapir"))
        t.ok("no process was named no-such-prog*" in result.err, f"{options}: {result.err}")
        t.ok("idle" not in result.err, f"{options}: {result.err}")
    target = t.target("storm", "--wait-attached", 100, 1000000, 1)
    result = t.tapir("record", "storm:hit", "--comm", "storm", "-d", "0.5", "-f", "-o", t.path("n.tapir"))
    t.ok("no process" not in result.err, result.err)
    for command in (("record", "-f", "-o", t.path("n.tapir")), ("trace",)):
        result = t.tapir(*command, "storm:hti", "--comm", "storm", "-d", "0.5", expect=1)
        t.ok("no probe matches storm:hti: the nearest is storm:hit" in result.err, result.err)
    target.kill()


# ---- limits ----------------------------------------------------------------------------------------


def with_files(t, limit, *args):
    return t.run(t.need("prlimit"), f"--nofile={limit}", t.tapir_path, *args)


def test_soft_limit_on_open_files_is_raised(t):
    storm = t.target_path("storm")
    result = with_files(t, "5:4096", "record", "storm:hit", "-o", t.path("x.tapir"), "--", "sh", "-c",
                        f"ulimit -n; exec '{storm}' 0 10 1")
    t.eq(result.rc, 0, result.err)
    t.eq(result.out.splitlines()[0], "5", "the program has the limit tapir was given")
    t.eq(len(t.events(t.path("x.tapir"))), 10, "events")
    t.eq(with_files(t, "5:4096", "doctor").rc, 0, "doctor")


def test_want_of_descriptors_is_not_blamed_on_the_kernel(t):
    sleeper = t.start("sleep", "60")
    for limit in (4, 5, 6, 8, 10, 12, 16, 20, 32, 48):
        result = with_files(t, f"{limit}:{limit}", "record", "-p", sleeper.pid, "-d", "0.1", "-o", t.path("x.tapir"))
        t.eq(result.rc, 1, f"{limit} files: {result.err}")
        t.ok("no file descriptor is left" in result.err and "ulimit -Hn" in result.err, f"{limit} files: {result.err}")
        t.ok("this kernel has no" not in result.err and "the kernel has no" not in result.err, f"{limit} files: {result.err}")
        t.eq(os.listdir(t.tmp), [], f"{limit} files: what is left")
    result = with_files(t, "5:5", "doctor")
    t.eq(result.rc, 3, "doctor")
    t.ok("Too many open files" in result.out and "(ulimit -Hn)" in result.out, f"{result.out}{result.err}")
    lacks = set(t.tapir("doctor", expect=None).out.splitlines())  # with descriptors
    blamed = [line for line in result.out.splitlines() if re.search("CONFIG_|Linux 6|report", line) and line not in lacks]
    t.eq(blamed, [], f"blamed on the kernel: {result.out}")


# ---- the exit status --------------------------------------------------------------------------------


def test_exit_status_is_that_of_the_program(t):
    """If the recording was written, the exit status is the program's, as with perf and strace."""
    for script, rc in (("exit 0", 0), ("exit 7", 7), ("exit 255", 255), ("kill -TERM $$", 128 + 15),
                       ("kill -KILL $$", 128 + 9), ("true & exit 3", 3)):
        result = t.run(t.tapir_path, "record", "-f", "-o", t.path("x.tapir"), "--", "sh", "-c", script)
        t.eq(result.rc, rc, f"{script}: {result.err}")
        t.ok("->" in result.err, f"{script}: {result.err}")
    result = t.run(t.tapir_path, "record", "-f", "-o", t.path("x.tapir"), "-d", "0.3", "--", "sh", "-c", "sleep 2; exit 5")
    t.eq(result.rc, 0, f"a program that is still running: {result.err}")
    result = t.run(t.tapir_path, "trace", "storm:hit", "--", "sh", "-c", f"'{t.target_path('storm')}' 0 3 1; exit 4")
    t.eq(result.rc, 4, f"trace: {result.err}")


def record_while(t, options, command):
    """Records what the options name while the command runs. Returns the result, and the events by process."""
    file = t.path("while.tapir")
    result = t.run(t.tapir_path, "record", "storm:hit", *EVENTS_ONLY, *options, "-f", "-o", file, "--", *command)
    return result, collections.Counter(event["pid"] for event in t.events(file))


def test_targets_are_recorded_while_a_command_runs(t):
    """As in perf record, the command is not a target: the recording ends when it does, with its exit status."""
    name = f"st{os.getpid()}"  # other cases have programs called storm
    storm = t.path(name)
    shutil.copy2(t.target_path("storm"), storm)
    target = t.start(storm, "1000", "300000")
    target.wait_line("pid ")
    script = f"'{storm}' 0 5 1; sleep 0.5; exit 7"
    result, events = record_while(t, ("-p", target.pid), ("sh", "-c", script))
    t.eq(result.rc, 7, f"-p: {result.err}")
    t.eq(result.witness()["fired"], 5, "what the command fired")
    t.eq(set(events), {target.pid}, "-p: who was recorded")
    t.ok(events[target.pid] > 250, f"-p: {events} in at least half a second")
    result, events = record_while(t, ("--comm", name), ("sh", "-c", script))
    t.eq(result.rc, 7, f"--comm: {result.err}")
    others = {pid: count for pid, count in events.items() if pid != target.pid}
    t.ok(events[target.pid] > 250 and list(others.values()) == [5], f"--comm: the command matches, too: {events}")
    result, events = record_while(t, ("-a",), ("sh", "-c", script))
    t.ok(result.rc == 7 and 5 in events.values() and events[target.pid] > 250, f"-a: {events} {result.err}")
    result = t.run(t.tapir_path, "trace", "storm:hit", "-p", target.pid, "--", "sleep", "0.3")
    t.ok(result.rc == 0 and "storm:hit" in result.out, f"trace: {result.err}")
    t.ok(target.child.poll() is None, "ended with its command, not its target")


def test_command_survives_the_targets_it_was_given_for(t):
    """The command is not a target, and keeps running when all targets have ended."""
    target = t.target("storm", "1000", "4000")
    mark = t.path("mark")
    result, _ = record_while(t, ("-p", target.pid), ("sh", "-c", f"sleep 5; : > '{mark}'"))
    t.ok(result.rc == 0 and f"process {target.pid} exited after" in result.err
         and "the program is still running" in result.err, f"{result.rc}: {result.err}")
    for _ in range(500):
        if os.path.exists(mark):
            return
        time.sleep(0.01)
    t.ok(False, "the command did not end as it would have")


def test_command_is_not_started_when_its_targets_cannot_be_recorded(t):
    mark = t.path("mark")
    for options in (("-p", "4194304"), ("--comm", "x" * 40), ("-p", str(os.getpid()))):
        result = t.run(t.tapir_path, "record", "no:such_probe", *EVENTS_ONLY, *options, "-o", t.path("x.tapir"), "--",
                       "touch", mark)
        t.ok(result.rc and not os.path.exists(mark), f"{options}: {result.rc} {result.err}")
    result = t.run(t.tapir_path, "record", "-a", "-o", t.path("x.tapir"), "--", "/no/such/program")
    t.ok(result.rc == 1 and "no such program" in result.err and not os.path.exists(t.path("x.tapir")), result.err)


def test_exit_status_is_of_tapir_when_nothing_was_recorded(t):
    for args, rc in ((("-o", "/no/such/dir/x", "--", "sh", "-c", "exit 7"), 1),
                     (("-o", t.path("x.tapir"), "--", "/no/such/program"), 1),
                     (("-o", t.path("x.tapir"), "--", t.tmp), 1), (("--no-such-option", "--", "sh", "-c", "exit 7"), 2)):
        result = t.run(t.tapir_path, "record", *args)
        t.eq(result.rc, rc, f"{args}: {result.err}")
        t.ok(result.err.startswith("tapir: "), f"{args}: {result.err}")


# ---- input that is no recording ----------------------------------------------------------------------


def test_wrong_input_is_one_line(t):
    paths = {"empty": b"", "text": b"hello\n" * 100, "short": b"\xb5TA"}
    for name, data in paths.items():
        with open(t.path(name), "wb") as f:
            f.write(data)
    names = [t.path(name) for name in paths] + ["/dev/zero", "/dev/null", t.tmp, t.path("none")]
    for command in (("report",), ("events",), ("export", "--format", "folded"), ("flamegraph",)):
        for name in names:
            result = t.run(t.tapir_path, *command, name, timeout=10)
            t.eq((result.rc, result.out), (1, ""), f"{command} {name}: {result.err}")
            t.eq(result.err.count("\n"), 1, f"{command} {name}: lines of {result.err}")


def test_length_that_is_negative_is_of_no_bytes(t):
    """An argument that gives a string's length may be -1, and the string no string."""
    _, events = t.record(["storm:hit::arg4=strn(arg3)"], ["storm", 0, 6, 1])
    t.eq([(event["args"]["arg3"], event["args"]["arg4"]) for event in events], [(-i, "") for i in range(6)], "arguments")
    t.ok(not t.report(t.path("trace.tapir"))["incomplete"], "what was lost or cut")


# ---- processes that begin and end --------------------------------------------------------------------


def ends_of(t, file):
    return [(line["pid"], line["exit_status"]) for line in t.events(file, "process") if line["kind"] == "exit"]


def test_pid_that_is_used_again_is_another_process(t):
    file, rounds, count = t.path("trace.tapir"), 12, 5
    result = t.tapir("record", "lives:hit", "--no-samples", "--stack", "-o", file, "--", t.target_path("lives"), "again",
                     rounds, count)
    said = result.witness()
    if "skipped" in said:
        t.skip(f"pids cannot be chosen: {said['skipped']}")
    events = t.events(file)
    t.eq([(e["comm"], e["pid"], args_of(e)) for e in events],
         [(f"again-{r}", said["pid"], [r, i]) for r in range(rounds) for i in range(count)], "names and events")
    t.ok(all(any(frame["name"] == "fire" for frame in e["stack"]) for e in events), "functions of every one")
    t.eq([end for end in ends_of(t, file) if end[0] == said["pid"]],
         [(said["pid"], (r + 1) << 8) for r in range(rounds)], "ends")
    rows = t.report(file)
    expected = sorted((f"again-{r}", count) for r in range(rounds))
    t.eq(sorted((p["comm"], p["events"]) for p in rows["processes"] if p["pid"] == said["pid"]), expected, "processes")
    t.eq(sorted((p["comm"], p["events"]) for p in rows["threads"] if p["pid"] == said["pid"]), expected, "threads")


def test_process_ends_once_when_its_threads_end_at_once(t):
    file, count = t.path("trace.tapir"), 300
    result = t.run(t.tapir_path, "record", *EVENTS_ONLY, "-o", file, "--profile", "default", "--", t.target_path("lives"),
                   "ends", count)
    said = result.witness()
    ends = ends_of(t, file)
    t.eq(len(ends), count + 1, "ends")
    t.eq(len({pid for pid, _ in ends}), count + 1, "processes that ended")
    t.eq(sum(status == 7 << 8 for _, status in ends), said["sevens"], "status 7, as wait(2) had it")
    t.eq(sum(status == 0 for _, status in ends), count + 1 - said["sevens"], "status 0")


# ---- more files than descriptors -----------------------------------------------------------------------


def many_files(t, count):
    """A program that loads count libraries, each with a build ID of its own, and fires once from each."""
    gcc = t.need("gcc")
    source, program = t.path("lib.c"), t.path("main.c")
    with open(source, "w", encoding="ascii") as f:
        f.write("int step(void (*fire)(long), long i) { fire(i); return 1; }\n")
    with open(program, "w", encoding="ascii") as f:
        f.write('#include <dlfcn.h>\n#include <signal.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include "tapir/usdt.h"\n'
                "static void fire(long i) { TAPIR_PROBE(many, hit, i); }\n"
                "int main(int argc, char **argv) { char path[4096]; long cnt = argc > 2 ? atol(argv[2]) : 0;\n"
                "  int (*step[4096])(void (*)(long), long);\n"
                "  for (long i = 0; i < cnt; i++) { snprintf(path, sizeof(path), \"%s/%ld.so\", argv[1], i);\n"
                "    void *so = dlopen(path, RTLD_NOW); if (!so) { puts(dlerror()); return 1; }\n"
                "    *(void **)&step[i] = dlsym(so, \"step\"); }\n"
                "  sigset_t go; sigemptyset(&go); sigaddset(&go, SIGUSR1); sigprocmask(SIG_BLOCK, &go, NULL);\n"
                "  int number; puts(\"ready\"); fflush(stdout); sigwait(&go, &number);\n"
                "  for (long i = 0; i < cnt; i++) step[i](fire, i);\n"
                "  sigwait(&go, &number);\n"
                "  return 0; }\n")
    mark = bytes(range(0xa0, 0xb4))
    flags = ("-O0", "-fno-omit-frame-pointer", "-Iinclude")
    for argv in ((gcc, *flags, "-shared", "-fPIC", f"-Wl,--build-id=0x{mark.hex()}", source, "-o", t.path("lib.so")),
                 (gcc, *flags, program, "-o", t.path("many"), "-ldl")):
        built = t.run(*argv)
        t.eq(built.rc, 0, built.err)
    with open(t.path("lib.so"), "rb") as f:
        image = f.read()
    t.eq(image.count(mark), 1, "build IDs in the library")
    os.mkdir(t.path("libs"))
    for i in range(count):
        with open(t.path(f"libs/{i}.so"), "wb") as f:
            f.write(image.replace(mark, i.to_bytes(20, "big")))
    return [t.path("many"), t.path("libs"), count]


def record_many_files(t, count, *prefix):
    """Events, and how many of them lack the name of their file's function."""
    program, file = t.start(*many_files(t, count)), t.path("trace.tapir")
    program.wait_line("ready", 30)
    tapir = t.start(*prefix, t.tapir_path, "record", "many:hit", *EVENTS_ONLY, "--stack", "-p", program.pid, "-o", file)
    tapir.wait_ready("1 probe", 30)
    program.go()
    time.sleep(1.5)
    program.go()
    result = tapir.wait(30)
    t.eq(result.rc, 0, result.err)
    events = t.events(file)
    t.eq([args_of(e)[0] for e in events], list(range(count)), "events")
    return sum(not any(frame["name"] == "step" for frame in e["stack"]) for e in events), t.report(file)["incomplete"]


def test_functions_of_1100_files_have_names(t):
    missing, lost = record_many_files(t, 1100)
    t.eq(missing, 0, "files whose function has no name")
    t.ok(not lost, f"lost: {lost}")


def test_missing_names_are_counted_when_there_are_too_few_descriptors(t):
    missing, lost = record_many_files(t, 300, t.need("prlimit"), "--nofile=200:200")
    t.ok(missing > 100, f"files without names: {missing}")
    t.ok(lost.get("files_full", 0) >= missing, f"{missing} names are missing, and it is counted: {lost}")


# ---- names with spaces ---------------------------------------------------------------------------------


def test_paths_with_spaces_are_paths(t):
    """Of programs, of libraries they load, of SPECs, and of files written and read."""
    place = t.path("with some spaces; and 'quotes'")
    os.mkdir(place)
    for name in ("dlopener", "plug"):
        shutil.copy(t.target_path(name), place)
    program, file = os.path.join(place, "dlopener"), os.path.join(place, "a trace.tapir")
    t.tapir("record", f"{program}:dlopener", "plug:hit", *EVENTS_ONLY, "--stack", "-o", file, "--", program, 2, 3)
    events = t.events(file)
    t.eq([e["event"] for e in events], ["before", "hit", "hit", "hit"] * 2, "events")
    t.eq({e["stack"][0]["module"] for e in events}, {program, os.path.join(place, "plug")}, "modules")
    t.ok(all(e["stack"][0]["name"] for e in events), "names")
    t.eq([line["name"] for line in t.tapir("list", program, "--json").json_lines()], ["before"], "list")
    for command in (("export", "--format", "folded", "--event", "*"), ("flamegraph", "--event", "*")):
        out = os.path.join(place, "an output")
        t.tapir(*command, file, "-f", "-o", out)
        t.ok(os.path.getsize(out), f"{command[0]}")


# ---- the clock -------------------------------------------------------------------------------------------


def test_utc_is_right_before_the_clock_was_set(t):
    """The recorder's clock jumps by an hour while it records; the machine's stays."""
    source, library, file = t.path("jump.c"), t.path("jump.so"), t.path("trace.tapir")
    with open(source, "w", encoding="ascii") as f:
        f.write("#include <time.h>\n#include <unistd.h>\n#include <sys/syscall.h>\n"
                "int clock_gettime(clockid_t clock, struct timespec *ts) { static long first; struct timespec now;\n"
                "  int rc = (int)syscall(SYS_clock_gettime, clock, ts);\n"
                "  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now); if (!first) first = now.tv_sec;\n"
                "  if (clock == CLOCK_REALTIME && now.tv_sec > first + 2) ts->tv_sec += 3600;\n"
                "  return rc; }\n")
    t.eq(t.run(t.need("gcc"), "-shared", "-fPIC", source, "-o", library).rc, 0, "gcc")
    target = t.target("storm", "--wait-attached", 50, 1000000, 1)
    began = time.time() - time.monotonic()
    t.run("env", f"LD_PRELOAD={library}", t.tapir_path, "record", "storm:hit", *EVENTS_ONLY, "-p", target.pid, "-d", 5, "-o", file, timeout=30)
    target.kill()
    off = [datetime.datetime.fromisoformat(e["utc"][:26] + "+00:00").timestamp() - began - e["time_ns"] / 1e9
           for e in t.events(file)]
    steps = [b - a for a, b in zip(off, off[1:]) if abs(b - a) > 0.1]
    t.eq([round(step) for step in steps], [3600], "steps of UTC among the events")
    t.ok(all(abs(o) < 0.1 or abs(o - 3600) < 0.1 for o in off), "UTC before and after it")
    t.ok(abs(off[0]) < 0.1 and sum(abs(o) < 0.1 for o in off) > 40, "events before it")


def test_recording_begins_at_the_next_second_when_asked_to(t):
    file, before = t.path("at.tapir"), time.time()
    said = t.tapir("record", "--no-sched", "-F", 997, "--at", "/1s", "-o", file, "--", t.target_path("burner"), 300).err
    t.ok(re.search(r"recording begins at \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\n", said), said)
    began = min(record["utc"] for record in t.events(file, "sample"))
    t.ok(began >= time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(int(before) + 1)), f"{began} is not before the second after {before}")
    for wrong in ("25:00", "/0", "soon"):
        t.ok("--at" in t.tapir("record", "--at", wrong, "-o", file, "-f", "--", "true", expect=2).err, wrong)
    t.ok("it exists" in t.tapir("record", "--at", "/1s", "-o", file, "--", "true", expect=1).err, "said before the time has come")

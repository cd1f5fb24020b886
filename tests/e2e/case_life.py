# SPDX-License-Identifier: GPL-2.0-or-later
"""From the first option to the exit status: outputs that cannot be written, targets that are dead, readers that stall."""
import os
import signal
import subprocess
import time

from harness import Failure

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
    for room in (0, 4096, 8192):  # for nothing; for the header; for it and little more
        free = f"truncate -s -{room} fill;" if room else ""
        result = on_full_disk(t, f"{free} '{tapir}' record storm:hit --no-compress -f -o old.tapir -- '{storm}' 0 3000 1")
        t.ok("rc 1\n" in result.out, f"{room}: exit status: {result.out} {result.err}")
        t.ok("ENOSPC" in result.err and "existing file is unchanged" in result.err, f"{room}: {result.err}")
        t.ok(result.out.endswith("rc 1\nold.tapir\nprecious"), f"{room}: files that are left: {result.out!r}")
        t.ok("->" not in result.err, f"{room}: no file is promised: {result.err}")


def test_nothing_is_left_when_the_disk_has_no_room(t):
    storm, tapir = t.target_path("storm"), t.tapir_path
    for room in (0, 4096):
        free = f"truncate -s -{room} fill;" if room else ""
        result = on_full_disk(t, f"{free} '{tapir}' record storm:hit --no-compress -o new.tapir -- '{storm}' 0 3000 1")
        t.ok("ENOSPC" in result.err, f"{room}: {result.err}")
        t.ok(result.out.endswith("rc 1\nold.tapir\nprecious"), f"{room}: files that are left: {result.out!r}")


def test_old_recording_is_replaced_when_the_new_one_has_data(t):
    file = t.path("kept.tapir")
    with open(file, "w", encoding="utf-8") as f:
        f.write("precious")
    target = t.target("storm", "--wait-attached", 1000, 10000000, 1)
    tapir = t.start_tapir("record", "storm:hit", "-p", target.pid, "-f", "-o", file)
    end = time.monotonic() + 10
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
    tapir.wait_line("tapir: 1 probe")
    time.sleep(0.3)
    os.unlink(os.path.join(directory, "x.tapir"))
    os.rmdir(directory)
    result = tapir.wait(10)  # it ends by itself: more would be lost
    one_error(t, result, 1, "x.tapir", "deleted")
    t.ok("->" not in result.err, f"no file is promised: {result.err}")
    target.kill()


def test_output_is_reported_when_it_was_renamed(t):
    file = t.path("x.tapir")
    target = t.target("storm", "--wait-attached", 1000, 10000000, 1)
    tapir = t.start_tapir("record", "storm:hit", "-p", target.pid, "-o", file)
    tapir.wait_line("tapir: 1 probe")
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
    cases = (("/no/such/dir/x", "ENOENT"), (t.tmp, "EISDIR"), (t.tmp + "/", "EISDIR"), (t.path("fifo"), "ENXIO"),
             ("/dev/full", "ENOSPC"), (t.path("dangling"), "EEXIST"), (storm + "/x", "ENOTDIR"))
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
        one_error(t, t.run(t.tapir_path, *command, file, "-o", fifo, timeout=10), 1, "fifo", "ENXIO")


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


# ---- readers that stall --------------------------------------------------------------------------


def stalled(t, *args):
    """tapir with a stdout that nobody reads; its stderr is read."""
    read_end, write_end = os.pipe()
    tapir = subprocess.Popen([t.tapir_path, *map(str, args)], stdin=subprocess.DEVNULL, stdout=write_end,
                             stderr=subprocess.PIPE, text=True)
    os.close(write_end)
    return tapir, read_end


def ended(t, tapir, since, what, may_be_killed=False):
    try:
        _, err = tapir.communicate(timeout=20)
    except subprocess.TimeoutExpired:
        raise Failure(f"{what}: still running after 20 s") from None
    finally:
        tapir.kill()
    seconds = time.monotonic() - since
    t.ok(seconds < ENDS_SECONDS, f"{what}: ended after {seconds:.1f} s")
    if tapir.returncode != -signal.SIGINT or not may_be_killed:
        t.eq(tapir.returncode, 1, f"{what}: {err}")
        t.ok("stalled" in err, f"{what}: {err}")


def test_recording_ends_when_the_reader_of_its_pipe_stalls(t):
    for command in (("record", "-o", "-", "--no-compress"), ("trace",)):
        target = t.target("storm", "--wait-attached", 20000, 100000000, 2)
        args = (*command, "storm:hit", "-p", target.pid)
        tapir, pipe = stalled(t, *args)
        time.sleep(1)  # the pipe is full
        tapir.send_signal(signal.SIGINT)
        ended(t, tapir, time.monotonic(), f"{command[0]}, SIGINT")
        os.close(pipe)
        since = time.monotonic()
        tapir, pipe = stalled(t, *args, "-d", 1)
        ended(t, tapir, since + 1, f"{command[0]}, -d")
        os.close(pipe)
        target.kill()


def test_pipe_gets_everything_when_its_reader_is_slow(t):
    """A slow reader is no stalled one: it gets the rest after the end, too."""
    target = t.target("storm", "--wait-attached", 20000, 100000000, 2)
    tapir, pipe = stalled(t, "record", "-o", "-", "--no-compress", "storm:hit", "-p", target.pid, "-d", 1)
    time.sleep(1.2)
    with open(t.path("slow.tapir"), "wb") as f:
        while data := os.read(pipe, 16384):
            f.write(data)
            time.sleep(0.002)
    os.close(pipe)
    _, err = tapir.communicate(timeout=20)
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
        ended(t, tapir, time.monotonic(), str(command), may_be_killed=True)
        os.close(pipe)

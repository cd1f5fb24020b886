# SPDX-License-Identifier: GPL-2.0-or-later
"""Requests to block devices: the bytes of each file are those that the program says it moved."""
import contextlib
import json
import os
import signal
import time

from case_dead_files import dead_fs

BLOCK_BYTES = 65536  # of disker: O_DIRECT moves so many at a time


def need_disk(t):
    """A directory whose files are on a block device, by name."""
    dev = os.stat(t.tmp).st_dev
    if not os.path.exists(f"/sys/dev/block/{os.major(dev)}:{os.minor(dev)}"):
        t.skip("the tests' directory is on no block device")
    os.mkdir(t.path("disk"))
    return os.path.realpath(t.path("disk"))


def from_root(path):
    """The path from the file system's root, which differs below a bind mount such as that of the tests' tree."""
    mounts = [line.split() for line in open("/proc/self/mountinfo", encoding="utf-8")]
    mounts = [(m[2], *(text.encode().decode("unicode_escape") for text in m[3:5])) for m in mounts]
    device, root, where = max((m for m in mounts if os.path.commonpath([m[2], path]) == m[2]), key=lambda m: len(m[2]))
    top = next((m[2] for m in mounts if m[:2] == (device, "/")), "/")
    return "/" + os.path.normpath(f"{top}/{root}/{os.path.relpath(path, where)}").lstrip("/")


def record(t, *options):
    """The directory from its file system's root, the program's own counts, its pid, the requests and their file."""
    directory, file = need_disk(t), t.path("io.tapir")
    result = t.tapir("record", "--io", "--no-samples", "--no-sched", *options, "-o", file, "--", t.target_path("disker"), directory)
    said = result.json_lines()[0]
    pid = int(next(line for line in result.out.splitlines() if line.startswith("pid ")).split()[1])
    return from_root(directory), said, pid, t.events(file, "io"), file


def bytes_of(requests, op, name):
    return sum(r["bytes"] for r in requests if r["op"] == op and r["file"] == name)


def lost(t, file):
    """The requests that tapir says are not in the recording: on a busy machine the kernel does not report the end of each."""
    return sum(loss["count"] for loss in t.events(file, "loss") if loss["kind"] == "io")


def check_moved(t, seen, moved, lost_cnt, what, largest=None):
    """largest: the bytes of a request, at most; otherwise one has all."""
    t.ok(0 <= moved - seen <= lost_cnt * (largest or moved), f"{what}: {seen} bytes, the program moved {moved}; {lost_cnt} requests lost")


def test_each_file_has_the_bytes_that_were_moved(t):
    directory, said, pid, requests, file = record(t, "-a")
    lost_cnt = lost(t, file)
    for op, name, count, largest in (
            ("write", "buffered", "written", None), ("read", "buffered", "read", None), ("write", "direct", "direct_written", BLOCK_BYTES),
            ("read", "direct", "direct_read", BLOCK_BYTES), ("write", "gone (deleted)", "gone", None)):
        check_moved(t, bytes_of(requests, op, f"{directory}/{name}"), said[count], lost_cnt, f"{op} {name}", largest)
    deep = [r for r in requests if r["file"] and r["file"].startswith("...") and r["file"].endswith("/d19/d20/deep") and r["pid"] == pid]
    check_moved(t, sum(r["bytes"] for r in deep), said["deep"], lost_cnt, "a path of more than 16 parts")
    direct = [r for r in requests if r["file"] == f"{directory}/direct"]
    t.eq({r["pid"] for r in direct}, {pid}, "who made them")
    t.ok(all("direct" in r["flags"] for r in direct), "O_DIRECT")
    t.ok(all(r["device_ns"] > 0 and not r["error"] for r in direct), "they took a time")
    t.ok(any(f["name"] and "pwrite" in f["name"] for r in direct for f in r["stack"]), "their stack")
    check_view(t, file, f"{directory}/direct", requests)


def check_view(t, file, path, requests):
    view = json.loads(t.tapir("report", file, "--view", "io", "--top", 100000, "--json").out)
    row = next(row for row in view["files"] if row["file"] == path)
    read, written = (bytes_of(requests, op, path) for op in ("read", "write"))
    t.eq((row["read_bytes"], row["written_bytes"]), (read, written), "of the view")
    t.ok(row["p50_ns"] <= row["p99_ns"] <= row["max_ns"], "percentiles")
    rows = t.tapir("query", file, f"SELECT sum(bytes) FROM io WHERE file = '{path}' AND op = 'write'", "--json").out
    t.eq(json.loads(rows)[0], {"sum(bytes)": written}, "of the table")


def test_only_the_target_s_requests(t):
    directory, said, pid, requests, file = record(t)
    t.eq({r["pid"] for r in requests}, {pid}, "processes")
    check_moved(t, bytes_of(requests, "write", f"{directory}/direct"), said["direct_written"], lost(t, file), "O_DIRECT", BLOCK_BYTES)
    t.ok("block requests were not recorded" not in t.tapir("report", file, "--view", "io").out, "the view")
    text = t.tapir("report", file).out
    t.ok("Disk " in text and "MB/s: disker" in text, text)


def test_requests_that_nobody_asked_for(t):
    file = t.path("no.tapir")
    t.tapir("record", "-o", file, "--", "true")
    out = t.tapir("report", file, "--view", "io").out
    t.ok("block requests were not recorded: `tapir record --io` records them" in out, out)


@contextlib.contextmanager
def loop_device(t, path):
    """A block device that reads the file."""
    made = t.run(t.need("losetup"), "--find", "--read-only", "--show", path)
    if made.rc:
        t.skip("no loop device can be made here")
    device = made.out.strip()
    try:
        yield device
    finally:
        t.run("losetup", "--detach", device)


def test_request_that_has_no_end_is_counted_as_lost(t):
    """Its device reads a file whose server has stopped answering."""
    image, fifo, file = t.path("image"), t.path("fifo"), t.path("io.tapir")
    os.mkfifo(fifo)
    with open(image, "wb") as out:
        out.truncate(1 << 20)
    with dead_fs(t) as fs, loop_device(t, fs.add(image)) as device:
        reader = t.start("sh", "-c",
                         f'echo "pid $$"; read go <"$1"; exec dd if={device} of=/dev/null bs=4096 count=1 skip=100 iflag=direct', "sh", fifo)
        reader.wait_line("pid ")
        fs.command("hang read")
        tapir = t.start_tapir("record", "--io", "--no-samples", "--no-sched", "-p", reader.pid, "-f", "-o", file)
        tapir.wait_ready()
        with open(fifo, "w", encoding="utf-8") as out:
            out.write("go\n")
        t.eq(fs.process.stdout.readline(), b"hung read\n", "of the server")
        time.sleep(2)  # one that is a second old at the end has none
        tapir.signal(signal.SIGINT)
        t.eq(tapir.wait().rc, 0, "exit of tapir")
    # The shell may read dd's own file from a disk: those requests end.
    t.eq([r for r in t.events(file, "io") if r["disk"] == os.path.basename(device)], [], "requests of the device")
    lost_cnt = sum(loss["count"] for loss in t.events(file, "loss") if loss["cause"] == "io_unfinished")
    first = t.tapir("report", file).out.splitlines()[0]
    t.ok(lost_cnt >= 1 and f"{lost_cnt} lost" in first, f"{lost_cnt} without an end; {first}")

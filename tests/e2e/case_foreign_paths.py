# SPDX-License-Identifier: GPL-2.0-or-later
"""Paths of traced processes mean what they mean to the process, and nothing is opened that is not a file."""
import contextlib
import os
import shutil
import signal
import threading
import time

# Maps a file as code and drops it at once, again and again: whoever looks comes too late.
MAPPER = """
import mmap, os, sys, time
fd = os.open(sys.argv[1], os.O_RDONLY)
print("pid", os.getpid(), flush=True)
for _ in range(400):
    mmap.mmap(fd, 4096, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_EXEC).close()
    time.sleep(0.005)
"""


class Fifo:
    """A FIFO that tells whether anybody opened it for reading."""

    def __init__(self, path):
        self.path, self.was_opened = path, threading.Event()
        os.mkfifo(path)
        self.thread = threading.Thread(target=self._watch, daemon=True)
        self.thread.start()

    def _watch(self):
        fd = os.open(self.path, os.O_WRONLY)  # returns when it has a reader
        if not self.is_over:
            self.was_opened.set()
        os.close(fd)

    is_over = False

    def close(self):
        self.is_over = True
        os.close(os.open(self.path, os.O_RDONLY | os.O_NONBLOCK))
        self.thread.join(5)


def test_lost_mapping_is_looked_for_where_its_process_saw_it(t):
    """The same path is a FIFO here, and a program there."""
    path = t.path("program")
    fifo = Fifo(path)
    with open(t.path("mapper.py"), "w", encoding="ascii") as script:
        script.write(MAPPER)
    inside = f"mount --bind {t.target_path('storm')} {path} && exec {t.need('python3')} {t.path('mapper.py')} {path}"
    target = t.start(t.need("unshare"), "--mount", "sh", "-c", inside)
    pid = int(target.wait_line("pid ").split()[1])
    file = t.path("trace.tapir")
    t.tapir("record", "-F", 99, "-f", "-o", file, "-p", pid, timeout=30)
    was_opened = fifo.was_opened.is_set()
    fifo.close()
    t.ok(not was_opened, "the FIFO of this namespace was opened")
    t.ok(any(m.get("path") == path and m.get("build_id") for m in t.events(file, "mapping")),
         "the mapping has no build ID: its file was not found")


def is_watched(pid, status):
    """Returns true if the process has an inotify watch of that file."""
    wanted = f" ino:{status.st_ino:x} sdev:{os.major(status.st_dev) << 20 | os.minor(status.st_dev):x} "
    for name in os.listdir(f"/proc/{pid}/fdinfo"):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/fdinfo/{name}", encoding="ascii") as info:
            if any(line.startswith("inotify ") and wanted in line for line in info):
                return True
    return False


def test_files_of_processes_that_ended_in_another_mount_namespace_are_known(t):
    """The path is nothing here, and each process is gone before anyone looks: a longer one has mapped the same file, which stays. What
    tapir knows of a file ends with its file system, whose device is soon the one of another."""
    there, file, go = t.path("there"), t.path("trace.tapir"), t.path("go")
    path = f"{there}/program"
    os.mkdir(there)
    inside = (f"mount -t tmpfs tmpfs {there} && cp {t.need('sleep')} {path} && {{ {path} 60 & }} && echo pid $! && while [ ! -e {go} ]; do sleep 0.05; done; "
              f"for i in 1 2 3 4 5 6 7 8 9 10; do {path} 0; done; echo over; wait")
    shell = t.start(t.need("unshare"), "--mount", "sh", "-c", inside)
    pid = shell.wait_line("pid ").split()[1]
    tapir = t.start_tapir("record", "-a", "-F", 99, "-f", "-o", file)
    tapir.wait_ready()
    while not is_watched(tapir.pid, os.stat(f"/proc/{pid}/root{path}")):  # what was there before is read bit by bit
        t.ok(tapir.child.poll() is None, f"tapir has ended: {''.join(tapir.err)}")
        time.sleep(0.02)
    open(go, "wb").close()
    shell.wait_line("over")
    tapir.signal(signal.SIGINT)
    t.eq(tapir.wait().rc, 0, "exit of tapir")
    known = [bool(m.get("build_id")) for m in t.events(file, "mapping") if m.get("path") == path]
    lost = t.report(file)["lost"]  # the whole machine's mappings share a ring for each CPU
    t.ok(known and (len(known) >= 10 or lost) and all(known), f"mappings with a build ID: {known}, lost: {lost}")


def test_debug_link_to_a_fifo_is_not_opened(t):
    objcopy = t.need("objcopy")
    program, debug = t.path("burner"), t.path("burner.debug")
    shutil.copy(t.target_path("burner"), debug)
    # Without a build ID the link is all there is, and without symbols it is wanted.
    t.run(objcopy, "--strip-all", "--remove-section=.note.gnu.build-id", f"--add-gnu-debuglink={debug}", debug, program)
    os.chmod(program, 0o755)
    os.unlink(debug)
    fifo = Fifo(debug)
    file = t.path("trace.tapir")
    t.tapir("record", "-F", 499, "-f", "-o", file, "--", program, 300)
    was_opened = fifo.was_opened.is_set()
    fifo.close()
    t.ok(len(t.events(file, "sample")) > 20, "samples of it")
    t.ok(not was_opened, "the FIFO was opened")


def test_debug_link_is_followed_beside_the_file_alone(t):
    """In a namespace of its own the program's directory is another one than here: its debug file counts, ours does not."""
    objcopy = t.need("objcopy")
    here, there = t.path("here"), t.path("there")
    os.mkdir(here)
    os.mkdir(there)
    debug = os.path.join(there, "burner.debug")
    shutil.copy(t.target_path("burner"), debug)
    t.run(objcopy, "--strip-all", "--remove-section=.note.gnu.build-id", f"--add-gnu-debuglink={debug}", debug,
          os.path.join(there, "burner"))
    os.chmod(os.path.join(there, "burner"), 0o755)
    for where, is_named in ((there, True), (here, False)):
        if not is_named:
            shutil.move(debug, os.path.join(here, "burner.debug"))
        inside = f"mount --bind {there} {here} && exec {here}/burner 60000"
        target = t.start(t.need("unshare"), "--mount", "sh", "-c", inside)
        pid = int(target.wait_line("pid ").split()[1])
        file = t.path("trace.tapir")
        tapir = t.start_tapir("record", "-F", 499, "-f", "-o", file, "-p", pid)
        time.sleep(1.5)
        tapir.signal(signal.SIGINT)
        t.eq(tapir.wait(10).rc, 0, "exit")
        target.kill()
        t.processes.remove(target)
        t.eq("burn_much" in t.tapir("export", "--format", "folded", file).out, is_named, f"its names, debug file in {where}")

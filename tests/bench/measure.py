# SPDX-License-Identifier: GPL-2.0-or-later
"""What the benchmarks observe of processes from outside: sites, attachment, CPU time, memory."""

import json
import os
import pathlib
import platform
import re
import shutil
import struct
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ATTACH_SECONDS = 20
RUN_SECONDS = 120


class Failed(Exception):
    """A measurement could not be taken; the text says why."""


def say(text):
    print(f"[bench] {text}", file=sys.stderr, flush=True)


class Context:
    """The paths of programs and files; the directory of its outputs is empty at the start."""

    def __init__(self, build, work):
        self.build = os.path.abspath(build)
        self.bench = os.path.join(self.build, "bench")
        self.work = os.path.join(self.bench, work)
        self.tapir = os.path.join(self.build, "tapir")
        shutil.rmtree(self.work, ignore_errors=True)
        os.makedirs(self.work)


def compile_bare(context, programs):
    """Compiles the loader that is written by hand, peers/bare.c, and its BPF programs, peers/PROGRAMS.bpf.c."""
    arch = platform.machine()
    triplet = subprocess.run(["gcc", "-print-multiarch"], capture_output=True, text=True, check=True).stdout.strip()
    subprocess.run(["clang", "-std=gnu11", "-g", "-O2", "-target", "bpf", f"-D__TARGET_ARCH_{'x86' if arch == 'x86_64' else 'arm64'}", "-Wall",
                    "-Werror", "-Wno-missing-declarations", "-isystem", str(HERE.parent.parent / "vmlinux" / arch),
                    f"-I/usr/include/{triplet}", "-c", str(HERE / f"peers/{programs}.bpf.c"), "-o", f"{context.bench}/{programs}.bpf.o"],
                   check=True)
    subprocess.run(["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-Werror", str(HERE / "peers/bare.c"), "-lbpf",
                    "-o", f"{context.bench}/bare"], check=True)


def in_turns(entries, rounds):
    """(number of the round, entry) of each round, which begins with another entry each time."""
    for number in range(rounds):
        turn = number * 5 % max(len(entries), 1)
        for entry in entries[turn:] + entries[:turn]:
            yield number, entry


def failures(results):
    """Says what was not measured though its tool is here; returns how much that is."""
    failed = [f"{' '.join(key)}: {r['failed']}" for key, rounds in results.items() for r in rounds if "failed" in r and not r.get("absent")]
    for reason in failed:
        say(f"not measured: {reason}")
    return len(failed)


def write_page(marks, lines, load, max_load, rounds, failed):
    """Puts a table between two marks of README.md, if the machine was quiet and everything was measured."""
    page = HERE / "README.md"
    if load > max_load or failed:
        say(f"{page.name} is left as it is: " + (f"the load was {load:.1f}, above {max_load}" if load > max_load
                                                 else "not everything was measured"))
        return
    head = f"Linux {platform.release()}, {os.cpu_count()} CPUs, load at most {load:.1f}, {rounds} rounds."
    body = "\n".join([marks[0], head, "", *lines, marks[1]])
    text = page.read_text(encoding="utf-8")
    page.write_text(re.sub(re.escape(marks[0]) + ".*?" + re.escape(marks[1]), lambda _: body, text, flags=re.S), encoding="utf-8")


def finish(context, name, options, rounds, load, lines, marks, max_load):
    """Writes the results of each round to NAME.json, prints the table and, if asked to, puts it into README.md; the exit status."""
    with open(f"{context.bench}/{name}.json", "w", encoding="utf-8") as file:
        json.dump({"kernel": platform.release(), "load": load, "options": vars(options),
                   "rounds": {": ".join(key): found for key, found in rounds.items()}}, file, indent=1)
    print("\n".join(lines))
    failed = failures(rounds)
    if options.write:
        write_page(marks, lines, load, max_load, options.rounds, failed)
    return 1 if failed else 0


class Sites:
    """The USDT sites of an ELF file: file offset and operands by (provider, name)."""

    def __init__(self, path):
        self.path = os.path.abspath(path)
        with open(path, "rb") as file:
            self.data = file.read()
        self.loads = [p[1:] for p in self._headers(32, 54, "<IIQQQQQQ")
                      if p[0] == 1]  # PT_LOAD: flags, offset, vaddr, paddr, filesz, memsz, align
        self.by_name = {}
        for section in self._headers(40, 58, "<IIQQQQIIQQ"):
            if section[1] == 7:  # SHT_NOTE
                self._read_notes(self.data[section[4]:section[4] + section[5]])

    def _headers(self, where_at, size_at, layout):
        where, = struct.unpack_from("<Q", self.data, where_at)
        size, count = struct.unpack_from("<HH", self.data, size_at)
        return [struct.unpack_from(layout, self.data, where + i * size) for i in range(count)]

    def _read_notes(self, notes):
        at = 0
        while at + 12 <= len(notes):
            name_bytes, desc_bytes, kind = struct.unpack_from("<III", notes, at)
            at += 12
            owner = notes[at:at + name_bytes]
            at += (name_bytes + 3) & ~3
            desc = notes[at:at + desc_bytes]
            at += (desc_bytes + 3) & ~3
            if owner == b"stapsdt\0" and kind == 3:
                address, = struct.unpack_from("<Q", desc)
                words = [w.decode() for w in desc[24:].split(b"\0")]
                self.by_name[(words[0], words[1])] = (self._offset(address), words[2])

    def _offset(self, address):
        for _, offset, vaddr, _, file_bytes, _, _ in self.loads:
            if vaddr <= address < vaddr + file_bytes:
                return address - vaddr + offset
        raise Failed(f"{self.path}: a site lies in no segment")

    def addresses(self, pid):
        """Where the sites lie in a running process."""
        spans = []
        with open(f"/proc/{pid}/maps") as maps:
            for line in maps:
                fields = line.split(None, 5)
                if len(fields) == 6 and fields[5].strip() == self.path and "x" in fields[1]:
                    start, end = (int(x, 16) for x in fields[0].split("-"))
                    spans.append((start, end - start, int(fields[2], 16)))
        return [start + offset - first for offset, _ in self.by_name.values()
                for start, size, first in spans if first <= offset < first + size]


def wait_until(condition, seconds, what, step=0.0005):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise Failed(f"{what}: not within {seconds} s")
        time.sleep(step)


def wait_attached(target, sites, tracer):
    """Waits until each site of the process is a breakpoint; returns the time that was."""
    addresses = sites.addresses(target.pid)
    low, high = min(addresses), max(addresses)
    with open(f"/proc/{target.pid}/mem", "rb", buffering=0) as memory:
        def all_on():
            if tracer.poll() is not None:
                raise Failed(f"the tracer ended with status {tracer.returncode}")
            code = os.pread(memory.fileno(), high - low + 1, low)
            return all(code[a - low] == 0xCC for a in addresses)
        wait_until(all_on, ATTACH_SECONDS, "attaching")
    return time.monotonic()


class Target:
    """A traced program that says a line when it is ready and runs when it gets one."""

    def __init__(self, argv):
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)
        self.pid = self.process.pid
        self.ready = self.process.stdout.readline()

    def go(self):
        """Lets it run to its end; returns the last line it printed."""
        try:
            out, _ = self.process.communicate("go\n", timeout=RUN_SECONDS)
        except subprocess.TimeoutExpired:
            self.stop()
            raise Failed(f"the workload took more than {RUN_SECONDS} s") from None
        if self.process.returncode != 0 or not out.strip():
            raise Failed(f"the workload ended with status {self.process.returncode}")
        return out.strip().splitlines()[-1]

    def stop(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            pipe.close()


def run_traced(argv, tracer, sites):
    """One run of a program under a tracer: what both of them say of it, or {"failed": why}."""
    target = None
    try:
        tracer.prepare()
        target = Target(argv)
        tracer.start(target, sites)
        return {**json.loads(target.go()), **tracer.finish()}
    except (Failed, OSError, ValueError, LookupError, StopIteration) as reason:
        tracer.abandon()
        return {"failed": f"{type(reason).__name__}: {reason}"}
    finally:
        if target:
            target.stop()


def cpu_seconds(pid):
    """CPU time of a running process in ns resolution, with that of threads that have ended: a sum over those that are there
    became smaller when one ended. OSError: there is no such process."""
    return time.clock_gettime(~pid << 3 | 2)  # clock_getcpuclockid(3)


def resident_mib(pid):
    """RSS of a process without the pages of BPF maps: a ring's data is mapped twice and belongs
    to the ring, however it is sized."""
    kib, counts = 0, False
    with open(f"/proc/{pid}/smaps") as file:
        for line in file:
            if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
                counts = "anon_inode:bpf" not in line
            elif line.startswith("Rss:") and counts:
                kib += int(line.split()[1])
    return kib / 1024


def holds_open(pid, path):
    """Does the process have the file open?"""
    wanted = os.path.realpath(path)
    try:
        names = os.listdir(f"/proc/{pid}/fd")
    except OSError:
        return False
    for name in names:
        try:
            if os.readlink(f"/proc/{pid}/fd/{name}") == wanted:
                return True
        except OSError:
            continue
    return False

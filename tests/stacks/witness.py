# SPDX-License-Identifier: GPL-2.0-or-later
"""Stacks by others: gdb's of all threads of a stopped process, and those of perf record --call-graph dwarf."""
import json
import os
import re

# gdb has no unwind data of generated code and of .NET's compiled libraries, and would take the stack pointer for a frame's
# end: there, callers are found by rbp.
GDB_SCRIPT = """
import gdb, gdb.unwinder, json
pid = gdb.selected_inferior().pid

def generated():
    ranges = []
    for line in open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace"):
        words = line.split(maxsplit=5)
        name = words[5].strip() if len(words) > 5 else ""
        is_elf = name.startswith(("/", "[vdso", "[vsyscall")) and not name.startswith("/memfd:") and not name.endswith(".dll")
        if "x" in words[1] and not is_elf:
            ranges.append([int(end, 16) for end in words[0].split("-")])
    return ranges

class FrameId:
    def __init__(self, sp, pc):
        self.sp, self.pc = sp, pc

class ByFramePointer(gdb.unwinder.Unwinder):
    def __init__(self):
        super().__init__("generated code")
        self.ranges = generated()

    def __call__(self, pending):
        pc, fp = pending.read_register("rip"), pending.read_register("rbp")
        if not any(start <= int(pc) < end for start, end in self.ranges):
            return None
        at = int(fp) & (1 << 64) - 1
        try:
            saved = bytes(gdb.selected_inferior().read_memory(at, 16))
        except gdb.MemoryError:
            return None
        info = pending.create_unwind_info(FrameId(fp + 16, pc))
        info.add_saved_register("rip", gdb.Value(saved[8:], pc.type))
        info.add_saved_register("rbp", gdb.Value(saved[:8], fp.type))
        info.add_saved_register("rsp", fp + 16)
        return info

gdb.unwinder.register_unwinder(None, ByFramePointer())
found = {}
for thread in gdb.selected_inferior().threads():
    thread.switch()
    frame, pcs, after_signal = gdb.newest_frame(), [], 0
    while frame is not None and frame.is_valid() and len(pcs) < 512:
        if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
            pcs.append([frame.pc() + after_signal, frame.name()])
            after_signal = frame.type() == gdb.SIGTRAMP_FRAME
        frame = frame.older()
    found[thread.ptid[1]] = pcs
print("FOUND " + json.dumps(found))
"""


def by_gdb(t, pid):
    """{tid: [(address, function), ...]} of a process that gdb stops and continues. What a signal interrupted is a byte on,
    as tapir has it: a return address."""
    script = t.path("stacks.gdb.py")
    with open(script, "w", encoding="utf-8") as file:
        file.write(GDB_SCRIPT)
    result = t.run(t.need("gdb"), "-nx", "-batch", "-iex", "set debuginfod enabled off", "-iex", "set auto-load no",
                   "-ex", "set backtrace past-main on", "-ex", "set backtrace past-entry on", "-p", pid, "-x", script,
                   timeout=60)
    line = next((line for line in result.out.splitlines() if line.startswith("FOUND ")), None)
    if line is None:
        t.skip(f"gdb reads no stacks here: {result.err.strip()[-200:]}")
    return {int(tid): [tuple(frame) for frame in frames] for tid, frames in json.loads(line[6:]).items()}


def by_perf(t, pid, seconds, hz=199):
    """The names of each sampled user stack, innermost first, as perf unwinds copies of the stack with the file's tables."""
    data = t.path("perf.data")
    perf = t.need("perf")
    result = t.run(perf, "record", "-q", "-e", "cpu-clock:u", "-F", hz, "--call-graph", "dwarf,16384", "-p", pid, "-o", data,
                   "--", "sleep", seconds, timeout=60)
    if result.rc or not os.path.exists(data):
        t.skip(f"perf does not record here: {result.err.strip()[-200:]}")
    out = t.run(perf, "script", "-i", data, "--no-inline", "-F", "ip,sym", timeout=120).out
    stacks = [re.findall(r"^\s+[0-9a-f]+ (.*)$", block, re.M) for block in out.split("\n\n")]
    return [stack for stack in stacks if stack]

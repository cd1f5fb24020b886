# SPDX-License-Identifier: GPL-2.0-or-later
"""How good the user stacks of a recording are: the share that is whole, that has the outermost function, and whose edges
are calls that the program makes. Judged by names alone: what tapir says of a stack's end is compared, never used."""
import functools
import json
import re
import struct
import subprocess

# Where threads begin: below these there is nothing.
ROOTS = re.compile(r"""_start | _dl_start_user | _?_?clone3? | start_thread | __libc_start_\w+ | __start_context |
                       runtime\.(goexit|rt0_go|mstart|mcall|morestack)(\.abi0)? | _rt0_amd64_linux""", re.X)
KINDS = ("samples", "waits", "events")


class Graph:
    """What a program calls. calls: function -> functions of the program it calls; libraries: those that also call
    functions of other files; callbacks: those that other files call."""

    def __init__(self, calls, libraries=(), callbacks=("main",), has_jit=False, package=None):
        self.calls, self.libraries, self.callbacks, self.has_jit = calls, set(libraries), set(callbacks), has_jit
        self.package = package  # of all its functions; others may have the same names
        self.functions = set(calls) | {name for names in calls.values() for name in names} | self.callbacks

    def is_wrong(self, callee, caller):
        """Are these two frames a call that nobody makes? Edges between functions that are not in the graph are right."""
        if caller["module"] is None and caller["name"] is None:
            return not self.has_jit  # an address of no file
        callee, caller = (self.own_name(frame) for frame in (callee, caller))
        if self.has_jit and not caller:
            return False  # the interpreter's frame, or code without a name
        is_own, calls_own = callee in self.functions, caller in self.functions
        if calls_own:
            return callee not in self.calls.get(caller, ()) if is_own else caller not in self.libraries
        return is_own and callee not in self.callbacks

    def own_name(self, frame):
        name = frame["name"] or ""
        return name if self.package and not name.startswith(self.package) else plain(frame)


def plain(frame):
    """A function's name without arguments, clones' marks and a package in front."""
    name = re.sub(r"\(.*|\[.*|\.(constprop|isra|part|cold|lto_priv)\b.*", "", frame["name"] or "")
    name = re.sub(r"::h[0-9a-f]{16}$", "", name)
    return re.split(r"::|\.(?=\w+$)|!", name)[-1]


class Shares:
    """Of stacks of one kind."""

    def __init__(self):
        self.stacks = self.whole = self.outermost = self.edged = self.wrong = self.one_frame = 0
        self.claims = {}  # how tapir says the stack ended -> [whole by its names, not]
        self.last = {}
        self.wrong_edges = {}

    def add(self, stack, outermost, graph, said):
        names = [frame["name"] or "" for frame in stack]
        is_whole = bool(ROOTS.fullmatch(plain_root(names[-1]))) or is_entry(stack[-1]) or is_coroutine(stack[-1])
        self.stacks += 1
        self.whole += is_whole
        self.one_frame += len(stack) == 1
        self.outermost += any(outermost.search(name) for name in names)
        self.claims.setdefault(said, [0, 0])[not is_whole] += 1
        if not is_whole:
            last = names[-1] or "?"
            self.last[last] = self.last.get(last, 0) + 1
        if not graph or len(stack) < 2:
            return
        wrong = [(plain(a) or "?", plain(b) or "?") for a, b in zip(stack, stack[1:]) if graph.is_wrong(a, b)]
        self.edged += 1
        self.wrong += bool(wrong)
        for edge in wrong:
            self.wrong_edges[edge] = self.wrong_edges.get(edge, 0) + 1

    def percent(self, what):
        of = self.edged if what == "wrong" else self.stacks
        return 100 * getattr(self, what) / of if of else None


ENTRY_BYTES = 0x30  # of _start


@functools.lru_cache
def entry_of(path):
    """The offset in the file of its first instruction; None: it is not an ELF file."""
    try:
        with open(path, "rb") as file:
            data = file.read(4096)
        entry, headers = struct.unpack_from("<QQ", data, 24)
        size, cnt = struct.unpack_from("<HH", data, 54)
        loads = [struct.unpack_from("<IIQQQQQQ", data, headers + i * size) for i in range(cnt)]
    except (OSError, struct.error):
        return None
    return next((entry - h[3] + h[2] for h in loads if h[0] == 1 and h[3] <= entry < h[3] + h[5]), None)


def is_entry(frame):
    """_start of a file without symbols."""
    entry = entry_of(frame["module"]) if frame["name"] is None and frame["module"] else None
    return entry is not None and entry <= frame["offset"] < entry + ENTRY_BYTES


# glibc's __start_context, below the first function of a coroutine; stripped libraries have no name for it.
START_CONTEXT = bytes.fromhex("4889dc488b3c244885ff")


@functools.lru_cache(maxsize=None)
def is_start_context(path, offset):
    """Does the file have these instructions where a coroutine's first function returns to?"""
    with open(path, "rb") as file:
        file.seek(offset)
        return file.read(len(START_CONTEXT)) == START_CONTEXT


def is_coroutine(frame):
    return frame["name"] is None and bool(frame["module"]) and is_start_context(frame["module"], frame["offset"])


def plain_root(name):
    return re.sub(r"@.*|\(.*", "", name)


def records(tapir, file):
    """The records of a recording, one by one."""
    with subprocess.Popen([tapir, "events", file, "--json"], stdout=subprocess.PIPE, text=True) as child:
        for line in child.stdout:
            if line.startswith("{"):
                yield json.loads(line)


def kind_of(record):
    if record["type"] == "sample":
        return "samples"
    if record["type"] == "event":
        return "events"
    if record["type"] == "switch" and record.get("state") not in (None, "runnable"):
        return "waits"
    return None


def of_recording(tapir, file, comms, outermost, graph=None, after_ns=0):
    """{kind: Shares} of the threads whose process's name fits, from after_ns of the recording on, and from where unwind tables are
    there: a busy machine takes longer to build them."""
    found = {kind: Shares() for kind in KINDS}
    outermost, comms, begin, stacks = re.compile(outermost), re.compile(comms), None, []
    for record in records(tapir, file):
        begin = begin or record["time_ns"] + after_ns
        if kind_of(record) and record.get("stack") and comms.search(record.get("comm") or ""):
            stacks.append(record)
    begin = max([begin or 0, *(record["time_ns"] + 1 for record in stacks if record.get("stack_end") == "not_yet")])
    for record in stacks:
        if record["time_ns"] >= begin:
            found[kind_of(record)].add(record["stack"], outermost, graph, record.get("stack_end"))
    return found

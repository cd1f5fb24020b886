# SPDX-License-Identifier: GPL-2.0-or-later
"""The file an instrumented program counts its call sites in (fault_table.h), and which errors each function may fail with."""
import errno
import mmap
import struct
import subprocess

FRAME_CNT = 12
HEADER = struct.Struct(f"<QIiIII4x{FRAME_CNT}Q")
SITE = struct.Struct("<QQI44s")
SITE_CNT = 4096
BYTES = HEADER.size + SITE_CNT * SITE.size
IN_LIBRARY = 1 << 40

FEW_FILES = ("EMFILE", "ENFILE", "ENOMEM")
ERRORS = {  # the first one at a site's first call, any at its later one
    "open": FEW_FILES + ("EIO",), "openat": FEW_FILES + ("EIO",), "openat2": FEW_FILES + ("EIO",),
    "opendir": FEW_FILES, "fopen": FEW_FILES, "fdopendir": ("ENOMEM",), "readdir": ("EIO",), "getdents64": ("EIO", "ENOMEM"),
    "read": ("EIO",), "pread": ("EIO",), "write": ("ENOSPC", "EIO", "EDQUOT"), "pwrite": ("ENOSPC", "EIO"),
    "writev": ("ENOSPC", "EIO"), "process_vm_readv": ("ENOMEM",), "fstat": ("EIO",), "statx": ("EIO",),
    "ftruncate": ("ENOSPC", "EIO"), "rename": ("EIO", "ENOSPC"), "renameat2": ("EIO", "ENOSPC"), "mkdirat": ("ENOSPC",),
    "mkdtemp": ("ENOSPC",), "fchmod": ("EIO",), "fchown": ("EIO",),
    "mmap": ("ENOMEM",), "memfd_create": FEW_FILES, "eventfd": FEW_FILES, "epoll_create1": FEW_FILES,
    "epoll_ctl": ("ENOMEM", "ENOSPC"), "signalfd": FEW_FILES, "pipe2": FEW_FILES, "dup2": ("EBUSY",), "socket": FEW_FILES,
    "socketpair": FEW_FILES, "bind": ("ENOMEM",), "listen": ("ENOMEM",), "connect": ("EAGAIN",), "accept4": FEW_FILES,
    "send": ("ENOBUFS",), "sendmsg": ("ENOBUFS",), "recvmsg": ("ENOMEM",), "fork": ("EAGAIN", "ENOMEM"),
    "clone3": ("EAGAIN", "ENOMEM"), "pthread_create": ("EAGAIN",), "perf_event_open": ("EMFILE", "ENOMEM", "ENOSPC"),
    "pidfd_open": FEW_FILES, "setgroups": ("ENOMEM",), "setresuid": ("EAGAIN",), "setresgid": ("EAGAIN",),
    "ptrace": ("EIO", "ENOMEM"), "ioctl": ("ENOMEM",), "bpf_link_create": ("ENOMEM", "EMFILE"),
    "bpf_map_create": ("ENOMEM", "EMFILE"), "bpf_prog_load": ("ENOMEM", "EMFILE"), "bpf": ("ENOMEM", "EMFILE"),
}


class Site:
    """A call site: what was called, from where, how often."""

    def __init__(self, key, called_from, cnt, name):
        self.key, self.called_from, self.cnt, self.name = key, called_from, cnt, name
        self.place = "" if called_from else name  # of the library: FILE:LINE

    @property
    def function(self):
        return self.name.removeprefix("libbpf ").split(" ")[0]

    def errors(self):
        """Names of errors, the typical one first."""
        return ERRORS.get(self.function, ("ENOMEM",))

    def __str__(self):
        return self.name if self.place in ("", self.name) else f"{self.name} at {self.place}"


class Table:
    """The file, mapped."""

    def __init__(self, path):
        self.path = path
        with open(path, "wb") as file:
            file.truncate(BYTES)
        with open(path, "r+b") as file:
            self.bytes = mmap.mmap(file.fileno(), BYTES)

    def arm(self, key=0, nth=0, error=None):
        """Forgets what was counted; key 0: nothing fails."""
        self.bytes[HEADER.size:] = bytes(BYTES - HEADER.size)
        self.bytes[:HEADER.size] = HEADER.pack(key, nth, getattr(errno, error) if error else 0, 0, 0, 0,
                                                *([0] * FRAME_CNT))

    def fired(self):
        return HEADER.unpack_from(self.bytes)[3]

    def callers(self, program):
        """The functions that the call which failed was below of, innermost first."""
        frames = [at for at in HEADER.unpack_from(self.bytes)[6:] if 0 < at < IN_LIBRARY]
        return " < ".join(f"{function} ({line})" for function, line in lines_of(program, [at - 1 for at in frames])
                          if not function.startswith(("__wrap_", "fault", "??")))

    def sites(self):
        found = []
        for i in range(SITE_CNT):
            key, called_from, cnt, name = SITE.unpack_from(self.bytes, HEADER.size + i * SITE.size)
            if key:
                found.append(Site(key, called_from, cnt, name.split(b"\0")[0].decode("ascii", "replace")))
        return found


def lines_of(program, addresses):
    """(function, FILE:LINE) of each address, inlined functions among them."""
    out = subprocess.run(["addr2line", "-f", "-s", "-i", "-e", program, *(f"{at:#x}" for at in addresses)],
                         capture_output=True, text=True, check=True).stdout.splitlines()
    return [(function, line.split(" ")[0]) for function, line in zip(out[::2], out[1::2])]


def place_all(program, sites):
    """Gives each site its function and line."""
    own = [s for s in sites if s.called_from and not s.called_from & IN_LIBRARY]
    text = "".join(f"{s.called_from - 1:#x}\n" for s in own)
    out = subprocess.run(["addr2line", "-f", "-s", "-e", program], input=text, capture_output=True, text=True,
                         check=True).stdout.splitlines()
    for site, function, line in zip(own, out[::2], out[1::2]):
        site.place = f"{function} ({line.split(' ')[0]})"

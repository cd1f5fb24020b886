# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian's cloud kernels, fetched from the configured apt sources and unpacked, never installed.

A kernel lives in build/kernels/SERIES/ once it has been fetched: boot/vmlinuz-*, lib/modules/*
and an initramfs that mounts the host's root (scripts/vm/init). Nothing here runs a guest.
"""

import functools
import gzip
import lzma
import os
import re
import shutil
import subprocess
import tempfile

# Package names by series. bookworm has 6.1; 6.12 comes from bookworm-security (+deb12) or
# bookworm-backports (+bpo).
PACKAGES = {
    "6.1": r"^linux-image-6\.1\.0-[0-9]+-cloud-amd64$",
    "6.12": r"^linux-image-6\.12\.[0-9]+\+(deb12|bpo)[0-9.]*-cloud-amd64$",
}

# What a guest needs to mount its root, in the order of dependence. A module that a kernel
# has built in is not among its files and is passed over.
MODULES = ["virtio_ring", "virtio", "virtio_pci_modern_dev", "virtio_pci_legacy_dev",
           "virtio_pci", "fuse", "virtiofs", "virtio_blk", "overlay"]


class Unavailable(Exception):
    """The kernel cannot be had here; the text says why and what would help."""


def search(series):
    """The newest package of a series that apt knows, or None."""
    out = subprocess.run(["apt-cache", "search", "--names-only", PACKAGES[series]],
                         capture_output=True, text=True, check=False).stdout
    names = [line.split(" ", 1)[0] for line in out.splitlines()]
    return max(names, key=lambda n: [int(x) for x in re.findall(r"\d+", n)], default=None)


def run_quietly(argv, **options):
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, **options)
    if done.returncode != 0:
        tail = done.stdout.strip().splitlines()[-1:] or ["no output"]
        raise Unavailable(f"{' '.join(argv[:2])} failed: {tail[0]}")


def fetch(series, where):
    """Downloads and unpacks the newest kernel of a series into the directory `where`."""
    package = search(series)
    if package is None and os.geteuid() == 0:
        run_quietly(["apt-get", "update"])
        package = search(series)
    if package is None:
        raise Unavailable(
            f"no package {PACKAGES[series]} in the configured apt sources; "
            "bookworm (6.1), bookworm-security or bookworm-backports (6.12) have one")
    os.makedirs(os.path.dirname(where), exist_ok=True)
    with tempfile.TemporaryDirectory(dir=os.path.dirname(where)) as work:
        run_quietly(["apt-get", "download", package], cwd=work)
        archive = next(f for f in os.listdir(work) if f.endswith(".deb"))
        run_quietly(["dpkg", "-x", archive, "tree"], cwd=work)
        shutil.rmtree(where, ignore_errors=True)
        os.rename(os.path.join(work, "tree"), where)


def release(where):
    """The release of the unpacked kernel (what uname -r will say), or None."""
    try:
        names = os.listdir(os.path.join(where, "boot"))
    except FileNotFoundError:
        return None
    return next((n.removeprefix("vmlinuz-") for n in names if n.startswith("vmlinuz-")), None)


def provide(series, where):
    """Fetches the kernel unless it is there already; returns its release."""
    if release(where) is None:
        fetch(series, where)
    found = release(where)
    if found is None:
        raise Unavailable(f"the package of {series} holds no boot/vmlinuz-*")
    return found


def read_module(path):
    with open(path, "rb") as file:
        data = file.read()
    return lzma.decompress(data) if path.endswith(".xz") else data


@functools.cache
def module_files(where):
    found = {}
    for directory, _, names in os.walk(os.path.join(where, "lib", "modules")):
        for name in names:
            if re.search(r"\.ko(\.xz)?$", name):
                found[name.split(".")[0].replace("-", "_")] = os.path.join(directory, name)
    return found


def cpio_entry(name, data, mode):
    """One member of a newc archive (Documentation/driver-api/early-userspace/buffer-format.rst)."""
    name_bytes = name.encode() + b"\0"
    fields = [0, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name_bytes), 0]
    head = b"070701" + b"".join(b"%08X" % f for f in fields) + name_bytes
    return head + b"\0" * (-len(head) % 4) + data + b"\0" * (-len(data) % 4)


def initramfs(where, init, command):
    """A compressed initramfs: busybox, the init script, the modules and the command to run."""
    files = module_files(where)
    order = [m for m in MODULES if m in files]
    with open("/bin/busybox", "rb") as file:
        busybox = file.read()
    entries = [cpio_entry(d, b"", 0o040755) for d in ("bin", "modules")]
    entries += [cpio_entry("bin/busybox", busybox, 0o100755),
                cpio_entry("init", init, 0o100755),
                cpio_entry("command", command, 0o100755),
                cpio_entry("modules/order", "\n".join(order).encode(), 0o100644)]
    entries += [cpio_entry(f"modules/{m}", read_module(files[m]), 0o100644) for m in order]
    entries.append(cpio_entry("TRAILER!!!", b"", 0))
    return gzip.compress(b"".join(entries), compresslevel=1)

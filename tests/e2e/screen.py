# SPDX-License-Identifier: GPL-2.0-or-later
"""Tapir on a terminal of a given size: what a person would have on the screen."""
import fcntl
import os
import pty
import re
import struct
import subprocess
import termios


def on_terminal(t, columns, rows, *args, timeout=60, **options):
    """Standard output of a run, with its escape sequences; it is ended by its own -d or end of work."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    tapir = subprocess.Popen([t.tapir_path, *map(str, args)], stdin=theirs, stdout=theirs, stderr=subprocess.DEVNULL,
                             env=dict(os.environ, PAGER="cat", TERM="xterm"), **options)
    os.close(theirs)
    seen = b""
    try:
        while more := os.read(ours, 65536):
            seen += more
    except OSError:  # the other end is closed
        pass
    os.close(ours)
    t.eq(tapir.wait(timeout), 0, "exit")
    return seen.decode()


def plain_lines(text):
    """Without colors and cursor movements."""
    return re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", text).replace("\r", "").splitlines()


def last_screen(text):
    """Of output that begins anew at the top left."""
    return plain_lines(text.split("\x1b[H")[-1])

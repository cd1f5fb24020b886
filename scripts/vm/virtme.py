# SPDX-License-Identifier: GPL-2.0-or-later
"""The other way to boot a guest: virtme-ng, where it is installed and our own way has no tools.

It takes three times as long. Its exit status is lost where the guest finds no virtio port (seen:
255 for a script that returned 7), so the script says its own between two marks.
"""

import os
import re
import shlex
import shutil
import subprocess

BEGIN, END = "vmtest-begins-here", "vmtest-ended-with"


def found():
    return shutil.which("vng") is not None


def boot(where, release, script, options):
    """Runs the script (bytes) in a guest; returns (status or None, its output, the console)."""
    path = os.path.abspath(f"{where}.command")  # not in /tmp, which the guest has for itself
    with open(path, "wb") as file:
        file.write(script)
    inside = f"echo; echo {BEGIN}; sh {shlex.quote(path)}; echo {END} $?"
    argv = ["vng", "--verbose", "--run", f"boot/vmlinuz-{release}", "--disable-kvm", "--cpus", str(options.cpus),
            "--memory", options.memory, "--user", "root", "--exec", inside]
    guest = subprocess.Popen(argv, cwd=where, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, start_new_session=True)
    try:
        output, _ = guest.communicate(timeout=options.timeout)
    except subprocess.TimeoutExpired:
        os.killpg(guest.pid, 9)  # its qemu and virtiofsd too: the session is theirs alone
        guest.communicate()
        raise
    finally:
        os.unlink(path)
    console = output.decode(errors="replace").replace("\r", "")
    match = re.search(rf"^{BEGIN}\n(.*?)^{END} (\d+)$", console, re.M | re.S)
    return (int(match[2]), match[1], console) if match else (None, "", console)

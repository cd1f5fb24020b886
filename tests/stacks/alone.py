# SPDX-License-Identifier: GPL-2.0-or-later
"""What the measurements of this directory share when they run by themselves: root, a case, the machine's load."""
import os
import sys

from harness import Case, Skip


def measured(build, measure):
    """Calls measure with a case; the exit status."""
    if os.geteuid() != 0:
        print("recording needs root", file=sys.stderr)
        return 3
    t = Case(build)
    try:
        print(f"load {os.getloadavg()[0]:.1f}")
        measure(t)
    except Skip as reason:
        print(f"skipped: {reason}")
    finally:
        t.close()
    return 0

# SPDX-License-Identifier: GPL-2.0-or-later
"""Each event is recorded once, or counted as lost: whoever is traced, however it comes to fire, and by whichever lane."""
import collections
import os
import shutil
import signal

from harness import EVENTS_ONLY, args_of

TARGETS = ("counted", "countplug")


def copy_of(t, name):
    """The program, as a file of its own with a comm of its own: no other case's recorder takes it."""
    directory = t.path(name + ".d")
    os.makedirs(directory)
    comm = f"ct{os.getpid()}{name}"[:15]
    for target in TARGETS:
        shutil.copy2(t.target_path(target), os.path.join(directory, comm if target == TARGETS[0] else target))
    return os.path.join(directory, comm)


def in_container(t, program, *args):
    """Starts it from an overlay mount of its directory, in a mount namespace of its own."""
    directory, name = os.path.split(program)
    mounts = t.path("container")
    os.makedirs(mounts, exist_ok=True)
    script = ('set -e; cd "$1"; mount -t tmpfs none .; cd "$1"; mkdir upper work root; '
              'mount -t overlay none -o "lowerdir=$2,upperdir=$1/upper,workdir=$1/work" root; shift 2; exec "$@"')
    process = t.start(t.need("unshare"), "--mount", "--propagation", "private", "sh", "-c", script, "sh", mounts, directory,
                      f"{mounts}/root/{name}", *args)
    process.wait_line("pid ")
    return process


def times_of(events, pids):
    """How often each (pid, who, i) is there."""
    return collections.Counter(tuple(args_of(e)) for e in events if e["pid"] in pids)


def record_containers(t, program, *options):
    """Two containers of one image fire 300 each, traced by their pids or as options say: how often each event is there."""
    file = t.path("trace.tapir")
    both = [in_container(t, program, "--wait", "one", 300) for _ in range(2)]
    pids = [process.pid for process in both]
    tapir = t.start_tapir("record", "Counted:*", "--lane", "probe", *EVENTS_ONLY, *(options or ("-p", f"{pids[0]},{pids[1]}")),
                          "-f", "-o", file)
    tapir.wait_ready()
    for process in both:
        process.go()
    t.eq([process.wait().witness()["fired"] for process in both], [300, 300], "fired")
    tapir.signal(signal.SIGINT)
    t.eq(tapir.wait().rc, 0, "exit of tapir")
    t.eq(t.report(file)["lost"], {}, "lost")
    return times_of(t.events(file), pids)


def test_two_containers_of_one_image_are_counted_once_each(t):
    program = copy_of(t, "two")
    for options in (("--comm", os.path.basename(program)), ()):
        times = record_containers(t, program, *options)
        t.eq((len(times), set(times.values())), (600, {1}), f"events, times each, with {options or '-p'}")

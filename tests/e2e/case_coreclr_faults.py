# SPDX-License-Identifier: GPL-2.0-or-later
"""What may happen to a .NET program while libtapir-coreclr.so is in it, and must not matter to it."""
import json
import os
import pathlib
import resource
import signal
import socket
import struct
import time

from case_coreclr_cycles import STORM, VERBOSE, app, driver, footprint
from harness import PATIENCE

CHECK_DOTNET = {"test_nothing_is_left_when_tracers_have_gone"}
CHECK_LONG = {"test_32_profilers_fit_and_the_33rd_is_refused"}


def until(t, what, seconds, condition):
    end = time.monotonic() + seconds * PATIENCE
    while not condition():
        t.ok(time.monotonic() < end, f"{what}: not within {seconds * PATIENCE} s")
        time.sleep(0.02)


def stopped(t, storm, stop):
    """The witness of a program that was told to stop."""
    pathlib.Path(stop).touch()
    result = storm.wait()
    t.eq(result.rc, 0, result.err)
    t.eq(result.witness()["wrong"], 0, "what the program found wrong")
    return result.witness()


def test_the_library_goes_when_its_tracer_is_killed(t):
    stop = t.path("stop")
    storm = app(t, "storm", 60, stop)
    for _ in range(3):
        session = driver(t, storm.pid, "ms=60000", *VERBOSE)
        session.wait_line("open")
        time.sleep(0.3)
        session.kill()
        until(t, "detached", 2.5, lambda: footprint(storm.pid)[2] == 0)
    stopped(t, storm, stop)


def test_nothing_is_left_when_tracers_have_gone(t):
    stop = t.path("stop")
    target = app(t, "paced", 120, stop)
    run = [driver(t, target.pid, "cycles=2", "ms=300", "quiet=1", STORM).wait()]
    time.sleep(1)
    before = footprint(target.pid)
    run.append(driver(t, target.pid, "cycles=8", "ms=300", "change=1", "quiet=1", STORM).wait(60))
    time.sleep(1)
    after = footprint(target.pid)
    t.eq([r.rc for r in run], [0, 0], run[-1].err)
    t.eq(after[:3], before[:3], "threads, descriptors, mappings")
    t.ok(after[3] - before[3] <= 2048, f"{before[3]} KiB before, {after[3]} KiB after 8 cycles")
    stopped(t, target, stop)


def test_the_program_ends_as_it_would_when_it_is_traced(t):
    target = app(t, "quit")
    session = driver(t, target.pid, "ms=1000", "quiet=1", STORM)
    result = target.wait()
    t.eq((result.rc, result.witness()["wrong"]), (0, 0), result.err)
    t.eq(session.wait().rc, 0, "the tracer")
    for number in signal.SIGTERM, signal.SIGKILL:
        target = app(t, "storm", 60)
        session = driver(t, target.pid, "ms=60000", *VERBOSE)
        session.wait_line("open")
        target.wait_cpu(0.5)
        target.signal(number)
        t.eq(target.wait().rc, -number, "exit of the program")
        session.signal(signal.SIGTERM)
        result = session.wait()
        t.eq((result.rc, result.witness()["bad"]), (0, 0), result.err)
        t.ok(result.witness()["total"] > 1000, result.out)


def test_names_stay_right_when_assemblies_unload(t):
    target = app(t, "load", 8)
    session = driver(t, target.pid, "ms=6000", "quiet=1", "change=4", "Tapir-*",
                     "Microsoft-Windows-DotNETRuntime:0x8:5")
    result, said = session.wait(), target.wait()
    t.eq((result.rc, said.rc), (0, 0), result.err + said.err)
    got, loaded = result.witness(), said.witness()
    t.ok(loaded["rounds"] > 3 and loaded["unloaded"] > 0, loaded)
    t.eq({name for name in got["events"] if not name.startswith("Microsoft-Windows-DotNETRuntime/")},
         {f"{STORM}/Tick"}, "events")
    t.eq((got["bad"], got["lost"]), (0, 0), "bad, lost")


def test_32_profilers_fit_and_the_33rd_is_refused(t):
    target = app(t, "paced", 120, t.path("stop"))
    sessions = [driver(t, target.pid, "ms=120000", STORM) for _ in range(32)]
    for session in sessions:
        session.wait_line("open", timeout=60)
    time.sleep(2)
    refused = driver(t, target.pid, "ms=100", STORM).wait(60)
    t.ok(refused.rc == 1 and "8013136a" in refused.err, refused.err)
    for session in sessions:
        session.signal(signal.SIGTERM)
    results = [session.wait(60) for session in sessions]
    t.eq([r.rc for r in results], [0] * 32, "tracers")
    for got in (r.witness() for r in results):
        t.ok(got["total"] > 0, got)
        t.eq((got["bad"], got["gaps"], got["repeated"]), (0, 0, 0), "bad, gaps, repeated")
    stopped(t, target, t.path("stop"))


def stream(pid):
    """A session of the runtime's own, as dotnet-trace opens one; the connection."""
    path = next(pathlib.Path("/tmp").glob(f"dotnet-diagnostic-{pid}-*-socket"))
    name = (STORM + "\0").encode("utf-16-le")
    payload = struct.pack("<II?I", 64, 1, False, 1) + struct.pack("<QII", 2**64 - 1, 5, len(name) // 2) + name
    payload += struct.pack("<I", 0)
    link = socket.socket(socket.AF_UNIX)
    link.connect(str(path))
    link.sendall(b"DOTNET_IPC_V1\0" + struct.pack("<HBBH", 20 + len(payload), 2, 3, 0) + payload)
    link.settimeout(10)
    return link


def test_counts_are_exact_when_another_session_is_beside(t):
    target = app(t, "paced", 120, t.path("stop"))
    with stream(target.pid) as link:
        reply = link.recv(28)
        t.ok(reply[16] == 0xff and reply[17] == 0, reply)
        session = driver(t, target.pid, "ms=1500", "change=2", "quiet=1", STORM)
        data = 0
        while data < 20_000:
            data += len(link.recv(65536))
        result = session.wait()
    got = result.witness()
    t.eq(result.rc, 0, result.err)
    t.ok(got["total"] > 1000, got)
    t.eq((got["bad"], got["lost"], got["gaps"], got["repeated"]), (0, 0, 0, 0), "bad, lost, gaps, repeated")
    stopped(t, target, t.path("stop"))


def test_the_program_continues_when_it_runs_out_of_descriptors(t):
    """From 2 spare ones on: with fewer the runtime itself ends in AttachProfiler (seen on 10.0.12)."""
    target = app(t, "paced", 120, t.path("stop"))
    time.sleep(1)  # it opens files while it starts
    limits = resource.prlimit(target.pid, resource.RLIMIT_NOFILE)
    outcomes = []
    for spare in 2, 3, 4, 6, 10, 20:
        used = {int(fd) for fd in os.listdir(f"/proc/{target.pid}/fd")}
        limit = [fd for fd in range(1000) if fd not in used][spare]
        resource.prlimit(target.pid, resource.RLIMIT_NOFILE, (limit, limits[1]))
        result = driver(t, target.pid, "ms=50", "quiet=1", STORM).wait(60)
        resource.prlimit(target.pid, resource.RLIMIT_NOFILE, limits)
        outcomes.append(result.rc)
    t.ok(outcomes[0] == 1 and outcomes[-1] == 0, outcomes)
    result = driver(t, target.pid, "ms=300", "quiet=1", STORM).wait()
    t.eq(result.rc, 0, result.err)
    t.ok(result.witness()["total"] > 100, result.out)
    said = stopped(t, target, t.path("stop"))
    t.ok(said["fired"] > 1000, json.dumps(said))

# SPDX-License-Identifier: GPL-2.0-or-later
"""The systemd unit of the Debian package leaves the agent what it needs. No systemd runs here: setpriv and unshare make the
capabilities and the read-only file system that the unit's own lines ask for; its other restrictions are not tested."""
import os

from serve_agent import Server, status_of
from dotnet_program import build_dotnet

UNIT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts", "packaging", "debian", "tapir-agent.tapir.service")

# $1: what stays writable, one name a line; then the command.
READ_ONLY = """set -eu
echo "$1" | while read -r place; do mount --bind "$place" "$place"; done
mount -o remount,bind,ro /
shift
exec "$@"
"""


def settings():
    with open(UNIT, encoding="ascii") as file:
        return dict(line.rstrip("\n").split("=", 1) for line in file if "=" in line and not line.startswith("#"))


def confined(t, unit):
    """What makes of a command the service that the unit describes; the case's directory is its state."""
    unshare, setpriv = t.need("unshare", "setpriv")
    caps = ",".join(["-all", *("+" + word[len("CAP_"):].lower() for word in unit["CapabilityBoundingSet"].split())])
    writable = "\n".join([*unit["ReadWritePaths"].split(), t.tmp])
    return (unshare, "--mount", "--propagation", "private", "sh", "-c", READ_ONLY, "sh", writable,
            setpriv, "--no-new-privs", "--bounding-set", caps, "--inh-caps", caps)


def test_unit_leaves_the_agent_what_it_needs(t):
    unit = settings()
    t.eq((unit["ProtectSystem"], unit["NoNewPrivileges"]), ("strict", "yes"), "what is made here as the unit has it")
    program = t.start(build_dotnet(t, "Storm"), "paced", "100000", t.path("stop"))
    program.wait_line("pid ", timeout=30)
    storm = t.target("storm", 200, 1000000000, 1)
    agent = Server(t, wrap=confined(t, unit))
    t.eq(bin(int(status_of(agent.pid)["CapEff"], 16)).count("1"), len(unit["CapabilityBoundingSet"].split()), "capabilities")
    mounts = f"/proc/{agent.pid}/mounts"
    with open(mounts, encoding="ascii") as file:
        t.ok(any(line.split()[1] == "/" and "ro" in line.split()[3].split(",") for line in file), "its root is read-only")

    for target, spec in ((storm, "storm:hit"), (program, "Tapir-Storm")):
        status, _, trace = agent.ask(f"/v1/profile?pid={target.pid}&seconds=1&events={spec}&no_samples=1&no_sched=1")
        t.eq(status, 200, f"{spec}: {trace[:300]}")
        with open(t.path("got.tapir"), "wb") as file:
            file.write(trace)
        t.ok(sum(event["captured"] for event in t.report(t.path("got.tapir"))["events"]) > 0, f"events of {spec}")
    counters = agent.json(f"/v1/counters?pid={program.pid}&seconds=1.5&counters=System.Runtime")["counters"]
    t.ok(counters, "counters of the runtime")

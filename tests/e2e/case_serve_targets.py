# SPDX-License-Identifier: GPL-2.0-or-later
"""tapir serve: containers and pods as targets, by cgroups that are named as container runtimes name them."""
import json
import os
import random

from serve_agent import Server


def cgroup_root():
    """Of a hierarchy in which cgroups can be made."""
    for root in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/cpu"):
        if os.path.exists(os.path.join(root, "cgroup.procs")):
            return root
    return None


class Pod:
    """kubepods-podUID.slice/cri-containerd-ID.scope with a process of the test in it; removed again."""

    def __init__(self, t):
        root = cgroup_root()
        if not root:
            t.skip("no cgroup hierarchy")
        digits = "".join(random.choice("0123456789abcdef") for _ in range(96))
        self.id, uid = digits[:64], digits[64:]
        self.uid = "-".join((uid[:8], uid[8:12], uid[12:16], uid[16:20], uid[20:]))
        self.top = os.path.join(root, f"kubepods-pod{self.uid.replace('-', '_')}.slice")
        self.path = os.path.join(self.top, f"cri-containerd-{self.id}.scope")
        try:
            os.mkdir(self.top)
            os.mkdir(self.path)
        except OSError as error:
            t.skip(f"cannot make a cgroup: {error}")

    def close(self):
        for path in (self.path, self.top):
            try:
                os.rmdir(path)
            except OSError:
                pass  # its last process is still being reaped


def test_container_and_pod_are_targets(t):
    pod = Pod(t)
    other = t.target("burner", 60000)
    burner = t.target_path("burner")
    inside = t.start("sh", "-c", f"echo $$ > {pod.path}/cgroup.procs; exec {burner} 60000")
    try:
        inside.wait_line("pid ")
        server = Server(t)
        for query in (f"container={pod.id[:12]}", f"pod={pod.uid}"):
            listed = server.json(f"/v1/processes?all=1&{query}")["processes"]
            t.eq([(p["pid"], p["container"], p["pod_uid"]) for p in listed], [(inside.pid, pod.id[:12], pod.uid)], query)
            status, _, trace = server.ask(f"/v1/profile?{query}&seconds=0.2&no_sched=1")
            t.eq(status, 200, f"{query}: {trace[:200]}")
            with open(t.path("x.tapir"), "wb") as file:
                file.write(trace)
            pids = {e["pid"] for e in t.events(t.path("x.tapir"), "sample")}
            t.ok(inside.pid in pids and other.pid not in pids, f"{query}: samples of {pids}")
            stacks = server.json(f"/v1/stacks?{query}")
            t.ok("burn_" in json.dumps(stacks) and str(inside.pid) in json.dumps(stacks), f"{query}: stacks {stacks}")
        t.ok("one of pid, container" in server.json("/v1/stacks", expect=400)["error"], "stacks of nothing")
        t.eq(server.json("/v1/processes?all=1&namespace=nowhere")["processes"], [], "pods of a namespace that nobody is in")
        for query, status, text in (
                ("container=ffffffffffff", 404, "container: no process is in 'ffffffffffff'"),
                ("pod=nobody/nothing", 404, "pod: no process is in"), (f"pod={pod.uid}&pid=1", 400, "one of pid, comm, container"),
                ("container=..%2F..%2Fetc", 404, "container: no process is in"), ("container=", 404, "no process")):
            error = server.json(f"/v1/profile?{query}&seconds=0.1", expect=status)["error"]
            t.ok(text in error, f"{query}: {error}")
        server.audit(f"container={pod.id[:12]}")
    finally:
        inside.kill()
        pod.close()

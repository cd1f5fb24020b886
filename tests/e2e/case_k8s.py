# SPDX-License-Identifier: GPL-2.0-or-later
"""scripts/k8s: what is applied to a cluster fits the agent, kubectl tapir fetches a trace (by a kubectl that stands in for
one with a cluster), and the image traces programs in other containers (make check-long, where podman is)."""
import base64
import json
import os
import shutil
import signal
import stat
import subprocess
import time

from serve_agent import Server, all_children, name_of
from case_serve_targets import Pod
from dotnet_program import build_dotnet
from harness import PATIENCE, Failure
from npm_package import npm_package

CHECK_DOTNET = {"test_manifests_are_documents_of_a_typed_client"}
CHECK_LONG = {"test_image_traces_programs_in_other_containers", "test_sidecar_without_privileges_traces_its_application",
              "test_pod_with_sidecar_is_played_and_traced", "test_commands_of_the_page_work_on_one_machine"}
TIMEOUT = 240
HOME = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts", "k8s")
TOKEN = "k" * 40
CAPABILITIES = ["BPF", "PERFMON", "SYS_PTRACE", "DAC_READ_SEARCH", "SETUID", "SETGID", "KILL", "SYSLOG", "CHECKPOINT_RESTORE"]


def documents(t, text):
    try:
        import yaml
    except ImportError:
        t.skip("needs python3-yaml")
    return [doc for doc in yaml.safe_load_all(text) if doc]


def rendered(t, place):
    """kind -> document of a kustomization, as kubectl renders it."""
    return {doc["kind"]: doc for doc in documents(t, t.run(t.need("kubectl"), "kustomize", os.path.join(HOME, place)).out)}


def write_tokens(t):
    """As a Kubernetes secret is mounted: a link to a file of mode 0400 in a directory that is a link."""
    home = t.path("tokens")
    os.makedirs(os.path.join(home, "..2026"), exist_ok=True)
    path = os.path.join(home, "..2026", "tokens.json")
    with open(path, "w", encoding="ascii") as file:
        json.dump({"tokens": [{"name": "kubectl", "role": "profile", "token": TOKEN}]}, file)
    os.chmod(path, 0o400)
    os.symlink("..2026", os.path.join(home, "..data"))
    os.symlink("..data/tokens.json", os.path.join(home, "tokens.json"))
    return os.path.join(home, "tokens.json")


def agent(t, config):
    path = t.path("serve.json")
    with open(path, "w", encoding="ascii") as file:
        json.dump(config, file)
    server = Server(t, "--config", path)
    server.token = TOKEN
    return server


def test_manifests_fit_the_agent(t):
    found = rendered(t, "base")
    spec = found["DaemonSet"]["spec"]["template"]["spec"]
    container = spec["containers"][0]
    security = container["securityContext"]
    t.eq((spec["hostPID"], security["capabilities"]), (True, {"drop": ["ALL"], "add": CAPABILITIES}), "what it may")
    t.eq((security["readOnlyRootFilesystem"], security["allowPrivilegeEscalation"]), (True, False), "and may not")
    # Its configuration is one that the agent takes, and its parts name each other.
    config = json.loads(found["ConfigMap"]["data"]["serve.json"])
    volumes = {volume["name"]: volume for volume in spec["volumes"]}
    t.eq(volumes["config"]["configMap"]["name"], found["ConfigMap"]["metadata"]["name"], "its configuration")
    mounts = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
    t.ok(os.path.dirname(config["tokens_file"]) in mounts, "its tokens are mounted")
    port = container["ports"][0]
    t.eq(config["listen"], [f"0.0.0.0:{port['containerPort']}"], "its port")
    t.eq([found["PodMonitor"]["spec"]["podMetricsEndpoints"][0]["port"], container["livenessProbe"]["httpGet"]["port"],
          found["NetworkPolicy"]["spec"]["ingress"][0]["ports"][0]["port"]], [port["name"]] * 3, "name of the port")
    server = agent(t, {**config, "listen": ["127.0.0.1:0"], "tokens_file": write_tokens(t)})
    for probe in "livenessProbe", "readinessProbe":
        t.eq(server.ask(container[probe]["httpGet"]["path"], token="")[0], 200, probe)
    t.eq(server.ask(found["PodMonitor"]["spec"]["podMetricsEndpoints"][0]["path"])[0], 200, "metrics")
    old = rendered(t, "old-kernels")["DaemonSet"]["spec"]["template"]["spec"]["containers"][0]["securityContext"]
    t.eq((old.get("privileged"), "capabilities" in old), (True, False), "the agent of old kernels")
    with open(os.path.join(HOME, "sidecar.yaml"), encoding="utf-8") as file:
        pod = documents(t, file.read())[0]["spec"]
    side = next(c for c in pod["containers"] if c["name"] == "tapir")
    t.eq(side["securityContext"]["capabilities"], {"drop": ["ALL"]}, "side-car")
    version = t.run(t.tapir_path, "--version").out.split()[1]
    t.eq((container["image"], side["image"]), (f"tapir:{version}",) * 2, "the version is the program's")


# Kinds of monitoring.coreos.com/v1, which clients have no types for: the members they may have here.
POD_MONITOR = {
    "apiVersion": "monitoring.coreos.com/v1", "kind": "PodMonitor", "metadata": {"name": str, "namespace": str},
    "spec": {
        "selector": {"matchLabels": dict},
        "podMetricsEndpoints": [{"port": str, "path": str, "interval": str, "scheme": str,
                                 "authorization": {"type": str, "credentials": {"name": str, "key": str}}}]}}


def differences(value, table, where="PodMonitor"):
    """Members of a document that are not in its table."""
    if isinstance(table, dict) and isinstance(value, dict):
        return [line for key, one in value.items()
                for line in (differences(one, table[key], f"{where}.{key}") if key in table else [f"{where}.{key}: no such member"])]
    if isinstance(table, list) and isinstance(value, list):
        return [line for one in value for line in differences(one, table[0], where)]
    if isinstance(table, type):
        return [] if isinstance(value, table) else [f"{where}: {value!r} is not of type {table.__name__}"]
    return [] if value == table else [f"{where}: {value!r} is not {table!r}"]


def test_manifests_are_documents_of_a_typed_client(t):
    program = build_dotnet(t, "Manifests", packages=(("KubernetesClient", "17.0.14"),))
    kubectl = t.need("kubectl")

    def decode(text):
        return subprocess.run([program], input=text, capture_output=True, text=True, timeout=60, check=False)

    with open(os.path.join(HOME, "sidecar.yaml"), encoding="utf-8") as file:
        texts = {"sidecar": file.read()}
    for place in "base", "old-kernels":
        whole = t.run(kubectl, "kustomize", os.path.join(HOME, place)).out
        t.ok("kind: PodMonitor" in whole, f"{place}: {whole[:200]}")
        texts[place] = "\n---\n".join(part for part in whole.split("\n---\n") if "\nkind: PodMonitor" not in "\n" + part)
        monitor = next(doc for doc in documents(t, whole) if doc["kind"] == "PodMonitor")
        t.eq(differences(monitor, POD_MONITOR), [], f"{place}: PodMonitor")
        t.ok(differences({**monitor, "spec": {**monitor["spec"], "podMetricsEndpoint": []}}, POD_MONITOR), "a wrong member is seen")
    kinds = {"base": ["ConfigMap", "DaemonSet", "Namespace", "NetworkPolicy", "ServiceAccount"], "sidecar": ["Pod"]}
    kinds["old-kernels"] = kinds["base"]
    for place, text in texts.items():
        said = decode(text)
        t.eq(said.returncode, 0, f"{place}: {said.stderr}")
        t.eq(sorted(line.split()[0] for line in said.stdout.splitlines()), kinds[place], place)
    # The client sees what is wrong: a key with a wrong name, a duplicate key, a value of the wrong type.
    for old, new in (("hostPID:", "hostPid:"), ("hostPID: true", "hostPID: true\n      hostPID: false"), ("hostPID: true", "hostPID: maybe")):
        t.eq(decode(texts["base"].replace(old, new)).returncode, 1, new)


STAND_IN = """#!/bin/sh
# Answers what kubectl-tapir asks; a port-forward is that the agent listens here.
case "$*" in
"get pod shop-0 -n prod -o "*) printf 'node-7\\nprod\\n%s\\napp=containerd://%s\\n' "$STAND_IN_UID" "$STAND_IN_ID" ;;
"get pods -n tapir -l app.kubernetes.io/name=tapir --field-selector spec.nodeName=node-7 -o "*) echo tapir-x7 ;;
"get secret tapir-tokens -n tapir -o "*) printf %s "$STAND_IN_TOKEN" | base64 -w 0 ;;
"port-forward -n tapir pod/tapir-x7 :9747")
	echo "Forwarding from 127.0.0.1:$STAND_IN_PORT -> 9747"
	echo $$ >"$STAND_IN_PID"
	exec sleep 100 ;;
*) echo "Error from server (NotFound): $*" >&2; exit 1 ;;
esac
"""


def kubectl_tapir(t, server, container, pod_uid):
    """kubectl-tapir as a function, beside a kubectl that knows one pod of one container."""
    home = t.path("bin")
    os.makedirs(home)
    kubectl = os.path.join(home, "kubectl")
    with open(kubectl, "w", encoding="ascii") as file:
        file.write(STAND_IN)
    os.chmod(kubectl, stat.S_IRWXU)
    env = {**os.environ, "PATH": f"{home}:{os.environ['PATH']}", "STAND_IN_PORT": server.address.rsplit(":", 1)[1],
           "STAND_IN_TOKEN": TOKEN, "STAND_IN_PID": t.path("forward.pid"), "STAND_IN_ID": container, "STAND_IN_UID": pod_uid}
    t.need("curl")
    return lambda *args, **more: t.run(os.path.join(HOME, "kubectl-tapir"), *args, env={**env, **more}, timeout=60)


def test_kubectl_tapir_fetches_a_trace_or_says_why_not(t):
    server = agent(t, {"listen": ["127.0.0.1:0"], "state": "memory", "tokens_file": write_tokens(t)})
    pid_file, trace = t.path("forward.pid"), t.path("shop.tapir")
    pod = Pod(t)
    inside = t.start("sh", "-c", f"echo $$ > {pod.path}/cgroup.procs; exec {t.target_path('burner')} 60000")
    run = kubectl_tapir(t, server, pod.id, pod.uid)

    def tapir(*args, **more):
        return run(*args, "-o", trace, **more)

    try:
        inside.wait_line("pid ")
        for args, rc, words in ((("lost",), 1, "lost"), ((), 2, "no pod"), (("shop-0", "-t", "1h"), 2, "invalid time"),
                                (("shop-0", "-n", "prod", "-c", "none"), 1, "no running container 'none': app"),
                                (("shop-0", "-n", "prod", "--format", "none"), 1, "400")):
            said = tapir(*args)
            t.ok(said.rc == rc and words in said.err, f"{args}: exit {said.rc}: {said.err}")
        t.ok("401" in tapir("shop-0", "-n", "prod", TAPIR_TOKEN="x" * 40).err, "a wrong token")
        t.ok(not os.path.exists(trace), "no file of a request that failed")
        for which in (), ("-c", "app"):
            said = tapir("shop-0", "-n", "prod", "-t", "1s", *which)
            t.eq(said.rc, 0, said.err)
            t.eq({e["pid"] for e in t.events(trace, "sample")}, {inside.pid}, "whose samples they are")
            os.unlink(trace)
    finally:
        inside.kill()
        pod.close()
    with open(pid_file, encoding="ascii") as file:
        t.ok(not os.path.exists(f"/proc/{file.read().strip()}"), "the port-forward has ended")


RUNTIME = """[containers]
default_ulimits = ["nofile=20000:20000", "nproc=10000:10000"]
netns = "host"
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
"""


class Podman:
    """Containers in a storage of the case's own; the network is the machine's."""

    def __init__(self, t):
        self.t, self.storage = t, ["--root", t.path("storage"), "--runroot", t.path("runroot")]
        for tool in "podman", "buildah", "runc":
            t.need(tool)
        with open(t.path("containers.conf"), "w", encoding="ascii") as file:
            file.write(RUNTIME)
        self.env = {**os.environ, "CONTAINERS_CONF": t.path("containers.conf"),
                    "BUILDAH": " ".join([t.need("buildah"), *self.storage]), "BUILD": t.build}

    def __call__(self, *args, expect=0, tool="podman"):
        result = self.t.run(self.t.need(tool), *self.storage, *args, env=self.env, timeout=60)
        if expect is not None:
            self.t.eq(result.rc, expect, f"{tool} {args}: {result.err}")
        return result.out.strip()

    def image_of(self, root, name):
        container = self("from", "scratch", tool="buildah")
        self("copy", "-q", container, root, "/", tool="buildah")
        self("commit", "-q", "--rm", container, name, tool="buildah")

    def pid(self, name):
        return int(self("inspect", "-f", "{{.State.Pid}}", name))

    def left(self):
        """Monitors of containers in this storage, by its path in their command lines, and what each has started."""
        found = []
        for pid in (int(name) for name in os.listdir("/proc") if name.isdecimal()):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    is_ours = self.storage[1].encode() in file.read()
                if is_ours and name_of(pid) == "conmon":
                    found += [pid, *all_children(pid)]
            except OSError:
                continue  # it has ended
        return list(dict.fromkeys(found))  # a child that has not executed its program yet looks like the monitor

    def close(self):
        """No container outlives its case, however that ended: what podman does not remove in time is ended here."""
        for words in ("pod", "rm", "-af", "-t", "0"), ("rm", "-af", "-t", "0"):
            try:
                self(*words, expect=None)
            except Failure:
                pass
        for pid in reversed(self.left()):  # a container before its monitor
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        try:
            self("umount", "-a", expect=None)
        except Failure:
            pass
        self.t.run("umount", "-q", os.path.join(self.storage[1], "overlay"))  # which podman mounts on itself


def make_image_of_apps(t, podman):
    """An image whose programs come from the test; what they need is the machine's /usr. The path of java there."""
    root = t.path("apps")
    for name in "tmp", "usr", "proc", "sys", "dev", "etc", "app":
        os.makedirs(os.path.join(root, name))
    for name in "lib", "lib64", "bin":
        os.symlink(f"usr/{name}", os.path.join(root, name))
    os.chmod(os.path.join(root, "tmp"), 0o1777)
    shutil.copytree(os.path.dirname(build_dotnet(t, "Busy")), os.path.join(root, "app", "busy"))
    t.run(t.need("javac"), "-d", os.path.join(root, "app"), os.path.join(os.path.dirname(HOME), "..", "tests/e2e/programs/Hot.java"),
          timeout=60)
    java = os.path.realpath(t.need("java"))
    shutil.copytree("/etc/java-17-openjdk", os.path.join(root, "etc", "java-17-openjdk"))
    podman.image_of(root, "apps")
    return java


def make_apps(t, podman, *options):
    java = make_image_of_apps(t, podman)
    podman("run", "-d", "--name", "net", *options, "-v", "/usr:/usr:ro", "apps", "/app/busy/Busy", "200")
    podman("run", "-d", "--name", "jvm", *options, "-v", "/usr:/usr:ro", "apps", java, "-cp", "/app", "Hot", "200")


def peak_of(podman, name):
    """Megabytes that a container has used at most, as the kernel counted."""
    pid = podman.pid(name)
    with open(f"/proc/{pid}/cgroup", encoding="ascii") as file:
        lines = [line.rstrip("\n").split(":", 2) for line in file]
    for number, controllers, path in lines:
        place = f"/sys/fs/cgroup/memory{path}/memory.max_usage_in_bytes" if "memory" in controllers.split(",") else \
            f"/sys/fs/cgroup{path}/memory.peak" if number == "0" else None
        if place and os.path.exists(place):
            with open(place, encoding="ascii") as file:
                return int(file.read()) / 1e6
    return None


def server_in(t, podman, name):
    """The agent of a container, once it listens."""
    end = time.monotonic() + 30 * PATIENCE
    while "listening on " not in (said := t.run(t.need("podman"), *podman.storage, "logs", name, env=podman.env).err):
        t.ok(time.monotonic() < end, said)
        time.sleep(0.2)
    server = Server.__new__(Server)
    server.t, server.token, server.address = t, TOKEN, said.split("listening on ")[1].split(";")[0]
    return server


def test_image_traces_programs_in_other_containers(t):
    podman = Podman(t)
    try:
        made = t.run(os.path.join(HOME, "image"), "tapir:case", env=podman.env, timeout=60)
        t.eq(made.rc, 0, made.err)
        t.ok(int(made.out.split(" MB")[0].split()[-1]) <= 34, made.out)
        version = t.tapir("--version").out.strip()
        t.eq(podman("run", "--rm", "tapir:case", "--version"), version, "the version of the image's program")
        label = podman("inspect", "-f", '{{index .Config.Labels "org.opencontainers.image.version"}}', "tapir:case")
        t.eq(label, version.split()[1], "the version of its label")
        make_apps(t, podman)
        etc = t.path("etc")
        os.makedirs(etc)
        write_tokens(t)
        with open(os.path.join(etc, "serve.json"), "w", encoding="ascii") as file:
            json.dump({"listen": ["127.0.0.1:0"], "state": "memory", "tokens_file": "/tokens/tokens.json"}, file)
        options = ("--cap-drop=all", "--cap-add=" + ",".join(CAPABILITIES),
                   "--security-opt", "seccomp=unconfined", "--security-opt", "no-new-privileges", "--read-only",
                   "--tmpfs", "/tmp:size=64m", "--tmpfs", "/run:size=16m", "--memory=64m", "--cpus=0.1",
                   "-v", "/sys/kernel/tracing:/sys/kernel/tracing:ro", "-v", "/sys/kernel/btf:/sys/kernel/btf:ro",
                   "-v", f"{etc}:/etc/tapir:ro", "-v", f"{t.path('tokens')}:/tokens:ro",
                   "tapir:case", "serve", "--config", "/etc/tapir/serve.json")
        podman("run", "-d", "--name", "agent", "--pid=host", *options)
        server = server_in(t, podman, "agent")
        listed = {p["pid"]: p for p in server.json("/v1/processes")["processes"]}
        for name, runtime, function in ("net", ".NET", "Busy.Leaf(int)"), ("jvm", "OpenJDK", "Hot."):
            pid = podman.pid(name)
            container = podman("inspect", "-f", "{{.Id}}", name)
            t.eq((listed[pid]["runtime"], listed[pid]["container"]), (runtime, container[:12]), name)
            status, _, trace = server.ask(f"/v1/profile?container={container}&seconds=3")
            t.ok("tapir-ready" not in [name_of(child) for child in all_children(podman.pid("agent"))], "none is ready to record in 64 MB")
            print(f"      agent after {name}: at most {peak_of(podman, 'agent')} MB")
            t.eq(status, 200, f"{name}: {trace[:300]}")
            with open(t.path("trace.tapir"), "wb") as file:
                file.write(trace)
            seen = {frame["name"] for e in t.events(t.path("trace.tapir"), "sample") for frame in e.get("stack", ())}
            t.ok(any(function in (one or "") for one in seen), f"{name}: {function} among {len(seen)} functions")
        by_kubectl = t.path("kubectl.tapir")
        said = kubectl_tapir(t, server, podman("inspect", "-f", "{{.Id}}", "net"), "0" * 36)("shop-0", "-n", "prod", "-c", "app", "-t", "2s", "-o", by_kubectl)
        t.eq(said.rc, 0, said.err)
        t.eq({e["pid"] for e in t.events(by_kubectl, "sample")}, {podman.pid("net")}, "whose samples kubectl tapir brings")
        page = server.ask("/", token="", Authorization="Basic " + base64.b64encode(f"x:{TOKEN}".encode()).decode())
        t.ok(page[0] == 200 and all(f"/processes/{podman.pid(name)}?" in page[2].decode() for name in ("net", "jvm")), f"the first page has both: {page[2][:500]}")
        metrics = t.path("metrics")
        with open(metrics, "wb") as file:
            file.write(server.ask("/metrics")[2])
        t.eq(t.run("sh", "-c", f"{t.need('promtool')} check metrics < {metrics}").rc, 0, "what Prometheus scrapes")
        for name in "net", "jvm":
            t.eq(podman("inspect", "-f", "{{.State.Running}}", name), "true", f"{name} runs on")
        podman("rm", "-f", "-t", "0", "agent")
        check_names_of_pods(t, podman, options)
    finally:
        podman.close()


def check_names_of_pods(t, podman, options):
    """What a runtime keeps of a container is found at the root of process 1, which stands in for the node's."""
    container = podman("inspect", "-f", "{{.Id}}", "net")
    place = f"/proc/{podman.pid('net')}/root/run/containerd/io.containerd.runtime.v2.task/k8s.io/{container}"
    os.makedirs(place)
    for owner, wanted in (0, ("web", "shop-0", "prod")), (10001, (None, None, None)):
        with open(os.path.join(place, "config.json"), "w", encoding="ascii") as file:
            json.dump({"annotations": {f"io.kubernetes.cri.{name}": value for name, value in (
                ("container-name", "web"), ("sandbox-name", "shop-0"), ("sandbox-namespace", "prod"))}}, file)
        os.chown(os.path.join(place, "config.json"), owner, owner)
        podman("run", "-d", "--name", "agent", "--pid=container:net", *options)
        listed = server_in(t, podman, "agent").json("/v1/processes?all=1")["processes"]
        t.eq([tuple(p[name] for name in ("container_name", "pod", "namespace")) for p in listed if p["name"] == "Busy"], [wanted],
             f"names that a file of user {owner} has")
        podman("rm", "-f", "-t", "0", "agent")


def test_sidecar_without_privileges_traces_its_application(t):
    podman = Podman(t)
    try:
        made = t.run(os.path.join(HOME, "image"), "tapir:case", env=podman.env, timeout=60)
        t.eq(made.rc, 0, made.err)
        make_apps(t, podman, "--user", "10001:10001")
        with open(os.path.join(HOME, "sidecar.yaml"), encoding="utf-8") as file:
            spec = next(c for c in documents(t, file.read())[0]["spec"]["containers"] if c["name"] == "tapir")
        security = spec["securityContext"]
        t.eq((security["capabilities"], security["readOnlyRootFilesystem"], security["allowPrivilegeEscalation"]),
             ({"drop": ["ALL"]}, True, False), "as it is run here")
        # The default filter of system calls of containers refuses samples: events are what there is.
        for name, runtime, filter_of_calls, wanted in (
                ("net", ".NET", (), "MethodLoadVerbose"),
                ("net", ".NET", ("--security-opt", "seccomp=unconfined"), "Busy.Leaf(int)"),
                ("jvm", "OpenJDK", ("--security-opt", "seccomp=unconfined"), "Hot.")):
            side = "side-" + name
            podman("run", "-d", "--name", side, f"--pid=container:{name}", "--user", "10001:10001", "--cap-drop=all",
                   "--security-opt", "no-new-privileges", *filter_of_calls, "--read-only", "--tmpfs", "/run/tapir-agent:size=320m,mode=1777",
                   f"--memory={spec['resources']['limits']['memory'].replace('Mi', 'm')}", "--cpus=0.5", "tapir:case",
                   *[{"127.0.0.1:9747": "127.0.0.1:0"}.get(word, word) for word in spec["args"]])
            server = server_in(t, podman, side)
            with open(f"/proc/{podman.pid(side)}/root/run/tapir-agent/state/token", encoding="ascii") as file:
                server.token = file.read().strip()
            listed = [p for p in server.json("/v1/processes")["processes"] if p["runtime"] == runtime]
            t.eq(len(listed), 1, f"{name}: the application, by its number in the pod")
            status, _, trace = server.ask(f"/v1/profile?pid={listed[0]['pid']}&seconds=3")
            t.eq(status, 200, f"{name}: {trace[:300]}")
            with open(t.path("trace.tapir"), "wb") as file:
                file.write(trace)
            seen = {frame["name"] for e in t.events(t.path("trace.tapir"), "sample") for frame in e.get("stack", ())}
            seen |= {e["event"] for e in t.events(t.path("trace.tapir"))}
            t.ok(any(wanted in (one or "") for one in seen), f"{name}: {wanted} among {seen}")
            print(f"      {side}: at most {peak_of(podman, side)} MB")
            t.eq(podman("inspect", "-f", "{{.State.OOMKilled}}", side), "false", f"{name}: it has enough memory")
            t.eq(podman("inspect", "-f", "{{.State.Running}}", name), "true", f"{name} runs on")
            podman("rm", "-f", "-t", "0", side)
    finally:
        podman.close()


def test_pod_with_sidecar_is_played_and_traced(t):
    """sidecar.yaml itself, of which only the images are replaced, the port, and the network by the machine's."""
    podman, path = Podman(t), t.path("pod.json")
    try:
        made = t.run(os.path.join(HOME, "image"), "tapir:case", env=podman.env, timeout=60)
        t.eq(made.rc, 0, made.err)
        make_image_of_apps(t, podman)
        with open(os.path.join(HOME, "sidecar.yaml"), encoding="utf-8") as file:
            pod = documents(t, file.read())[0]
        app, side = pod["spec"]["containers"]
        app.update(image="localhost/apps:latest", imagePullPolicy="Never", command=["/app/busy/Busy", "200"])
        app["volumeMounts"].append({"name": "usr", "mountPath": "/usr", "readOnly": True})
        side.update(image="localhost/tapir:case", imagePullPolicy="Never",
                    args=[{"127.0.0.1:9747": "127.0.0.1:0"}.get(word, word) for word in side["args"]])
        pod["spec"]["volumes"].append({"name": "usr", "hostPath": {"path": "/usr", "type": "Directory"}})
        pod["spec"]["hostNetwork"] = True
        with open(path, "w", encoding="ascii") as file:
            json.dump(pod, file)
        podman("kube", "play", path)
        server = server_in(t, podman, "app-with-tapir-tapir")
        server.token = podman("exec", "app-with-tapir-app", "/usr/bin/cat", "/run/tapir-agent/state/token")
        with open(f"/proc/{podman.pid('app-with-tapir-tapir')}/status", encoding="ascii") as file:
            status = dict(line.rstrip("\n").split(":\t", 1) for line in file)
        t.eq((status["Uid"].split()[0], int(status["CapEff"], 16), int(status["CapBnd"], 16), status["NoNewPrivs"]), ("10001", 0, 0, "1"), "what it may")
        listed = [p for p in server.json("/v1/processes")["processes"] if p["runtime"] == ".NET"]
        t.eq([p["name"] for p in listed], ["Busy"], "the application, beside it in the pod")
        status, _, trace = server.ask(f"/v1/profile?pid={listed[0]['pid']}&seconds=3")
        t.eq(status, 200, trace[:300])
        with open(t.path("trace.tapir"), "wb") as file:
            file.write(trace)
        t.ok(any(e["event"] == "MethodLoadVerbose" for e in t.events(t.path("trace.tapir"))), "its events")
        podman("kube", "down", path)
    finally:
        podman.close()


def test_no_container_outlives_a_case_whose_podman_fails(t):
    """A script with the name of podman's monitor replaces it: podman is not needed."""
    class Broken(Podman):
        def __init__(self, t):
            self.t, self.storage = t, ["--root", t.path("storage"), "--runroot", t.path("runroot")]

        def __call__(self, *args, **_):
            raise Failure("podman does not answer")

    with open(t.path("conmon"), "w", encoding="ascii") as file:
        file.write("#!/bin/sh\nsleep 300 &\necho started\nwait\n")
    os.chmod(t.path("conmon"), 0o755)
    monitor, other = (t.start(t.path("conmon"), "-b", where) for where in (t.path("storage/overlay-containers"), "/elsewhere"))
    for process in monitor, other:
        process.wait_line("started")
    podman = Broken(t)
    t.eq((len(podman.left()), podman.left()[0]), (2, monitor.pid), "the monitor and its container")
    podman.close()
    monitor.wait()
    t.eq(podman.left(), [], "what is left")
    t.ok(name_of(other.pid) == "conmon", "a container of others")


def commands_of(section):
    """The commands of a section of README.md, as they are written: lines that begin with "$", and what they continue with."""
    with open(os.path.join(HOME, "README.md"), encoding="utf-8") as file:
        text = file.read().split(f"\n## {section}\n")[1].split("\n## ")[0]
    found = []
    for line in text.splitlines():
        if line.startswith("    $ "):
            found.append(line[6:])
        elif found and found[-1].endswith("\\"):
            found[-1] += "\n" + line
    return found


class Shell:
    """A shell whose standard input gets one command after another, in a network where only it is."""

    def __init__(self, t, cwd, env):
        self.t, self.out = t, t.path("shell.out")
        with open(self.out, "wb") as out:
            self.child = subprocess.Popen([t.need("unshare"), "-n", "bash", "-m"], cwd=cwd, env=env, stdin=subprocess.PIPE, stdout=out,
                                          stderr=subprocess.STDOUT, text=True)

    def __call__(self, command, seconds=120):
        """What it printed; it ends with status 0."""
        with open(self.out, encoding="utf-8", errors="replace") as file:
            file.seek(0, os.SEEK_END)
            self.child.stdin.write(f"{command}\necho \"done: $?\"\n")
            self.child.stdin.flush()
            said, end = "", time.monotonic() + seconds
            while "\ndone: " not in "\n" + said:
                self.t.ok(time.monotonic() < end and self.child.poll() is None, f"{command}: {said[-2000:]}")
                time.sleep(0.1)
                said += file.read()
        self.t.ok(said.endswith("done: 0\n"), f"{command}: {said[-2000:]}")
        return said[:said.rindex("done: ")]

    def close(self):
        try:
            self.child.stdin.write("kill $(jobs -p)\n")
            self.child.stdin.close()
        except OSError:
            pass  # it has ended
        for _ in range(100):
            if self.child.poll() is not None:
                return
            time.sleep(0.1)
        self.child.kill()
        self.child.wait()


def look_by_browser(t, shell, token, pids):
    """A person at the page, in the shell's network: the rows of these processes."""
    shots = os.environ.get("TAPIR_SHOTS") or t.path("shots")
    os.makedirs(shots, exist_ok=True)
    seen = t.run("nsenter", "-n", "-t", shell.child.pid, t.need("node"), os.path.join(HOME, "..", "..", "tests/e2e/programs/agent_login.js"),
                 npm_package(t, "playwright-core@1.65.1"), t.need("chromium"), "http://127.0.0.1:9747", token, ",".join(map(str, pids)), shots,
                 timeout=120, env={**os.environ, "HOME": t.tmp, "TMPDIR": t.tmp})
    t.eq(seen.rc, 0, f"the browser: {seen.err[-800:]}")
    seen = json.loads(seen.out)
    t.eq(seen["problems"], [], "what the browser complained of")
    return seen["rows"]


def test_commands_of_the_page_work_on_one_machine(t):
    """Pasted into a shell, in order. Only where podman keeps containers, and the network, are the case's."""
    t.need("prometheus", "promtool", "openssl", "curl", "dotnet", "javac")
    podman, root = Podman(t), os.path.realpath(os.path.join(HOME, "..", ".."))
    if os.path.realpath(t.build) != os.path.join(root, "build"):
        t.skip("the page is about the directory build")
    with open(t.path("storage.conf"), "w", encoding="ascii") as file:
        file.write(f'[storage]\ndriver = "overlay"\ngraphroot = "{podman.storage[1]}"\nrunroot = "{podman.storage[3]}"\n')
    env = {name: value for name, value in podman.env.items() if name not in ("BUILD", "BUILDAH", "MAKEFLAGS", "MFLAGS")}
    shell = Shell(t, root, {**env, "CONTAINERS_STORAGE_CONF": t.path("storage.conf")})
    commands, said = commands_of("On one machine, without a cluster"), {}
    end = next(i for i, command in enumerate(commands) if command.startswith("podman rm"))
    t.ok(end > 12, f"commands: {commands}")
    try:
        shell("ip link set lo up")
        for command in commands[:end]:
            said[command] = shell(command)
        containers = {name: (podman.pid(name), podman("inspect", "-f", "{{.Id}}", name)[:12]) for name in ("shop", "orders")}
        with open(os.path.join(root, "build", "here", "person"), encoding="ascii") as file:
            rows = look_by_browser(t, shell, file.read().strip(), [pid for pid, _ in containers.values()])
        for name, runtime in ("shop", ".NET"), ("orders", "OpenJDK"):
            pid, container = containers[name]
            row = rows[str(pid)]
            t.ok(runtime in row and (name in row or container in row), f"the row of {name}: {row}")
            trace = os.path.join(root, "build", "here", f"{name}.tapir")
            t.eq({e["pid"] for e in t.events(trace, "sample")}, {pid}, f"whose samples {trace} has")
        scraped = next(text for command, text in said.items() if "promtool query" in command)
        t.ok('job="tapir"} => 1 ' in scraped, f"what Prometheus has: {scraped}")
        reports = "".join(text for command, text in said.items() if "tapir report" in command)
        t.ok("Shop." in reports and "Orders." in reports, f"names of functions: {reports[:3000]}")
        for command in commands[end:]:
            shell(command)
        t.ok(not os.path.exists(os.path.join(root, "build", "here")), "it is gone")
        t.eq(podman("ps", "-aq"), "", "containers that are left")
    finally:
        shell.close()
        podman.close()
        shutil.rmtree(os.path.join(root, "build", "here"), ignore_errors=True)

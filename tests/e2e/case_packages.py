# SPDX-License-Identifier: GPL-2.0-or-later
"""NuGet packages of usdt/managed, made, installed from a directory and used: make check-dotnet."""
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import threading
import time
import urllib.parse

from serve_agent import Server
from dotnet_program import made
from harness import PATIENCE, made_once
from stdio_agent import children, state_of, whole_tree

TIMEOUT = 600
CHECK_DOTNET = {"test_tool_becomes_the_program", "test_application_shows_itself_and_nobody_else", "test_application_without_privileges_records_itself",
                "test_first_process_of_a_container_gets_no_zombies", "test_killed_application_leaves_nothing",
                "test_program_is_a_private_file_where_memory_is_not_executable", "test_published_application_has_its_agent", "test_agent_of_the_node_serves_the_application_alone"}
HOME = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
VERSION = re.search(r"^VERSION := (\S+)$", pathlib.Path(HOME, "Makefile").read_text(encoding="utf-8"), re.M).group(1)

PROJECT = """<Project Sdk="Microsoft.NET.Sdk.Web">
  <PropertyGroup>
    <OutputType>Exe</OutputType>
    <TargetFramework>net%s</TargetFramework>
    <LangVersion>latest</LangVersion>
    <InvariantGlobalization>true</InvariantGlobalization>
    <RestoreAdditionalProjectSources>%s</RestoreAdditionalProjectSources>
    <RestoreFallbackFolders>%s</RestoreFallbackFolders>
  </PropertyGroup>
  <ItemGroup><PackageReference Include="Tapir.AspNetCore" Version="%s" /></ItemGroup>
</Project>
"""


@made_once
def make_feed(t):
    """The directory of the packages, and the one where NuGet unpacks them."""
    feed, unpacked = os.path.join(t.build, "nuget"), os.path.join(t.build, "tests", "dotnet", "nuget-packages")
    sources = [os.path.join(t.build, "tapir-static"), *pathlib.Path(HOME, "usdt", "managed").rglob("*.*")]
    done = os.path.join(feed, f"Tapir.AspNetCore.{VERSION}.nupkg")
    if not os.path.exists(done) or os.path.getmtime(done) < max(os.path.getmtime(source) for source in sources):
        said = t.run(os.path.join(HOME, "scripts", "nuget"), timeout=400, env={**os.environ, "BUILD": t.build})
        if said.rc and "NU1101" in said.err + said.out:
            t.skip("NuGet gives no reference assemblies here")
        t.eq(said.rc, 0, said.out + said.err)
        shutil.rmtree(unpacked, ignore_errors=True)
    return feed, unpacked


@made_once
def make_app(t, form, runtime=""):
    """Mounted, as a program of this SDK, or published with its own runtime ("self" and "single")."""
    t.need("dotnet", "gzip")
    feed, unpacked = make_feed(t)
    place = f"Mounted-{form}"
    done = os.path.join(t.build, "tests", "dotnet", place)
    package = os.path.join(feed, f"Tapir.AspNetCore.{VERSION}.nupkg")
    if os.path.exists(done) and os.path.getmtime(os.path.join(done, "out", "Mounted")) < os.path.getmtime(package):
        shutil.rmtree(done)
    version = runtime or t.run(t.need("dotnet"), "--version").out.strip()
    command = ["build"] if form == "sdk" else [
        "publish", "-r", "linux-x64", "--self-contained", f"-p:RuntimeFrameworkVersion={runtime}",
        f"-p:PublishSingleFile={'true' if form == 'single' else 'false'}"]
    project = PROJECT % (".".join(version.split(".")[:2]), feed, os.path.expanduser("~/.nuget/packages"), VERSION)
    program, why = made(t, "Mounted", place, lambda: project, *command, env={"NUGET_PACKAGES": unpacked}, timeout=400)
    if not program:
        if "NU1101" in why or "NU1301" in why:
            t.skip(f"NuGet gives not what an application ({form}) needs here")
        t.ok(False, why)
    return program


class App:
    """The application while it runs. before: what goes before its command line."""

    def __init__(self, t, program, *before, env=None, node=()):
        self.t, self.temporary = t, t.path("tmp")
        os.makedirs(self.temporary, exist_ok=True)
        os.chmod(self.temporary, 0o1777)
        os.chmod(os.path.dirname(self.temporary), 0o711)
        self.socket = os.path.join(self.temporary, f"{time.monotonic_ns()}.sock")
        self.process = t.start(*before, program, self.socket, *node, env={**os.environ, "TMPDIR": self.temporary, "HOME": self.temporary, **(env or {})})
        words = self.process.wait_line("listening ", timeout=60).split()
        self.port, self.inner_pid = int(words[1].rsplit(":", 1)[1]), int(words[3])
        self.pid = self.process.pid
        if before and before[0] == "unshare":
            self.pid = children(self.pid)[0]

    def ask(self, path, method="GET", body=None, by_socket=False, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        if by_socket:
            connection.sock = socket.socket(socket.AF_UNIX)
            connection.sock.connect(self.socket)
        connection.request(method, path, body=body, headers={name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, data

    def json(self, path, **options):
        status, _, data = self.ask(path, **options)
        self.t.eq(status, 200, f"status of {path}: {data[:300]}")
        return json.loads(data)

    def begin(self, path):
        """A request whose answer nobody waits for."""
        def ask():
            try:
                self.ask(path)
            except (OSError, http.client.HTTPException):
                pass  # the application has ended
        threading.Thread(target=ask, daemon=True).start()

    def busy(self, seconds):
        """Sends requests while the block runs."""
        def work(end=time.monotonic() + seconds):
            while time.monotonic() < end and self.process.child.poll() is None:
                self.begin("/work")
                time.sleep(0.05)
        threading.Thread(target=work, daemon=True).start()

    def profile(self, path="/tapir", seconds=2):
        self.busy(seconds + 2)
        status, _, trace = self.ask(f"{path}/v1/profile?seconds={seconds}")
        self.t.eq(status, 200, trace[:300])
        file = self.t.path("trace.tapir")
        with open(file, "wb") as out:
            out.write(trace)
        return file

    def agent(self):
        """Process ids: the keeper of its agent first."""
        tree = [pid for child in children(self.pid) for pid in whole_tree(child)]
        self.t.ok(tree, "it has an agent")
        return tree

    def files(self):
        """What is left of tapir: the runtime's own sockets are not."""
        return [name for name in os.listdir(self.temporary) if "tapir" in name]


def until_gone(t, pids, seconds=30):
    end = time.monotonic() + seconds * PATIENCE
    while left := {pid: state_of(pid) for pid in pids if state_of(pid)}:
        t.ok(time.monotonic() < end, f"left: {left}")
        time.sleep(0.05)


def test_tool_becomes_the_program(t):
    feed, _ = make_feed(t)
    config, tools = t.path("nuget.config"), t.path("tools")
    pathlib.Path(config).write_text(f'<configuration><packageSources><clear/><add key="here" value="{feed}"/></packageSources></configuration>')
    said = t.run(t.need("dotnet"), "tool", "install", "Tapir.Tool", "--tool-path", tools, "--configfile", config, timeout=200,
                 env={**os.environ, "NUGET_PACKAGES": t.path("packages")})
    t.eq(said.rc, 0, said.out + said.err)
    tool = os.path.join(tools, "tapir")
    t.eq(t.run(tool, "--version").out, t.run(t.tapir_path, "--version").out, "version")
    t.eq(t.run(tool, "nothing").rc, 2, "exit status")
    binary = next(pathlib.Path(tools).rglob("tapir-static"))
    target = t.target("storm", 5, 100, 1)
    for mode in 0o755, 0o644:  # as NuGet unpacks it, and as a copy of the package may have left it
        os.chmod(binary, mode)
        trace = t.path(f"trace-{mode:o}.tapir")
        # The same process, by its number and by the signal that ends it.
        recorder = t.start(tool, "record", "-p", target.pid, "-f", "-o", trace)
        end = time.monotonic() + 30 * PATIENCE
        while "tapir" not in os.path.basename(os.readlink(f"/proc/{recorder.pid}/exe")).split(":")[-1]:
            t.ok(time.monotonic() < end, "it is the program")
            time.sleep(0.05)
        while not os.path.exists(trace):
            t.ok(time.monotonic() < end, f"it records: {recorder.err}")
            time.sleep(0.05)
        recorder.signal(signal.SIGINT)
        t.eq(recorder.wait().rc, 0, recorder.err)
        t.report(trace)
        # A reader that closes the pipe ends it quietly, as it ends tapir.
        piped = t.run("bash", "-c", f'"{tool}" help --completion | head -n 1 >/dev/null; echo "${{PIPESTATUS[0]}}"')
        t.ok(piped.out.strip() in ("0", "141") and not piped.err, f"{piped.out} {piped.err}")
    os.chmod(os.path.dirname(tools), 0o711)
    bare = t.run("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", tool, "record", "-a", "-o", "/dev/null",
                 env={"PATH": os.environ["PATH"], "DOTNET_ROOT": os.path.dirname(os.path.realpath(t.need("dotnet")))})
    t.ok(bare.rc == 3 and "run as root" in bare.err, f"{bare.rc} {bare.err}")


def test_application_shows_itself_and_nobody_else(t):
    app = App(t, make_app(t, "sdk"))
    own = f"/processes/{app.pid}"
    t.eq(children(app.pid), [], "no agent before somebody asks")
    status, headers, _ = app.ask("/tapir")
    t.eq((status, headers["location"]), (303, "/tapir" + own), "where its page is")
    page = app.ask("/tapir" + own)[2].decode()
    t.ok(".NET" in page and f'action="/tapir{own}/record"' in page, page[:2000])
    t.eq(app.ask("/tapir/assets/tapir.css")[1]["content-type"], "text/css; charset=utf-8", "an asset")
    trace = app.profile()
    t.eq({e["pid"] for e in t.events(trace, "sample")}, {app.pid}, "whose samples they are")
    t.ok(any("Exception" in e["event"] for e in t.events(trace)), "its exceptions")
    t.ok(isinstance(app.json("/tapir/v1/findings?seconds=1")["findings"], list), "findings")
    t.ok(app.json("/tapir/v1/counters?seconds=2"), "counters")
    t.ok(app.json("/tapir/v1/stacks"), "stacks")
    for path in "/tapir/v1/processes/1", "/tapir/processes/1", "/tapir/v1/profile?pid=1", "/tapir/v1/profile?comm=*", "/tapir/nothing":
        t.eq(app.ask(path)[0], 404, path)
    # By the page's form, and a session of it.
    csrf = app.json("/tapir/v1/whoami")["csrf"]
    form = urllib.parse.urlencode({"csrf": csrf, "seconds": "1"})
    kind = {"Content_Type": "application/x-www-form-urlencoded"}
    t.eq(app.ask(f"/tapir{own}/record", "POST", form.replace(csrf, "x" * 32), **kind)[0], 403, "another token")
    status, headers, _ = app.ask(f"/tapir{own}/record", "POST", form, **kind)
    t.ok(status == 303 and headers["location"].startswith("/tapir/sessions/"), f"{status} {headers}")
    t.eq(app.ask(headers["location"])[0], 200, "its page")
    # Which requests are answered.
    t.eq(app.ask("/guarded/healthz")[0], 401, "nobody")
    t.eq(app.ask("/guarded/healthz", X_Key="right")[0], 200, "somebody")
    t.eq(app.ask("/guarded/healthz", X_Key="right", Host="shop.example")[0], 200, "by another name")
    for headers in {"Host": "rebound.example"}, {"X_Forwarded_For": "192.0.2.1"}, {"by_socket": True}, {"Origin": "http://evil.example"}:
        t.eq(app.ask("/tapir/healthz", **headers)[0], 403, f"{headers}")
    for headers in {"Host": "shop.example"}, {"by_socket": True}:
        status, answer, _ = app.ask("/deep/group/tapir", **headers)
        t.eq((status, answer["location"]), (303, "/deep/group/tapir" + own), f"{headers}")
    t.eq(app.ask("/tapir/v1/events?spec=%00")[0], 400, "a NUL")
    t.eq(app.ask("/tapir/v1/sessions", "POST", "x" * 70000)[0], 413, "a long body")
    t.eq(app.ask("/tapir/v1/profile?" + "&".join(f"pid={app.pid}" for _ in range(100)))[0], 400, "many parameters")
    # A recording ends when its client closes the connection.
    slow = socket.create_connection(("127.0.0.1", app.port))
    slow.sendall(b"GET /tapir/v1/profile?seconds=60 HTTP/1.1\r\nHost: localhost\r\n\r\n")
    end = time.monotonic() + 30 * PATIENCE
    while not app.json("/tapir/healthz")["recordings"]:
        t.ok(time.monotonic() < end, "it records")
    slow.close()
    while app.json("/tapir/healthz")["recordings"]:
        t.ok(time.monotonic() < end, "its recording ends")
        time.sleep(0.1)
    tree = app.agent()
    app.process.signal(signal.SIGTERM)
    t.eq(app.process.wait(60).rc, 0, "exit status of the application")
    until_gone(t, tree)
    t.eq(app.files(), [], "files")


def test_application_without_privileges_records_itself(t):
    t.need("setpriv")
    program = make_app(t, "sdk")
    app = App(t, program, "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all")
    process = app.json(f"/tapir/v1/processes/{app.pid}")
    t.ok(process["can_record"], f"{process}")
    t.ok(any(check.get("status") != "ok" for check in process["checks"]), f"what is missing is listed: {process['checks']}")
    trace = app.profile()
    t.ok(any("Exception" in e["event"] for e in t.events(trace)), "events of the ring lane")
    tree = app.agent()
    app.process.kill()
    until_gone(t, tree)
    t.eq(app.files(), [], "files")


def test_first_process_of_a_container_gets_no_zombies(t):
    app = App(t, make_app(t, "sdk"), "unshare", "-pf", "--mount-proc", "--kill-child")
    t.eq(app.inner_pid, 1, "its number there")
    t.eq(app.ask("/tapir")[1]["location"], "/tapir/processes/1", "its page")
    t.ok(any("Exception" in e["event"] for e in t.events(app.profile())), "it is recorded")
    for which in 1, 2, 0:  # the agent, its HTTP process, the keeper
        app.busy(3)
        app.begin("/tapir/v1/profile?seconds=30")
        end = time.monotonic() + 30 * PATIENCE
        while not app.json("/tapir/healthz")["recordings"]:
            t.ok(time.monotonic() < end, "it records")
        tree = app.agent()
        os.kill(tree[which], signal.SIGKILL)
        until_gone(t, tree, 60)
        t.eq([state_of(pid) for pid in children(app.pid)], [], f"children after the end of process {which}")
        end = time.monotonic() + 30 * PATIENCE
        while app.ask("/tapir/healthz")[0] != 200:  # the next request starts another
            t.ok(time.monotonic() < end, "another agent")
    tree = app.agent()
    os.kill(app.pid, signal.SIGKILL)
    until_gone(t, tree)
    t.eq(app.files(), [], "files")


def test_killed_application_leaves_nothing(t):
    app = App(t, make_app(t, "sdk"))
    app.begin("/tapir/v1/profile?seconds=30")
    end = time.monotonic() + 30 * PATIENCE
    while not app.json("/tapir/healthz")["recordings"]:
        t.ok(time.monotonic() < end, "it records")
    tree = app.agent()
    os.kill(app.pid, signal.SIGKILL)
    until_gone(t, tree)
    t.eq(app.files(), [], "files")


def test_program_is_a_private_file_where_memory_is_not_executable(t):
    if not os.path.exists("/proc/sys/vm/memfd_noexec"):
        t.skip("this kernel cannot forbid it")
    # 1: a memory file is not executable unless its maker asks for it; 2: never, nor is one made that was not asked to be so.
    app = App(t, make_app(t, "sdk"), "unshare", "-pf", "--mount-proc", "--kill-child", "sh", "-c",
              'echo 2 >/proc/sys/vm/memfd_noexec && exec "$@"', "sh", env={"DOTNET_EnableWriteXorExecute": "0"})
    t.eq(app.ask("/tapir/healthz")[0], 200, "it answers")
    t.ok(os.readlink(f"/proc/{app.agent()[0]}/exe").endswith("/tapir (deleted)"), os.readlink(f"/proc/{app.agent()[0]}/exe"))
    t.eq(app.files(), [], "files while it runs")


def test_published_application_has_its_agent(t):
    for form in "self", "single":
        app = App(t, make_app(t, form, "8.0.33"))
        t.eq(app.ask("/tapir")[0], 303, form)
        t.ok(any("Exception" in e["event"] for e in t.events(app.profile())), f"{form}: it is recorded")
        app.process.kill()


def test_agent_of_the_node_serves_the_application_alone(t):
    program, path = make_app(t, "sdk"), t.path("node.sock")
    server = Server(t, listen=f"unix:{path}")
    other = t.target("burner", 60000)
    begun = server.json("/v1/sessions", method="POST", body=json.dumps({"pid": other.pid, "seconds": 1}), expect=201)
    # In a container, where its number is another one than on the node.
    app = App(t, program, "unshare", "-pf", "--mount-proc", "--kill-child", node=(path,))
    t.eq((app.inner_pid, app.ask("/tapir")[1]["location"]), (1, f"/tapir/processes/{app.pid}"), "its number on the node")
    page = app.ask(f"/tapir/processes/{app.pid}")[2].decode()
    t.ok(f'action="/tapir/processes/{app.pid}/record"' in page, page[:2000])
    t.eq(children(app.pid), [], "no agent of its own")
    trace = app.profile()
    t.ok({e["pid"] for e in t.events(trace, "sample")} == {app.pid} and any(True for _ in t.events(trace)), "whose samples they are")
    for path_of_other in (f"/tapir/v1/processes/{other.pid}", f"/tapir/v1/profile?pid={other.pid}", "/tapir/v1/profile?comm=*",
                          f"/tapir/v1/stacks?pid={other.pid}", "/tapir/processes/1", "/tapir/metrics", "/tapir/v1/continuous", f"/tapir/v1/sessions/{begun['id']}"):
        t.eq(app.ask(path_of_other)[0], 404, path_of_other)
    t.eq(app.json("/tapir/v1/sessions")["sessions"], [], "sessions of others")
    t.eq(app.ask("/tapir/v1/sessions", "POST", "{}")[0], 403, "without the token of whoami")
    # The node's agent has gone: its own child takes over.
    server.process.signal(signal.SIGTERM)
    t.eq(server.process.wait().rc, 0, "the agent's exit status")
    t.eq(app.ask("/tapir")[1]["location"], "/tapir/processes/1", "its number for its own agent")

# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs whose stacks are measured: how each is started, what its outermost function is, and what it calls. Those that
tests build have a known call graph; a program that is not installed is skipped, with its name."""
import contextlib
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))

from case_runtimes import Server  # noqa: E402
from dotnet_program import build_dotnet  # noqa: E402
from harness import Skip, made_once  # noqa: E402
from shares import Graph  # noqa: E402

NOT_FRAMES = ["-fomit-frame-pointer"]
FRAMES = ["-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer"]

# tests/stacks/graph.cc
WAYS = {"by_plt", "by_alloca", "by_realigned", "by_many_arguments", "by_signal", "deep", "by_coroutine", "by_poll",
        "by_condition", "by_exception"}
TO_BOTTOM = ["compare", "by_alloca", "by_realigned", "by_many_arguments", "on_signal", "coroutine", "by_poll", "by_condition",
             "thrower", "by_exception"]
NATIVE = Graph({"main": {"turns"}, "thread_main": {"turns"}, "turns": {"turn"}, "turn": WAYS, "deep": {"deep", "bottom"},
                "by_exception": {"thrower", "bottom"}, "bottom": {"leaf"},
                **{name: {"bottom"} for name in TO_BOTTOM if name != "by_exception"}},
               # turn: by_exception ends with a jump to __cxa_end_catch (-O3)
               libraries=["main", "turns", "turn", "bottom", "by_plt", "by_poll", "by_condition", "by_signal", "by_coroutine",
                          "by_exception", "thrower", "by_alloca", "by_realigned"],
               callbacks=["main", "thread_main", "compare", "on_signal", "coroutine"])
RUST = Graph({"middle": {"leaf"}, "main": {"middle", "nap"}}, libraries=["nap", "main", "receive"], callbacks=["main", "receive"],
             package="graph::")
GO = Graph({"middle": {"leaf"}, "main": {"middle", "allocate"}}, libraries=["leaf", "main", "middle", "allocate", "sleeper"],
           callbacks=["main", "sleeper"],
           package="main.")
# A lambda calls waiter.
JAVA = Graph({"middle": {"leaf"}, "main": {"middle"}}, libraries=["leaf", "main", "waiter"], callbacks=["main", "waiter"], has_jit=True)
DOTNET = Graph({"Middle": {"Leaf"}, "Main": {"Middle"}}, libraries=["Leaf", "Main", "Waiter"], callbacks=["Main", "Waiter"],
               has_jit=True)


def installed(*programs):
    found = [shutil.which(program, path="/usr/bin:/usr/sbin:/usr/local/bin") for program in programs]
    for program, path in zip(programs, found):
        if not path:
            raise Skip(f"not installed: {program}")
    return found[0] if len(found) == 1 else found


def made(t, name, *command):
    """build/tests/stacks/NAME, made anew by a command when this directory is newer; OUT stands for its path."""
    home = os.path.join(t.build, "tests", "stacks")
    out = os.path.join(home, name)
    os.makedirs(home, exist_ok=True)
    newest = max(path.stat().st_mtime for path in HERE.iterdir())
    if not os.path.exists(out) or os.path.getmtime(out) < newest:
        result = t.run(*[out if word == "OUT" else word for word in command], timeout=300)
        if result.rc:
            raise Skip(f"{command[0]} does not build {name}: {result.err.strip()[-200:]}")
        os.utime(out)
    return out


@made_once
def native(t, name, *flags):
    language = "c++" if "c++" in name else "c"
    compiler = installed("g++" if language == "c++" else "gcc")
    return made(t, name, compiler, "-x", language, "-g", "-w", *flags, f"-I{HERE.parent.parent / 'include'}",
                str(HERE / "graph.cc"), "-o", "OUT", "-pthread")


@made_once
def go(t):
    os.environ.setdefault("GOCACHE", os.path.join(t.build, "tests", "gocache"))
    os.environ.setdefault("GOFLAGS", "-mod=mod")
    return made(t, "graph-go", installed("go"), "build", "-o", "OUT", str(HERE / "graph.go"))


@made_once
def rust(t):
    return made(t, "graph-rust", installed("rustc"), "-O", "-g", str(HERE / "graph.rs"), "-o", "OUT")


@made_once
def rust_without_tables(t):
    """Nothing unwinds it, so that its own functions have no entry in .eh_frame; those of std have one."""
    return made(t, "graph-rust-abort", installed("rustc"), "-O", "-g", "-C", "panic=abort", "-C", "force-unwind-tables=no",
                "-C", "force-frame-pointers=yes", str(HERE / "graph.rs"), "-o", "OUT")


@made_once
def java(t):
    home = os.path.dirname(made(t, "Graph.class", installed("javac"), "-g", "-d", os.path.join(t.build, "tests", "stacks"),
                                str(HERE / "Graph.java")))
    return home


# What Debian 12's nodejs needs beyond the libraries that every installation has.
NODE18 = ["nodejs=18.*", "libnode108", "node-acorn", "node-busboy", "node-cjs-module-lexer", "node-undici"]
# It reads its modules from /usr/share/nodejs: in a mount namespace of its own, they are there.
START_NODE18 = """#!/bin/sh
cd {home} && exec unshare -m sh -c 'mount -t overlay overlay -o lowerdir={home}/usr/share:/usr/share /usr/share && \\
export LD_LIBRARY_PATH={home}/usr/lib/x86_64-linux-gnu && exec usr/bin/node "$@"' node "$@"
"""


@made_once
def node18(t):
    """Debian 12's Node 18, unpacked below the build directory: the installed one is another in most places."""
    home = os.path.join(t.build, "tests", "stacks", "node18")
    start = os.path.join(home, "start")
    if not os.path.exists(start):
        os.makedirs(home, exist_ok=True)
        fetched = subprocess.run(["apt-get", "download", "-q", *NODE18], cwd=home, capture_output=True, text=True, check=False)
        if fetched.returncode:
            raise Skip(f"apt-get download nodejs=18.*: {fetched.stderr.strip()[-200:]}")
        for package in pathlib.Path(home).glob("*.deb"):
            subprocess.run(["dpkg", "-x", str(package), home], check=True)
            package.unlink()
        pathlib.Path(start).write_text(START_NODE18.format(home=home))
        os.chmod(start, 0o755)
    return start


def command(*argv, env=None):
    """Starts a program that ends by itself, and prints "pid N" first."""
    @contextlib.contextmanager
    def running(t, seconds):
        words = [word(t) if callable(word) else word for word in argv]
        process = t.start(*[str(seconds) if word == "SECONDS" else word for word in words],
                          env={**os.environ, **env} if env else None)
        try:
            yield ["-p", process.wait_line("pid ", 30).split()[1]]
        finally:
            process.kill()
    return running


@contextlib.contextmanager
def load(*argv, **options):
    """A program that does not end; it is stopped by its id."""
    child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                             start_new_session=True, **options)
    try:
        yield child
    finally:
        child.terminate()
        try:
            child.wait(10)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_port(port):
    for _ in range(100):
        with socket.socket() as s:
            if s.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise Skip(f"nothing listens on port {port}")


@contextlib.contextmanager
def redis(t, _seconds):
    server, bench = installed("redis-server", "redis-benchmark")
    port = free_port()
    with load(server, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", t.tmp) as child:
        wait_port(port)
        with load(bench, "-p", str(port), "-c", "4", "-l", "-q", "-t", "set,get,lpush,lrange_100"):
            yield ["-p", str(child.pid)]


NGINX = """daemon off; worker_processes 1; pid {dir}/pid; error_log {dir}/log;
events {{ }} http {{ access_log off; client_body_temp_path {dir}/body; proxy_temp_path {dir}/proxy;
fastcgi_temp_path {dir}/fastcgi; uwsgi_temp_path {dir}/uwsgi; scgi_temp_path {dir}/scgi;
server {{ listen 127.0.0.1:{port}; root {dir}; gzip on; gzip_types text/plain; gzip_min_length 1; }} }}
"""


CLIENT = """import http.client, sys
server = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
while True:
    server.request("GET", "/", headers={"Accept-Encoding": "gzip"})
    server.getresponse().read()
"""


@contextlib.contextmanager
def nginx(t, _seconds):
    server = installed("nginx")
    port, place = free_port(), tempfile.mkdtemp(prefix="tapir-nginx-")
    os.chmod(place, 0o755)
    pathlib.Path(place, "index.html").write_text("word " * 4000)
    pathlib.Path(place, "conf").write_text(NGINX.format(dir=place, port=port))
    try:
        with load(server, "-c", f"{place}/conf", "-p", place) as child:
            wait_port(port)
            children = pathlib.Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text().split()
            with load(sys.executable, "-c", CLIENT, str(port)):
                yield ["-p", children[0]]
    finally:
        shutil.rmtree(place, ignore_errors=True)


@contextlib.contextmanager
def postgres(t, _seconds):
    with Server(t) as server:
        server.run("pgbench", "-h", server.dir, "-i", "-s", "2", "-q", "postgres")
        with load(f"{server.bin}/pgbench", "-h", server.dir, "-c", "4", "-T", "60", "postgres", user=server.user.pw_uid,
                  group=server.user.pw_gid, extra_groups=[], cwd=server.dir):
            time.sleep(0.5)
            backends = pathlib.Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text().split()
            yield [word for pid in backends for word in ("-p", pid)]


@contextlib.contextmanager
def sqlite(t, _seconds):
    script = ("create table t(a, b); with recursive c(x) as (select 1 union all select x + 1 from c where x < 30000000) "
              "insert into t select x % 1000, hex(x) from c;")
    with load(installed("sqlite3"), t.path("db"), script) as child:
        yield ["-p", str(child.pid)]


@contextlib.contextmanager
def cc1(t, _seconds):
    text = t.path("large.cc")
    pathlib.Path(text).write_text("#include <regex>\n#include <map>\n#include <string>\n" + "".join(
        f"std::map<std::string, int> m{n}; bool f{n}(std::string s) {{ return std::regex_match(s, std::regex(\"a{n}\")) && "
        f"m{n}[s]++; }}\n" for n in range(900)))
    path = subprocess.run([installed("g++"), "-print-prog-name=cc1plus"], capture_output=True, text=True, check=True).stdout
    with load(path.strip(), "-quiet", "-O2", text, "-D_GNU_SOURCE", "-o", "/dev/null",
              "-imultiarch", "x86_64-linux-gnu") as child:
        time.sleep(0.3)
        yield ["-p", str(child.pid)]


class Program:
    """running(t, seconds): a context with the options that name it to tapir. comms: the names of its threads. events: SPECs of
    those whose stacks are measured; none where the program has no probe."""

    def __init__(self, name, running, outermost, graph=None, goal=99, comms=".", events=()):
        self.name, self.running, self.outermost, self.graph = name, running, outermost, graph
        self.goal, self.comms = goal, comms  # goal: percent of whole stacks; None: there is none yet
        self.events = list(events)


def graphs(name, *flags):
    outermost, out = "^(main|thread_main|coroutine)", "graph-" + name.lower().replace(" ", "-")
    return [Program(f"{name}, {mode}", command(lambda t: native(t, out, *flags), mode, "SECONDS"), outermost, NATIVE,
                    events=["graph:*", "libstdcxx:*"] if "++" in name else ["graph:*"])
            for mode in ("cpu", "waits")]


def script(program, name, *options, env=None):
    return command(lambda t: installed(program), *options, str(HERE / name), "SECONDS", env=env)


def jvm(*options):
    return command(lambda t: installed("java"), "-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,Graph.*",
                   *options, "-cp", java, "Graph", "SECONDS")


HOTSPOT = ["hotspot:thread__sleep__*", "hotspot:gc__*"]  # fire without an option of the JVM

PROGRAMS = [
    *graphs("C -O3", "-O3", *NOT_FRAMES),
    *graphs("C++ -O3", "-O3", *NOT_FRAMES),
    *graphs("C with frame pointers", "-O2", *FRAMES),
    *graphs("C++ with frame pointers", "-O2", *FRAMES),
    Program("Go", command(go, "SECONDS"), r"^main\.(main|sleeper)|^runtime\.(mstart|mcall|rt0_go|goexit)", GO),
    Program("Rust", command(rust, "SECONDS"), "main|receive", RUST),
    Program("Rust, panic=abort with frame pointers", command(rust_without_tables, "SECONDS"), "main|receive", RUST),
    Program("CPython", script("python3", "hot.py"), "Py_BytesMain|start_thread|clone3", events=["python:gc__*"]),
    Program("Ruby", script("ruby", "hot.rb"), "ruby_run_node|start_thread|clone3",
            events=["ruby:method__entry", "ruby:gc__*"]),
    Program("PHP, no JIT", script("php", "waits.php", "-d", "opcache.jit=off"), "php_execute_script|_start"),
    Program("PHP, no JIT, USE_ZEND_DTRACE", script("php", "waits.php", "-d", "opcache.jit=off", env={"USE_ZEND_DTRACE": "1"}),
            "php_execute_script|_start", events=["php:function__entry", "php:function__return"]),
    Program("PHP, JIT", script("php", "waits.php", "-d", "opcache.enable_cli=1", "-d", "opcache.jit_buffer_size=32M", "-d",
                               "opcache.jit=function"), "php_execute_script|_start", goal=None),
    Program("Node", script("node", "waits.js"), "node::Start|start_thread|clone3"),
    Program("Node --perf-basic-prof", script("node", "waits.js", "--perf-basic-prof"), "node::Start|start_thread|clone3"),
    Program("Node 18 of Debian", command(node18, str(HERE / "waits.js"), "SECONDS"), "node::Start|start_thread|clone3"),
    Program("JVM", jvm(), "JavaMain|thread_native_entry|start_thread", JAVA, events=HOTSPOT),
    Program("JVM +PreserveFramePointer", jvm("-XX:+PreserveFramePointer"), "JavaMain|thread_native_entry|start_thread", JAVA,
            events=HOTSPOT),
    Program(".NET", command(lambda t: build_dotnet(t, "Graph"), "SECONDS"), "^main$|start_thread|Main|Waiter", DOTNET,
            events=["Graph-Events"]),
    Program("PostgreSQL, pgbench", postgres, "PostmasterMain",
            events=["postgresql:query__start", "postgresql:transaction__commit"]),
    Program("nginx", nginx, "ngx_master_process_cycle|ngx_single_process_cycle|_start"),
    Program("redis", redis, "aeMain|start_thread|_start"),
    Program("SQLite", sqlite, "sqlite3_exec|_start"),
    Program("cc1plus", cc1, "toplev::main|_start"),
]

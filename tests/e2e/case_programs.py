# SPDX-License-Identifier: GPL-2.0-or-later
"""tapir and tapir-agent: `tapir serve` becomes the second program, which it finds in its own directory and checks; its children are the first."""
import json
import os
import resource
import shutil
import signal
import subprocess

from serve_agent import Server, name_of

AGENT = "tapir-agent"
# A program that is taken for the agent, and prints what it was given.
SHOWN = r"""
#include "base/child/sibling.h"
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

TAPIR_SIBLING_NOTE("tapir-agent");

int main(int argc, char **argv, char **envp)
{
	struct rlimit files;
	sigset_t blocked;
	DIR *dir = opendir("/proc/self/fd");

	(void)argc;
	for (; *argv; argv++)
		printf("word %s\n", *argv);
	for (; *envp; envp++)
		printf("env %s\n", *envp);
	getrlimit(RLIMIT_NOFILE, &files);
	sigprocmask(SIG_BLOCK, NULL, &blocked);
	printf("files %lu\nusr1 %d\n", (unsigned long)files.rlim_cur, sigismember(&blocked, SIGUSR1));
	for (struct dirent *d; (d = readdir(dir));)
		if (atoi(d->d_name) > 2 && atoi(d->d_name) != dirfd(dir))
			printf("fd %s\n", d->d_name);
	printf("pid %d\n", getpid());
	return 42;
}
"""


def programs(t, *names):
    """A directory of the case's own with these programs of the build: files, which have no other name."""
    home = t.path("bin")
    shutil.rmtree(home, ignore_errors=True)
    os.makedirs(home)
    for name in names:
        shutil.copy2(os.path.join(t.build, name), os.path.join(home, name))
    return os.path.join(home, "tapir")


def agent_beside(tapir):
    return os.path.join(os.path.dirname(tapir), AGENT)


def refused(t, tapir, status, *texts):
    said = t.run(tapir, "serve", "--listen", "127.0.0.1:0", "--state", "memory")
    t.eq((said.rc, said.out, said.err.count("\n")), (status, "", 1), said.err)
    for text in ("tapir: ", *texts):
        t.ok(text in said.err, f"{text!r} in {said.err!r}")


def test_serve_becomes_the_agent_whose_children_are_tapir(t):
    tapir = programs(t, "tapir", AGENT)
    server = Server(t, wrap=("sh", "-c", 'shift; exec "$0" "$@"', tapir))
    t.eq(os.readlink(f"/proc/{server.pid}/exe"), agent_beside(tapir), "what serves")
    t.eq(name_of(server.pid), AGENT, "its name")
    with open(f"/proc/{server.pid}/cmdline", "rb") as file:
        t.eq(file.read().split(b"\0")[1:3], [b"serve", b"--listen"], "its words")
    # What children run is the program that was there at the start, and not what has its name since.
    os.rename(tapir, tapir + ".old")
    with open(tapir, "w", encoding="ascii") as file:
        file.write("#!/bin/sh\necho replaced\nexit 9\n")
    os.chmod(tapir, 0o755)
    t.ok("processes" in server.json("/v1/processes"), "a list, which a child makes")
    target = t.target("storm", 100, 100000000, 1)
    t.eq(server.json(f"/v1/views/cpu?pid={target.pid}&seconds=0.3&no_sched=1").get("error"), None, "a view of a recording")
    server.process.signal(signal.SIGTERM)
    t.eq(server.process.wait().rc, 0, "its end")


def test_agent_has_the_words_the_environment_and_the_process_of_serve(t):
    gcc = t.need("gcc")
    tapir = programs(t, "tapir")
    version = t.run(tapir, "--version").out.split()[1]
    source = t.path("shown.c")
    with open(source, "w", encoding="ascii") as file:
        file.write(SHOWN)
    user = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "user")
    built = t.run(gcc, "-D_GNU_SOURCE", f'-DTAPIR_VERSION="{version}"', f"-I{user}", source, "-o", agent_beside(tapir))
    t.eq(built.rc, 0, built.err)
    os.chmod(agent_beside(tapir), 0o755)
    words = ["-v", "serve", "--listen=a b", "-l", "unix:x", "--state", ""]
    env = {"HOME": "/nowhere", "ODD": "a=b c", "SUDO_UID": "7"}

    def limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, (321, 1024))
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])

    with subprocess.Popen([tapir, *words], env=env, stdout=subprocess.PIPE, text=True, preexec_fn=limit) as process:
        out = process.communicate(timeout=30)[0].splitlines()
    t.eq(process.returncode, 42, "the agent's exit status")
    t.eq([line[5:] for line in out if line.startswith("word ")], [tapir, *words], "words")
    t.eq(dict(line[4:].split("=", 1) for line in out if line.startswith("env ")), env, "environment")
    t.eq([line for line in out if line.startswith(("files", "usr1", "fd", "pid"))],
         ["files 321", "usr1 1", f"pid {process.pid}"], "limit, signal mask, descriptors, process")


def test_serve_without_the_agent_says_which_package_is_missing(t):
    tapir = programs(t, "tapir")
    # One of that name which the user has in PATH or in the working directory is not the agent.
    elsewhere = t.path("elsewhere")
    os.makedirs(elsewhere)
    with open(os.path.join(elsewhere, AGENT), "w", encoding="ascii") as file:
        file.write(f"#!/bin/sh\ntouch {t.path('executed')}\n")
    os.chmod(os.path.join(elsewhere, AGENT), 0o755)
    said = t.run("sh", "-c", f'cd "{elsewhere}" && PATH="{elsewhere}:$PATH" exec "{tapir}" serve')
    t.eq((said.rc, said.out), (3, ""), said.err)
    t.eq(said.err, f"tapir: there is no {AGENT} in {os.path.dirname(tapir)}: install it (Debian package {AGENT})\n", "one line")
    t.ok(not os.path.exists(t.path("executed")), "nothing else was executed")
    # Its page, its usage and all else are those of a tapir that has it.
    for words in (("serve", "--help"), ("help", "serve"), ("help", "serve", "--man"), ("help", "--completion"), ("--version",)):
        alone, whole = (t.run(path, *words) for path in (tapir, t.tapir_path))
        t.eq((alone.rc, alone.out), (0, whole.out), " ".join(words))
    t.eq(t.run(tapir, "serve", "--nothing").rc, 2, "usage")


def test_agent_without_tapir_says_so(t):
    tapir = programs(t, AGENT)
    refused(t, agent_beside(tapir), 3, f"there is no tapir in {os.path.dirname(tapir)}: install it (Debian package tapir)")


def test_agent_of_another_version_is_refused(t):
    tapir = programs(t, "tapir", AGENT)
    version = t.run(tapir, "--version").out.split()[1]
    other = "9" + version[1:]
    with open(agent_beside(tapir), "r+b") as file:
        data = file.read()
        t.eq(data.count(f"{AGENT} {version}\0".encode()), 1, "its note")
        file.seek(data.index(f"{AGENT} {version}\0".encode()))
        file.write(f"{AGENT} {other}\0".encode())
    refused(t, tapir, 1, agent_beside(tapir), f"it is version {other}, this is version {version}")


def test_agent_that_others_may_have_written_is_refused(t):
    tapir = programs(t, "tapir", AGENT)
    agent = agent_beside(tapir)
    for mode in (0o775, 0o757):
        os.chmod(agent, mode)
        refused(t, tapir, 3, agent, f"others may write to it, its mode is {mode:04o}")
    os.chmod(agent, 0o755)
    os.chown(agent, 12345, -1)
    refused(t, tapir, 3, agent, "it belongs to uid 12345")
    os.chown(tapir, 12345, -1)  # built by that user, and run by root: tapir itself is that user's
    said = t.run(tapir, "serve", "--stdio", "--state", "memory")
    t.ok(said.rc == 2 and "--stdio" in said.err, said.err)
    os.rename(agent, agent + ".own")
    os.symlink(agent + ".own", agent)
    refused(t, tapir, 1, agent, "it is a symbolic link")


def test_tapir_needs_no_library_and_has_no_code_of_the_agent(t):
    t.need("readelf", "nm")
    needed, code = {}, {}
    for name in "tapir", AGENT:
        path = os.path.join(t.build, name)
        said = t.run("readelf", "-dW", path).out
        needed[name] = {line.split("[")[1].split("]")[0] for line in said.splitlines() if "(NEEDED)" in line}
        code[name] = {line.split()[-1] for line in t.run("nm", "--defined-only", path).out.splitlines()}
    t.eq({lib for lib in needed[AGENT] - needed["tapir"] if "san" not in lib}, {"libseccomp.so.2"}, "what the agent alone needs")
    for lib in "seccomp", "microhttpd", "gnutls", "curl":
        t.ok(not any(lib in one for one in needed["tapir"]), f"{lib}: {needed['tapir']}")
    for symbol in "tapir_agent__run", "tapir_front__run", "tapir_mhd__load", "tapir_routes", "tapir_sandbox__drop_user":
        t.eq((symbol in code[AGENT], symbol in code["tapir"]), (True, False), symbol)


def test_static_program_does_everything_under_both_names(t):
    t.need("readelf")
    static = os.path.join(t.build, "tapir-static")
    home = t.path("bin")
    os.makedirs(home)
    for name in "tapir", AGENT:
        path = os.path.join(home, name)
        shutil.copy2(static, path)
        t.eq(t.run(path, "--version").out, t.run(t.tapir_path, "--version").out, "version")
        t.eq(t.run(path, "ps", "--json", "-p", os.getpid()).rc, t.run(t.tapir_path, "ps", "--json", "-p", os.getpid()).rc, "another command")
        said = t.run(path, "serve")
        t.ok(said.rc == 3 and "cannot serve HTTP: requires libmicrohttpd" in said.err, said.err)
        t.eq(t.run(path, "serve", "--stdio").rc, 0, "the agent of a program whose input has ended")
        os.unlink(path)
    path = os.path.join(home, AGENT)
    shutil.copy2(static, path)
    t.eq(t.run(path, "--stdio").rc, 0, "the agent without the word serve")
    t.eq(t.run(path, "--help").out, t.run(t.tapir_path, "serve", "--help").out, "help")
    # Beside a tapir that has none it is the agent.
    shutil.copy2(t.tapir_path, os.path.join(home, "tapir"))
    os.chmod(path, 0o755)
    said = t.run(os.path.join(home, "tapir"), "serve")
    t.ok(said.rc == 3 and "which a static tapir cannot load" in said.err, said.err)
    t.eq(json.loads(t.run(path, "doctor", "--json").out)["checks"] != [], True, "doctor")

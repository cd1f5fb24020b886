# SPDX-License-Identifier: GPL-2.0-or-later
"""The walk of user/agent/README.md: its commands, as they are there, one after the other."""
import json
import os
import pathlib
import re

from dotnet_program import build_dotnet

CHECK_SERVE = {"test_walk_of_the_page_works_as_it_is_written"}
TIMEOUT = 300

# Its own network and its own /var/lib: the agent has the address and the directory of the page.
SETUP = """
set -eu -o pipefail
ip link set lo up
mkdir -p /var/lib && mount -t tmpfs none /var/lib
sudo() { "$@"; }
cd "$WALK_HOME"
export HOME="$PWD" PPROF_TMPDIR="$PWD" PATH="$TAPIR_DIR:$PATH"
step() { printf '==== %s\\n' "$1"; }
trap 'kill $agent_pid; wait' EXIT
"""


def commands():
    page = pathlib.Path(__file__).resolve().parents[2] / "user" / "agent" / "README.md"
    walk = page.read_text(encoding="utf-8").split("\n## A walk\n")[1].split("\n## ")[0]
    return re.findall(r"^    \$ (.*)$", walk, re.M)


def test_commands_of_pages_show_no_token(t):
    """Words of a command can be read by every user of the machine: a token is in a file, a variable or the output of a command to one."""
    root = pathlib.Path(__file__).resolve().parents[2]
    for page in sorted(path for path in root.rglob("*.md") if "build" not in path.parts and ".git" not in path.parts):
        text = page.read_text(encoding="utf-8").replace("\\\n", " ")
        t.ok(not re.search(r"^ {4}.*Bearer \$\(", text, re.M), f"{page.relative_to(root)}: a token in a variable for the words of a command")
        for line in re.findall(r"^ {4}(?:\$ )?(.*\b(?:curl|wget|pprof|kubectl|podman|docker)\b.*)$", text, re.M):
            words = re.sub(r"\b[A-Z_]+=\$\([^)]*\) ", "", line)  # of the environment, which is its user's alone
            t.ok(not re.search(r"\$\([^)]*(?:token|person|rand)|from-literal|Bearer|://[^/ ]*:[^/ ]*@", words), f"{page.relative_to(root)}: {line}")


def test_walk_of_the_page_works_as_it_is_written(t):
    t.need("unshare", "ip", "jq", "curl", "go")
    program = t.start("sh", "-c", 'sleep 300 | "$0" exceptions', build_dotnet(t, "Defects"))
    pid = program.wait_line("ready ").split()[1]
    script, lines = SETUP, commands()
    t.ok(len(lines) > 12, f"commands of the page: {lines}")
    for i, line in enumerate(lines):
        script += f"step {i}\n" + line.replace("pid=4711", "pid=" + pid) + "\n"
        if line.endswith("serve &"):
            script += "agent_pid=$!\nuntil grep -q 'listening on' agent.err; do sleep 0.1; done\n"
    script = script.replace("serve &", "serve 2>agent.err &")
    with open(t.path("walk.sh"), "w", encoding="utf-8") as file:
        file.write(script)
    os.mkdir(t.path("home"))
    result = t.run("unshare", "--net", "--mount", "--propagation", "private", "bash", t.path("walk.sh"), timeout=240,
                   env={**os.environ, "TAPIR_DIR": os.path.dirname(os.path.abspath(t.tapir_path)), "WALK_HOME": t.path("home")})
    t.eq(result.rc, 0, f"the walk: {result.out[-500:]} {result.err[-800:]}")
    said = {lines[int(part.split("\n", 1)[0])]: part.split("\n", 1)[1] for part in result.out.split("==== ")[1:]}

    def output(word):
        return next(text for line, text in said.items() if word in line)

    with open(t.path("home/slow.speedscope.json"), "rb") as file:
        t.ok(json.load(file)["$schema"].startswith("https://www.speedscope.app"), "a speedscope file")
    t.ok(f'[{pid},"Defects",' in output("/v1/processes"), output("/v1/processes"))
    t.ok("threads" in output("/v1/stacks"), output("/v1/stacks"))
    t.ok("exceptions" in output("/v1/findings"), output("/v1/findings"))
    t.ok("exception-count" in output("/v1/counters"), output("/v1/counters")[:300])
    t.ok(": recording" in output("/v1/events"), output("/v1/events")[:300])
    t.ok("HTTP/1.1 201 Created" in output("-i | grep") and "Location: /v1/sessions/" in output("-i | grep"), output("-i | grep"))
    t.ok(output('"$session" | jq').startswith('["recording",'), output('"$session" | jq'))
    t.ok("Defects" in output("tapir report slow"), output("tapir report slow")[:300])
    t.ok("flat%" in output("go tool pprof"), output("go tool pprof")[:300])
    program.kill()

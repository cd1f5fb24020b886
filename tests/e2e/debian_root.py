# SPDX-License-Identifier: GPL-2.0-or-later
"""A program of a later release of Debian for a case: its package and those it needs, unpacked once into a root of their own, in which chroot(1) runs
it. Nothing is installed, and no script of a package is run; apt fetches and checks them, from where this machine's own packages are."""
import os
import pathlib
import re
import shutil

from harness import made_once

LINKS = ("bin", "sbin", "lib", "lib64")


def sources(t, suite):
    """A line for apt: the same archive, another suite."""
    listed = t.run(t.need("apt-get"), "indextargets", "--format", "$(REPO_URI) $(LABEL) $(COMPONENT) $(SIGNED_BY)", "Identifier: Packages").out
    archive = re.search(r"^(\S+) Debian main( \S+)?$", listed, re.M)
    if not archive:
        t.skip("this machine's packages are not Debian's")
    key = "/usr/share/keyrings/debian-archive-keyring.gpg"
    return f"deb [signed-by={key}] {archive[1]} {suite} main\n"


def fetch(t, home, suite, package):
    """The package and all that it needs, as files, by lists of packages and a state of apt's own."""
    for part in ("lists/partial", "cache/archives/partial"):
        os.makedirs(os.path.join(home, part))
    pathlib.Path(home, "sources.list").write_text(sources(t, suite), encoding="ascii")
    pathlib.Path(home, "status").touch()
    settings = {"Dir::Etc::sourcelist": "sources.list", "Dir::State::lists": "lists", "Dir::Cache": "cache", "Dir::State::status": "status"}
    options = [f"-o{name}={home}/{path}" for name, path in settings.items()]
    options += ["-oDir::Etc::sourceparts=-", "-oAcquire::IndexTargets::deb::DEP-11::DefaultEnabled=false", "-oAcquire::Languages=none",
                "-oAPT::Sandbox::User=root", "-qq"]
    for command in (["update"], ["install", "--download-only", "--no-install-recommends", "-y", package]):
        if t.run("apt-get", *options, *command, timeout=120).rc:
            t.skip(f"{package} of Debian's {suite} is not to be had here")
    return sorted(pathlib.Path(home, "cache/archives").glob("*.deb"))


@made_once
def debian_root(t, suite, package):
    """The root with PACKAGE of a SUITE."""
    root = os.path.join(t.build, "tests", "debian", f"{suite}-{package}")
    if not os.path.exists(root):
        apt, part = root + ".apt", root + ".part"
        for path in (apt, part):
            shutil.rmtree(path, ignore_errors=True)
        for deb in fetch(t, os.path.abspath(apt), suite, package):
            t.eq(t.run("dpkg", "-x", deb, part).rc, 0, f"unpacking {deb}")
        for name in LINKS:
            if not os.path.exists(os.path.join(part, name)):
                os.symlink("usr/" + name, os.path.join(part, name))
        os.makedirs(os.path.join(part, "tmp"), exist_ok=True)
        shutil.rmtree(apt)
        os.rename(part, root)
    return root


def in_debian_root(t, suite, package, program, script):
    """The command that runs a script with a program of the package; its file has the same name there, below /tmp."""
    root = debian_root(t, suite, package)
    shutil.copy(script, os.path.join(root, "tmp"))
    return [t.need("chroot"), root, program, f"/tmp/{os.path.basename(script)}"]

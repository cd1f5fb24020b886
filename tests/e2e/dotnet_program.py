#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A .NET program of tests/e2e/programs, built once for all cases that run it.

Run as a program it builds those of make check by one command: most of what a build takes is the start of
the build's own programs. What it does not build, for whatever reason, the first case that wants it does.
"""
import os
import pathlib
import shutil
import subprocess

from harness import Case, Failure, Skip, made_once

PROJECT = """<Project Sdk="%s">
  <PropertyGroup>
    <OutputType>Exe</OutputType>
    <TargetFramework>net%s</TargetFramework>
    <InvariantGlobalization>true</InvariantGlobalization>
    <AllowUnsafeBlocks>true</AllowUnsafeBlocks>
  </PropertyGroup>
  <ItemGroup>%s</ItemGroup>
</Project>
"""


ALL = """<Project DefaultTargets="Build">
  <ItemGroup>%s
  </ItemGroup>
  <Target Name="Restore"><MSBuild Projects="@(All)" Targets="Restore" /></Target>
  <Target Name="Build"><MSBuild Projects="@(All)" Targets="Build" ContinueOnError="true" /></Target>
</Project>
"""
ONE = """
    <All Include="%s"><AdditionalProperties>Configuration=Release;OutputPath=%s/</AdditionalProperties></All>"""
# Those that cases of make check run.
PROGRAMS = ("Alloc", "AwaitRate", "Awaits", "Busy", "Counting", "Defects", "Echo", "Fields", "Fire", "Graph", "Heap", "Hot", "Known", "Many",
            "Shop", "Sources", "Storm")
TRACE_EVENT = ("Microsoft.Diagnostics.Tracing.TraceEvent", "4.0.0")
RESTORE_S = "150"  # the first restore of a package takes 10 to 90 s
SOURCES = pathlib.Path(__file__).resolve().parent / "programs"


def is_fresh(done, source):
    return os.path.exists(done) and os.path.getmtime(done) > os.path.getmtime(source)


def prepare(home, name, project):
    """A directory with the source and its project."""
    shutil.rmtree(home, ignore_errors=True)
    os.makedirs(home)
    shutil.copy(SOURCES / f"{name}.cs", home)
    path = pathlib.Path(home, f"{name}.csproj")
    path.write_text(project)
    return path


def quiet(env=None):
    return {**os.environ, "DOTNET_CLI_TELEMETRY_OPTOUT": "1", "DOTNET_NOLOGO": "1", **(env or {})}


def made(t, name, place, project, *command, env=None, timeout=120, limit_s=None):
    """The program of programs/NAME.cs below tests/dotnet/PLACE of the build, made anew by a dotnet command when its source
    is newer. project: returns what its .csproj contains; limit_s: after which the command is ended. None: the command fails;
    its words are in the second value."""
    dotnet = t.need("dotnet")
    limit = (t.need("timeout"), limit_s) if limit_s else ()
    home = os.path.join(t.build, "tests", "dotnet", place)
    done = os.path.join(home, "out", name)
    if is_fresh(done, SOURCES / f"{name}.cs"):
        return done, ""
    prepare(home, name, project())
    result = t.run(*limit, dotnet, *command, "-c", "Release", "-v", "q", "-o", os.path.dirname(done), home, timeout=timeout, env=quiet(env))
    if result.rc or not os.path.exists(done):
        shutil.rmtree(home, ignore_errors=True)
        return None, f"it took more than {limit_s} s" if limit and result.rc == 124 else (result.out + result.err).strip()[-300:]
    os.utime(done)
    return done, ""


def sdk_version(t):
    """As in net10.0. It takes a tenth of a second, which only those who build spend."""
    return ".".join(t.run(t.need("dotnet"), "--version").out.strip().split(".")[:2])


@made_once
def build_dotnet(t, name, sdk="Microsoft.NET.Sdk", packages=(), sources=(), has_cultures=False):
    """The path of the program, which has the name of its source. packages: (name, version) of NuGet's it needs; sources: more files;
    has_cultures: a package refuses to run without ICU."""
    references = "".join(f'<PackageReference Include="{package}" Version="{at}" />' for package, at in packages)
    references += "".join(f'<Compile Include="{source}" />' for source in sources)
    project = PROJECT.replace("<InvariantGlobalization>true", "<InvariantGlobalization>false") if has_cultures else PROJECT
    done, why = made(t, name, name, lambda: project % (sdk, sdk_version(t), references), "build", limit_s=RESTORE_S if packages else None)
    if not done:
        needs = " and ".join(" ".join(package) for package in packages)
        t.skip(f"dotnet builds no {name} here, which needs {needs} of NuGet: {why}" if packages else "dotnet builds no program here")
    return done


@made_once
def publish_dotnet(t, name, runtime, single_file=False, runtime_async=False):
    """The same program with a runtime of its own, such as "8.0.33", which NuGet has; published once. Of a runtime that is newer
    than the SDK, the program is built for the SDK's. runtime_async: its async methods are suspended by the runtime (.NET 11)."""
    sdk = t.run(t.need("dotnet"), "--version").out.strip()
    version = ".".join(min(runtime, sdk, key=lambda text: int(text.split(".")[0])).split(".")[:2])
    options = ["-p:PublishSingleFile=true"] if single_file else []
    project = PROJECT % ("Microsoft.NET.Sdk", version, "")
    if runtime_async:
        project = project.replace("</PropertyGroup>", "<EnablePreviewFeatures>true</EnablePreviewFeatures>"
                                  "<Features>runtime-async=on</Features>"
                                  "<NoWarn>SYSLIB5007</NoWarn></PropertyGroup>")
    done, _ = made(t, name, f"{name}-{runtime}{'-single' if single_file else ''}{'-async' if runtime_async else ''}",
                   lambda: project, "publish", "-r", "linux-x64", "--self-contained",
                   f"-p:RuntimeFrameworkVersion={runtime}", *options)
    if not done:
        t.skip(f"NuGet gives no .NET {runtime} here")
    return done


DOWNLOAD = """<Project Sdk="Microsoft.NET.Sdk">
  <PropertyGroup>
    <TargetFramework>net8.0</TargetFramework>
    <DisableImplicitFrameworkReferences>true</DisableImplicitFrameworkReferences>
  </PropertyGroup>
  <ItemGroup><PackageDownload Include="%s" Version="[%s]" /></ItemGroup>
</Project>
"""


@made_once
def download_dotnet(t, package, version, names):
    """A directory with these files of a NuGet package, of which nothing else is kept."""
    dotnet = t.need("dotnet")
    home = os.path.join(t.build, "tests", "dotnet", f"{package}-{version}")
    done = os.path.join(home, "out")
    if os.path.isdir(done):
        return done
    shutil.rmtree(home, ignore_errors=True)
    os.makedirs(home)
    pathlib.Path(home, "download.csproj").write_text(DOWNLOAD % (package, version))
    if t.run(dotnet, "restore", "-v", "q", "--packages", os.path.join(home, "all"), home, timeout=120).rc:
        shutil.rmtree(home, ignore_errors=True)
        t.skip(f"NuGet gives no {package} {version} here")
    found = [next(pathlib.Path(home, "all").rglob(name)) for name in names]
    os.makedirs(done)
    for file in found:
        shutil.copy(file, done)
    shutil.rmtree(os.path.join(home, "all"))
    return done


def build_all(build):
    """By one project that builds the others."""
    dotnet, places = shutil.which("dotnet"), pathlib.Path(os.path.abspath(build), "tests", "dotnet")
    wanted = [name for name in PROGRAMS if not is_fresh(places / name / "out" / name, SOURCES / f"{name}.cs")]
    if not dotnet or not wanted:
        return
    version = subprocess.run([dotnet, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    project = PROJECT % ("Microsoft.NET.Sdk", ".".join(version.split(".")[:2]), "")
    projects = [prepare(places / name, name, project) for name in wanted]
    (places / "all.proj").write_text(ALL % "".join(ONE % (path, path.parent / "out") for path in projects))
    done = subprocess.run([dotnet, "build", "-v", "q", places / "all.proj"], check=False, env=quiet())
    for path in projects:
        program = path.parent / "out" / path.stem
        if done.returncode and not program.exists():
            shutil.rmtree(path.parent)
        else:
            os.utime(program)


def build_reader(t):
    """What opens exported recordings by the library PerfView is made of."""
    return build_dotnet(t, "Nettrace", packages=[TRACE_EVENT])


def build_reader_before_its_cases(build):
    """Four of them would wait for it at the same time, and no other case could run."""
    case = Case(build)
    try:
        build_reader(case)
    except (Skip, Failure):
        pass  # each of its cases says so
    finally:
        case.close()


if __name__ == "__main__":
    build_all(os.environ.get("BUILD", "build"))
    build_reader_before_its_cases(os.environ.get("BUILD", "build"))

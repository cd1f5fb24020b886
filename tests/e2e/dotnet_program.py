# SPDX-License-Identifier: GPL-2.0-or-later
"""A .NET program of tests/e2e/programs, built once for all cases that run it."""
import os
import pathlib
import shutil

from harness import made_once

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


def made(t, name, place, project, *command, env=None, timeout=120):
    """The program of programs/NAME.cs below tests/dotnet/PLACE of the build, made anew by a dotnet command when its source
    is newer. project: what stands in its .csproj. None: the command fails; its words are in the second value."""
    dotnet = t.need("dotnet")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", f"{name}.cs")
    home = os.path.join(t.build, "tests", "dotnet", place)
    done = os.path.join(home, "out", name)
    if os.path.exists(done) and os.path.getmtime(done) > os.path.getmtime(source):
        return done, ""
    shutil.rmtree(home, ignore_errors=True)
    os.makedirs(home)
    shutil.copy(source, home)
    pathlib.Path(home, f"{name}.csproj").write_text(project)
    env = {**os.environ, "DOTNET_CLI_TELEMETRY_OPTOUT": "1", "DOTNET_NOLOGO": "1", **(env or {})}
    result = t.run(dotnet, *command, "-c", "Release", "-v", "q", "-o", os.path.dirname(done), home, timeout=timeout, env=env)
    if result.rc or not os.path.exists(done):
        shutil.rmtree(home, ignore_errors=True)
        return None, (result.out + result.err).strip()[-300:]
    os.utime(done)
    return done, ""


@made_once
def build_dotnet(t, name, sdk="Microsoft.NET.Sdk", packages=(), sources=()):
    """The path of the program, which has the name of its source. packages: (name, version) of NuGet's it needs; sources: more files."""
    references = "".join(f'<PackageReference Include="{package}" Version="{at}" />' for package, at in packages)
    references += "".join(f'<Compile Include="{source}" />' for source in sources)
    version = t.run(t.need("dotnet"), "--version").out.strip()
    project = PROJECT % (sdk, ".".join(version.split(".")[:2]), references)
    done, _ = made(t, name, name, project, "build")
    if not done:
        t.skip("dotnet builds no program here" + (" with NuGet's packages" if packages else ""))
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
                   project, "publish", "-r", "linux-x64", "--self-contained",
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

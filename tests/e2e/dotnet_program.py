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


@made_once
def build_dotnet(t, name, sdk="Microsoft.NET.Sdk", packages=()):
    """The path of the program, which is called as its source is. packages: (name, version) of NuGet's it needs."""
    dotnet = t.need("dotnet")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", f"{name}.cs")
    home = os.path.join(t.build, "tests", "dotnet", name)
    done = os.path.join(home, "out", name)
    if os.path.exists(done) and os.path.getmtime(done) > os.path.getmtime(source):
        return done
    shutil.rmtree(home, ignore_errors=True)
    os.makedirs(home)
    shutil.copy(source, home)
    references = "".join(f'<PackageReference Include="{package}" Version="{at}" />' for package, at in packages)
    version = t.run(dotnet, "--version").out.strip()
    pathlib.Path(home, f"{name}.csproj").write_text(PROJECT % (sdk, ".".join(version.split(".")[:2]), references))
    env = {**os.environ, "DOTNET_CLI_TELEMETRY_OPTOUT": "1", "DOTNET_NOLOGO": "1"}
    if t.run(dotnet, "build", "-c", "Release", "-v", "q", "-o", os.path.dirname(done), home, timeout=120, env=env).rc:
        t.skip("dotnet builds no program here" + (" with NuGet's packages" if packages else ""))
    os.utime(done)
    return done


@made_once
def publish_dotnet(t, name, runtime, single_file=False):
    """The same program with a runtime of its own, such as "8.0.33", which NuGet has; published once."""
    dotnet = t.need("dotnet")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", f"{name}.cs")
    home = os.path.join(t.build, "tests", "dotnet", f"{name}-{runtime}{'-single' if single_file else ''}")
    done = os.path.join(home, "out", name)
    if os.path.exists(done) and os.path.getmtime(done) > os.path.getmtime(source):
        return done
    shutil.rmtree(home, ignore_errors=True)
    os.makedirs(home)
    shutil.copy(source, home)
    version = ".".join(runtime.split(".")[:2])
    pathlib.Path(home, f"{name}.csproj").write_text(PROJECT % ("Microsoft.NET.Sdk", version, ""))
    env = {**os.environ, "DOTNET_CLI_TELEMETRY_OPTOUT": "1", "DOTNET_NOLOGO": "1"}
    options = ["-p:PublishSingleFile=true"] if single_file else []
    result = t.run(dotnet, "publish", "-c", "Release", "-v", "q", "-r", "linux-x64", "--self-contained",
                   f"-p:RuntimeFrameworkVersion={runtime}", *options, "-o", os.path.dirname(done), home, timeout=120,
                   env=env)
    if result.rc:
        shutil.rmtree(home, ignore_errors=True)
        t.skip(f"NuGet gives no .NET {runtime} here")
    os.utime(done)
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

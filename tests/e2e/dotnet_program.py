# SPDX-License-Identifier: GPL-2.0-or-later
"""A .NET program of tests/e2e/programs, built once for all cases that run it."""
import os
import pathlib
import shutil

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

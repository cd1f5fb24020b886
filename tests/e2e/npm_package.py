# SPDX-License-Identifier: GPL-2.0-or-later
"""A package of npm's registry for a case: what is in it, unpacked once; no script of an installation runs."""
import os
import tarfile

from harness import made_once


@made_once
def npm_package(t, name):
    """The directory of NAME@VERSION."""
    npm = t.need("npm")
    home = os.path.join(t.build, "tests", "npm")
    package = os.path.join(home, name.replace("/", "+"))
    if not os.path.exists(package):
        os.makedirs(home, exist_ok=True)
        packed = t.run(npm, "pack", "--silent", "--pack-destination", home, name, timeout=60)
        if packed.rc:
            t.skip("npm's registry is not to be reached")
        with tarfile.open(os.path.join(home, packed.out.split()[-1])) as tar:
            tar.extractall(package + ".part", **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
        os.rename(package + ".part", package)
    return os.path.join(package, "package")

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A sample of make check-faults, for make check; which one changes with the build.
exec "${PYTHON:-python3}" tests/faults/run.py --build "${BUILD:-build}" --seed 14 --sites 200 --seconds 45

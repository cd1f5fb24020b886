# SPDX-License-Identifier: GPL-2.0-or-later
"""Steps of tests/kernels/guest, over as many guests as it takes.

A guest that dies or stands still ends with the step that it was in. Another guest runs that step alone: there it passes, or has
failed. A third one continues with those that are left. Of two guests that ran none there is no third one.
"""

import collections

OUTCOMES = ("ok", "FAIL", "skip", "unstable")


class Steps:
    """Names of steps and how each of them ended."""

    def __init__(self, names, say):
        self.names, self.say = names, say
        self.outcomes = {}
        self.boots = 0

    def read(self, output):
        """Notes how steps ended; returns the one that began and did not end, or None."""
        began = None
        for line in output.splitlines():
            word, name = (line.split(None, 2) + ["", ""])[:2]
            if word == "begin":
                began = name
            elif began and word in OUTCOMES and name.rstrip(":") == began:
                self.outcomes[began], began = word, None
        return began

    def boot(self, boot, names):
        """Boots a guest for these steps; returns the one in which it ended early, "" for none of them, or None."""
        self.boots += 1
        output = boot(names)
        began = self.read(output)
        return None if all(name in self.outcomes for name in names) else began or ""

    def left(self):
        return [name for name in self.names if name not in self.outcomes]

    def run(self, boot):
        """Runs all steps; boot(names) runs some in a guest and returns what it printed."""
        mute = 0
        while self.left():
            died = self.boot(boot, self.left())
            if died is None:
                return
            if not died:
                self.say(f"the guest ran none of {len(self.left())} steps")
                mute += 1
                if mute == 2:
                    self.outcomes.update(dict.fromkeys(self.left(), "FAIL"))
                continue
            self.say(f"the guest died or stood still in {died}: another one runs it alone")
            if self.boot(boot, [died]) is not None:
                self.outcomes[died] = "FAIL"
            self.say(f"{died}, alone: {self.outcomes[died]}")

    def failed(self):
        return [name for name in self.names if self.outcomes[name] == "FAIL"]

    def counts(self):
        """(passed, failed, skipped)"""
        cnt = collections.Counter(self.outcomes.values())
        return cnt["ok"], cnt["FAIL"], cnt["skip"]

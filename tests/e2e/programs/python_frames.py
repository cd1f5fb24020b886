# SPDX-License-Identifier: GPL-2.0-or-later
"""python_frames.py: threads that sleep in functions of all kinds. Prints "pid N" when they do, and for each line of input what the interpreter
itself says that they run, as JSON: thread -> functions, innermost first, as "name:file"."""
import functools
import json
import os
import sys
import threading
import time


def sleep():
    time.sleep(1000)


class Shop:
    def draw(self):
        sleep()

    def größe(self):
        self.draw()

    @property
    def 描く(self):
        return self.größe()

    def __lt__(self, other):
        return self.描く


def lines():
    yield (lambda: sleep())()


def by_sort():
    """The interpreter calls C, and that the interpreter."""
    sorted([Shop(), Shop()])


def by_generator():
    return [line for line in list(map(str, lines()))]


def by_reduce():
    return functools.reduce(lambda a, b: Shop().draw(), [1, 2])


def deep(n=60):
    if n:
        return deep(n - 1)
    return eval("sleep()", globals())  # the name of its file is none


def main():
    for run in (by_sort, by_generator, by_reduce, deep):
        threading.Thread(target=run, daemon=True).start()
    time.sleep(0.3)
    print("pid", os.getpid(), flush=True)
    tids = {thread.ident: thread.native_id for thread in threading.enumerate()}
    for _ in sys.stdin:
        said = {}
        for ident, frame in sys._current_frames().items():
            names = said[tids[ident]] = []
            while frame and ident != threading.get_ident():
                names.append(f"{frame.f_code.co_qualname}:{frame.f_code.co_filename}")
                frame = frame.f_back
        print(json.dumps(said), flush=True)


main()

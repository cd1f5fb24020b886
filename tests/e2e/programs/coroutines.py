# SPDX-License-Identifier: GPL-2.0-or-later
"""Coroutines that wait for each other, for a queue, for time and for tasks. Once all of them are suspended it says its pid, then, as JSON, for each
task its name and the functions and lines of its chain of awaits, innermost first, as the coroutines themselves say (cr_await, cr_frame)."""
import asyncio
import gc
import json
import os
import sys


class Shop:
    def __init__(self):
        self.stock, self.till = asyncio.Lock(), asyncio.Lock()
        self.parcels = asyncio.Queue()
        self.entered = asyncio.Event()

    async def sell(self):
        async with self.stock:
            await asyncio.sleep(0)
            await self.pay()

    async def pay(self):
        async with self.till:
            return 1

    async def refund(self):
        async with self.till:
            await asyncio.sleep(0)
            async with self.stock:
                return 2

    async def deliver(self):
        while True:
            await self.parcels.get()

    async def nap(self):
        await asyncio.sleep(3600)

    async def count(self):
        for i in range(3):
            await asyncio.sleep(3600 * i)
            yield i

    async def read_counts(self):
        async for _ in self.count():
            await asyncio.sleep(0)

    async def order(self):
        return await asyncio.create_task(self.nap(), name="nap of an order")

    async def order_all(self):
        await asyncio.gather(self.nap(), self.nap())

    async def promise(self):
        await asyncio.get_running_loop().create_future()


def chain_of(task):
    """[[name, file, line], ...] of a task, innermost first."""
    awaits, chain = task.get_coro(), []
    while awaits is not None:
        frame = next((getattr(awaits, name) for name in ("cr_frame", "ag_frame", "gi_frame") if hasattr(awaits, name)), None)
        if frame is not None:
            chain.insert(0, [frame.f_code.co_qualname, frame.f_code.co_filename, frame.f_lineno])
        if type(awaits).__name__ == "async_generator_asend":  # has no attribute for its generator
            awaits = next(one for one in gc.get_referents(awaits) if hasattr(one, "ag_frame"))
        else:
            awaits = next((getattr(awaits, name) for name in ("cr_await", "ag_await", "gi_yieldfrom") if hasattr(awaits, name)), None)
    return chain


def say(main):
    tasks = {task.get_name(): chain_of(task) for task in asyncio.all_tasks() if task is not main}
    print("chains " + json.dumps(tasks), flush=True)


def churn(loop, cnt):
    """Objects that come and go while the lists are read."""
    rows = [[i, {}] for i in range(cnt)]
    loop.call_later(0.001, churn, loop, cnt)
    return rows


async def main():
    shop, objects = Shop(), [[i] for i in range(int(sys.argv[1]))]
    kinds = [shop.sell, shop.refund, shop.read_counts, shop.order, shop.order_all, shop.promise] + [shop.deliver] * 40 + [shop.nap] * 25
    tasks = [asyncio.create_task(kind(), name=f"{kind.__name__} {i}") for i, kind in enumerate(kinds)]
    await asyncio.sleep(0)
    for _ in range(20):
        await asyncio.sleep(0)
    asyncio.get_running_loop().call_later(0.05, say, asyncio.current_task())
    if len(sys.argv) > 2:
        churn(asyncio.get_running_loop(), int(sys.argv[2]))
    print(f"pid {os.getpid()}", flush=True)
    await asyncio.wait(tasks)
    return objects


asyncio.run(main())

# SPDX-License-Identifier: GPL-2.0-or-later
"""slow_peer.py: what programs call that await. Prints "ports QUICK SLOW": on either it answers a line "MS" with a line after so many milliseconds."""
import asyncio
import contextlib


async def answer(reader, writer):
    with contextlib.suppress(ConnectionError):
        while line := await reader.readline():
            await asyncio.sleep(int(line) / 1000)
            writer.write(b"done\n")
    writer.close()


async def main():
    servers = [await asyncio.start_server(answer, "127.0.0.1", 0) for _ in range(2)]
    print("ports", *(server.sockets[0].getsockname()[1] for server in servers), flush=True)
    await asyncio.gather(*(server.serve_forever() for server in servers))


asyncio.run(main())

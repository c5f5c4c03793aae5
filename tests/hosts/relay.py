"""A TCP relay that delays what passes: `relay.py PORT TARGET_HOST TARGET_PORT SECONDS`.

The kernel under test has no netem, so that delay is made here.
"""

from __future__ import annotations

import asyncio
import sys


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, delay: float) -> None:
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

    async def write() -> None:
        while True:
            due, data = await queue.get()
            await asyncio.sleep(max(0.0, due - loop.time()))
            if not data:
                break
            writer.write(data)
            await writer.drain()
        writer.close()

    writing = asyncio.create_task(write())
    while True:
        data = await reader.read(65536)
        queue.put_nowait((loop.time() + delay, data))
        if not data:
            break
    await writing


async def main(port: int, host: str, target: int, delay: float) -> None:
    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection(host, target)
        await asyncio.gather(
            pump(reader, back, delay), pump(there, writer, delay), return_exceptions=True
        )

    server = await asyncio.start_server(accept, "0.0.0.0", port)
    print("relaying", flush=True)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), float(sys.argv[4])))

"""A port of this namespace -> the coordinator's port elsewhere: connections passed on as they are.

    python -m ipmicra.lab.box.kernel.tunnel PORT ADDRESS

A host calls its coordinator by TLS, or on its own machine. In the box, a tunnel on the host's own machine
spares us certificates; what goes through it crosses the box's wires like everything else.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys

PIECE_BYTES = 65_536


async def serve(port: int, address: str) -> None:
    async def on_connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer), contextlib.suppress(OSError):
            far_reader, far_writer = await asyncio.open_connection(address, port)
            with contextlib.closing(far_writer):
                ways = (_pass_on(reader, far_writer), _pass_on(far_reader, writer))
                await asyncio.wait(
                    [asyncio.create_task(way) for way in ways], return_when="FIRST_COMPLETED"
                )

    server = await asyncio.start_server(on_connection, "127.0.0.1", port)
    async with server:
        await server.serve_forever()


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while piece := await reader.read(PIECE_BYTES):
            writer.write(piece)
            await writer.drain()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), sys.argv[2]))

"""A proxy in front of several web hosts: each connection goes to the next one that takes it."""

import asyncio
import itertools
import threading
from collections.abc import Sequence

CHUNK = 2**16


class RoundRobin:
    """Passes bytes on in a thread of its own. taken: how many connections each host took."""

    def __init__(self, port: int, hosts: Sequence[int]) -> None:
        self.port, self.hosts = port, hosts
        self.taken = dict.fromkeys(hosts, 0)
        self.turn = itertools.cycle(range(len(hosts)))
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        asyncio.run_coroutine_threadsafe(asyncio.start_server(self.pass_on, "127.0.0.1", port), self.loop).result(10)

    async def pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first = next(self.turn)
        for host in [*self.hosts[first:], *self.hosts[:first]]:
            try:
                there = await asyncio.open_connection("127.0.0.1", host)
            except OSError:
                continue  # it is down: the next one
            self.taken[host] += 1
            await asyncio.gather(self.pump(reader, there[1]), self.pump(there[0], writer))
            return
        writer.close()

    async def pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(CHUNK):
                writer.write(data)
                await writer.drain()
        except OSError:
            pass  # one side is gone, which the other is told by the close
        finally:
            writer.close()

    def stop(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(10)

"""The ideal: a bare aiohttp loop that makes the same calls, parses the replies and keeps nothing.

It knows no ledger, limit, retry, record or report, so what the platform takes beyond it is what those cost. As a process of its own:
`python -m benchmarks.ideal URL CONCURRENCY FILE...`, where each file holds one stage's request bodies, one a line.
"""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

import aiohttp
import orjson


async def make_calls(url: str, stages: Sequence[Sequence[bytes]], *, concurrency: int) -> int:
    """Post every body, one stage after the other, at most `concurrency` at once; return the characters of all replies."""
    chars = 0
    connector = aiohttp.TCPConnector(limit=concurrency)
    async with aiohttp.ClientSession(connector=connector, headers={"Content-Type": "application/json"}) as session:

        async def worker(upcoming: "list[bytes]") -> None:
            nonlocal chars
            while upcoming:
                async with session.post(f"{url}/chat/completions", data=upcoming.pop()) as response:
                    reply = orjson.loads(await response.read())
                chars += len(reply["choices"][0]["message"]["content"])

        for bodies in stages:
            upcoming = list(reversed(bodies))
            await asyncio.gather(*(worker(upcoming) for _ in range(concurrency)))
    return chars


def main() -> None:
    """Make the calls of the files."""
    url, concurrency, *files = sys.argv[1:]
    stages = [Path(file).read_bytes().splitlines() for file in files]
    print(asyncio.run(make_calls(url, stages, concurrency=int(concurrency))))


if __name__ == "__main__":
    main()

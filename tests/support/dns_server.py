"""A name server on loopback whose answers change from one look-up to the next, and a small client that asks it: RFC 1035, over UDP."""

import asyncio
import socket
import struct
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from ipaddress import ip_address

A, CNAME, AAAA = 1, 5, 28
FAMILIES = {A: 4, AAAA: 6}
NO_SUCH_NAME = 3
CLIENT_SECONDS = 5.0

Script = Mapping[str, Sequence[Sequence[str]]]
"""Of each name the addresses of its first look-up, of its second and so on; the last ones stay. In place of an address, `garbage` is
answered with bytes that are no answer, and another name of the script with a CNAME to it."""


@dataclass
class DnsServer:
    """Where it listens, and what it was asked: name and record type, in order."""

    port: int
    asked: list[tuple[str, int]] = field(default_factory=list)

    def look_ups(self, name: str) -> int:
        """Return how often a name's IPv4 addresses were asked for: once a look-up."""
        return self.asked.count((name, A))

    def resolver(self) -> Callable[[str], Awaitable[Sequence[str]]]:
        """Return what resolves names at this server: an OSError where it has no answer."""

        async def resolve(name: str) -> Sequence[str]:
            found = await asyncio.gather(*(asyncio.to_thread(_asked, self.port, name, kind) for kind in FAMILIES))
            return [address for addresses in found for address in addresses]

        return resolve


@contextmanager
def dns_server(script: Script) -> Iterator[DnsServer]:
    """Answer by a script, in a thread of this process, until the block ends."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listening:
        listening.bind(("127.0.0.1", 0))
        server = DnsServer(listening.getsockname()[1])

        def serve() -> None:
            while True:
                query, client = listening.recvfrom(4_096)
                if not query:  # the end of the block
                    return
                listening.sendto(_answer(server, script, query), client)

        thread = threading.Thread(target=serve, name="dns-server", daemon=True)
        thread.start()
        try:
            yield server
        finally:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as last:
                last.sendto(b"", ("127.0.0.1", server.port))
            thread.join(timeout=10)


def _answer(server: DnsServer, script: Script, query: bytes) -> bytes:
    name, end = _name(query, 12)
    kind = struct.unpack_from("!H", query, end)[0]
    question = query[12 : end + 4]
    nth = server.asked.count((name, kind))
    server.asked.append((name, kind))
    rounds = script.get(name)
    if rounds is None:
        return query[:2] + struct.pack("!5H", 0x8180 | NO_SUCH_NAME, 1, 0, 0, 0) + question
    given = rounds[min(nth, len(rounds) - 1)]
    if given == ["garbage"]:
        return query[:2] + b"\xff" * 10
    records = [record for address in given for record in _records(script, name, address, kind)]
    return query[:2] + struct.pack("!5H", 0x8180, 1, len(records), 0, 0) + question + b"".join(records)


def _records(script: Script, name: str, address: str, kind: int) -> list[bytes]:
    if address in script:  # another name: it and what is there
        behind = [record for one in script[address][0] for record in _records(script, address, one, kind)]
        return [_record(name, CNAME, _packed_name(address)), *behind]
    parsed = ip_address(address)
    return [_record(name, kind, parsed.packed)] if parsed.version == FAMILIES[kind] else []


def _record(name: str, kind: int, data: bytes) -> bytes:
    return _packed_name(name) + struct.pack("!HHIH", kind, 1, 0, len(data)) + data


def _packed_name(name: str) -> bytes:
    return b"".join(bytes([len(label)]) + label.encode("ascii") for label in name.split(".")) + b"\0"


def _name(message: bytes, start: int) -> tuple[str, int]:
    """Return an uncompressed name, and where it ends."""
    labels = []
    while message[start]:
        labels.append(message[start + 1 : start + 1 + message[start]].decode("ascii"))
        start += 1 + message[start]
    return ".".join(labels), start + 1


def _asked(port: int, name: str, kind: int) -> list[str]:
    """Return the addresses of one type that the server gives. Raises OSError where it gives none that can be read, or no answer in time."""
    header = struct.pack("!6H", 4_711, 0x0100, 1, 0, 0, 0)
    question = _packed_name(name) + struct.pack("!HH", kind, 1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        asking.settimeout(CLIENT_SECONDS)
        asking.sendto(header + question, ("127.0.0.1", port))
        answer = asking.recv(4_096)
    _, flags, _, count, _, _ = struct.unpack_from("!6H", answer)
    if flags & 0xF == NO_SUCH_NAME:
        raise socket.gaierror(socket.EAI_NONAME, "no such name")
    if flags & 0xF:
        raise OSError("the name server's answer cannot be read")
    return _addresses(answer, count, 12 + len(question), kind)


def _addresses(answer: bytes, count: int, start: int, kind: int) -> list[str]:
    found = []
    for _ in range(count):
        _, end = _name(answer, start)
        of_kind, _, _, length = struct.unpack_from("!HHIH", answer, end)
        start = end + 10 + length
        if of_kind == kind:
            found.append(str(ip_address(answer[end + 10 : start])))
    return found

"""A TCP server that says whatever a test wants, byte by byte: what no well-behaved server does."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

Talk = Callable[[socket.socket], None]


@dataclass
class RawServer:
    """Where it listens, and what each connection that ended by itself has said."""

    port: int
    heard: list[bytes] = field(default_factory=list)


@contextmanager
def raw_server(talk: Talk) -> Iterator[RawServer]:
    """Call `talk` with every connection, each in a thread of its own, until the block ends; its connections are closed then."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = RawServer(listening.getsockname()[1])
        connections: list[socket.socket] = []
        threads: list[threading.Thread] = []

        def serve() -> None:
            with suppress(OSError):  # the end of the block
                while True:
                    connection, _ = listening.accept()
                    connections.append(connection)
                    threads.append(threading.Thread(target=one, args=(connection,), daemon=True))
                    threads[-1].start()

        def one(connection: socket.socket) -> None:
            with connection, suppress(OSError):
                talk(connection)

        accepting = threading.Thread(target=serve, daemon=True)
        accepting.start()
        try:
            yield server
        finally:
            with suppress(OSError):
                listening.shutdown(socket.SHUT_RDWR)
            for connection in connections:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
            for thread in [accepting, *threads]:
                thread.join(timeout=10)


def silence(connection: socket.socket) -> None:
    """Take what comes and say nothing."""
    while connection.recv(65_536):
        pass


def dripping(beginning: bytes, drop: bytes = b" ") -> Talk:
    """Say something, and then go on for ever, a little at a time."""

    def talk(connection: socket.socket) -> None:
        connection.sendall(beginning)
        pause = threading.Event()
        while not pause.wait(0.02):
            connection.sendall(drop)

    return talk


def smtp_dialogue(*answers: bytes) -> Talk:
    """Greet as a mail server, and answer line after line; what follows the answer 354 is a mail, which its lone dot ends."""

    def talk(connection: socket.socket) -> None:
        connection.sendall(b"220 mail.example.com\r\n")
        lines = connection.makefile("rb")
        for answer in answers:
            heard = lines.readline()
            echoed = heard.strip().rpartition(b" ")[2]
            connection.sendall(answer.replace(b"{heard}", echoed))
            if answer.startswith(b"354"):
                while lines.readline().strip() != b".":
                    pass
                # The next answer is to the mail, for which no line comes.
                connection.sendall(b"250 2.0.0 kept as 4711\r\n")

    return talk

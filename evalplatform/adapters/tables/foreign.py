"""Databases that others open, such as Dagster's: whether one answers, and its failures as ours."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import create_engine
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from evalplatform.kernel.errors import InputError, StorageUnavailableError

CONNECT_TIMEOUT_SECONDS = 5


@contextmanager
def foreign_database_failures(database: str, *, wrapper: type[Exception]) -> Iterator[None]:
    """Turn SQLAlchemy's failures, also those that are the cause of a `wrapper`, into StorageUnavailableError that begins with `database`.

    The message is the driver's own, which holds no statement and no password.
    """
    try:
        yield
    except (SQLAlchemyError, wrapper) as error:
        cause = error if isinstance(error, SQLAlchemyError) else error.__cause__
        driver = getattr(cause, "orig", None) or cause or error
        reason = next(iter(str(driver).strip().splitlines()), type(driver).__name__)
        raise StorageUnavailableError(f"{database} does not answer: {reason}") from error


def connect_once(url: str) -> None:
    """Open a connection to a Postgres by the driver that its URL names, and close it again.

    Raises:
        InputError: the text is no URL.
        SQLAlchemyError: the database does not let us in.
    """
    try:
        engine = create_engine(url, poolclass=NullPool, connect_args={"connect_timeout": CONNECT_TIMEOUT_SECONDS})
    except ArgumentError as error:
        raise InputError("is no database URL; what stands there is not repeated, since it may hold a password.") from error
    engine.connect().close()

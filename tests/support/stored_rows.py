"""What a database holds, read past the stores."""

from sqlalchemy import select

from evalplatform.adapters.tables.engine import database_engine, read_transaction


def rows(url: str, table: object) -> list[dict[str, object]]:
    """Every row of a table."""
    engine = database_engine(url)
    with read_transaction(engine) as connection:
        found = [dict(row) for row in connection.execute(select(table)).mappings()]  # type: ignore[call-overload]
    engine.dispose()
    return found

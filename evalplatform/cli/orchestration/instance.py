"""Opening a Dagster instance, with what can go wrong there as errors that name what to mend. Dagster is imported inside functions."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalplatform.kernel.errors import InputError
from evalplatform.kernel.text import masked_url
from evalplatform.project.yaml_file import plain, read_yaml_mapping

if TYPE_CHECKING:
    import dagster as dg

SETTINGS_FILE = "dagster.yaml"


@contextmanager
def open_instance(home: Path) -> Iterator["dg.DagsterInstance"]:
    """Open the Dagster instance of a home for a `with` block.

    Raises:
        InputError: dagster.yaml cannot be used, or names variables that are not set.
        StorageUnavailableError: its database does not answer, now or in the block.
    """
    import dagster as dg
    from dagster_postgres.utils import DagsterPostgresException

    from evalplatform.adapters.tables.foreign import connect_once, foreign_database_failures

    settings = _settings(home)
    urls = _postgres_urls(settings)
    where = masked_url(urls[0]) if urls else f"in {home},"
    with foreign_database_failures(f"the database of Dagster {where}", wrapper=DagsterPostgresException):
        for url in urls:  # Dagster itself would try for a quarter of a minute, with a warning each time
            connect_once(url)
        try:
            opened = dg.DagsterInstance.from_config(os.fspath(home))
        except dg.DagsterInvalidConfigError as error:
            raise _unusable_settings(home, settings, [problem.message for problem in error.errors]) from error
        with opened as instance:
            yield instance


def _settings(home: Path) -> Any:
    file = home / SETTINGS_FILE
    return plain(read_yaml_mapping(file)) if file.is_file() else {}


def _postgres_urls(settings: Any) -> list[str]:
    """Return the Postgres URLs of a settings file; one whose variables are not set, or that signs in by a token, is left out."""
    from dagster_postgres.utils import pg_url_from_config

    urls = []
    for found in _mappings(settings):
        named = {name: found[name] for name in ("postgres_url", "postgres_db") if name in found}
        if len(named) == 1 and "auth_provider" not in found and not unset_variables(named, os.environ):
            urls.append(pg_url_from_config(_resolved(named)))
    return list(dict.fromkeys(urls))


def unset_variables(settings: Any, environ: Mapping[str, str]) -> list[str]:
    """Return the variables that settings of Dagster's name (`password: {env: NAME}`) and the environment does not hold."""
    named = [found["env"] for found in _mappings(settings) if set(found) == {"env"} and isinstance(found["env"], str)]
    return [name for name in dict.fromkeys(named) if name not in environ]


def _unusable_settings(home: Path, settings: Any, messages: Sequence[str]) -> InputError:
    unset = unset_variables(settings, os.environ)
    if unset:
        rule = f"names {', '.join(unset)}, which the environment does not hold; set {'it' if len(unset) == 1 else 'them'}."
        return InputError(rule, file=home / SETTINGS_FILE)
    return InputError(" ".join(messages), file=home / SETTINGS_FILE)


def _mappings(value: Any) -> Iterator[Mapping[str, Any]]:
    """Yield every mapping inside a value of YAML, the outermost first."""
    if isinstance(value, Mapping):
        yield value
        for inner in value.values():
            yield from _mappings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _mappings(inner)


def _resolved(value: Any) -> Any:
    """Return settings with every `{env: NAME}` replaced by what the environment holds."""
    if not isinstance(value, Mapping):
        return value
    if set(value) == {"env"}:
        return os.environ[value["env"]]
    return {name: _resolved(inner) for name, inner in value.items()}

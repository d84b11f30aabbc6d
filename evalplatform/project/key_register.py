"""The register of partition keys: what each key stands for, written once and never changed.

    keys/cells/<key>.json
    keys/judges/<key>.json

A key holds six hex digits of its behaviour's digest, so two behaviours under one id could share a key: about once in 16.7 million pairs.
Their answers or scores would then lie in one partition as if they were of one thing. So a key is claimed with its whole behaviour before
anything is asked under it, and a second meaning is refused.
"""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, AwareDatetime, Field, JsonValue, ValidationError

from evalplatform.kernel.digests import canonical_json, json_digest
from evalplatform.kernel.errors import DigestMismatchError, InputError, ObjectExistsError, ObjectNotFoundError, StorageError
from evalplatform.kernel.keys import checked_key
from evalplatform.kernel.values import Value
from evalplatform.ports.object_store import ObjectStore
from evalplatform.project.cells import Cell, JudgeCell

KeyOwner = Literal["cell", "judge"]

CLAIMERS = 16

_ENDING = ".json"


def _key(key: str) -> str:
    return checked_key(key, what="partition key")


class KeyMeaning(Value):
    """What a partition key stands for.

    `behaviour` is what the key's six digits were taken from, `digest` its whole sha256. `labels` are for readers alone (model, provider,
    endpoint id, harness or judge kind, prompt digest): they were true when the key was first claimed and decide nothing.
    """

    format: Literal["partition_key.v1"] = "partition_key.v1"
    owner: KeyOwner
    key: Annotated[str, AfterValidator(_key)]
    id: str
    digest: str = Field(pattern=r"^sha256:[0-9a-f]{64}$")
    behaviour: dict[str, JsonValue]
    labels: dict[str, str]
    first_seen: AwareDatetime


def meaning_of(owner: Cell | JudgeCell, *, first_seen: datetime) -> KeyMeaning:
    """Return what the key of a cell or judge stands for."""
    is_cell = isinstance(owner, Cell)
    return KeyMeaning.model_validate(
        {
            "owner": "cell" if is_cell else "judge",
            "key": owner.key,
            "id": owner.id,
            "digest": owner.behaviour_digest,
            "behaviour": owner.behaviour,
            "labels": owner.labels,
            "first_seen": first_seen,
        }
    )


class KeyRegister:
    """The keys of one object store. Its calls block, as the store's do; several threads and processes may share it."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store

    def claim(self, wanted: KeyMeaning) -> KeyMeaning:
        """Take a key for a meaning, and return what is registered: the first claim of that meaning, with its labels and time.

        Of two that claim at once, one writes; the other agrees with it or is refused.

        Raises:
            InputError: the key is taken by another meaning; both are named.
            StorageError: what is registered cannot be read, or does not have the digest it states.
            StorageUnavailableError: the store does not answer.
        """
        kept = self.find(wanted.owner, wanted.key)
        if kept is None:
            try:
                self._store.put(_object_key(wanted.owner, wanted.key), canonical_json(wanted.model_dump(mode="json")), if_absent=True)
            except ObjectExistsError:
                kept = self.find(wanted.owner, wanted.key)
        if kept is not None and kept.digest != wanted.digest:
            raise _taken(kept, wanted)
        return kept or wanted

    def claim_all(self, owners: Iterable[Cell | JudgeCell], *, first_seen: datetime) -> list[KeyMeaning]:
        """Claim many keys, several at once, and return what is registered in the order given. Raises as `claim` does, for the first."""
        with ThreadPoolExecutor(max_workers=CLAIMERS, thread_name_prefix="keys") as pool:
            return list(pool.map(lambda owner: self.claim(meaning_of(owner, first_seen=first_seen)), owners))

    def find(self, owner: KeyOwner, key: str) -> KeyMeaning | None:
        """Return what a key stands for, or None where nobody has claimed it. Raises as `claim` does."""
        name = _object_key(owner, key)
        try:
            stored = self._store.get(name)
        except ObjectNotFoundError:
            return None
        try:
            meaning = KeyMeaning.model_validate_json(stored)
        except (ValidationError, InputError) as error:
            raise StorageError(f"{name} in {self._store.url} is no key record this version can read: {error}") from error
        if json_digest(meaning.behaviour) != meaning.digest:
            raise DigestMismatchError(f"{name} in {self._store.url} states {meaning.digest}, which is not the digest of its behaviour.")
        return meaning

    def list(self, owner: KeyOwner) -> Iterator[KeyMeaning]:
        """Iterate over all cells or judges that were ever claimed, by key. Raises as `claim` does."""
        prefix = _folder(owner)
        for stored in self._store.list(prefix):
            if (meaning := self.find(owner, stored.key.removeprefix(prefix).removesuffix(_ENDING))) is not None:
                yield meaning


def _folder(owner: KeyOwner) -> str:
    return f"keys/{owner}s/"


def _object_key(owner: KeyOwner, key: str) -> str:
    return f"{_folder(owner)}{checked_key(key, what='partition key')}{_ENDING}"


def _taken(kept: KeyMeaning, wanted: KeyMeaning) -> InputError:
    differing = sorted(name for name in {*kept.behaviour, *wanted.behaviour} if kept.behaviour.get(name) != wanted.behaviour.get(name))
    return InputError(
        f"the partition key {wanted.key!r} stands for another {wanted.owner} already, first seen {kept.first_seen:%Y-%m-%d}: "
        f"{_differences(kept, differing)} (now {_differences(wanted, differing)}). A key is never reused for another meaning: "
        f"rename the {wanted.owner} {wanted.id!r} in the project file, which gives it a key of its own.",
        field=f"{wanted.owner}s.{wanted.id}",
    )


def _differences(meaning: KeyMeaning, names: list[str]) -> str:
    return ", ".join(f"{name} {meaning.behaviour.get(name)!r}" for name in names)

"""Opens a project into ports: the only place that picks adapters.

Everything is opened on first use, so that a command that needs no ledger opens none.
"""

import asyncio
import os
import re
import secrets
import shlex
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from urllib.request import url2pathname
from weakref import WeakKeyDictionary

from evalplatform.adapters.clock import SystemClock
from evalplatform.adapters.outage import RESTART_SECONDS, Outage, expected_outage
from evalplatform.adapters.stores.open import check_store, has_answered, open_store
from evalplatform.artifacts.catalog import ArtifactCatalog, file_key
from evalplatform.artifacts.records import ArtifactManifest
from evalplatform.calls.breaker import CircuitBreaker
from evalplatform.calls.budget import Budget
from evalplatform.calls.desk import SHARED_SCOPE, CallDesk, Endpoint
from evalplatform.calls.limiter import EndpointLimiter
from evalplatform.calls.progress import OnProgress, Progress
from evalplatform.kernel.errors import InputError
from evalplatform.ports.agent_runner import AgentRunner
from evalplatform.ports.batches import BatchStore
from evalplatform.ports.clock import Clock
from evalplatform.ports.documents import DocumentSource
from evalplatform.ports.gates import GateStore
from evalplatform.ports.labels import LabelStore
from evalplatform.ports.ledger import Ledger
from evalplatform.ports.locks import Locks
from evalplatform.ports.monitoring import MonitoringStore
from evalplatform.ports.object_store import ObjectStore
from evalplatform.project.key_register import KeyRegister
from evalplatform.project.load import Project
from evalplatform.project.schema import EndpointSettings, SuiteSettings
from evalplatform.runs.agent_settings import AgentSettings, ModelAgent
from evalplatform.stages.context import SuiteContext
from evalplatform.stages.model_agents import open_model_agent
from evalplatform.stages.monitoring_context import MonitoringContext
from evalplatform.stages.runs_context import RunsContext

SQLITE_PREFIX = "sqlite:///"
FILE_PREFIX = "file://"
URL_BEGINNINGS = {"s3": "s3://", "file": "file:///"}
BATCH_SCOPE_START = "batch:"
MISSPELT_URL = re.compile(r"(s3|file)(//|:(?!//))")


def no_progress(progress: Progress) -> None:
    """Show nothing."""


def new_run_id(clock: Clock) -> str:
    """Return a run id that sorts by time and no other process makes."""
    return f"r-{clock.now():%Y%m%dT%H%M%S}-{secrets.token_hex(4)}"


@dataclass
class OpenedProject:
    """A project with its ports. Use it as a context manager, or call `close` when done.

    Attributes:
        waits_at_start: wait up to `RESTART_SECONDS` for a store or a database server that does not answer from the start. For who goes on
            where others left off, as a step of a backfill; a person at a terminal learns at once that an address is wrong.
    """

    project: Project
    clock: Clock = field(default_factory=SystemClock)
    waits_at_start: bool = False
    _store_is_checked: bool = False
    _breakers: dict[str, CircuitBreaker] = field(default_factory=dict)
    _budgets: dict[tuple[str, float], Budget] = field(default_factory=dict)
    _endpoints: "WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, tuple[Endpoint, int]]]" = field(default_factory=WeakKeyDictionary)

    def __post_init__(self) -> None:
        if isinstance(self.clock, SystemClock):
            self.clock = SystemClock(self.project.deployment.clock_offset_seconds)

    @cached_property
    def store(self) -> ObjectStore:
        """The project's object store."""
        store = open_store(self._located(self.project.settings.storage))
        if self.waits_at_start and not store.url.startswith(FILE_PREFIX):
            self._store_start.outlasted(lambda: has_answered(store))
        return store

    @cached_property
    def catalog(self) -> ArtifactCatalog:
        """The project's artifacts."""
        return ArtifactCatalog(self.store)

    @cached_property
    def key_register(self) -> KeyRegister:
        """What the project's partition keys stand for."""
        return KeyRegister(self.store)

    @cached_property
    def ledger(self) -> Ledger:
        """The project's call ledger; its database is made or migrated on first use."""
        from evalplatform.adapters.ledger.open import open_ledger

        return self._database_start.outlasted(partial(open_ledger, self.database_url, project=self.project.settings.project))

    @cached_property
    def locks(self) -> Locks:
        """The locks between the processes that share the project's ledger."""
        from evalplatform.adapters.locks.open import open_locks

        return open_locks(self.database_url, patience_seconds=RESTART_SECONDS if self.waits_at_start else 0.0)

    @cached_property
    def label_store(self) -> LabelStore:
        """The project's human labels, in the database of the ledger."""
        from evalplatform.adapters.labels.open import open_label_store

        return open_label_store(self.database_url, project=self.project.settings.project)

    @cached_property
    def batch_store(self) -> BatchStore:
        """The project's recorded batches, in the database of the ledger."""
        from evalplatform.adapters.batches.open import open_batch_store

        return self._database_start.outlasted(partial(open_batch_store, self.database_url, **self._owner))

    @cached_property
    def monitoring_store(self) -> MonitoringStore:
        """The project's schedules and nights, in the database of the ledger."""
        from evalplatform.adapters.monitoring.open import open_monitoring_store

        return self._database_start.outlasted(partial(open_monitoring_store, self.database_url, **self._owner))

    @cached_property
    def gate_store(self) -> GateStore:
        """The project's remembered gates and its held gate policy, in the database of the ledger."""
        from evalplatform.adapters.gates.open import open_gate_store

        return self._database_start.outlasted(partial(open_gate_store, self.database_url, **self._owner))

    def suite_context(
        self,
        suite_id: str,
        *,
        run_id: str | None = None,
        suite: SuiteSettings | None = None,
        max_cost_usd: float | None = None,
        on_progress: OnProgress = no_progress,
        library_id: str | None = None,
    ) -> SuiteContext:
        """Return what the stages of a suite need.

        Args:
            suite_id: a suite of the project file, or any key when `suite` is given.
            run_id: groups the run's calls and spend; a new one where None.
            suite: settings that are in no project file, such as those made up from flags.
            max_cost_usd: the run's spend cap; the project file's where None.
            on_progress: told of progress.
            library_id: overrides the product's library id at Context7.

        Raises:
            UnknownNameError: no such suite.
        """
        settings = suite if suite is not None else self.project.suite(suite_id)
        run = run_id or new_run_id(self.clock)
        cap_usd = max_cost_usd if max_cost_usd is not None else self.project.max_cost_usd(suite_id)
        return SuiteContext(
            project=self.project,
            suite_id=suite_id,
            suite=settings,
            catalog=self.catalog,
            key_register=self.key_register,
            locks=self.locks,
            clock=self.clock,
            run_id=run,
            open_desk=partial(self.open_desk, run_id=run, cap_usd=cap_usd),
            open_document_source=self._open_document_source,
            on_progress=on_progress,
            library_id=library_id,
        )

    def holds_batches(self) -> bool:
        """Say whether any batch of the project is stored, without making or migrating a database; raises StorageUnavailableError."""
        from evalplatform.adapters.batches.open import holds_batches

        return holds_batches(self.database_url, **self._owner)

    def runs_context(self) -> RunsContext:
        """Return what the stages of the agent side need."""
        return RunsContext(
            project=self.project,
            batches=self.batch_store,
            gates=self.gate_store,
            catalog=self.catalog,
            objects=self.store,
            clock=self.clock,
            open_replay=self.open_replay,
        )

    def monitoring_context(self) -> MonitoringContext:
        """Return what the stages of monitoring need."""
        from evalplatform.adapters.agents.monitored import open_monitored_agent
        from evalplatform.adapters.notifiers.open import open_notifier
        from evalplatform.adapters.vault import open_vault

        deployment = self.project.deployment
        return MonitoringContext(
            project=self.project,
            runs=self.runs_context(),
            store=self.monitoring_store,
            vault=open_vault(deployment),
            notifier=open_notifier(deployment, clock=self.clock),
            open_monitored_agent=partial(open_monitored_agent, deployment=deployment, clock=self.clock),
            run_ports=self,
            clock=self.clock,
        )

    @asynccontextmanager
    async def open_desk(
        self, endpoint_id: str, *, run_id: str, cap_usd: float | None = None, scope: str = SHARED_SCOPE
    ) -> AsyncIterator[CallDesk]:
        """Open the call desk of an endpoint for one run; its connections are shared by all desks of the event loop.

        What is asked in one `scope` of the ledger is replayed in that scope alone.

        Raises:
            InputError: the endpoint cannot be opened.
            StorageError: the store, looked at once before the first call, does not keep what it is given.
        """
        settings = self.project.endpoint(endpoint_id)
        await asyncio.to_thread(self._check_store_once)
        async with self._shared_endpoint(endpoint_id, settings) as endpoint:
            yield CallDesk(
                endpoint=endpoint,
                ledger=self.ledger,
                clock=self.clock,
                project=self.project.settings.project,
                run_id=run_id,
                scope=scope,
                budget=None if cap_usd is None else self._budget(run_id, cap_usd),
                retry=settings.retry,
            )

    @asynccontextmanager
    async def open_agent(
        self, settings: AgentSettings, *, folder: Path, batch_key: str, cap_usd: float | None = None
    ) -> AsyncIterator[AgentRunner]:
        """Open a scenario set's agent, and close it after the body. Nothing is started, connected or asked before the first run.

        Args:
            settings: the `agent:` block.
            folder: the folder of the scenario file, which relative paths in it start from.
            batch_key: what a batch keeps when it is gone on with. A `model` agent's calls are in the ledger under `batch:<batch_key>`, so
                that a resumed batch repeats none, and every other batch asks anew.
            cap_usd: the batch's spend cap, which a `model` agent's calls are held to one by one.

        Raises:
            InputError: a name, a folder, a program or a variable that the settings name is not there; the field is named.
        """
        from evalplatform.adapters.agents.open import open_agent

        chosen = settings.chosen
        if isinstance(chosen, ModelAgent):
            scope = f"{BATCH_SCOPE_START}{batch_key}"
            async with open_model_agent(
                chosen,
                project=self.project,
                suite_context=self.suite_context,
                open_document_source=self._open_document_source,
                open_desk=partial(self.open_desk, run_id=scope, cap_usd=cap_usd, scope=scope),
            ) as model_agent:
                yield model_agent
            return
        async with aclosing(open_agent(chosen, folder=folder, clock=self.clock)) as agent:
            yield agent

    def open_replay(self, recordings: Mapping[str, Path]) -> AgentRunner:
        """Return a runner that replays recordings: the file of each scenario, by id. Raises InputError where one is not there."""
        from evalplatform.adapters.agents.replay import open_replay

        return open_replay(recordings)

    def shown_path(self, manifest: ArtifactManifest, file: str) -> str:
        """Return where a person finds a file of an artifact: its path in a local store, else the command that fetches it."""
        if self.store.url.startswith(FILE_PREFIX):
            return os.path.relpath(Path(url2pathname(self.store.url.removeprefix(FILE_PREFIX))) / file_key(manifest, file))
        artifact = manifest.artifact
        named = f"--suite {artifact.suite} --asset {artifact.asset} --partition {artifact.partition}"
        return f"evalplatform assets download {named} --project {shlex.quote(os.path.relpath(self.project.root))}"

    def close(self) -> None:
        """Write what is queued and close the ledger, the labels, the batches, the gates and the nights, where they were opened."""
        ledger = self.__dict__.pop("ledger", None)
        if ledger is not None:
            asyncio.run(ledger.aclose())
        for name in ("label_store", "batch_store", "gate_store", "monitoring_store"):
            store = self.__dict__.pop(name, None)
            if store is not None:
                store.close()

    def __enter__(self) -> "OpenedProject":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def _owner(self) -> dict[str, str]:
        return {"project": self.project.settings.project, "tenant": self.project.settings.tenant}

    # One each for all that is opened: an outage that has outlasted the patience fails what comes after it at once.
    @cached_property
    def _store_start(self) -> Outage:
        return expected_outage(RESTART_SECONDS)

    @cached_property
    def _database_start(self) -> Outage:
        is_server = not self.database_url.startswith(SQLITE_PREFIX)  # a file will not heal by itself
        return expected_outage(RESTART_SECONDS if self.waits_at_start and is_server else 0.0)

    def _check_store_once(self) -> None:
        """Find out that the store loses or changes what it is given before anything is paid for, not when it is to be kept."""
        if not self._store_is_checked:
            check_store(self.store)
            self._store_is_checked = True

    def _budget(self, run_id: str, cap_usd: float) -> Budget:
        """Return the budget of a run, one for all its desks."""
        if (run_id, cap_usd) not in self._budgets:
            self._budgets[run_id, cap_usd] = Budget(cap_usd, run_id=run_id, ledger=self.ledger)
        return self._budgets[run_id, cap_usd]

    @asynccontextmanager
    async def _shared_endpoint(self, endpoint_id: str, settings: EndpointSettings) -> AsyncIterator[Endpoint]:
        # Connections, semaphores and timers belong to one event loop, so that is what endpoints are shared by.
        of_loop = self._endpoints.setdefault(asyncio.get_running_loop(), {})
        endpoint, users = of_loop.get(endpoint_id) or (self._opened_endpoint(endpoint_id, settings), 0)
        of_loop[endpoint_id] = (endpoint, users + 1)
        try:
            yield endpoint
        finally:
            endpoint, users = of_loop.pop(endpoint_id)
            if users > 1:
                of_loop[endpoint_id] = (endpoint, users - 1)
            else:
                await endpoint.client.aclose()

    def _opened_endpoint(self, endpoint_id: str, settings: EndpointSettings) -> Endpoint:
        from evalplatform.adapters.models.declared import model_endpoint
        from evalplatform.adapters.models.open import open_model_client
        from evalplatform.adapters.models.prices import EndpointPrices

        declared = model_endpoint(settings)
        try:
            client = open_model_client(declared, clock=self.clock)
        except InputError as error:
            raise error.placed(file=self.project.file, field=f"endpoints.{endpoint_id}.{error.field or 'provider'}") from error.__cause__
        return Endpoint(
            client=client,
            limiter=EndpointLimiter(settings.limits.shared_by(self.project.deployment.runs_per_endpoint), clock=self.clock),
            # One for all stages of this process: judges need not find out again what stopped the answers.
            breaker=self._breakers.setdefault(endpoint_id, CircuitBreaker()),
            prices=EndpointPrices(provider=settings.provider, overrides=declared.prices),
        )

    def _open_document_source(self, spec: str) -> DocumentSource:
        from evalplatform.adapters.documents.open import open_document_source

        return open_document_source(spec, base_folder=self.project.root)

    @property
    def database_url(self) -> str:
        """The project's database URL, a relative file placed beside the project file."""
        url = self.project.settings.database
        return f"{SQLITE_PREFIX}{self._rooted(url.removeprefix(SQLITE_PREFIX))}" if url.startswith(SQLITE_PREFIX) else url

    def _located(self, url: str) -> str:
        """Return a storage URL with a relative folder placed beside the project file.

        Raises:
            InputError: it begins like a URL and is none, which would quietly make a folder of that name.
        """
        misspelt = MISSPELT_URL.match(url)
        if misspelt:
            rule = f"{url!r} begins like a URL and is none. A folder of that name is written with ./ before it."
            raise InputError(rule, field="storage", nearest=f"{URL_BEGINNINGS[misspelt[1]]}{url[misspelt.end() :].lstrip('/')}")
        return url if "://" in url or url.startswith("memory:") else str(self._rooted(url))

    def _rooted(self, path: str) -> Path:
        return (self.project.root / Path(path).expanduser()).resolve()

"""The doctor's look at Dagster: its instance, and the partitions that it knows. Dagster is imported inside: it costs two seconds."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evalplatform.cli.checkup.findings import Finding, Patient, ok, problem, warning
from evalplatform.cli.orchestration.home import named_home
from evalplatform.cli.orchestration.instance import open_instance
from evalplatform.kernel.errors import InputError
from evalplatform.kernel.text import plural
from evalplatform.project.deployment import variable_of

if TYPE_CHECKING:
    import dagster as dg

CHECK = "dagster"
CHECK_OF_PARTITIONS = "partitions"
FIX_OF_PARTITIONS = "Run `evalplatform sync`, or let the daemon's sensor do it."
RUNS_VARIABLE = variable_of("runs_per_endpoint")
POSTGRES_SCHEME = "postgresql+psycopg2"


def look_at_dagster(patient: Patient) -> Sequence[Finding]:
    """Open the instance of DAGSTER_HOME, else the project's own, and look at its settings and at the partitions that it knows."""
    try:
        named = named_home(patient.environ)
    except InputError as error:
        fix = "Name the folder that holds the deployment's dagster.yaml, or unset it to use the project's own."
        return [problem(CHECK, str(error), fix=fix)]
    home = named or patient.opened.project.state_folder / "dagster"
    if not home.is_dir():
        return [ok(CHECK, f"{home} is not made yet: `evalplatform dev` makes it.")]
    if not (home / "dagster.yaml").is_file():
        return [problem(CHECK, f"{home} has no dagster.yaml.", fix="Copy the one of infra/ that fits; without it slots and runs get lost.")]
    with open_instance(home) as instance:
        scheme = _scheme(instance)
        if scheme is not None:
            return [scheme]
        instance.get_runs(limit=1)
        storage = type(instance.run_storage).__name__.removesuffix("RunStorage")
        return [
            ok(CHECK, f"{home} opens; runs and events are in {storage}."),
            *_settings(instance, patient),
            *_partitions(instance, patient),
        ]


def _scheme(instance: "dg.DagsterInstance") -> Finding | None:
    url = getattr(instance.event_log_storage, "postgres_url", None)
    if url is None or str(url).startswith(f"{POSTGRES_SCHEME}://"):
        return None
    fix = f"Set `scheme: {POSTGRES_SCHEME}` under storage.postgres.postgres_db in dagster.yaml."
    return problem(CHECK, f"its Postgres is opened as {str(url).partition('://')[0]}, with which no event can be written.", fix=fix)


def _settings(instance: "dg.DagsterInstance", patient: Patient) -> list[Finding]:
    monitoring: Mapping[str, Any] = instance.get_settings("run_monitoring") or {}
    found = []
    if not monitoring.get("enabled"):
        found.append(warning(CHECK, "nobody notices when a run's process dies.", fix="Set run_monitoring.enabled: true in dagster.yaml."))
    elif not monitoring.get("free_slots_after_run_end_seconds"):
        fix = "Set run_monitoring.free_slots_after_run_end_seconds in dagster.yaml."
        found.append(warning(CHECK, "a cancelled run keeps its pool's slot for ever.", fix=fix))
    if monitoring.get("enabled") and not instance.run_launcher.supports_check_run_worker_health:
        fix = "Set run_launcher in dagster.yaml: {module: resources.local_launcher, class: WatchedRunLauncher}."
        found.append(warning(CHECK, "a run that dies with its code server reads as going on for ever.", fix=fix))
    if instance.telemetry_enabled:
        found.append(warning(CHECK, "telemetry is sent to Dagster's makers.", fix="Set telemetry.enabled: false in dagster.yaml."))
    if RUNS_VARIABLE not in patient.refused:  # otherwise the environment's own line says what is wrong
        found += _pools(instance, patient.opened.project.deployment.runs_per_endpoint)
    found += _places(instance, patient)
    return found or [ok(CHECK, "runs are monitored, slots freed, pools limited; no telemetry.")]


def _pools(instance: "dg.DagsterInstance", runs_per_endpoint: int) -> list[Finding]:
    limit = instance.global_op_concurrency_default_limit
    queue = instance.get_concurrency_config().run_queue_config
    few_runs_at_all = queue is not None and 0 <= queue.max_concurrent_runs <= runs_per_endpoint
    if limit == runs_per_endpoint or (limit is None and few_runs_at_all):
        return []
    fix = f"Make concurrency.pools.default_limit in dagster.yaml and {RUNS_VARIABLE} the same number."
    if limit is None or limit > runs_per_endpoint:
        allowed = "any number of runs" if limit is None else plural(limit, "run")
        found = (
            f"{allowed} may ask an endpoint at once, each of them with 1/{runs_per_endpoint} of its limits: together more than it bears."
        )
        return [warning(CHECK, found, fix=fix)]
    return [warning(CHECK, f"{plural(limit, 'run')} at a time use 1/{runs_per_endpoint} of an endpoint's limits each.", fix=fix)]


def _places(instance: "dg.DagsterInstance", patient: Patient) -> list[Finding]:
    """Say whether nights may take every place of the run queue; nothing of a project that has none."""
    from assets.monitoring_partitions import NIGHT_TAG

    queue = instance.get_concurrency_config().run_queue_config
    if patient.opened.project.settings.scenarios is None or queue is None:
        return []
    of_nights = [int(limit["limit"]) for limit in queue.tag_concurrency_limits if limit["key"] == NIGHT_TAG and not limit.get("value")]
    if queue.max_concurrent_runs < 0 or (of_nights and min(of_nights) < queue.max_concurrent_runs):
        return []
    fix = f"Set concurrency.runs.tag_concurrency_limits: [{{key: {NIGHT_TAG}, limit: 1}}] in dagster.yaml, with more max_concurrent_runs."
    return [warning(CHECK, "nights may take every place of the run queue, so that backfills wait for them.", fix=fix)]


def _partitions(instance: "dg.DagsterInstance", patient: Patient) -> list[Finding]:
    from assets.partitions import pending_changes

    changes = pending_changes(instance, patient.opened.project)
    added = sum(len(change.added) for change in changes)
    retired = sum(len(change.retired) for change in changes)
    if not added and not retired:
        of_file = ok(CHECK_OF_PARTITIONS, "Dagster has a partition for every cell and judge of the project file, and no other.")
    else:
        found = f"{plural(added, 'partition')} of the project file missing in Dagster, {retired} there that the file no longer asks for."
        of_file = warning(CHECK_OF_PARTITIONS, found, fix=FIX_OF_PARTITIONS)
    return [of_file, *_batches(instance, patient)]


def _batches(instance: "dg.DagsterInstance", patient: Patient) -> list[Finding]:
    """Say whether stored batches have their partitions; nothing of a project that has none."""
    from assets.batch_partitions import unregistered_batches

    if not patient.opened.holds_batches():
        return []
    missing = unregistered_batches(instance, patient.opened.batch_store.ids(with_legs=False))
    if not missing:
        return [ok(CHECK_OF_PARTITIONS, "Dagster has a partition for every stored batch.")]
    noun = "batch has" if len(missing) == 1 else "batches have"
    return [warning(CHECK_OF_PARTITIONS, f"{len(missing):,} stored {noun} no partition in Dagster.", fix=FIX_OF_PARTITIONS)]

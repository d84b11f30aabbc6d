"""What Dagster is told about a project, as lines of a snapshot."""

from collections.abc import Iterator

import dagster as dg


def graph_lines(definitions: dg.Definitions) -> Iterator[str]:
    """Assets, checks, jobs, schedules and sensors, one fact a line."""
    specs = (spec for asset in definitions.assets or [] for spec in asset.specs)
    checks = [check for asset in definitions.assets or [] for check in asset.check_specs]
    for spec in sorted(specs, key=lambda spec: spec.key):
        yield spec.key.to_user_string()
        yield f"  group {spec.group_name}, owners {', '.join(spec.owners)}, kinds {', '.join(sorted(spec.kinds))}"
        yield f"  reads {', '.join(sorted(dep.asset_key.path[-1] for dep in spec.deps)) or 'files'}"
        yield f"  partitions {_partitions(spec.partitions_def)}"
        yield f"  tags {', '.join(f'{name}={value}' for name, value in sorted(spec.tags.items()) if not name.startswith('dagster/'))}"
        if (schema := spec.metadata.get("dagster/column_schema")) is not None:
            yield f"  columns {', '.join(column.name for column in schema.columns)}"
        if names := sorted(check.name + " (blocks)" * check.blocking for check in checks if check.asset_key == spec.key):
            yield f"  checks {', '.join(names)}"
        yield f"  {(spec.description or '').splitlines()[0]}"
    for job in sorted(definitions.resolve_all_job_defs(), key=lambda job: job.name):
        if not job.name.startswith("__"):
            yield f"job {job.name}: {', '.join(sorted(key.path[-1] for key in job.asset_layer.executable_asset_keys))}"
            yield f"  {job.description}"
    for schedule in definitions.schedules or []:
        assert isinstance(schedule, dg.ScheduleDefinition)
        when = f"{schedule.cron_schedule} {schedule.execution_timezone}"
        yield f"schedule {schedule.name}, {when}, {schedule.default_status.value}: {schedule.description}"
    for sensor in definitions.sensors or []:
        yield f"sensor {sensor.name}, every {sensor.minimum_interval_seconds} s, {sensor.default_status.value}: {sensor.description}"


def _partitions(partitions: dg.PartitionsDefinition | None) -> str:
    if isinstance(partitions, dg.MultiPartitionsDefinition):
        return " x ".join(f"{dimension.name} ({_partitions(dimension.partitions_def)})" for dimension in partitions.partitions_defs)
    return (partitions.name or "") if isinstance(partitions, dg.DynamicPartitionsDefinition) else "none"

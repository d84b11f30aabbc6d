"""Finding and loading a project: every name checked, before anything else happens."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError
from ruamel.yaml.comments import CommentedMap

from evalplatform.arms.grammar import checked_arm_name, parse_spec
from evalplatform.kernel.errors import ArmSpecError, InputError, PluginError, ProjectFileError, UnknownNameError
from evalplatform.plugins.plugin_set import parse_plugins
from evalplatform.project.cells import Cell, JudgeCell, resolved_cell, resolved_judge
from evalplatform.project.deployment import DeploymentSettings, variable_of
from evalplatform.project.entitlements import Entitlements, read_entitlements
from evalplatform.project.idle_plugins import refuse_idle_plugins
from evalplatform.project.schema import EndpointSettings, ProjectFile, SuiteSettings
from evalplatform.project.yaml_file import error_from_validation, line_of, plain, read_yaml_mapping

PROJECT_FILE_NAME = "evalplatform.yaml"
PROJECT_VARIABLE = variable_of("project")
RESERVED_SUITE_IDS = frozenset({"comparisons", "monitoring", "runs", "suites"})

Found = TypeVar("Found")


@dataclass(frozen=True)
class Project:
    """A loaded project. `file` is None for one that was made up from command-line flags.

    `entitlements` is what its tenant may use here: what the deployment grants, narrowed by the project file.
    """

    root: Path
    settings: ProjectFile
    file: Path | None = None
    deployment: DeploymentSettings = field(default_factory=DeploymentSettings)
    entitlements: Entitlements = field(default_factory=Entitlements)

    @property
    def state_folder(self) -> Path:
        """Where the project keeps its own state: `.evalplatform` beside the project file."""
        return self.root / ".evalplatform"

    @property
    def scenario_file(self) -> Path | None:
        """The project's scenario file, or None where it has none; `load_scenario_set` reads it."""
        return None if self.settings.scenarios is None else self.root / self.settings.scenarios

    def suite(self, suite_id: str) -> SuiteSettings:
        """Return a suite by id, or raise UnknownNameError."""
        return self._named("suite", suite_id, self.settings.suites, "suites")

    def endpoint(self, endpoint_id: str) -> EndpointSettings:
        """Return an endpoint by id, or raise UnknownNameError."""
        return self._named("endpoint", endpoint_id, self.settings.endpoints, "endpoints")

    def cell(self, cell_id: str) -> Cell:
        """Return a cell by id with its key.

        Raises:
            UnknownNameError: no such cell or endpoint.
            PluginError: its plugins are wrong, or its harness cannot run them.
        """
        settings = self._named("cell", cell_id, self.settings.cells, "cells")
        return resolved_cell(cell_id, settings, self.endpoint(settings.endpoint))

    def judge(self, judge_id: str) -> JudgeCell:
        """Return a judge by id with its key, its rubric file read.

        Raises:
            UnknownNameError: no such judge, endpoint or judge kind.
            ProjectFileError: the rubric file cannot be read.
        """
        declared = self._named("judge", judge_id, self.settings.judges, "judges")
        rubric_text = None if declared.rubric is None else self._text_of(declared.rubric, field=f"judges.{judge_id}.rubric")
        return resolved_judge(judge_id, declared, self.endpoint(declared.endpoint), rubric_text=rubric_text)

    def cells_of(self, suite_id: str) -> list[Cell]:
        """Return the suite's cells in the file's order."""
        return [self.cell(cell_id) for cell_id in self.suite(suite_id).cells]

    def judges_of(self, suite_id: str) -> list[JudgeCell]:
        """Return the suite's judges in the file's order."""
        return [self.judge(judge_id) for judge_id in self.suite(suite_id).judges]

    def max_cost_usd(self, suite_id: str) -> float | None:
        """Return the suite's spend cap, or None."""
        budget = self.settings.budgets.get(suite_id)
        return None if budget is None else budget.max_cost_usd

    def _named(self, noun: str, name: str, known: Mapping[str, Found], section: str) -> Found:
        if name in known:
            return known[name]
        raise UnknownNameError(noun, name, known, file=self.file, field=section)

    def _text_of(self, relative: str, *, field: str) -> str:
        path = self.root / relative
        try:
            return path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise ProjectFileError(f"the text file {relative!r} cannot be read: {error}.", file=self.file, field=field) from error


def find_project_file(start: Path, *, environ: Mapping[str, str]) -> Path | None:
    """Return the project file: by EVALPLATFORM_PROJECT (a file or its folder), else the nearest one from `start` upward, else None.

    Raises:
        ProjectFileError: the variable names something that is not there.
    """
    if named := environ.get(PROJECT_VARIABLE):
        path = Path(named).expanduser()
        path = path / PROJECT_FILE_NAME if path.is_dir() else path
        if not path.is_file():
            raise ProjectFileError(f"{PROJECT_VARIABLE} names {named!r}, which is no project file.")
        return path.resolve()
    for folder in (start.resolve(), *start.resolve().parents):
        if (folder / PROJECT_FILE_NAME).is_file():
            return folder / PROJECT_FILE_NAME
    return None


def load_project(path: Path, *, environ: Mapping[str, str] = os.environ) -> Project:
    """Load a project file and check every name in it.

    EVALPLATFORM_STORAGE and EVALPLATFORM_DATABASE override `storage` and `database`, so that one file serves laptop and deployment.

    Raises:
        ProjectFileError: with file, line, dotted field, the rule, and the nearest valid name.
        InputError: an EVALPLATFORM_ variable has a value it does not take.
    """
    path = path.resolve()
    deployment = DeploymentSettings.from_environment(environ)
    data = read_yaml_mapping(path)
    values = plain(data)
    assert isinstance(values, dict)  # read_yaml_mapping returns mappings only
    values.update({name: value for name in ("storage", "database") if (value := getattr(deployment, name))})
    try:
        settings = ProjectFile.model_validate(values)
    except ValidationError as error:
        raise error_from_validation(error, model=ProjectFile, data=data, path=path) from None
    for suite_id in sorted(RESERVED_SUITE_IDS.intersection(settings.suites)):
        rule = f"a suite cannot be called {suite_id!r}: that is the name of a group of assets."
        raise ProjectFileError(rule, file=path, line=line_of(data, ("suites", suite_id)), field=f"suites.{suite_id}")
    for loc, noun, name, known in _references(settings):
        if name not in known:
            field = ".".join(str(part) for part in loc)
            unknown = UnknownNameError(noun, name, known)
            raise ProjectFileError(unknown.rule, file=path, line=line_of(data, loc), field=field, nearest=unknown.nearest)
    for loc, noun, name in _repetitions(settings):
        rule = f"the {noun} {name!r} stands here twice; name it once."
        raise ProjectFileError(rule, file=path, line=line_of(data, loc), field=".".join(str(part) for part in loc))
    granted = _granted(settings.tenant, deployment).narrowed_by(settings.entitlements)
    project = Project(root=path.parent, settings=settings, file=path, deployment=deployment, entitlements=granted)
    if project.scenario_file is not None and not project.scenario_file.is_file():
        rule = f"the scenario file {settings.scenarios!r} is not there."
        raise ProjectFileError(rule, file=path, line=line_of(data, ("scenarios",)), field="scenarios")
    _check_arm_specs(project, data)
    _check_plugins(project, data)
    _check_idle_plugins(project, data)
    for judge_id in settings.judges:
        _check_judge(project, judge_id, data)
    return project


def _granted(tenant: str, deployment: DeploymentSettings) -> Entitlements:
    if deployment.entitlements is None:
        return Entitlements()
    return read_entitlements(Path(deployment.entitlements).expanduser()).of_tenant(tenant)


def _check_arm_specs(project: Project, data: CommentedMap) -> None:
    """Read every arm spec and every arm's own name; what a spec names is opened later."""
    for suite_id, suite in project.settings.suites.items():
        for index, arm in enumerate(suite.arms):
            try:
                parse_spec(arm if isinstance(arm, str) else arm.spec)
                if not isinstance(arm, str):
                    checked_arm_name(arm.name, spec=arm.spec)
            except ArmSpecError as error:
                loc = ("suites", suite_id, "arms", index)
                field = f"suites.{suite_id}.arms.{index}: {error.field}"
                raise ProjectFileError(error.rule, file=project.file, line=line_of(data, loc), field=field, nearest=error.nearest) from None


def _check_plugins(project: Project, data: CommentedMap) -> None:
    """Read every cell's plugins, and see that its harness can run them."""
    for cell_id, cell in project.settings.cells.items():
        for index in range(len(cell.plugins)):
            try:
                parse_plugins(cell.plugins[: index + 1])
            except PluginError as error:
                loc = ("cells", cell_id, "plugins", index)
                field = f"cells.{cell_id}.plugins.{index}: {error.field}"
                raise ProjectFileError(error.rule, file=project.file, line=line_of(data, loc), field=field, nearest=error.nearest) from None
        try:
            project.cell(cell_id)
        except PluginError as error:
            field = f"cells.{cell_id}.harness"
            line = line_of(data, ("cells", cell_id, "harness"))
            raise ProjectFileError(error.rule, file=project.file, line=line, field=field, nearest=error.nearest) from None


def _check_idle_plugins(project: Project, data: CommentedMap) -> None:
    """See that every plugin of a suite's cells has an arm to work on."""
    for suite_id, suite in project.settings.suites.items():
        for index, cell_id in enumerate(suite.cells):
            try:
                refuse_idle_plugins(project.cell(cell_id).plugins, suite.arm_specs, cell=cell_id)
            except PluginError as error:
                loc = ("suites", suite_id, "cells", index)
                field = ".".join(str(part) for part in loc)
                raise ProjectFileError(error.rule, file=project.file, line=line_of(data, loc), field=field) from None


def _check_judge(project: Project, judge_id: str, data: CommentedMap) -> None:
    """Build a judge to see that its kind is known and its settings and rubric can be used."""
    try:
        project.judge(judge_id)
    except InputError as error:
        part = (error.field or ("kind" if isinstance(error, UnknownNameError) else "")).rpartition(".")[2]
        loc = ("judges", judge_id, part) if part else ("judges", judge_id)
        raise ProjectFileError(
            error.rule, file=project.file, line=line_of(data, loc), field=".".join(loc), nearest=error.nearest
        ) from error.__cause__


def _references(settings: ProjectFile) -> Iterable[tuple[tuple[int | str, ...], str, str, Iterable[str]]]:
    """Yield every name that must exist elsewhere in the file: where it stands, what it is, and the known ones."""
    for cell_id, cell in settings.cells.items():
        yield ("cells", cell_id, "endpoint"), "endpoint", cell.endpoint, settings.endpoints
    for judge_id, judge in settings.judges.items():
        yield ("judges", judge_id, "endpoint"), "endpoint", judge.endpoint, settings.endpoints
    for suite_id, suite in settings.suites.items():
        yield ("suites", suite_id, "product"), "product", suite.product, settings.products
        for index, cell_name in enumerate(suite.cells):
            yield ("suites", suite_id, "cells", index), "cell", cell_name, settings.cells
        for index, judge_name in enumerate(suite.judges):
            yield ("suites", suite_id, "judges", index), "judge", judge_name, settings.judges
    for suite_id in settings.budgets:
        yield ("budgets", suite_id), "suite", suite_id, settings.suites


def _repetitions(settings: ProjectFile) -> Iterable[tuple[tuple[int | str, ...], str, str]]:
    """Yield every cell or judge that a suite names again: it would be one partition, asked and reported twice."""
    for suite_id, suite in settings.suites.items():
        for section, noun, names in (("cells", "cell", suite.cells), ("judges", "judge", suite.judges)):
            for index, name in enumerate(names):
                if name in names[:index]:
                    yield ("suites", suite_id, section, index), noun, name

"""Loading a scenario file: every name, pattern, pointer and schema in it checked, before any agent is run."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError
from ruamel.yaml.comments import CommentedMap

from evalplatform.judging.judge import JudgeSettings
from evalplatform.judging.run_judge import RunJudge
from evalplatform.kernel.digests import bytes_digest, canonical_json
from evalplatform.kernel.errors import InputError, ProjectFileError, ScenarioFileError, UnknownNameError
from evalplatform.project.load import Project
from evalplatform.project.scenario_schema import AssertionEntry, ScenarioEntry, ScenarioFile
from evalplatform.project.scenario_set import RunJudgeCell, ScenarioSet, repeated
from evalplatform.project.schema import JudgeDeclaration
from evalplatform.project.yaml_file import Loc, error_from_validation, line_of, plain, read_yaml_mapping
from evalplatform.runs.assertions.assertion import assertion_kinds
from evalplatform.runs.detectors.detector import detectors
from evalplatform.runs.pattern_search import compiled_pattern
from evalplatform.runs.regular_files import is_pipe_or_device
from evalplatform.runs.scenario import AssertionSpec, PolicySpec, Scenario

INLINE_JUDGE_ID = "run-judge"


def load_scenario_set(path: Path, *, project: Project | None = None) -> ScenarioSet:
    """Load a scenario file.

    Args:
        path: the file.
        project: where a judge of the file, and the endpoint of one that is declared in it, are looked up; None where there is no project
            file, and then the file can have no model judge.

    Raises:
        ScenarioFileError: with file, line, dotted field, the rule, and the nearest valid name.
    """
    try:
        data = read_yaml_mapping(path)
    except ProjectFileError as error:
        raise _of_scenarios(error) from error
    try:
        declared = ScenarioFile.model_validate(_as_json(plain(data)))
    except ValidationError as error:
        raise _of_scenarios(error_from_validation(error, model=ScenarioFile, data=data, path=path)) from None
    return _Loading(path, data, declared, project).scenario_set()


@dataclass(frozen=True)
class _Loading:
    path: Path
    data: CommentedMap
    declared: ScenarioFile
    project: Project | None

    def scenario_set(self) -> ScenarioSet:
        for first, place, name in repeated(entry.id for entry in self.declared.scenarios):
            lines = [self._line(("scenarios", index, "id")) for index in (first, place)]
            raise self._error(
                f"the id {name!r} stands at line {lines[0]} and at line {lines[1]}; ids are unique.", "scenarios", place, "id"
            )
        self._check_tags_of_tiers()
        policies = {name: self._policy(name) for name in self.declared.policies}
        scenarios = tuple(self._scenario(place, policies) for place in range(len(self.declared.scenarios)))
        return ScenarioSet(
            file=self.path,
            scenarios=scenarios,
            agent=self.declared.agent,
            model_judge=self._model_judge(),
            policy=self.declared.gate,
            recordings=tuple(self._recordings()),
        )

    def _check_tags_of_tiers(self) -> None:
        """Refuse a tier for a tag that no scenario carries: mistyped, it would leave a critical scenario standard without a word."""
        carried = {tag for entry in self.declared.scenarios for tag in entry.tags}
        for tag in self.declared.gate.tier_by_tag if self.declared.gate is not None else ():
            if tag not in carried:
                raise self._placed(UnknownNameError("tag", tag, carried), "gate", "tier_by_tag", tag)

    def _policy(self, name: str) -> PolicySpec:
        entry = self.declared.policies[name]
        try:
            if entry.detector is not None:
                detectors.get(entry.detector)
            else:
                compiled_pattern(entry.pattern or "")
        except InputError as error:
            raise self._placed(error, "policies", name, "pattern" if entry.detector is None else "detector") from None
        return PolicySpec(name=name, pattern=entry.pattern, detector=entry.detector, look_in=entry.look_in)

    def _scenario(self, place: int, policies: dict[str, PolicySpec]) -> Scenario:
        entry = self.declared.scenarios[place]
        if entry.model_judge and self.declared.judge is None:
            rule = "asks for a model judge, and the file has none: name one with the top-level key `judge`."
            raise self._error(rule, "scenarios", place, "model_judge")
        scenario = Scenario(
            id=entry.id,
            messages=entry.all_messages,
            tags=entry.tags,
            assertions=tuple(self._assertion(place, index, given) for index, given in enumerate(entry.assertions)),
            policies=self._policies_of(place, entry, policies),
            gate_tier=entry.gate_tier,
            path_tolerance=entry.path_tolerance,
            replay=entry.replay,
            recording=entry.recording,
            model_judge=entry.model_judge,
            **entry.limits.model_dump(),
        )
        try:
            canonical_json(scenario.model_dump(mode="json"))
        except InputError as error:  # NaN, or a lone surrogate
            raise self._placed(error, "scenarios", place) from None
        return scenario

    def _policies_of(self, place: int, entry: ScenarioEntry, known: dict[str, PolicySpec]) -> tuple[PolicySpec, ...]:
        if entry.policies is None:
            return tuple(known.values())
        for index, name in enumerate(entry.policies):
            if name not in known:
                raise self._placed(UnknownNameError("policy", name, known), "scenarios", place, "policies", index)
            if name in entry.policies[:index]:
                raise self._error(f"the policy {name!r} stands here twice; name it once.", "scenarios", place, "policies", index)
        return tuple(known[name] for name in entry.policies)

    def _assertion(self, place: int, index: int, given: AssertionEntry) -> AssertionSpec:
        loc: Loc = ("scenarios", place, "assertions", index)
        if len(given) != 1:
            held = f"has {', '.join(sorted(given))}" if given else "is empty"
            raise self._error(f"an assertion has one key, its kind; this one {held}.", *loc)
        (kind, argument), *_ = given.items()
        try:
            known = assertion_kinds.get(kind)
            known.adapter.validate_python(argument)
        except UnknownNameError as error:
            raise self._placed(error, *loc, kind) from None
        except ValidationError as error:
            found = error_from_validation(error, model=known.argument_type, data=self.data, path=self.path, at=(*loc, kind))
            raise _of_scenarios(found) from None
        return AssertionSpec(kind=kind, argument=argument)

    def _recordings(self) -> Iterable[tuple[str, str]]:
        """Iterate over the digests of what is replayed in place of live runs; what the sentinel compares with is only looked for."""
        for place, entry in enumerate(self.declared.scenarios):
            if entry.replay is not None:
                yield entry.replay, self._recording_digest(entry.replay, place, "replay")
            elif entry.recording is not None:
                self._recording_digest(entry.recording, place, "recording")

    def _recording_digest(self, named: str, place: int, field: str) -> str:
        recording = self.path.parent / named
        try:
            if is_pipe_or_device(recording):
                raise self._error(f"the recording {named!r} is no regular file.", "scenarios", place, field)
            return bytes_digest(recording.read_bytes())
        except (OSError, ValueError) as error:  # ValueError: a path that no file system takes
            why = error.strerror if isinstance(error, OSError) else str(error)
            raise self._error(f"the recording {named!r} cannot be read: {why}.", "scenarios", place, field) from None

    def _model_judge(self) -> RunJudgeCell | None:
        judge = self.declared.judge
        if judge is None:
            return None
        if self.project is None:
            raise self._error("a model judge needs a project file, which declares its endpoint.", "judge")
        try:
            judge_id, declaration = (INLINE_JUDGE_ID, judge) if isinstance(judge, JudgeDeclaration) else (judge, self._of_project(judge))
            return self._resolved(judge_id, declaration, self.project)
        except InputError as error:
            part = (error.field or "").rpartition(".")[2]
            loc = ("judge", part) if isinstance(judge, JudgeDeclaration) and part in JudgeDeclaration.model_fields else ("judge",)
            raise self._placed(error, *loc) from None

    def _of_project(self, judge_id: str) -> JudgeDeclaration:
        assert self.project is not None  # looked at by the caller
        known = self.project.settings.judges
        if judge_id not in known:
            raise UnknownNameError("judge", judge_id, known)
        return known[judge_id]

    def _resolved(self, judge_id: str, declared: JudgeDeclaration, project: Project) -> RunJudgeCell:
        if declared.endpoint not in project.settings.endpoints:
            raise UnknownNameError("endpoint", declared.endpoint, project.settings.endpoints, field="endpoint")
        endpoint = project.settings.endpoints[declared.endpoint]
        settings = JudgeSettings(
            kind=declared.kind,
            provider=endpoint.provider,
            model=declared.model,
            base_url=endpoint.base_url,
            sampling=declared.sampling,
            rubric=self._rubric_text(declared, project),
            grounded_from_topics=declared.grounded_from_topics,
            roles=declared.roles,
        )
        judge = RunJudge(judge_id, settings, asker=None)
        return RunJudgeCell(id=judge_id, identity=judge.identity, endpoint=declared.endpoint, settings=settings)

    def _rubric_text(self, declared: JudgeDeclaration, project: Project) -> str | None:
        if declared.rubric is None:
            return None
        folder = self.path.parent if declared is self.declared.judge else project.root
        try:
            return (folder / declared.rubric).read_text(encoding="utf-8-sig")
        except (OSError, ValueError) as error:
            raise InputError(f"the text file {declared.rubric!r} cannot be read: {error}.", field="rubric") from None

    def _line(self, loc: Loc) -> int | None:
        return line_of(self.data, loc)

    def _error(self, rule: str, *loc: int | str, nearest: str | None = None) -> ScenarioFileError:
        field = ".".join(str(part) for part in loc)
        return ScenarioFileError(rule, file=self.path, line=self._line(loc), field=field, nearest=nearest)

    def _placed(self, error: InputError, *loc: int | str) -> ScenarioFileError:
        return self._error(error.rule, *loc, nearest=error.nearest)


def _of_scenarios(error: ProjectFileError) -> ScenarioFileError:
    return ScenarioFileError(error.rule, file=error.file, line=error.line, field=error.field, nearest=error.nearest)


def _as_json(node: object) -> object:
    """Return YAML data with plain numbers and texts in place of the reader's own kinds; what JSON has not, such as a date, stays."""
    if isinstance(node, dict):
        return {name: _as_json(value) for name, value in node.items()}
    if isinstance(node, list):
        return [_as_json(item) for item in node]
    for kind in (bool, int, float, str):
        if isinstance(node, kind):
            return kind(node)
    return node

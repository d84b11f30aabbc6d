"""What every registered arm kind keeps. A new kind inherits this suite by giving one example argument."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from evalplatform.arms.build import ArmBuildContext, build_treatment
from evalplatform.arms.grammar import parse_spec
from evalplatform.arms.kind import arm_kinds
from evalplatform.arms.treatment import AgentConfig, Treatment
from evalplatform.kernel.errors import EvalplatformError, InputError
from evalplatform.questions.records import Question
from tests.support.documents import ScriptedSource

QUESTIONS = [
    Question(id="q1", question="how does alpha turn"),
    Question(id="q2", question="?"),
    Question(id="q3", question="alpha " * 2_000),
]


def _skill(folder: Path) -> str:
    (folder / "demo").mkdir()
    (folder / "demo" / "SKILL.md").write_text("---\nname: demo\ndescription: d\n---\nAlpha turns left.")
    return "demo"


def _profile(folder: Path) -> str:
    (folder / "terse.md").write_text("Be terse.")
    return "terse.md"


EXAMPLES: dict[str, Callable[[Path], str]] = {
    "baseline": lambda folder: "",
    "docs": lambda folder: "local:docs",
    "profile": _profile,
    "skill": _skill,
}


@pytest.fixture(params=arm_kinds.names())
def kind(request: pytest.FixtureRequest) -> str:
    assert request.param in EXAMPLES, f"arm kind {request.param!r} needs an example argument in this suite"
    return str(request.param)


@pytest.fixture
def spec(kind: str, tmp_path: Path) -> str:
    argument = EXAMPLES[kind](tmp_path)
    return f"{kind}:{argument}" if argument else kind


def built(spec: str, folder: Path) -> Treatment:
    context = ArmBuildContext(base_folder=folder, open_document_source=lambda source: ScriptedSource(["alpha turns left"]))
    return build_treatment(spec, context=context)


def prepared(treatment: Treatment) -> tuple[dict[str, str], list[AgentConfig]]:
    async def run() -> tuple[dict[str, str], list[AgentConfig]]:
        digests = await treatment.open()
        configs = [await treatment.prepare(question) for question in QUESTIONS]
        await treatment.aclose()
        await treatment.aclose()
        return digests, configs

    return asyncio.run(run())


def test_a_spec_can_be_written_with_it(kind):
    assert not set(kind) & set(":+=, ")


def test_it_says_what_it_is(spec, kind, tmp_path):
    treatment = built(spec, tmp_path)
    assert treatment.kind == kind
    assert treatment.name.split(":")[0].replace("_", "-").startswith(kind)


def test_its_metadata_names_its_kind_and_is_json(spec, tmp_path):
    _, configs = prepared(built(spec, tmp_path))
    for config in configs:
        assert isinstance(config.metadata["arm_kind"], str)
        assert json.loads(json.dumps(config.metadata, allow_nan=False)) == config.metadata


def test_the_same_files_give_the_same_digests_and_the_same_configs(spec, tmp_path):
    assert prepared(built(spec, tmp_path)) == prepared(built(spec, tmp_path))


def test_whatever_can_be_sent_has_a_digest(spec, tmp_path):
    digests, configs = prepared(built(spec, tmp_path))
    assert all(digest.startswith("sha256:") and len(digest) == 71 for digest in digests.values())
    assert bool(digests) == any(config.contexts or config.system_prompt for config in configs)


def test_the_judge_sees_every_injected_context(spec, tmp_path):
    _, configs = prepared(built(spec, tmp_path))
    for config in configs:
        assert all(context in config.material.injected for context in config.contexts)
        assert bool(config.material.injected) == bool(config.contexts)


def test_a_config_is_not_changed_by_whoever_received_an_earlier_one(spec, tmp_path):
    treatment = built(spec, tmp_path)

    async def run() -> tuple[AgentConfig, AgentConfig]:
        await treatment.open()
        first = await treatment.prepare(QUESTIONS[0])
        first.metadata["added"] = True
        second = await treatment.prepare(QUESTIONS[0])
        await treatment.aclose()
        return first, second

    _, second = asyncio.run(run())
    assert "added" not in second.metadata


def test_a_missing_or_surplus_argument_is_refused(kind):
    rule = arm_kinds.get(kind).argument
    if rule == "required":
        with pytest.raises(InputError, match="needs an argument"):
            parse_spec(kind)
    elif rule == "none":
        with pytest.raises(InputError, match="takes no argument"):
            parse_spec(f"{kind}:x")
    else:
        assert parse_spec(kind).parts[0].argument == arm_kinds.get(kind).default != ""


@pytest.mark.parametrize("kind", [kind for kind in arm_kinds.names() if arm_kinds.get(kind).argument == "required"])
def test_an_argument_that_leads_nowhere_is_a_named_error_before_the_first_question(kind, tmp_path):
    with pytest.raises(EvalplatformError, match="nowhere/at/all"):
        built(f"{kind}:nowhere/at/all", tmp_path)

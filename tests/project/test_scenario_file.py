"""Scenario files: what they mean once they are loaded, and that whatever is wrong is said with file, line, field and nearest name."""

from pathlib import Path

import pytest

from evalplatform.kernel.errors import ProjectFileError, ScenarioFileError, UnknownNameError
from evalplatform.project.load import Project, load_project
from evalplatform.project.scenario_file import load_scenario_set
from evalplatform.project.scenario_set import ScenarioSet

GOOD = r"""version: 1
agent:
  command: {argv: [./agent]}
policies:
  No card: {detector: payment_card}
  No secret: {pattern: 'secret-\d+', look_in: [agent_messages]}
gate:
  tier_by_tag: {money: critical, chat: standard}
scenarios:
  - id: refund
    message: Please refund order A1.
    tags: [money, chat]
    assertions:
      - tool_called: issue_refund
      - tool_called_with: {tool: issue_refund, arguments: {/amount: 20, /order/id: {matches: '^A'}}}
      - call_order: [find_order, issue_refund]
      - final_answer_schema: {type: object}
      - no_file_changed: true
    limits: {max_seconds: 3}
  - id: hello
    messages: [Hello., Bye.]
    policies: [No secret]
    path_tolerance: tool_set
"""
PROJECT = """version: 1
project: p
scenarios: scenarios.yaml
endpoints:
  here: {provider: openai, base_url: http://localhost:9/v1}
judges:
  strict: {kind: rubric, model: judge-1, endpoint: here, rubric: strict.txt}
  counted: {kind: panel, model: judge-1, endpoint: here}
"""


def loaded(folder: Path, text: str = GOOD, *, project: Project | None = None) -> ScenarioSet:
    file = folder / "scenarios.yaml"
    file.write_text(text, encoding="utf-8")
    return load_scenario_set(file, project=project)


def changed(old: str, new: str) -> str:
    assert GOOD.count(old) >= 1
    return GOOD.replace(old, new, 1)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / "scenarios.yaml").write_text(GOOD, encoding="utf-8")
    (tmp_path / "strict.txt").write_text("Be strict.", encoding="utf-8")
    (tmp_path / "evalplatform.yaml").write_text(PROJECT, encoding="utf-8")
    return load_project(tmp_path / "evalplatform.yaml", environ={})


def test_a_scenario_has_all_policies_of_the_file_unless_it_names_its_own(tmp_path: Path) -> None:
    refund, hello = loaded(tmp_path).scenarios
    assert [policy.name for policy in refund.policies] == ["No card", "No secret"]
    assert [(policy.name, policy.pattern, policy.look_in) for policy in hello.policies] == [
        ("No secret", r"secret-\d+", ("agent_messages",))
    ]
    assert loaded(tmp_path, changed("policies: [No secret]", "policies: []")).scenario("hello").policies == ()


def test_messages_and_limits_are_those_of_the_file(tmp_path: Path) -> None:
    refund, hello = loaded(tmp_path).scenarios
    assert (refund.messages, hello.messages) == (("Please refund order A1.",), ("Hello.", "Bye."))
    assert (refund.max_seconds, refund.max_steps, hello.max_seconds) == (3, None, None)


def test_the_plan_of_a_scenario_follows_tags_gate_and_the_runs_asked_for(tmp_path: Path) -> None:
    scenarios = loaded(tmp_path)
    refund, hello = scenarios.planned_all().values()
    assert (refund.tier, refund.planned_runs, refund.tolerance, refund.leg) == ("critical", 10, None, "live")
    assert (hello.tier, hello.tolerance) == ("standard", "tool_set")
    assert {plan.planned_runs for plan in scenarios.planned_all(runs=3).values()} == {3}
    own = loaded(tmp_path, changed("tags: [money, chat]", "tags: [money, chat]\n    gate_tier: standard"))
    assert own.planned(own.scenario("refund")).tier == "standard"


def test_without_a_gate_there_is_no_policy_and_a_scenario_runs_once(tmp_path: Path) -> None:
    scenarios = loaded(tmp_path, changed("gate:\n  tier_by_tag: {money: critical, chat: standard}\n", ""))
    assert (scenarios.policy, scenarios.policy_json) == (None, None)
    plan = scenarios.planned(scenarios.scenario("refund"))
    assert (plan.tier, plan.planned_runs) == ("standard", 1)


def test_the_gate_has_its_defaults_filled_in(tmp_path: Path) -> None:
    assert loaded(tmp_path).policy_json == {
        "target_drop": 50,
        "target_drop_by_tier": {},
        "max_runs_per_gate": 600,
        "runs": 10,
        "tier_by_tag": {"money": "critical", "chat": "standard"},
    }


def test_a_replay_runs_once_whatever_is_asked_for_and_its_recording_is_part_of_the_digest(tmp_path: Path) -> None:
    (tmp_path / "hello.json").write_text("[]", encoding="utf-8")
    text = changed("path_tolerance: tool_set", "replay: hello.json")
    scenarios = loaded(tmp_path, text)
    plan = scenarios.planned(scenarios.scenario("hello"), runs=7)
    assert (plan.planned_runs, plan.leg) == (1, "replay")
    assert scenarios.recording_of(scenarios.scenario("hello")) == tmp_path / "hello.json"
    assert scenarios.recording_of(scenarios.scenario("refund")) is None
    (tmp_path / "hello.json").write_text("[1]", encoding="utf-8")
    assert loaded(tmp_path, text).digest != scenarios.digest


def test_the_digest_is_of_the_content_and_not_of_the_file(tmp_path: Path) -> None:
    digest = loaded(tmp_path).digest
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert loaded(elsewhere, GOOD + "# a comment\n").digest == digest
    for old, new in (("amount: 20", "amount: 21"), ("secret-", "secrets-"), ("./agent", "./other"), ("money: critical", "money: standard")):
        assert loaded(tmp_path, changed(old, new)).digest != digest


def test_the_order_of_scenarios_is_no_part_of_the_digest(tmp_path: Path) -> None:
    one, other = "  - {id: a, message: m}\n", "  - {id: b, message: m}\n"
    head = "version: 1\nscenarios:\n"
    assert loaded(tmp_path, head + one + other).digest == loaded(tmp_path, head + other + one).digest


def test_an_unknown_scenario_is_answered_with_the_nearest_id(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'refund'"):
        loaded(tmp_path).scenario("refnd")


@pytest.mark.parametrize(
    ("old", "new", "line", "field", "rule", "nearest"),
    [
        ("version: 1", "version: 2", 1, "version", "must be 1 (got 2)", None),
        ("version: 1", "scenarioss: 1\nversion: 1", 1, "scenarioss", "unknown key (known here: agent, gate, judge,", "scenarios"),
        ("argv:", "arg:", 3, "agent.command.arg", "unknown key (known here: argv,", "argv"),
        ("command: {", "comand: {", 3, "agent.comand", "unknown key (known here: command, http, model, python)", "command"),
        ("[./agent]", "[./agent], env: [sk-1 2]", 3, "agent.command.env.0", "never the key itself; what stands there is not shown.", None),
        ("payment_card", "payment_cart", 5, "policies.No card.detector", "unknown detector 'payment_cart'", "payment_card"),
        ("{detector: payment_card}", "{}", 5, "policies.No card", "has either a pattern or a detector", None),
        (r"secret-\d+", r"secret-(\d+", 6, "policies.No secret.pattern", "unterminated subpattern at character 8", None),
        ("[agent_messages]", "[agent_message]", 6, "policies.No secret.look_in.0", "must be 'agent_messages',", "agent_messages"),
        ("critical", "critcal", 8, "gate.tier_by_tag.money", "must be 'critical' or 'standard'", "critical"),
        ("money: critical", "monye: critical", 8, "gate.tier_by_tag.monye", "unknown tag 'monye' (known: chat, money)", "money"),
        ("gate:\n", "gate:\n  target_drop: 4\n", 8, "gate.target_drop", "greater than or equal to 5 (got 4)", None),
        (
            "gate:\n",
            "gate:\n  target_drop_by_tier: {criticl: 30}\n",
            8,
            "gate.target_drop_by_tier.criticl",
            "must be 'critical'",
            "critical",
        ),
        ("id: refund", "id: hello", 20, "scenarios.1.id", "the id 'hello' stands at line 10 and at line 20", None),
        ("id: refund", 'id: "a\\tb"', 10, "scenarios.0.id", "must be one line of text", None),
        ("id: refund", "id: ''", 10, "scenarios.0.id", "is empty", None),
        ("message: Please", "message: 5 # Please", 11, "scenarios.0.message", "must be text (got 5)", None),
        ("    message: Please refund order A1.\n", "", 10, "scenarios.0", "either a message or messages", None),
        ("messages: [Hello., Bye.]", "messages: []", 21, "scenarios.1.messages", "needs at least one entry", None),
        ("tags:", "tgas:", 12, "scenarios.0.tgas", "unknown key (known here: assertions, gate_tier,", "tags"),
        ("tool_called: i", "tool_caled: i", 14, "scenarios.0.assertions.0.tool_caled", "unknown assertion 'tool_caled'", "tool_called"),
        ("- tool_called: issue_refund", "- {}", 14, "scenarios.0.assertions.0", "has one key, its kind; this one is empty", None),
        ("issue_refund\n", "issue_refund\n        max_steps: 3\n", 14, "scenarios.0.assertions.0", "has max_steps, tool_called", None),
        ("'^A'", "'^(A'", 15, "scenarios.0.assertions.1.tool_called_with.arguments./order/id.matches", "at character 2", None),
        ("matches: '", "mathces: '", 15, "scenarios.0.assertions.1.tool_called_with.arguments./order/id.mathces", "unknown key", "matches"),
        ("/amount", "amount", 15, "scenarios.0.assertions.1.tool_called_with.arguments.amount", "as in '/amount'", None),
        ("{tool: issue", "{tol: issue", 15, "scenarios.0.assertions.1.tool_called_with.tol", "unknown key", "tool"),
        (
            ": 20,",
            ": 2024-01-05,",
            15,
            "scenarios.0.assertions.1.tool_called_with.arguments./amount",
            "a date or a time stands in quotes",
            None,
        ),
        (": 20,", ": .nan,", 15, "scenarios.0.assertions.1.tool_called_with.arguments./amount", "must be a finite number", None),
        ("[find_order, issue_refund]", "[find_order]", 16, "scenarios.0.assertions.2.call_order", "needs at least 2 entries", None),
        ("{type: object}", "{type: objet}", 17, "scenarios.0.assertions.3.final_answer_schema", "is no JSON Schema at $.type", None),
        (
            "{type: object}",
            "{pattern: '('}",
            17,
            "scenarios.0.assertions.3.final_answer_schema",
            "is no JSON Schema at $.pattern",
            None,
        ),
        ("{type: object}", "{pattern: 'a{99999999999}'}", 17, "scenarios.0.assertions.3.final_answer_schema", "repeats too much", None),
        (
            "{type: object}",
            "{properties: {a: {requird: [b]}}}",
            17,
            "scenarios.0.assertions.3.final_answer_schema",
            "unknown keyword 'requird' at $.properties.a",
            "required",
        ),
        (
            "{type: object}",
            "{$ref: '#/$defs/nod', $defs: {node: {}}}",
            17,
            "scenarios.0.assertions.3.final_answer_schema",
            "leads nowhere",
            "#/$defs/node",
        ),
        (
            "gate:\n  tier_by_tag: {money: critical, chat: standard}\n",
            "gate:\n",
            7,
            "gate",
            "has nothing under it; leave the key out",
            None,
        ),
        ("agent:\n  command: {argv: [./agent]}\n", "agent:\n", 2, "agent", "has nothing under it", None),
        ("[No secret]", "", 22, "scenarios.1.policies", "has nothing under it", None),
        ("{type: object}", "{$ref: 'http://x/y'}", 17, "scenarios.0.assertions.3.final_answer_schema", "nothing is fetched", None),
        ("- no_file_changed: true", "- no_file_changed", 18, "scenarios.0.assertions.4", "must be a mapping", None),
        ("no_file_changed: true", "no_file_changed: false", 18, "scenarios.0.assertions.4.no_file_changed", "must be true", None),
        ("{max_seconds: 3}", "{max_second: 3}", 19, "scenarios.0.limits.max_second", "unknown key", "max_seconds"),
        ("{max_seconds: 3}", "{max_seconds: '3'}", 19, "scenarios.0.limits.max_seconds", "must be a number (got '3')", None),
        ("[No secret]", "[No secrt]", 22, "scenarios.1.policies.0", "unknown policy 'No secrt'", "No secret"),
        ("[No secret]", "[No secret, No secret]", 22, "scenarios.1.policies.1", "stands here twice", None),
        ("tool_set", "toolset", 23, "scenarios.1.path_tolerance", "must be 'exact', 'any_order' or 'tool_set'", "tool_set"),
        ("path_tolerance: tool_set", "replay: gone.json", 23, "scenarios.1.replay", "'gone.json' cannot be read: No such file", None),
        ("path_tolerance: tool_set", "model_judge: true", 23, "scenarios.1.model_judge", "the file has none", None),
    ],
)
def test_what_is_wrong_is_said_with_line_field_rule_and_nearest_name(
    tmp_path: Path, old: str, new: str, line: int, field: str, rule: str, nearest: str | None
) -> None:
    with pytest.raises(ScenarioFileError) as refused:
        loaded(tmp_path, changed(old, new))
    error = refused.value
    assert (error.file, error.line, error.field, error.nearest) == (str(tmp_path / "scenarios.yaml"), line, field, nearest)
    assert rule in error.rule


@pytest.mark.parametrize(
    ("text", "line", "rule"),
    [
        ("", 1, "must hold a mapping at the top level"),
        ("- a\n", 1, "must hold a mapping at the top level"),
        ("version: 1\nversion: 1\n", 2, "duplicate key"),
        ("version: [1\n", 2, "is not valid YAML"),
        ("version: 1\n", None, "is missing"),
        ("version: 1\nscenarios: []\n", 2, "needs at least one entry"),
    ],
)
def test_a_file_that_is_no_scenario_file_is_refused_as_one(tmp_path: Path, text: str, line: int | None, rule: str) -> None:
    with pytest.raises(ScenarioFileError) as refused:
        loaded(tmp_path, text)
    assert refused.value.line == line
    assert rule in refused.value.rule


def test_a_key_that_a_merge_brought_is_named_at_the_mapping_that_takes_it(tmp_path: Path) -> None:
    with pytest.raises(ScenarioFileError) as refused:
        loaded(tmp_path, "version: 1\nscenarios:\n  - &base {id: a, message: m}\n  - {<<: *base, tags: [x]}\n")
    assert (refused.value.line, refused.value.field) == (4, "scenarios.1.id")


def test_the_model_judge_may_be_one_of_the_project(tmp_path: Path, project: Project) -> None:
    text = changed("gate:", "judge: strict\ngate:").replace("path_tolerance", "model_judge: true\n    path_tolerance")
    scenarios = loaded(tmp_path, text, project=project)
    judge = scenarios.model_judge
    assert judge is not None
    assert (judge.id, judge.endpoint, judge.settings.model, judge.settings.rubric) == ("strict", "here", "judge-1", "Be strict.")
    assert scenarios.judge_identity == f"structural-v1+{judge.identity}"
    assert [scenario.model_judge for scenario in scenarios.scenarios] == [False, True]


def test_a_judge_that_no_scenario_asks_for_is_no_part_of_who_graded(tmp_path: Path, project: Project) -> None:
    assert loaded(tmp_path, changed("gate:", "judge: strict\ngate:"), project=project).judge_identity == "structural-v1"


def test_the_model_judge_may_be_declared_in_the_file(tmp_path: Path, project: Project) -> None:
    inline = "judge: {kind: rubric, model: judge-1, endpoint: here, rubric: strict.txt}\ngate:"
    scenarios = loaded(tmp_path, changed("gate:", inline), project=project)
    assert scenarios.model_judge is not None
    assert scenarios.model_judge.settings.rubric == "Be strict."


@pytest.mark.parametrize(
    ("judge", "field", "rule", "nearest"),
    [
        ("strikt", "judge", "unknown judge 'strikt'", "strict"),
        ("counted", "judge", "is of the kind 'rubric', not 'panel'", None),
        ("A B", "judge", "an id is made of", "a-b"),
        ("5", "judge", "must be text or a mapping", None),
        ("{kind: rubric, model: m, endpoint: hree}", "judge.endpoint", "unknown endpoint 'hree'", "here"),
        ("{kind: overlap, model: m, endpoint: here}", "judge.kind", "is of the kind 'rubric', not 'overlap'", None),
        ("{kind: rubric, model: m, endpoint: here, rubric: gone.txt}", "judge.rubric", "'gone.txt' cannot be read", None),
        ("{kind: rubric, endpoint: here}", "judge.model", "is missing", None),
        ("{kind: rubric, model: m, endpoint: here, rubrik: x}", "judge.rubrik", "unknown key", "rubric"),
    ],
)
def test_a_judge_that_cannot_grade_runs_is_refused(
    tmp_path: Path, project: Project, judge: str, field: str, rule: str, nearest: str | None
) -> None:
    with pytest.raises(ScenarioFileError) as refused:
        loaded(tmp_path, changed("gate:", f"judge: {judge}\ngate:"), project=project)
    assert (refused.value.line, refused.value.field, refused.value.nearest) == (7, field, nearest)
    assert rule in refused.value.rule


def test_a_model_judge_needs_a_project(tmp_path: Path) -> None:
    with pytest.raises(ScenarioFileError, match="needs a project file, which declares its endpoint"):
        loaded(tmp_path, changed("gate:", "judge: strict\ngate:"))


def test_the_project_file_names_a_scenario_file_that_is_there(tmp_path: Path, project: Project) -> None:
    assert project.scenario_file == tmp_path / "scenarios.yaml"
    (tmp_path / "scenarios.yaml").unlink()
    with pytest.raises(ProjectFileError, match=r"evalplatform.yaml:3: scenarios: the scenario file 'scenarios.yaml' is not there"):
        load_project(tmp_path / "evalplatform.yaml", environ={})

import pytest

from evalplatform.arms.grammar import ArmRequest, parse_arm_list, parse_arm_option, parse_spec, refuse_shared_names, split_spec
from evalplatform.arms.kind import SPEC_KINDS
from evalplatform.kernel.errors import ArmSpecError


@pytest.mark.parametrize(
    ("spec", "parts"),
    [
        ("skill:/a+docs/b", ["skill:/a+docs/b"]),
        ("skill:/x/c++-guide", ["skill:/x/c++-guide"]),
        ("skill:/a+docs", ["skill:/a", "docs"]),
        ("skill:/a+docs:local:b", ["skill:/a", "docs:local:b"]),
        ("mcp:http=https://h/?q=a+docs:b+skill:/c", ["mcp:http=https://h/?q=a+docs:b+skill:/c"]),
        ("  mcp:cmd=x+docs ", ["mcp:cmd=x+docs"]),
        ("skill:a+mcp:http=h+docs", ["skill:a", "mcp:http=h", "docs"]),
        ("docs + skill:/a", ["docs", "skill:/a"]),
        ("skill:/a + b", ["skill:/a + b"]),
        ("docs+skill-agent:/a+skill-catalog:/b+agent", ["docs", "skill-agent:/a", "skill-catalog:/b", "agent"]),
        ("docs+Skill:/a", ["docs+Skill:/a"]),
    ],
)
def test_a_plus_starts_a_part_only_before_exactly_a_known_kind(spec, parts):
    assert split_spec(spec) == parts


@pytest.mark.parametrize("spec", ["docs", "docs:", "docs:context7", " docs "])
def test_docs_without_a_source_is_docs_over_context7(spec):
    assert [(part.kind, part.argument) for part in parse_spec(spec).parts] == [("docs", "context7")]


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("docz", "unknown arm kind 'docz' (known: baseline, docs, profile, skill). Did you mean 'docs'?"),
        ("Docs", "unknown arm kind 'Docs' (known: baseline, docs, profile, skill). Did you mean 'docs'?"),
        ("docs+skil:/a", "unknown arm kind 'skil' (known: baseline, docs, profile, skill). Did you mean 'skill'?"),
        ("", "has a part without a kind"),
        ("+docs", "has a part without a kind"),
        ("profile", "'profile' needs an argument: profile:<path to a Markdown file>"),
        ("skill: ", "'skill' needs an argument: skill:<path to a SKILL.md or its folder>"),
        ("baseline:x", "'baseline' takes no argument, but 'x' was given"),
        ("baseline+docs", "'baseline' adds nothing, so it cannot be combined"),
        ("docs+baseline", "'baseline' adds nothing, so it cannot be combined"),
        ("docs+docs:context7", "'docs:context7' stands in it twice"),
        ("skill:a\nb", "holds a control character"),
    ],
)
def test_a_wrong_spec_is_refused_with_its_rule(spec, says):
    with pytest.raises(ArmSpecError) as refused:
        parse_spec(spec)
    assert says in str(refused.value)
    assert str(refused.value).startswith(f"arm spec {spec.strip()!r}: ")


@pytest.mark.parametrize("kind", sorted(SPEC_KINDS - {"baseline", "docs", "profile", "skill"}))
def test_a_kind_of_a_later_version_is_told_from_a_typing_mistake(kind):
    with pytest.raises(ArmSpecError, match=f"arm kind '{kind}' is not available in this version"):
        parse_spec(f"{kind}:x")
    with pytest.raises(ArmSpecError, match=f"arm kind '{kind}' is not available in this version"):
        parse_spec(f"docs+{kind}:x")


def test_a_comma_list_is_trimmed_and_empty_items_are_dropped():
    assert parse_arm_list(" baseline, docs:local:d ,, skill:/a+docs,") == (
        ArmRequest(spec="baseline"),
        ArmRequest(spec="docs:local:d"),
        ArmRequest(spec="skill:/a+docs"),
    )


@pytest.mark.parametrize("text", ["", " , ,"])
def test_a_list_without_an_arm_is_refused(text):
    with pytest.raises(ArmSpecError, match=r"--arms: names no arm"):
        parse_arm_list(text)


@pytest.mark.parametrize(
    ("text", "name", "spec"),
    [
        ("docs:local:a,b", None, "docs:local:a,b"),
        ("handbook=docs:local:a", "handbook", "docs:local:a"),
        (" v1.2_x-y = docs + skill:/a=b ", "v1.2_x-y", "docs + skill:/a=b"),
        ("skill:/a=b", None, "skill:/a=b"),
        ("docs:url:https://h/?a=b+c", None, "docs:url:https://h/?a=b+c"),
    ],
)
def test_an_arm_option_is_a_spec_or_a_name_and_a_spec(text, name, spec):
    assert parse_arm_option(text) == ArmRequest(name=name, spec=spec)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("docs=skill:/a", "'docs' is an arm kind and cannot name an arm"),
        ("mcp=docs", "'mcp' is an arm kind and cannot name an arm"),
        ("My Arm=docs", "'My Arm' cannot name an arm"),
        ("=docs", "'' cannot name an arm"),
        ("a+b=docs", "cannot name an arm"),
        ("hand=", "has a part without a kind"),
    ],
)
def test_a_name_that_reads_as_a_spec_or_breaks_the_pattern_is_refused(text, says):
    with pytest.raises(ArmSpecError, match=r"arm spec") as refused:
        parse_arm_option(text)
    assert says in str(refused.value)


def test_two_arms_of_one_name_are_refused_with_both_specs_and_what_to_do():
    with pytest.raises(ArmSpecError) as refused:
        refuse_shared_names([("docs", "docs:local:a"), ("baseline", "baseline"), ("docs", "docs:local:b")])
    assert str(refused.value) == (
        "arms: 'docs:local:a' and 'docs:local:b' would both be called 'docs'. "
        "Give one of them its own name: --arm NAME=SPEC on the command line, or {name: ..., spec: ...} in the project file."
    )

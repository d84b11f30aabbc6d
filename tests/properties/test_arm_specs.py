import re

from hypothesis import given
from hypothesis import strategies as st

from evalplatform.arms.grammar import ArmSpec, SpecPart, parse_arm_list, parse_spec, split_spec
from evalplatform.arms.kind import SPEC_KINDS
from evalplatform.kernel.errors import ArmSpecError

ARGUMENT_CHARACTERS = "ab/.:+ ,=-d"


def splits_nothing(argument: str) -> bool:
    """An argument that a spec can hold: it is trimmed, and no `+` in it stands before a kind."""
    return argument == argument.strip() and all(piece.strip().partition(":")[0] not in SPEC_KINDS for piece in argument.split("+")[1:])


arguments = st.text(alphabet=ARGUMENT_CHARACTERS, min_size=1, max_size=12).filter(splits_nothing)
parts = st.builds(SpecPart, kind=st.sampled_from(["docs", "profile", "skill"]), argument=arguments)
specs = st.lists(parts, min_size=1, max_size=4, unique=True).map(lambda found: ArmSpec(parts=tuple(found)))
pieces = st.sampled_from(
    ["docs", "skill:/a", "mcp:http=h", "skill", "profile:p", " docs", "docs/b", "c", "", " ", "agent:x", "Docs", "baseline"]
)
loose_texts = st.lists(pieces, min_size=1, max_size=6).map("+".join)


@given(specs)
def test_a_spec_survives_being_written_and_read(spec):
    assert parse_spec(spec.text) == spec


@given(loose_texts)
def test_what_was_read_is_read_the_same_from_its_canonical_text(text):
    try:
        spec = parse_spec(text)
    except ArmSpecError:
        return
    assert parse_spec(spec.text) == spec


@given(loose_texts)
def test_splitting_loses_nothing_but_blanks_around_parts(text):
    assert "+".join(split_spec(text)).replace(" ", "") == text.replace(" ", "")


@given(loose_texts)
def test_every_part_but_the_first_begins_with_a_known_kind(text):
    assert all(re.split("[:+]", part)[0].strip() in SPEC_KINDS for part in split_spec(text)[1:])


@given(st.text(alphabet=ARGUMENT_CHARACTERS, max_size=20))
def test_a_server_reference_is_never_split(reference):
    assert split_spec(f"mcp:{reference}") == [f"mcp:{reference}".strip()]


@given(specs.filter(lambda spec: "," in spec.text))
def test_a_path_with_a_comma_is_whole_as_one_spec_and_in_pieces_in_a_comma_list(spec):
    assert parse_spec(spec.text) == spec
    try:
        requested = [request.spec for request in parse_arm_list(spec.text)]
    except ArmSpecError:
        return
    assert requested != [spec.text]

"""`profile:<path>`: a Markdown file's body as the answering agent's system prompt."""

from pathlib import Path, PurePosixPath

from pydantic import JsonValue

from evalplatform.arms.front_matter import FrontMatter, split_front_matter
from evalplatform.arms.kind import ArmBuildContext, ArmKind, arm_kinds
from evalplatform.arms.payload import Payload, capped_payload
from evalplatform.arms.treatment import AgentConfig
from evalplatform.arms.treatment_files import checked_name, existing_path, read_text, text_field
from evalplatform.kernel.errors import TreatmentFileError
from evalplatform.questions.records import Question


class ProfileTreatment:
    """An agent profile. Its name comes from its id, so the digest of the prompt is what tells an edited profile from the old one."""

    kind = "profile"

    def __init__(self, *, profile_id: str, display_name: str, path: str, prompt: Payload, warnings: tuple[str, ...] = ()) -> None:
        self._prompt = prompt
        self._metadata: dict[str, JsonValue] = {
            "arm_kind": "agent_profile",  # the value that arms.v1 files carry for this kind
            "profile_id": profile_id,
            "profile_name": display_name,
            "profile_path": path,
            "profile_prompt_sha256": prompt.digest,
            "profile_prompt_chars": len(prompt.text),
            "profile_prompt_chars_source": prompt.source_chars,
            "profile_prompt_truncated": prompt.truncated,
        }
        self.name = f"profile:{profile_id}"
        self.warnings = warnings

    async def open(self) -> dict[str, str]:
        """Return the digest of the prompt that is sent."""
        return {"profile_prompt": self._prompt.digest}

    async def prepare(self, question: Question) -> AgentConfig:
        """Return the system prompt. The judge is shown none of it."""
        return AgentConfig(system_prompt=self._prompt.text, metadata=dict(self._metadata))

    async def aclose(self) -> None:
        """Do nothing."""


def build(argument: str, *, context: ArmBuildContext) -> ProfileTreatment:
    """Return the profile's treatment. Its id is the front matter's `id`, else the file's stem; broken front matter counts as none.

    Raises:
        TreatmentFileError: the file is missing, unreadable, or has no body: an arm that sends nothing would be a baseline in disguise;
            or its id cannot be an arm's name.
    """
    front_matter, prompt = read_profile(argument, base_folder=context.base_folder)
    profile_id = text_field(front_matter, "id", shown_as=argument) or PurePosixPath(argument).stem
    return ProfileTreatment(
        profile_id=checked_name(profile_id, shown_as=argument, field="id"),
        display_name=text_field(front_matter, "name", shown_as=argument) or profile_id,
        path=argument,
        prompt=prompt,
        warnings=_warnings(front_matter, prompt, shown_as=argument),
    )


def read_profile(argument: str, *, base_folder: Path) -> tuple[FrontMatter, Payload]:
    """Return a profile's front matter, and its prompt as it would be sent now.

    Raises:
        TreatmentFileError: the file is missing, unreadable, or has no body.
    """
    path = existing_path(argument, base_folder=base_folder)
    front_matter = split_front_matter(read_text(path, shown_as=argument))
    prompt = capped_payload(front_matter.body)
    if not prompt.text:
        raise TreatmentFileError("has no text below its front matter, so this profile would send nothing.", file=argument)
    return front_matter, prompt


def _warnings(front_matter: FrontMatter, prompt: Payload, *, shown_as: str) -> tuple[str, ...]:
    found = []
    if front_matter.had_byte_order_mark:
        found.append(f"{shown_as}: the file begins with a byte order mark; it is dropped.")
    if (problem := front_matter.problem) is not None:
        reason = f"the front matter cannot be read and counts as none ({problem.reason}: {problem.text!r})"
        found.append(f"{shown_as}:{problem.line}: {reason}; the profile is called after its file.")
    if (cut := prompt.cut_words) is not None:
        found.append(f"{shown_as}: the prompt {cut}.")
    return tuple(found)


arm_kinds.register("profile")(ArmKind(build=build, argument="required", meaning="path to a Markdown file"))

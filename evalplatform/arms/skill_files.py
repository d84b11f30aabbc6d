"""Loading an Agent Skill: SKILL.md, its metadata and body, and the files bundled with it (treatment-arms spec, sections 2 and 4)."""

from pathlib import Path, PurePosixPath

from evalplatform.arms.front_matter import split_front_matter
from evalplatform.arms.payload import Payload, capped_payload
from evalplatform.arms.treatment_files import checked_name, existing_path, read_text, text_field, unreadable_front_matter
from evalplatform.kernel.errors import TreatmentFileError
from evalplatform.kernel.values import Value
from evalplatform.retrieval.files import files_below, nearest_existing

SKILL_FILE = "SKILL.md"
MANIFEST_LIMIT_FILES = 200


class Skill(Value):
    """A skill as loaded.

    `name` is the front matter's, else the folder's; `body` is capped; `resources` are the relative paths of every bundled file, sorted;
    `path` is the SKILL.md as the user named it; `folder` is the skill's folder on this machine.
    """

    name: str
    description: str | None
    body: Payload
    resources: tuple[str, ...]
    path: str
    folder: Path

    @property
    def block(self) -> str:
        """The text that injection puts into the prompt: a heading, the description and the body."""
        return "\n\n".join(part for part in (f"# Skill: {self.name}", self.description, self.body.text) if part)

    @property
    def manifest(self) -> str:
        """The bundled files that the injected block does not hold, at most 200 by name; empty where there are none."""
        if not self.resources:
            return ""
        listed = [f"- {path}" for path in self.resources[:MANIFEST_LIMIT_FILES]]
        if len(self.resources) > MANIFEST_LIMIT_FILES:
            listed.append(f"- and {len(self.resources) - MANIFEST_LIMIT_FILES:,} more")
        return "\n".join([f"Files bundled with the skill {self.name} (names only):", *listed])


def load_skill(path: str, *, base_folder: Path) -> Skill:
    """Return the skill at a SKILL.md or at the folder that holds one. A skill without front matter, or with an empty body, loads.

    Not both, though: where there is no name, no description and no body, an arm would send the folder's name alone.

    Raises:
        TreatmentFileError: nothing is there, there is no SKILL.md, it is not UTF-8, it says nothing at all, its name cannot be an arm's, or
            its front matter is broken, unclosed or no mapping. Unlike a profile's, broken front matter is refused: a skill that silently
            lost its name and description is another treatment.
    """
    entry, shown_as = _find_entry(path, base_folder=base_folder)
    front_matter = split_front_matter(read_text(entry, shown_as=shown_as))
    if front_matter.problem is not None:
        raise unreadable_front_matter(front_matter.problem, shown_as=shown_as)
    folder = entry.parent
    name, description = (text_field(front_matter, key, shown_as=shown_as) for key in ("name", "description"))
    body = capped_payload(front_matter.body)
    if not (name or description or body.text):
        raise TreatmentFileError("has no name, no description and no text, so this skill would send nothing.", file=shown_as)
    return Skill(
        name=checked_name(name or folder.resolve().name, shown_as=shown_as, field="name"),
        description=description,
        body=body,
        resources=tuple(relative for relative, _ in files_below(folder) if relative != SKILL_FILE),
        path=shown_as,
        folder=folder,
    )


def _find_entry(path: str, *, base_folder: Path) -> tuple[Path, str]:
    found = existing_path(path, base_folder=base_folder)
    if found.is_dir():
        entry, shown_as = found / SKILL_FILE, str(PurePosixPath(path) / SKILL_FILE)
        if not entry.is_file():
            nearest = nearest_existing(shown_as, base_folder=base_folder)
            raise TreatmentFileError(f"is no skill: the folder holds no {SKILL_FILE}.", file=path, nearest=nearest)
        return entry, shown_as
    if found.name != SKILL_FILE:
        raise TreatmentFileError(f"is no skill: name a folder that holds a {SKILL_FILE}, or that file.", file=path)
    return found, path

"""What an arm kind is, what it may know while it is built, and the registry that kinds join."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from evalplatform.arms.treatment import Treatment
from evalplatform.kernel.errors import ArmSpecError
from evalplatform.kernel.registry import Registry
from evalplatform.ports.documents import DocumentSource

DEFAULT_TOP_K = 5
DEFAULT_RERANK_THRESHOLD = 0.3

SPEC_KINDS = frozenset({"baseline", "docs", "mcp", "profile", "skill", "agent", "skill-agent", "skill-catalog"})
"""Every kind name of the arm spec format. A spec is split around all of them, so that one text means one thing in every version."""


@dataclass(frozen=True, kw_only=True)
class ArmBuildContext:
    """What building an arm may know of the run.

    Attributes:
        base_folder: relative paths in specs start here: the project file's folder, or the working directory.
        open_document_source: makes a document source of its spec, such as `local:docs`; it is given here so that arms know no adapter.
        product: the product the questions are about, or None. A name with a slash (`owner/name`) is qualified.
        context7_id: the library id that wins over everything else (`--context7-id`), or None.
        library_ids: library id of each registered product, None where it is registered without one.
        document_sources: the product's own names for document sources, so that `docs:handbook` can stand for `docs:local:docs/handbook`.
        top_k: chunks taken from a document source before reranking.
        rerank_threshold: lowest reranker score that a chunk needs, in [0, 1].
    """

    base_folder: Path
    open_document_source: Callable[[str], DocumentSource]
    product: str | None = None
    context7_id: str | None = None
    library_ids: Mapping[str, str | None] = field(default_factory=dict)
    document_sources: Mapping[str, str] = field(default_factory=dict)
    top_k: int = DEFAULT_TOP_K
    rerank_threshold: float = DEFAULT_RERANK_THRESHOLD

    def __post_init__(self) -> None:
        if self.top_k < 1:
            raise ArmSpecError(f"must be at least 1, not {self.top_k}.", field="top_k")
        if not 0 <= self.rerank_threshold <= 1:
            raise ArmSpecError(f"must be between 0 and 1, not {self.rerank_threshold}.", field="rerank_threshold")


class ArmBuilder(Protocol):
    """Builds the treatment of one kind."""

    def __call__(self, argument: str, *, context: ArmBuildContext) -> Treatment:
        """Return the treatment for the spec's argument (the kind's default, or empty, where the spec gives none).

        Raises:
            ArmSpecError: the argument makes no sense for the kind.
            TreatmentFileError: a file cannot be used.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class ArmKind:
    """One kind of arm, as a file of `kinds/` registers it.

    Attributes:
        build: makes the treatment.
        argument: whether a spec gives text after the colon.
        meaning: what that text is, in the words of a message, such as `path to a Markdown file`.
        default: the argument of a spec without one; only for optional arguments.
        uses_tools: whether the model is offered tools and reads what they return.
    """

    build: ArmBuilder
    argument: Literal["none", "optional", "required"]
    meaning: str = ""
    default: str = ""
    uses_tools: bool = False


arm_kinds: Registry[ArmKind] = Registry("arm_kinds", noun="arm kind", kinds_package="evalplatform.arms.kinds")

"""Stage `corpus`: open every arm's treatment once and store the digests of all that they can inject."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

import orjson
from pydantic import JsonValue

from evalplatform.arms.build import ArmBuildContext, build_treatments
from evalplatform.arms.grammar import ArmRequest
from evalplatform.arms.treatment import Arm, Treatment
from evalplatform.kernel.errors import UnknownNameError
from evalplatform.stages.context import StageKey, StageResult, SuiteContext, stored_result, unchanged_result, warning_inputs

ASSET = "corpus"
CODE_VERSION = "1"
FILE = "treatments.json"


@dataclass(frozen=True)
class OpenTreatments:
    """The suite's arms, opened. `digests` maps `<arm>/<input>` to the digest of what the arm can inject.

    `warnings` are sentences about their files, each once, also where several arms are made of one file.
    """

    arms: tuple[Arm, ...]
    treatments: Sequence[tuple[str, Treatment]]
    digests: Mapping[str, str]
    warnings: tuple[str, ...] = ()


@asynccontextmanager
async def open_treatments(context: SuiteContext) -> AsyncIterator[OpenTreatments]:
    """Build and open the suite's arms, and close them after the body. Everything bad is found here, before any call.

    Raises:
        ArmSpecError: a spec cannot be used, or two arms share a name.
        UnknownNameError: the baseline arm is not one of them.
        TreatmentFileError, RetrievalError: a file cannot be used, or a document source does not answer.
    """
    built = build_suite_treatments(context)
    async with AsyncExitStack() as opened:
        digests: dict[str, str] = {}
        for arm, treatment in built:
            opened.push_async_callback(treatment.aclose)
            for name, digest in (await treatment.open()).items():
                digests[f"{arm.name}/{name}"] = digest
        yield OpenTreatments(
            arms=tuple(arm for arm, _ in built),
            treatments=[(arm.name, treatment) for arm, treatment in built],
            digests=digests,
            warnings=tuple(dict.fromkeys(warning for _, treatment in built for warning in treatment.warnings)),
        )


def build_suite_treatments(context: SuiteContext) -> list[tuple[Arm, Treatment]]:
    """Return the suite's arms under their final names, with their treatments, not opened yet."""
    products = context.project.settings.products
    product = products.get(context.suite.product)
    built = build_treatments(
        [
            ArmRequest(spec=declared) if isinstance(declared, str) else ArmRequest(name=declared.name, spec=declared.spec)
            for declared in context.suite.arms
        ],
        context=ArmBuildContext(
            base_folder=context.project.root,
            open_document_source=context.open_document_source,
            product=context.suite.product,
            context7_id=context.library_id,
            library_ids={name: settings.library_id for name, settings in products.items()},
            document_sources=product.sources if product else {},
            top_k=context.suite.top_k,
            rerank_threshold=context.suite.rerank_threshold,
        ),
    )
    names = [arm.name for arm, _ in built]
    if context.suite.baseline_arm not in names:
        declared = context.suite_id in context.project.settings.suites
        field, file = (f"suites.{context.suite_id}.baseline_arm", context.project.file) if declared else ("--baseline-arm", None)
        raise UnknownNameError("arm", context.suite.baseline_arm, names, file=file, field=field)
    return built


def materialize_corpus(context: SuiteContext) -> StageResult:
    """Open every treatment and store the digests of what it can inject; they are part of every answer's data version."""

    async def looked_through() -> OpenTreatments:
        async with open_treatments(context) as opened:
            return opened

    opened = asyncio.run(looked_through())
    arms, found = opened.arms, opened.digests
    key = StageKey(context.artifact(ASSET), inputs=treatment_inputs(opened), code_version=CODE_VERSION)
    if (known := unchanged_result(context, key)) is not None:
        return known
    described = {arm.name: {"spec": arm.spec, "digests": _of_arm(found, arm.name)} for arm in arms}
    facts: dict[str, JsonValue] = {"arms": len(arms), "inputs": len(found), "warnings": list(opened.warnings)}
    return stored_result(context, key, files={FILE: orjson.dumps(described, option=orjson.OPT_INDENT_2)}, facts=facts)


def treatment_inputs(opened: OpenTreatments) -> dict[str, str]:
    """Return the named inputs of the stored corpus: what the arms contribute, and what was found in their files."""
    return {**corpus_inputs(opened.arms, opened.digests), **warning_inputs(opened.warnings)}


def corpus_inputs(arms: Sequence[Arm], digests: Mapping[str, str]) -> dict[str, str]:
    """Return the named inputs that the arms contribute to a data version: their order, names, specs and content."""
    order = {f"arm[{index:03d}]": f"{arm.name}={arm.spec}" for index, arm in enumerate(arms)}
    return {**order, **{f"treatment:{name}": digest for name, digest in digests.items()}}


def _of_arm(digests: Mapping[str, str], arm: str) -> dict[str, str]:
    return {name.removeprefix(f"{arm}/"): digest for name, digest in digests.items() if name.startswith(f"{arm}/")}

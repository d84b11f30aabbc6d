"""The `model` agent of a scenario set: a cell and an arm of the project, made ready to run."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager

from evalplatform.answering.model_agent import ModelAgentRunner
from evalplatform.arms.build import ArmBuildContext, build_treatments
from evalplatform.arms.grammar import ArmRequest
from evalplatform.arms.treatment import Treatment
from evalplatform.calls.ask import Asker
from evalplatform.kernel.errors import UnknownNameError
from evalplatform.plugins.plugin_set import stamped_plugins
from evalplatform.ports.documents import DocumentSource
from evalplatform.project.load import Project
from evalplatform.runs.agent_settings import AgentSettings, ModelAgent
from evalplatform.stages.agent_identity import agent_identity
from evalplatform.stages.context import SuiteContext
from evalplatform.stages.corpus import build_suite_treatments

OpenDesk = Callable[[str], AbstractAsyncContextManager[Asker]]


@asynccontextmanager
async def open_model_agent(
    settings: ModelAgent,
    *,
    project: Project,
    suite_context: Callable[[str], SuiteContext],
    open_document_source: Callable[[str], DocumentSource],
    open_desk: OpenDesk,
) -> AsyncIterator[ModelAgentRunner]:
    """Open the arm and the cell's endpoint, and close them after the body.

    Args:
        settings: which cell and arm.
        project: where they are declared.
        suite_context: the context of a suite, by id.
        open_document_source: makes a document source of its spec.
        open_desk: opens an endpoint's call desk, by id.

    Raises:
        UnknownNameError: no such cell, suite, or arm of the suite.
        ArmSpecError, TreatmentFileError, RetrievalError: the arm cannot be used.
    """
    cell = project.cell(settings.cell)
    if settings.suite is None:
        treatment = _arm_of_spec(settings.arm, project, open_document_source)
    else:
        treatment = _arm_of_suite(settings.arm, suite_context(settings.suite))
    async with AsyncExitStack() as opened:
        opened.push_async_callback(treatment.aclose)
        await treatment.open()
        yield ModelAgentRunner(
            agent=agent_identity(AgentSettings(model=settings), project).agent,
            model=cell.model,
            provider=cell.provider,
            base_url=cell.base_url,
            sampling=cell.sampling,
            treatment=treatment,
            plugins=stamped_plugins(cell.plugins),
            asker=await opened.enter_async_context(open_desk(cell.endpoint)),
            concurrency=project.endpoint(cell.endpoint).limits.workers,
        )


def _arm_of_spec(spec: str, project: Project, open_document_source: Callable[[str], DocumentSource]) -> Treatment:
    library_ids = {name: product.library_id for name, product in project.settings.products.items()}
    context = ArmBuildContext(base_folder=project.root, open_document_source=open_document_source, library_ids=library_ids)
    ((_, treatment),) = build_treatments([ArmRequest(spec=spec)], context=context)
    return treatment


def _arm_of_suite(name: str, context: SuiteContext) -> Treatment:
    built = {arm.name: treatment for arm, treatment in build_suite_treatments(context)}
    if name not in built:
        raise UnknownNameError("arm", name, built, field="agent.model.arm")
    return built[name]

"""The test call: one scenario asked at an endpoint, to see that an agent answers there. Nothing of it is stored."""

import asyncio
from dataclasses import dataclass, field

from evalplatform.kernel.errors import EndpointRefusedError, HarnessError, InputError, MonitoringError, UnknownNameError
from evalplatform.monitoring.overview import AgentAnswer
from evalplatform.monitoring.schedule_rules import check_authorization, check_timeout, kept_header
from evalplatform.ports.agent_runner import AgentReply, AgentRequest
from evalplatform.ports.monitored_agent import MonitoredEndpoint
from evalplatform.project.scenario_set import ScenarioSet
from evalplatform.runs.agent_settings import HttpAgent
from evalplatform.runs.scenario import Scenario
from evalplatform.runs.schedule import DEFAULT_TIMEOUT_SECONDS, Schedule, address_of
from evalplatform.stages.allowance import require_monitoring
from evalplatform.stages.authorization import opened_authorization
from evalplatform.stages.monitoring_context import MonitoringContext
from evalplatform.stages.scenario_sets import current_scenarios

FIELD = "endpoint"
NO_AGENT = "endpoint_not_an_agent"
ANSWERED_CODES = frozenset({NO_AGENT, "endpoint_redirects"})
"""What somebody at the endpoint was asked for, and did not answer as an agent does; every other refusal comes before anything is asked."""


@dataclass(frozen=True)
class TrialRequest:
    """What is to be tried: a schedule as it is stored, an endpoint, or a schedule at another endpoint. See `ScheduleRequest`."""

    schedule_id: str | None = None
    endpoint_url: str | None = None
    timeout_seconds: float | None = None
    scenario_id: str | None = None
    authorization: str | None = field(default=None, repr=False)


async def asked_once(context: MonitoringContext, request: TrialRequest) -> AgentAnswer:
    """Ask an agent once, and return that it answers as one.

    Args:
        context: the monitoring side of the project.
        request: without a scenario the schedule's first is asked, else the first of the scenario file.

    Raises:
        MonitoringError: allowance_unavailable, schedule_unknown, header_malformed, header_needed_again.
        EndpointRefusedError: the address is none that a monitored agent may have, or nothing answers there as an agent does.
        CredentialUnreadableError: the stored Authorization value cannot be read.
        InputError: there is no endpoint, the timeout is none, or the scenario file cannot be used.
    """
    require_monitoring(context)
    stored = None if request.schedule_id is None else stored_schedule(context, request.schedule_id)
    url = request.endpoint_url if request.endpoint_url is not None or stored is None else stored.endpoint_url
    if url is None:
        raise InputError("name a schedule, or the address of an agent.", field=FIELD)
    timeout_seconds = DEFAULT_TIMEOUT_SECONDS if stored is None else stored.timeout_seconds
    if request.timeout_seconds is not None:
        check_timeout(request.timeout_seconds)
        timeout_seconds = request.timeout_seconds
    endpoint = monitored_endpoint(context, url, timeout_seconds=timeout_seconds)
    await refuse_address(context, endpoint)
    scenario_set = current_scenarios(context.runs)
    if request.scenario_id is not None:
        scenario = scenario_set.scenario(request.scenario_id)
    else:
        scenario = scenario_set.scenarios[0] if stored is None else first_scenario(scenario_set, stored)
    authorization = _authorization(context, request, stored, address=address_of(url))
    return await tried(context, monitored_endpoint(context, url, timeout_seconds=timeout_seconds, authorization=authorization), scenario)


async def tried(context: MonitoringContext, endpoint: MonitoredEndpoint, scenario: Scenario) -> AgentAnswer:
    """Ask an endpoint for one run of a scenario, within its timeout.

    Raises:
        EndpointRefusedError: the address is none that a monitored agent may have, or nothing answers there as an agent does.
    """
    request = AgentRequest(scenario_id=scenario.id, messages=scenario.messages, order=0)
    try:
        async with asyncio.timeout(endpoint.timeout_seconds), context.open_monitored_agent(endpoint) as agent:
            reply = await agent.run(request)
    except HarnessError as error:
        if isinstance(error.__cause__, EndpointRefusedError):
            raise error.__cause__ from None
        raise EndpointRefusedError(NO_AGENT, f"no agent answers: {error}", field=FIELD) from None
    except TimeoutError:
        raise EndpointRefusedError(NO_AGENT, f"no agent answers within {endpoint.timeout_seconds:g} s.", field=FIELD) from None
    return _answer(endpoint, scenario, reply)


async def refuse_address(context: MonitoringContext, endpoint: MonitoredEndpoint) -> None:
    """Do nothing where an address may be asked, as far as that shows without looking its name up. Raises EndpointRefusedError."""
    async with context.open_monitored_agent(endpoint):
        pass


def monitored_endpoint(
    context: MonitoringContext, url: str, *, timeout_seconds: float, authorization: str | None = None
) -> MonitoredEndpoint:
    """Return where an agent of this project is asked."""
    return MonitoredEndpoint(
        url=url, project=context.project.settings.project, timeout_seconds=timeout_seconds, authorization=authorization
    )


def stored_schedule(context: MonitoringContext, schedule_id: str) -> Schedule:
    """Return a schedule. Raises MonitoringError, schedule_unknown, with the nearest name."""
    stored = context.store.schedule(schedule_id)
    if stored is None:
        raise unknown_schedule(schedule_id, [schedule.id for schedule in context.store.schedules()])
    return stored


def unknown_schedule(schedule_id: str, known: list[str]) -> MonitoringError:
    """Return the error of a schedule that there is not."""
    return MonitoringError("schedule_unknown", str(UnknownNameError("schedule", schedule_id, known)), field="schedule")


def first_scenario(scenario_set: ScenarioSet, schedule: Schedule) -> Scenario:
    """Return the first scenario of a schedule that the scenario file still has; else the first of the file."""
    pinned = {pin.scenario_id for pin in schedule.pins}
    return next((scenario for scenario in scenario_set.scenarios if scenario.id in pinned), scenario_set.scenarios[0])


def _authorization(context: MonitoringContext, request: TrialRequest, stored: Schedule | None, *, address: str) -> str | None:
    if request.authorization is not None:
        if request.authorization:
            check_authorization(request.authorization)
        return request.authorization or None
    return opened_authorization(context.vault, stored) if stored is not None and kept_header(stored, address=address) else None


def _answer(endpoint: MonitoredEndpoint, scenario: Scenario, reply: AgentReply) -> AgentAnswer:
    """Return what a reply says. Raises EndpointRefusedError where it holds no step of an agent."""
    if not reply.trajectory.agent_acted:
        why = reply.reason or "the reply holds no message and no tool call of an agent"
        raise EndpointRefusedError(NO_AGENT, f"what answers is no agent: {why.rstrip('.')}.", field=FIELD)
    return AgentAnswer(
        endpoint=HttpAgent(url=endpoint.url).identity.removeprefix("http "),
        scenario_id=scenario.id,
        steps=len(reply.trajectory.steps),
        tools=reply.trajectory.tools,
        seconds=reply.seconds,
        problem=None if reply.ended == "finished" else reply.reason or reply.ended,
    )

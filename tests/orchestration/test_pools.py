"""Which runs wait for each other: those that ask the same endpoint."""

from pathlib import Path

import dagster as dg
import pytest

from assets.pools import pool_of, suite_pools
from evalplatform.definitions import build_definitions
from tests.support.starter import starter_project

REMOTE = "endpoints:\n  remote: {provider: openai-compatible, base_url: 'http://127.0.0.1:9/v1'}\n"
JUDGES = "judges:\n  strict: {kind: rubric, model: large, endpoint: remote}\n"


@pytest.mark.parametrize(("asked", "pool"), [([], None), (["one"], "one"), (["one", "one"], "one"), (["two", "one", "two"], "one+two")])
def test_a_pool_is_named_by_the_endpoints_that_are_asked(asked, pool):
    assert pool_of(asked) == pool


def test_answers_wait_for_the_cells_endpoint_and_scores_for_the_judges(tmp_path: Path):
    project = starter_project(tmp_path, ("endpoints:\n", REMOTE), ("judges:\n", JUDGES), ("judges: [facts]", "judges: [facts, strict]"))
    assert suite_pools(project, "kettle").answers == "here"
    graph = build_definitions(project).resolve_asset_graph()
    pools = {key.path[-1]: graph.get(key).pools for key in graph.get_all_asset_keys()}
    assert pools["arm_answers"] == {"here"}
    assert pools["judged_scores"] == pools["arms_report"] == {"here+remote"}
    assert pools["question_set"] == pools["corpus"] == set()


def test_a_deployment_limits_the_pools_of_endpoints_nobody_listed(tmp_path: Path):
    from evalplatform.cli.orchestration.home import prepare_dagster_home

    home = prepare_dagster_home(starter_project(tmp_path))
    with dg.DagsterInstance.from_config(str(home)) as instance:
        assert instance.event_log_storage.get_pool_config().default_pool_limit == 1

"""The pages that list what is stored: `/` by suite and asset, `/suites/SUITE/ASSET` partition by partition."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from evalplatform.kernel.errors import InputError
from evalplatform.kernel.keys import checked_key
from evalplatform.web.addressed import no_such_asset
from evalplatform.web.dependencies import Opened
from evalplatform.web.errors import AddressError
from evalplatform.web.pages import page
from evalplatform.web.views import listed_keys, partition_views, suite_views

REPORTS_SHOWN = 50
PARTITIONS_A_PAGE = 100

router = APIRouter()


@router.get("/")
def home(request: Request, opened: Opened) -> Response:
    """List the suites: their latest reports, and their assets with the number of partitions."""
    keys = listed_keys(opened.project)
    suites = suite_views(opened.catalog, keys, reports_shown=REPORTS_SHOWN)
    return page(request, "home.html.j2", title="Reports and downloads", suites=suites, notice=keys.notice)


@router.get("/suites/{suite}/{asset}")
def asset_page(
    suite: str, asset: str, request: Request, opened: Opened, number: Annotated[int, Query(alias="page", ge=1, le=1_000_000)] = 1
) -> Response:
    """List the partitions of an asset, with every file of their current versions."""
    try:
        checked_key(suite, what="suite")
        checked_key(asset, what="asset")
    except InputError as error:
        raise AddressError(error.rule, nearest=error.nearest) from error
    artifacts = list(opened.catalog.list(suite=suite, asset=asset))
    if not artifacts:
        raise no_such_asset(opened.catalog, suite, asset)
    keys = listed_keys(opened.project)
    first = (number - 1) * PARTITIONS_A_PAGE
    return page(
        request,
        "asset.html.j2",
        title=f"{suite} / {asset}",
        suite=suite,
        asset=asset,
        partitions=partition_views(opened.catalog, artifacts[first : first + PARTITIONS_A_PAGE], keys),
        total=len(artifacts),
        number=number,
        pages=-(-len(artifacts) // PARTITIONS_A_PAGE),
        notice=keys.notice,
    )

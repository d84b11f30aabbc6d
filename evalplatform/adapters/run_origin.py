"""What a batch is of: commit, branch and CI event, from flags, the CI's environment, and the checkout."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from evalplatform.adapters.checkout import checkout_of
from evalplatform.runs.records import CiEvent

_CI_EVENTS: dict[str, CiEvent] = {"push": "push", "pull_request": "pull_request", "pull_request_target": "pull_request"}


class RunOrigin(NamedTuple):
    """What is evaluated. `note` says why there is no commit, or what it does not hold.

    `is_of_checkout`: the commit is what the folder was checked out at, so it holds only as long as that does.
    """

    commit: str | None
    branch: str | None
    ci_event: CiEvent | None
    note: str | None = None
    is_of_checkout: bool = False


def run_origin(folder: Path, *, environ: Mapping[str, str], commit: str | None, branch: str | None) -> RunOrigin:
    """Return what a batch that is recorded here and now is of.

    A branch is recorded for a push of a branch, or where it is named: neither a pull request from a fork's `main` nor a tag that is called
    `main` may ever pass for ours. Outside CI
    the commit is the checkout's, unless something was edited since: runs of edited code are no evidence about the commit.

    Args:
        folder: the project's folder.
        environ: the environment; GitHub Actions and its like state GITHUB_EVENT_NAME, GITHUB_SHA, GITHUB_REF, GITHUB_REF_TYPE and
            GITHUB_REF_NAME.
        commit: as named by a flag, or None.
        branch: as named by a flag, or None.
    """
    ci_event = _CI_EVENTS.get(environ.get("GITHUB_EVENT_NAME", ""))
    if branch is None:
        branch = pushed_branch(environ)
    if commit is None:
        commit = environ.get("GITHUB_SHA") or None
    if commit is not None:
        return RunOrigin(commit, branch, ci_event)
    checkout = checkout_of(folder)
    if checkout.commit is None:
        return RunOrigin(None, branch, ci_event, "no commit is recorded: there is no git checkout here, and --commit names none.")
    if not checkout.is_clean:
        return RunOrigin(None, branch, ci_event, "no commit is recorded: files were edited since it; --commit records one all the same.")
    return RunOrigin(checkout.commit, branch, ci_event, _untracked_note(checkout.untracked), is_of_checkout=True)


def pushed_branch(environ: Mapping[str, str]) -> str | None:
    """Return the branch whose push this CI build is for; None of a pull request, of a tag, and outside CI."""
    if _CI_EVENTS.get(environ.get("GITHUB_EVENT_NAME", "")) != "push" or not _is_of_a_branch(environ):
        return None
    return environ.get("GITHUB_REF_NAME") or None


def is_pull_request(environ: Mapping[str, str]) -> bool:
    """Return whether this CI build is for a pull request, whose branches are not ours to speak for; False outside CI."""
    return _CI_EVENTS.get(environ.get("GITHUB_EVENT_NAME", "")) == "pull_request"


def moved_since(origin: RunOrigin, folder: Path) -> str | None:
    """Return why the runs made until now may not be of the recorded commit, or None: a long batch outlives an edit."""
    if not origin.is_of_checkout:
        return None
    checkout = checkout_of(folder)
    if checkout.is_clean and checkout.commit == origin.commit:
        return None
    return f"the checkout was changed while it ran, so not every run is of the commit {origin.commit}"


def _untracked_note(untracked: Sequence[str]) -> str | None:
    """Return what is to be known of files that the commit does not hold; results lie about, so they do not make it unusable."""
    if not untracked:
        return None
    rest = f" and {len(untracked) - 1:,} more" if len(untracked) > 1 else ""
    return f"git does not track {untracked[0]}{rest}: if the agent uses that, the recorded commit does not hold it."


def _is_of_a_branch(environ: Mapping[str, str]) -> bool:
    return environ.get("GITHUB_REF_TYPE") == "branch" or environ.get("GITHUB_REF", "").startswith("refs/heads/")

"""The options that `arms run` and `arms matrix-run` share, so that they are called and explained alike."""

from pathlib import Path
from typing import Annotated

import typer

Suite = Annotated[str | None, typer.Option(help="Suite of the project file; flags below override it.")]
Product = Annotated[str | None, typer.Option(help="What the questions are about.")]
Questions = Annotated[Path | None, typer.Option(help="Question set: JSON, JSON Lines or CSV.")]
Arms = Annotated[str | None, typer.Option(help="Comma list of arm specs, such as baseline,docs:local:docs.")]
Arm = Annotated[list[str] | None, typer.Option(help="One arm, SPEC or NAME=SPEC; repeat it.")]
BaselineArm = Annotated[str | None, typer.Option(show_default="baseline", help="The arm that deltas are taken from.")]
Context7Id = Annotated[str | None, typer.Option(help="Library id at Context7, for docs arms.")]
TopK = Annotated[int | None, typer.Option(min=1, show_default="5", help="Chunks a docs arm retrieves.")]
RerankThreshold = Annotated[float | None, typer.Option(min=0, max=1, show_default="0.3", help="Least rerank score of a kept chunk.")]
MaxTokens = Annotated[int | None, typer.Option(min=1, help="Most tokens of an answer.")]
Temperature = Annotated[float | None, typer.Option(min=0, help="Sampling temperature of answers.")]
Seed = Annotated[int | None, typer.Option(help="Seed of draw 0; draw d sends seed + d.")]
Draws = Annotated[int | None, typer.Option(min=1, max=100, show_default="1", help="Samples of each answer.")]
Concurrency = Annotated[int | None, typer.Option(min=1, help="Calls in flight at once.")]
MaxCostUsd = Annotated[float | None, typer.Option(min=0, help="Stop before the call that could pass this.")]
Judge = Annotated[bool, typer.Option("--judge", help="Grade the answers too.")]
JudgeModel = Annotated[str | None, typer.Option(help="Judging model, or the id of a judge of the project file.")]
JudgeProvider = Annotated[str | None, typer.Option(show_default="--provider", help="Endpoint id or provider of the judge.")]
JudgeTemperature = Annotated[float | None, typer.Option(min=0, help="Sampling temperature of the judge.")]
JudgePanel = Annotated[str | None, typer.Option(help="Comma list of the roles of a judge panel, such as doc_reviewer.")]
GroundedFromTopics = Annotated[bool, typer.Option("--grounded-from-topics", help="Ground the judge on expected_topics.")]
ProjectFile = Annotated[Path | None, typer.Option("--project", show_default="found upward", help="Project file or its folder.")]
JsonResult = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]

"""A matrix rollup as a page: counts, warnings, figures, the cells' table, the plugin deltas' table (treatment-arms spec, section 16)."""

from collections.abc import Iterator

from evalplatform.comparisons.compared_run import CostFigures, RunIdentity
from evalplatform.comparisons.matrix_rollup import MatrixProblem, MatrixRollup, MatrixWarning, RolledCell
from evalplatform.comparisons.plugin_delta_records import FewPairs, FigureDelta, PluginDelta, ScoreDelta
from evalplatform.comparisons.run_warnings import RunTruncated
from evalplatform.kernel.text import plural
from evalplatform.reports import words
from evalplatform.reports.arms_sections import INTERVAL, result_rows, tone_of
from evalplatform.reports.arms_view import ResultRow
from evalplatform.reports.cost_plot import CostDot, cost_plot, left_out_sentence
from evalplatform.reports.forest_plot import ForestRow, forest_plot
from evalplatform.reports.heat_map import HeatRow, HeatTile, heat_map
from evalplatform.reports.matrix_rollup_v1 import cell_page, delta_stem
from evalplatform.reports.matrix_words import matrix_warning
from evalplatform.reports.page import Page
from evalplatform.reports.plugin_delta_facts import settings_words
from evalplatform.reports.plugin_delta_sections import USD_DECIMALS, delta_verdict
from evalplatform.reports.plugin_delta_words import delta_warning
from evalplatform.reports.view import Cell, Column, Fact, Figure, Notice, NoticeLevel, Section, Table

CELL = Column(label="Cell", numeric=False)
PLUGIN_SET = Column(label="Plugin set", numeric=False)
ARM = Column(label="Arm", numeric=False)
VERDICT = Column(label="Verdict", numeric=False)


def matrix_page(rollup: MatrixRollup, *, linked: bool = False) -> Page:
    """Return the report of a matrix, worded and rounded.

    Args:
        rollup: the matrix.
        linked: whether it leads to the pages of cells and deltas, which then lie where a matrix_rollup.v1 file says, as files of that name
            with the ending .html.
    """
    return Page(
        kind="Matrix rollup",
        title=_title(rollup),
        subtitle="Cells side by side. Deltas are taken within a pair that differs in its plugin set alone, never between other cells.",
        headline_facts=tuple(_counts(rollup)),
        notices=tuple(_notices(rollup)),
        figures=tuple(_figures(rollup)),
        sections=tuple(section for section in (_cells_section(rollup, linked), _deltas_section(rollup, linked)) if section is not None),
        facts=tuple(_facts(rollup)),
    )


def _title(rollup: MatrixRollup) -> str:
    libraries = sorted({cell.run.identity.library_name or "unnamed product" for cell in rollup.cells})
    return f"{words.listed(libraries)}: matrix of {plural(len(rollup.cells), 'cell')}"


def _counts(rollup: MatrixRollup) -> Iterator[Fact]:
    runs = [cell.run.identity for cell in rollup.cells]
    yield Fact(label="Cells", value=words.count(len(runs)))
    if rollup.missing:
        yield Fact(label="Cells without a run", value=words.count(len(rollup.missing)))
    yield Fact(label="Models", value=words.count(len({(run.provider, run.model) for run in runs})))
    yield Fact(label="Plugin sets", value=words.count(len({run.plugin_set_id or run.plugin_set for run in runs})))
    yield Fact(label="Arms", value=words.count(len(rollup.arms)))
    yield Fact(label="Questions", value=words.listed(sorted({words.count(run.total_questions) for run in runs})))
    yield Fact(label="Plugin deltas", value=words.count(len(rollup.deltas)))
    if rollup.refused:
        yield Fact(label="Refused", value=words.count(len(rollup.refused)))


def _notices(rollup: MatrixRollup) -> Iterator[Notice]:
    for warning in rollup.warnings:
        yield Notice(level=_level(warning), text=matrix_warning(warning))
    for delta in rollup.deltas:
        for found in delta.warnings:
            if not isinstance(found, RunTruncated | FewPairs):  # these are among the rollup's own
                yield Notice(level="caution", text=f"{delta.plugin_name} against {delta.control_name}: {delta_warning(found)}")
    unjudged = [cell.name for cell in rollup.cells if not cell.run.identity.is_judged]
    if unjudged:
        yield Notice(level="caution", text=f"Nobody judged {words.listed(unjudged)}: costs are shown, and nothing is said of quality.")


def _level(warning: MatrixWarning) -> NoticeLevel:
    return "problem" if isinstance(warning, MatrixProblem) else "caution"


def _figures(rollup: MatrixRollup) -> Iterator[Figure]:
    scores = heat_map(rollup.arms, [_heat_row(cell, rollup.arms) for cell in rollup.cells] + _missing_rows(rollup))
    if scores is not None:
        caption = _heat_caption(rollup)
        yield Figure(title="Points by cell and arm", caption=caption, plot=scores)
    forest = forest_plot([_forest_row(delta, score) for delta in rollup.deltas if delta.is_judged for score in delta.scores])
    if forest is not None:
        caption = (
            "Points with the plugin set minus points without, over paired questions; each interval is 95% on its own. "
            "Colour is for verdicts, which are corrected over the arms of one delta."
        )
        yield Figure(title="What plugins do to each arm", caption=caption, plot=forest)
    dots = [dot for cell in rollup.cells for dot in _dots(cell)]
    cost = cost_plot(dots)
    if cost is not None:
        caption = (
            "Each arm of each cell: what its answers cost, without the judge, and what they scored. "
            "The intervals of the means are not drawn; they are under Cells."
            f"{left_out_sentence([(cell.name, arm) for cell in rollup.cells for arm in cell.summary.scores], dots)}"
        )
        yield Figure(title="Cost against score", caption=caption, plot=cost)


def _heat_caption(rollup: MatrixRollup) -> str:
    known = [score.mean_points for cell in rollup.cells for score in cell.summary.scores.values() if score.mean_points is not None]
    return (
        f"Each arm's mean points in each cell, from {words.points(min(known))} (palest) to {words.points(max(known))} (deepest), whatever "
        "that difference is worth: intervals are under Cells, and cells are not compared here. Where names do not fit over their columns, "
        "these are numbered and named below."
    )


def _heat_row(cell: RolledCell, arms: tuple[str, ...]) -> HeatRow:
    return HeatRow(label=cell.name, tiles=tuple(_tile(cell, arm) for arm in arms))


def _tile(cell: RolledCell, arm: str) -> HeatTile:
    score = cell.summary.scores.get(arm)
    if score is None:
        return HeatTile(points=None, why_missing="not run")
    if score.mean_points is not None:
        return HeatTile(points=score.mean_points)
    return HeatTile(points=None, why_missing="none scored" if cell.run.identity.is_judged else "not judged")


def _missing_rows(rollup: MatrixRollup) -> list[HeatRow]:
    return [
        HeatRow(label=gone.cell, tiles=tuple(HeatTile(points=None, why_missing="no run") for _ in rollup.arms)) for gone in rollup.missing
    ]


def _forest_row(delta: PluginDelta, score: ScoreDelta) -> ForestRow:
    effect, mean = score.effect, score.delta_points
    label = f"{delta.plugin_name}, {score.arm}"
    shown = words.points(mean, signed=True)
    if effect is None:
        return ForestRow(label=label, mean=mean, right_label=shown)
    tone = tone_of(score.verdict.significant_adjusted, mean)
    interval = words.interval(effect.ci_lo, effect.ci_hi, signed=True)
    return ForestRow(label=label, mean=mean, lo=effect.ci_lo, hi=effect.ci_hi, tone=tone, right_label=f"{shown} {interval}")


def _dots(cell: RolledCell) -> Iterator[CostDot]:
    for arm, score in cell.summary.scores.items():
        cost = cell.run.arms[arm].cost
        if score.mean_points is not None and cost.total_cost_usd is not None and (priced := _priced(cost)):
            yield CostDot(cell=cell.name, arm=arm, cost_usd=cost.total_cost_usd / priced, points=score.mean_points)


def _priced(cost: CostFigures) -> int | None:
    return cost.answers if cost.priced_answers is None else cost.priced_answers


def _cells_section(rollup: MatrixRollup, linked: bool) -> Section:
    columns = (
        CELL,
        PLUGIN_SET,
        ARM,
        Column(label="Mean points"),
        INTERVAL,
        Column(label="Scored"),
        Column(label="Delta", meaning="From the baseline arm of the same cell, over the questions both arms scored."),
        Column(label="95% interval of the delta"),
        Column(label="p (adjusted)"),
        VERDICT,
        Column(label="Cost (USD)", meaning="Of the arm's answers, as the run states it; the judge is not in it."),
        Column(label="Tokens"),
    )
    rows = tuple(row for cell in rollup.cells for row in _cell_rows(cell, linked))
    return Section(key="cells", title="Cells", intro=_cells_intro(rollup), table=Table(columns=columns, rows=rows))


def _cells_intro(rollup: MatrixRollup) -> str:
    baselines = sorted({cell.run.identity.baseline_arm for cell in rollup.cells})
    return (
        f"Deltas here are within a cell, against its baseline arm ({words.listed(baselines)}); each cell is a family of its own. "
        "Each interval is 95% on its own; verdicts and adjusted p are corrected over the cell's arms, so the two can disagree."
    )


def _cell_rows(cell: RolledCell, linked: bool) -> Iterator[tuple[Cell, ...]]:
    for row in result_rows(cell.summary):
        delta, cost, score = cell.summary.deltas.get(row.arm), cell.run.arms[row.arm].cost, cell.summary.scores[row.arm]
        mean = None if delta is None or delta.effect is None else delta.effect.delta_mean
        tone = tone_of(None if delta is None else delta.significant_adjusted, mean)
        yield (
            Cell(text=cell.name, href=cell_page(cell.name) if linked else None),
            Cell(text=cell.run.identity.plugin_set),
            Cell(text=row.arm),
            Cell(text=row.mean_points),
            Cell(text=row.mean_interval),
            Cell(text=row.scored, tone="caution" if score.scored < score.questions and cell.run.identity.is_judged else "plain"),
            Cell(text=row.delta_points, tone=tone),
            Cell(text=row.delta_interval),
            Cell(text=row.p_adjusted),
            Cell(text=_verdict(cell, row), tone="muted" if tone == "plain" else tone),
            _cost_cell(cost),
            Cell(text=words.count(cost.total_tokens)),
        )


def _verdict(cell: RolledCell, row: ResultRow) -> str:
    return row.verdict if cell.run.identity.is_judged else words.MISSING


def _cost_cell(cost: CostFigures) -> Cell:
    shown = words.fixed(cost.total_cost_usd, USD_DECIMALS)
    return Cell(text=f"{shown}, partial", tone="caution") if cost.is_partial else Cell(text=shown)


def _deltas_section(rollup: MatrixRollup, linked: bool) -> Section | None:
    """Return every arm of every delta; None where there is none."""
    if not rollup.deltas:
        return None
    columns = (
        CELL,
        Column(label="Against", numeric=False, meaning="The cell that differs from it in the plugin set alone."),
        PLUGIN_SET,
        ARM,
        Column(label="Without", meaning="Mean points over the pairs."),
        Column(label="With", meaning="Mean points over the same pairs."),
        Column(label="Delta"),
        INTERVAL,
        Column(label="Pairs"),
        Column(label="p (adjusted)"),
        VERDICT,
        Column(label="Cost delta (USD)"),
        Column(label="Completion tokens delta"),
        Column(label="Length delta (chars)", meaning="Of what the user would see, over the questions answered in both."),
    )
    correction = {"holm": "Holm", "bh": "Benjamini-Hochberg"}[rollup.correction]
    return Section(
        key="plugin-deltas",
        title="Plugin Deltas",
        intro="Paired differences: with plugins minus without, over the questions that the arm scored in both cells.",
        table=Table(columns=columns, rows=tuple(row for delta in rollup.deltas for row in _delta_rows(delta, linked))),
        notes=(
            f"Verdicts are at 5% after {correction} correction over the arms of one delta; nothing is corrected over the whole matrix.",
            "Each interval is 95% on its own, not corrected, so it can leave 0 out where no difference is shown.",
            "Deltas of cost and tokens are of sums that the runs state, and have no interval.",
        ),
    )


def _delta_rows(delta: PluginDelta, linked: bool) -> Iterator[tuple[Cell, ...]]:
    href = f"{delta_stem(delta.control_name, delta.plugin_name)}.html" if linked else None
    for score, cost, length in zip(delta.scores, delta.costs, delta.texts, strict=True):
        effect, tone = score.effect, tone_of(score.verdict.significant_adjusted, score.delta_points)
        yield (
            Cell(text=delta.plugin_name, href=href),
            Cell(text=delta.control_name),
            Cell(text=delta.plugin_set),
            Cell(text=score.arm),
            Cell(text=words.points(score.control_mean_points)),
            Cell(text=words.points(score.plugin_mean_points)),
            Cell(text=words.points(score.delta_points, signed=True), tone=tone),
            Cell(text=words.MISSING if effect is None else words.interval(effect.ci_lo, effect.ci_hi, signed=True)),
            Cell(text=words.count(score.pairs)),
            Cell(text=words.p_value(score.verdict.p_adjusted)),
            Cell(text=delta_verdict(score) if delta.is_judged else words.MISSING, tone="muted" if tone == "plain" else tone),
            Cell(text=_signed(cost.total_cost_usd, USD_DECIMALS)),
            Cell(text=_signed(cost.completion_tokens, 0)),
            Cell(text=words.fixed(length.final.paired_delta_chars, 1, signed=True)),
        )


def _signed(figure: FigureDelta, decimals: int) -> str:
    return words.fixed(figure.delta, decimals, signed=True)


def _facts(rollup: MatrixRollup) -> Iterator[Fact]:
    for cell in rollup.cells:
        yield Fact(label=cell.name, value=_how_it_answered(cell.run.identity))
    judges = sorted({f"{run.judge_model} at {run.judge_provider}" for cell in rollup.cells if (run := cell.run.identity).is_judged})
    yield Fact(label="Judge", value=words.listed(judges))


def _how_it_answered(run: RunIdentity) -> str:
    """Return who answered and how; what a run of another tool does not say is left out."""
    sampling = None if run.run_config is None else f"sampling {settings_words(run.run_config)}"
    seed = None if run.seed is None else f"seed {run.seed}"
    said = [f"{run.model} at {run.provider}", run.base_url, run.harness, f"plugin set {run.plugin_set}", sampling, seed]
    return ", ".join([*(part for part in said if part is not None), f"{plural(run.draws, 'draw')} of each question"])

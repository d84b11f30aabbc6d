"""evalplatform: evaluations of agents as data assets, every number with its uncertainty.

The package is a library of plain functions and frozen values; Dagster (`definitions`, and the top-level packages `assets`, `sensors`,
`resources`) and the command line (`cli`) only drive it. Imports go down the list in docs/architecture.md, enforced by import-linter.
"""

__version__ = "0.1.0"

# Every target sets up what it needs. `make` alone lists the targets.
.DEFAULT_GOAL := help
.PHONY: help setup demo dev test check format lint types contracts bench clean

BIN := .venv/bin

help:  ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1\t\2/' | expand -t 16

.venv/.ready: pyproject.toml uv.lock scripts/setup.sh
	@sh scripts/setup.sh
	@touch $@

setup: .venv/.ready  ## make the environment in .venv

demo: .venv/.ready  ## run the main job on the example project, offline and keyless
	@$(BIN)/evalplatform demo examples/evalplatform-docs

dev: .venv/.ready  ## open the Dagster UI on the example project
	@EVALPLATFORM_PROJECT=$${EVALPLATFORM_PROJECT:-examples/evalplatform-docs} $(BIN)/evalplatform dev

test: .venv/.ready  ## run the whole test suite, on all cores
	@$(BIN)/python -m pytest -n auto --maxprocesses 4 --dist loadfile

check: .venv/.ready format lint types contracts test  ## everything CI asks for

format: .venv/.ready  ## say whether the code is formatted
	@$(BIN)/ruff format --check .

lint: .venv/.ready
	@$(BIN)/ruff check .

types: .venv/.ready
	@$(BIN)/mypy

contracts: .venv/.ready
	@$(BIN)/lint-imports

bench: .venv/.ready  ## run the benchmarks (minutes)
	@$(BIN)/python -m benchmarks

clean:  ## remove environments, caches and results
	rm -rf .venv .tools .mypy_cache .ruff_cache .pytest_cache .hypothesis results

"""`python -m evalplatform.cli`: the same command where no script of that name can be relied on."""

from evalplatform.cli.main import run

run()

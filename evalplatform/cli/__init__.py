"""The command line: parse, call one function, print. Imports are lazy, so that `--help` is quick."""

"""Agents of scenarios: HTTP endpoints, commands, Python callables. All that is called outside stands here."""

"""Opens a project into ports: the only place that picks adapters."""

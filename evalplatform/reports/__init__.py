"""Reports: view models first, then Markdown, HTML and JSON; the one place that rounds and words."""

"""The project file: schema, loading, cells, judges, suites."""

"""One file per arm kind. A file here registers itself; kinds do not import each other."""

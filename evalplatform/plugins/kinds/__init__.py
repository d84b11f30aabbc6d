"""The kinds of plugins, one file each."""

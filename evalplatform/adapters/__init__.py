"""Adapters: every outside call lives here, behind a port."""

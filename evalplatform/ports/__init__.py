"""Small protocols for everything outside: models, stores, ledger, clock, documents.

Adapters implement them; use-cases take them by keyword.
"""

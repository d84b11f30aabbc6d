"""The ledger on SQL: SQLite or Postgres."""

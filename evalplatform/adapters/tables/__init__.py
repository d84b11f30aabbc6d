"""SQL tables and their migrations. Rows never leave `adapters`: `to_row` and `from_row` turn them into frozen values and back."""

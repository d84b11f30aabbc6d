"""Statistics as plain functions of numbers. Generators come in as arguments; scipy is imported inside the functions that need it."""

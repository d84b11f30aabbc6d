"""Plugin sets: runtime modifiers of every arm in a cell."""

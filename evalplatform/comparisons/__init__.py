"""Comparisons: arm summaries and deltas. Sides are paired, or they are not compared."""

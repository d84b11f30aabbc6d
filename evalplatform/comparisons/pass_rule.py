"""When points pass: the one rule of verdicts and of agreement with people."""

ROUNDING_NOISE_POINTS = 1e-9
"""A mean of draws misses a decimal by its last binary digit; what is this close to the threshold stands on it, and passes."""


def points_pass(points: float, pass_points: float) -> bool:
    """Return whether points (0 to 100) reach the threshold, up to rounding noise."""
    return points >= pass_points - ROUNDING_NOISE_POINTS

"""Judging: what a judge is given, how its reply becomes points, and when it does not. It cannot import arms or answering."""

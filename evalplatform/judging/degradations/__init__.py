"""Ways to make an answer worse on purpose, the same way each time: what a judge is tried with. One file a kind, in `kinds`."""

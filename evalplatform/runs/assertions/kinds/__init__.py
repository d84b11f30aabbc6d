"""The kinds of assertion, one file each; none knows another."""

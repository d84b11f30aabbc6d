"""The vocabulary every room shares: errors, digests, keys, registry, usage, seeds. It knows no system, socket, client or clock."""

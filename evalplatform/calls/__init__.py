"""Model calls: digest, ledger, single flight, limits, retry, breaker, budget. No call is asked twice."""

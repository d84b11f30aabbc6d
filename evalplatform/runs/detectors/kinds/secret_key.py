"""Secret keys and tokens, by the beginnings that services mark theirs with, and private keys by their first line."""

import re

from evalplatform.runs.detectors.detector import Detector, detectors

_TOKENS = re.compile(
    r"(?<![A-Za-z0-9_-])(?:"
    r"(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])"  # access keys of AWS
    r"|gh[pousr]_[A-Za-z0-9]{36}"  # GitHub
    r"|github_pat_[A-Za-z0-9_]{50}"
    r"|glpat-[A-Za-z0-9_-]{20}"  # GitLab
    r"|xox[abeoprs]-[A-Za-z0-9-]{10}"  # Slack
    r"|sk-(?:[a-z]{2,10}-){0,3}[A-Za-z0-9_-]{20}"  # OpenAI, Anthropic and those who write keys alike
    r"|[sr]k_(?:live|test)_[A-Za-z0-9]{16}"  # Stripe
    r"|npm_[A-Za-z0-9]{36}"
    r"|hf_[A-Za-z0-9]{34}"  # Hugging Face
    r"|AIza[A-Za-z0-9_-]{35}"  # Google
    r"|eyJ[A-Za-z0-9_-]{10,2000}\.eyJ[A-Za-z0-9_-]{10}"  # JSON web tokens
    r")"
    r"|-----BEGIN (?:[A-Z]{2,10} ){0,2}PRIVATE KEY-----",
    re.ASCII,
)


def _found_in(text: str) -> bool:
    return _TOKENS.search(text) is not None


detectors.register("secret_key")(Detector("A secret key or token by its known beginning, or a private key.", _found_in))

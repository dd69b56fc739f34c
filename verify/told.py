"""How the verifier tells shares and times."""

import time

def at_most(draws, unknown):
    """The share that is wrong, with 95% confidence, if all draws were alike but for one, perhaps, that is not known."""
    low, high = 0.0, 1.0
    for _ in range(60):
        share = (low + high) / 2
        missed = (1 - share) ** draws + unknown * draws * share * (1 - share) ** (draws - 1)
        low, high = (share, high) if missed > 0.05 else (low, share)
    return high

def when(ms):
    """A time in UTC, to the minute, between 1970 and 9999."""
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime(min(max(ms // 1000, 0), 253402300799)))

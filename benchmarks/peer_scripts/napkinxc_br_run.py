"""napkinXC's binary relevance, one classifier per label, with its defaults."""

from __future__ import annotations

from napkinxc.models import BR
from napkinxc_run import run

if __name__ == "__main__":
    run(BR)

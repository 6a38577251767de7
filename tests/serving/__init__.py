"""Tests of the server, which are skipped where a package that it needs is not installed."""

import pytest

for package in ("httptools", "httpx", "msgspec", "prometheus_client", "starlette", "uvicorn"):
    pytest.importorskip(package, reason=f"{package} is not installed")

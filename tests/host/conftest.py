"""A cache of its own for each test of the host part."""

import pytest

from webxpu.host import assets


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache folder, and no folder for offline use."""
    folder = tmp_path / "cache"
    monkeypatch.setattr(assets.platformdirs, "user_cache_path", lambda *_, **__: folder)
    monkeypatch.delenv("WEBXPU_ASSETS", raising=False)
    return folder

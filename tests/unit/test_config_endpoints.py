"""Where a provider is: from sayagain.toml, .env and the environment, later sources adding to earlier ones."""

from pathlib import Path

import pytest

from sayagain.config import load_settings
from sayagain.errors import UsageError


def test_endpoints_of_every_source_come_together_and_the_later_source_wins(tmp_path: Path) -> None:
    (tmp_path / "sayagain.toml").write_text("[endpoints]\nacme = 'http://a'\nbeta = 'http://b'\n")
    (tmp_path / ".env").write_text("SAYAGAIN_ENDPOINT_BETA=http://from-dotenv\n")
    environ = {"SAYAGAIN_ENDPOINT_MY_OWN": "http://c", "SAYAGAIN_ENDPOINT_EMPTY": " "}
    settings = load_settings({}, folder=tmp_path, environ=environ)
    assert settings.endpoints == {"acme": "http://a", "beta": "http://from-dotenv", "my-own": "http://c"}


def test_an_endpoint_that_is_no_text_is_refused_by_its_source(tmp_path: Path) -> None:
    (tmp_path / "sayagain.toml").write_text("[endpoints]\nacme = 8000\n")
    with pytest.raises(UsageError, match=r"sayagain\.toml"):
        load_settings({}, folder=tmp_path, environ={})

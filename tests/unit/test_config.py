"""Settings: one place of every default, overridden in a stated order."""

from pathlib import Path

import pytest

from sayagain.config import Settings, default_for, help_for, load_settings, local_secrets, variable
from sayagain.errors import UsageError


def test_without_any_source_every_setting_has_its_default(tmp_path: Path) -> None:
    assert load_settings({}, folder=tmp_path, environ={}) == Settings()


def test_later_sources_win_file_then_dotenv_then_environment_then_flags(tmp_path: Path) -> None:
    (tmp_path / "sayagain.toml").write_text("concurrency = 2\nrepeat = 2\nattempts = 2\nseed = 2\n")
    (tmp_path / ".env").write_text("SAYAGAIN_REPEAT=3\nSAYAGAIN_ATTEMPTS=3\nSAYAGAIN_SEED=3\n")
    environ = {"SAYAGAIN_ATTEMPTS": "4", "SAYAGAIN_SEED": "4"}
    settings = load_settings({"seed": 5, "sample": None}, folder=tmp_path, environ=environ)
    assert (settings.concurrency, settings.repeat, settings.attempts, settings.seed) == (2, 3, 4, 5)


def test_the_unprefixed_variables_are_those_other_tools_know(tmp_path: Path) -> None:
    environ = {"DATABASE_URL": "postgresql://x/y", "RUN_ARTIFACT_DIR": "out", "RUN_ARTIFACT_HMAC_KEY": "k"}
    settings = load_settings({}, folder=tmp_path, environ=environ)
    assert (settings.db, settings.artifact_dir, settings.artifact_hmac_key) == ("postgresql://x/y", "out", "k")


def test_an_empty_variable_counts_as_unset(tmp_path: Path) -> None:
    assert (
        load_settings({}, folder=tmp_path, environ={"RUN_ARTIFACT_DIR": " ", "SAYAGAIN_SAMPLE": ""}) == Settings()
    )


@pytest.mark.parametrize(
    ("flags", "environ", "toml", "says"),
    [
        ({"repeat": 0}, {}, "", "repeat"),
        ({}, {"SAYAGAIN_SAMPLE": "many"}, "", "sample"),
        ({}, {}, "no_such_setting = 1", "no_such_setting"),
        ({}, {}, "kind = 'sts'", "kind"),
        ({}, {}, "kind = ", "sayagain.toml"),
    ],
)
def test_a_wrong_setting_is_named_with_its_source(
    tmp_path: Path, flags: dict[str, object], environ: dict[str, str], toml: str, says: str
) -> None:
    if toml:
        (tmp_path / "sayagain.toml").write_text(toml)
    with pytest.raises(UsageError, match=says):
        load_settings(flags, folder=tmp_path, environ=environ)


def test_every_setting_is_explained() -> None:
    for name in Settings.__struct_fields__:
        assert help_for(name).endswith(".")
        assert variable(name).isupper()
        assert default_for(name) == getattr(Settings(), name)


def test_secrets_are_the_values_of_variables_that_sound_like_secrets(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("MY_TOKEN=from-dotenv\n")
    found = local_secrets(tmp_path, {"DEEPGRAM_API_KEY": "k", "PATH": "/bin", "EMPTY_SECRET": ""})
    assert found == {"MY_TOKEN": "from-dotenv", "DEEPGRAM_API_KEY": "k"}


def test_the_password_of_a_database_is_a_secret(tmp_path: Path) -> None:
    found = local_secrets(tmp_path, {"DATABASE_URL": "postgresql://me:p%40ss@db/x"})
    assert set(found.values()) == {"p@ss", "p%40ss"}


@pytest.mark.parametrize("value", ["inf", "1e400", "nan", "-1", "0", "1e-9", "86401"])
def test_a_wait_is_a_millisecond_to_a_day(tmp_path: Path, value: str) -> None:
    with pytest.raises(UsageError, match="idle_timeout"):
        load_settings({}, folder=tmp_path, environ={"SAYAGAIN_IDLE_TIMEOUT": value})


@pytest.mark.parametrize("name", ["sayagain.toml", ".env"])
def test_a_file_that_is_no_text_is_refused_by_name(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match=name):
        load_settings({}, folder=tmp_path, environ={})

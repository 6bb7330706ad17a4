"""Settings of a target that the local configuration changes."""

from pathlib import Path

import pytest

from sayagain.config import Settings, load_settings
from sayagain.errors import UsageError
from sayagain.records import Benchmark, Case, Item, Target
from sayagain.runner.overrides import require_meaning, with_overrides
from sayagain.runner.targets import select

TARGET = Target(
    benchmark=Benchmark.STT,
    provider="deepgram",
    model="nova-3",
    settings={"language": "en", "endpointing": 300, "smart": True, "voice": None},
)


def changed(name: str = "deepgram/nova-3", **values: str | int | float | bool) -> Target:
    return with_overrides(TARGET, Settings(targets={name: values}))


def test_a_configured_value_takes_the_place_of_the_catalogs() -> None:
    assert changed(language="de", endpointing=100).settings == {
        "language": "de",
        "endpointing": 100,
        "smart": True,
        "voice": None,
    }


def test_a_pattern_changes_every_target_it_means_and_no_other() -> None:
    assert changed("deepgram/*", language="de").settings["language"] == "de"
    assert changed("stt:deepgram/nova-3", language="de").settings["language"] == "de"
    assert changed("deepgram/nova-2", language="de") == TARGET


def test_another_setting_is_another_case() -> None:
    item = Item(id="i", text="t", sha256="0" * 64)
    assert Case.of(changed(language="de"), item).id != Case.of(TARGET, item).id


@pytest.mark.parametrize(
    "values", [{"api_key": "x"}, {"endpointing": "fast"}, {"smart": 1}, {"endpointing": True}]
)
def test_an_unknown_setting_or_a_value_of_another_kind_is_refused_by_name(values: dict[str, str]) -> None:
    with pytest.raises(UsageError, match=next(iter(values))):
        changed(**values)


def test_a_table_that_means_no_target_is_refused_with_the_nearest_names() -> None:
    with pytest.raises(UsageError, match="deepgram/nova-3"):
        require_meaning(Settings(targets={"deepgram/nova-4": {}}), [TARGET])
    require_meaning(Settings(targets={"wyoming/attic": {}}), [TARGET])


async def test_a_local_engine_takes_its_options_from_the_file_and_nothing_that_is_fixed(tmp_path: Path) -> None:
    (tmp_path / "sayagain.toml").write_text("[targets.espeak]\nwords_per_minute = 120\n")
    (candidate,) = await select(load_settings({"models": "espeak"}, folder=tmp_path, environ={}))
    assert candidate.target.settings["words_per_minute"] == 120
    (tmp_path / "sayagain.toml").write_text("[targets.espeak]\nversion = '9'\n")
    with pytest.raises(UsageError, match="version"):
        await select(load_settings({"models": "espeak"}, folder=tmp_path, environ={}))


def test_an_endpoint_of_no_provider_is_refused_because_a_misspelt_one_would_send_a_key_elsewhere() -> None:
    with pytest.raises(UsageError, match="deepgram"):
        require_meaning(Settings(endpoints={"deepgrm": "http://127.0.0.1:1"}), [TARGET])
    require_meaning(Settings(endpoints={"deepgram": "http://127.0.0.1:1"}), [TARGET])

import subprocess
import sys
from dataclasses import replace

import pytest

from sayagain.engines.registry import ENGINES, EngineInfo, find
from sayagain.errors import UsageError

ABSENT = replace(ENGINES[0], packages={"no-such-distribution": "no_such_module"})


def test_every_engine_has_a_name_of_its_own() -> None:
    assert len({info.name for info in ENGINES}) == len(ENGINES)


def test_settings_can_become_options_of_a_command_line() -> None:
    for info in ENGINES:
        assert all(type(default) in (int, float, str) for default in info.settings.values())


def test_asking_whether_an_engine_is_installed_imports_none_of_it() -> None:
    check = (
        "import sys; from sayagain.engines.registry import ENGINES; [info.installed() for info in ENGINES]; "
        "print([name for info in ENGINES for name in info.packages.values() if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_missing_engine_names_the_extra_that_installs_it() -> None:
    assert not ABSENT.installed()
    assert ABSENT.why_missing() == "moonshine is not installed: pip install 'sayagain[local]'."


def test_a_missing_engine_of_somebody_else_names_its_packages() -> None:
    assert (
        replace(ABSENT, extra=None).why_missing() == "moonshine is not installed; it needs no-such-distribution."
    )


def test_an_engine_that_this_python_cannot_have_names_the_version() -> None:
    reason = replace(ABSENT, python_below=(3, 0)).why_missing()
    assert reason is not None
    assert "older than 3.0" in reason


def test_an_engine_that_is_there_in_spite_of_the_python_version_is_not_missing() -> None:
    assert replace(ENGINES[0], packages={"click": "click"}, python_below=(3, 0)).why_missing() is None


def test_the_version_is_that_of_the_first_package() -> None:
    assert replace(ENGINES[0], packages={"click": "click"}).version() not in (None, "")
    assert ABSENT.version() is None


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="moonshine"):
        find("moonshin")


@pytest.mark.parametrize("name", ["no_such_module:INFO", "sayagain.records:NOTHING", "sayagain.records:Item"])
def test_what_is_not_an_engine_of_ones_own_is_refused_by_name(name: str) -> None:
    with pytest.raises(UsageError, match=name):
        find(name)


def test_an_engine_of_ones_own_is_found_by_module_and_attribute(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "OWN", ENGINES[0], raising=False)
    assert isinstance(find(f"{__name__}:OWN"), EngineInfo)

"""An artifact is a stranger's file. Each test is a threat of docs/threat-model.md."""

import asyncio
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sayagain import cli
from sayagain.config import Settings
from sayagain.errors import CorruptArtifactError, MismatchError, SayagainError, UsageError
from sayagain.records import Failure, FailureKind, Limits, Phase, RunHeader
from sayagain.report.replay import plan_lines
from sayagain.runner.replay import Replay, ReplayRequest, prepare_replay
from support.parents import LOST, OPENAI_TTS, Changed, Parent, Trap, rows_of, with_fewer_planned, write_prompts

KEY = "sk-the-key-of-these-tests"
NASTY = "\x1b[2J\x1b]0;owned\x07[red]item[/red]\u202e\nsayagain: all is well"
"""Clears the screen, sets a title, is rich markup, turns the direction of writing and forges a line."""


@pytest.fixture
def trap() -> Iterator[Trap]:
    """A host that nobody may call."""
    trap = Trap()
    yield trap
    trap.close()


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return Settings(endpoints={"openai": "http://127.0.0.1:1"}, connect_timeout=1.0)


@pytest.fixture
def parent(settings: Settings) -> Parent:
    return Parent(settings)


async def prepared(path: Path, settings: Settings, **request: Any) -> Replay:
    return await prepare_replay(ReplayRequest(path, **request), settings)


async def refusal(path: Path, settings: Settings, **request: Any) -> str:
    with pytest.raises(MismatchError) as refused:
        await prepared(path, settings, **request)
    return str(refused.value)


def of_target(key: str, **changes: Any) -> Changed:
    def change(header: RunHeader) -> RunHeader:
        (target,) = header.targets
        return msgspec.structs.replace(header, targets=(msgspec.structs.replace(target, key=key, **changes),))

    return change


def write_as(parent: Parent, folder: Path, key: str, **changes: Any) -> Path:
    """Write an artifact whose one target has another key and is something else."""
    rows = [msgspec.structs.replace(row, target=key) for row in parent.rows()]
    return parent.write(folder, of_target(key, **changes), rows)


async def test_a_target_that_names_a_host_is_called_nowhere(
    parent: Parent, settings: Settings, tmp_path: Path, trap: Trap
) -> None:
    key = f"tts:wyoming/{trap.address}"
    path = write_as(parent, tmp_path, key, provider="wyoming", model=trap.address, voice=None)
    configured = msgspec.structs.replace(settings, wyoming={"mine": "127.0.0.1:1"})
    for local in (settings, configured):
        assert f"target.{key}: known then, (none) now" in await refusal(path, local)
        with pytest.raises(SayagainError):
            await prepared(path, local, allow=frozenset({f"target.{key}"}))
    assert not trap.was_called()


async def test_a_configured_server_is_asked_for_the_targets_of_its_name_only(
    parent: Parent, settings: Settings, tmp_path: Path, trap: Trap
) -> None:
    local = msgspec.structs.replace(
        settings, wyoming={"mine": trap.address, "m": trap.address}, connect_timeout=0.2
    )
    others = write_as(parent, tmp_path, "tts:wyoming/mine-too/voice", provider="wyoming")
    await refusal(others, local)
    assert not trap.was_called()
    with pytest.raises(UsageError, match="mine did not describe itself"):
        await prepared(write_as(parent, tmp_path, "tts:wyoming/mine/voice", provider="wyoming"), local)
    assert trap.was_called()


@pytest.mark.parametrize("option", ["base_url", "endpoint", "url", "host", "proxy", "https_proxy"])
async def test_a_setting_that_would_redirect_is_refused_and_has_no_effect_when_it_is_allowed(
    parent: Parent, settings: Settings, tmp_path: Path, trap: Trap, option: str
) -> None:
    def change(header: RunHeader) -> RunHeader:
        redirected = {**header.targets[0].settings, option: f"http://{trap.address}"}
        return of_target(OPENAI_TTS, settings=redirected)(header)

    path = parent.write(tmp_path, change)
    key = f"settings.{option}.{OPENAI_TTS}"
    assert f"{key}: http://{trap.address} then, absent now" in await refusal(path, settings)
    replay = await prepared(path, settings, allow=frozenset({key}))
    (target,) = replay.prepared.plan.targets
    assert option not in target.settings
    assert trap.address not in repr(vars(replay.prepared.transports[OPENAI_TTS]))


async def test_a_dataset_id_that_is_a_path_leads_nowhere(
    parent: Parent, settings: Settings, tmp_path: Path
) -> None:
    prompts = {case.item.id: case.item.text for case in parent.cases()}
    outside = write_prompts(tmp_path / "outside", prompts)
    for name in ("../outside", str(outside), str(outside / "manifest.json"), "datasets/../../outside", "."):

        def change(header: RunHeader, name: str = name) -> RunHeader:
            (dataset,) = header.datasets
            return msgspec.structs.replace(header, datasets=(msgspec.structs.replace(dataset, id=name),))

        assert f"dataset.{name}: 1 then, (none) now" in await refusal(parent.write(tmp_path, change), settings)


async def test_a_provider_that_names_a_module_imports_none(
    parent: Parent, settings: Settings, tmp_path: Path
) -> None:
    assert "antigravity" not in sys.modules
    for provider in ("antigravity:fly", "os:system", "sayagain.providers.openai_compatible:OpenAICompatibleTts"):
        path = write_as(parent, tmp_path, f"tts:{provider}/x", provider=provider, adapter=provider)
        assert "(none) now" in await refusal(path, settings)
    assert "antigravity" not in sys.modules


async def test_variables_that_an_artifact_names_as_secrets_are_not_read(
    parent: Parent, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAYROLL_TOKEN", "a-token-of-somebody-else")
    path = parent.write(tmp_path, of_target(OPENAI_TTS, secrets=("PAYROLL_TOKEN", "HOME", "DATABASE_URL")))
    replay = await prepared(path, settings)
    (target,) = replay.prepared.plan.targets
    assert target.secrets == ("OPENAI_API_KEY",)
    assert "a-token-of-somebody-else" not in repr(vars(replay.prepared.transports[OPENAI_TTS]))


async def test_a_key_never_reaches_the_plan_or_the_child_s_header(
    parent: Parent, settings: Settings, tmp_path: Path
) -> None:
    replay = await prepared(parent.write(tmp_path), settings)
    shown = "\n".join(plan_lines(replay)) + msgspec.json.encode(replay.prepared.header).decode()
    assert KEY not in shown


async def test_names_that_steer_a_terminal_are_shown_as_plain_text(
    parent: Parent, settings: Settings, tmp_path: Path
) -> None:
    failed = set(parent.failed)
    rows = [
        msgspec.structs.replace(row, item_id=f"{NASTY}{place}") if place in failed else row
        for place, case in enumerate(parent.cases())
        for row in rows_of(case, parent.failed.get(place))
    ]

    def change(header: RunHeader) -> RunHeader:
        settings = {**header.targets[0].settings, NASTY: NASTY}
        header = of_target(OPENAI_TTS, settings=settings)(header)
        return msgspec.structs.replace(header, run_id=NASTY)

    text = await refusal(parent.write(tmp_path, change, rows), settings)
    lines = text.splitlines()
    assert all(line.isprintable() for line in lines)
    assert "[red]" not in text
    assert [line for line in lines if line.startswith("sayagain:")] == []
    assert len([line for line in lines if line.startswith("  item.")]) == 3


def test_an_example_that_steers_a_terminal_is_shown_as_plain_text(
    parent: Parent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    failure = Failure(kind=FailureKind.PROTOCOL, phase=Phase.OPEN, message=NASTY, code="1", fingerprint=NASTY)
    rows = [row if row.failure is None else msgspec.structs.replace(row, failure=failure) for row in parent.rows()]
    path = parent.write(tmp_path, lambda header: msgspec.structs.replace(header, run_id=NASTY), rows)
    for arguments in (
        ["replay", str(path), "--dry-run"],
        ["replay", str(path), "--bucket", "nothing"],
        ["compare", str(path), str(path)],
    ):
        monkeypatch.setattr(sys, "argv", ["sayagain", *arguments])
        with pytest.raises(SystemExit):
            cli.main()
        said = capsys.readouterr()
        assert "owned" not in said.out + said.err
        assert "[red]" not in said.out + said.err
        assert all(line.isprintable() for line in (said.out + said.err).splitlines())


async def test_a_long_name_is_cut_where_it_is_shown(parent: Parent, settings: Settings, tmp_path: Path) -> None:
    case = parent.cases()[0]
    rows = [msgspec.structs.replace(row, item_id="x" * 1_000_000) for row in rows_of(case, LOST)]
    assert len(await refusal(parent.write(tmp_path, rows=rows), settings)) < 1000


def measured(path: Path, settings: Settings, **request: Any) -> tuple[Replay | SayagainError, int]:
    """Prepare a replay and return what came of it, and the most memory that it took, in bytes."""
    tracemalloc.start()
    try:
        outcome: Replay | SayagainError = asyncio.run(prepared(path, settings, **request))
    except SayagainError as error:
        outcome = error
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return outcome, peak


def test_a_plan_of_a_billion_cases_costs_no_more_than_the_cases_that_failed(
    parent: Parent, settings: Settings, tmp_path: Path
) -> None:
    path = parent.write(tmp_path, lambda header: msgspec.structs.replace(header, cases=10**9, repeat=10**9))
    outcome, peak = measured(path, settings)
    assert isinstance(outcome, Replay)
    assert outcome.prepared.header.cases == 3
    assert outcome.prepared.header.repeat == 1
    refused, more = measured(path, settings, include_not_run=True)
    assert isinstance(refused, UsageError)
    assert "more than 1,000,000 cases" in str(refused)
    assert max(peak, more) < 50_000_000


def test_a_plan_that_hides_its_size_is_not_made_either(parent: Parent, settings: Settings, tmp_path: Path) -> None:
    outcome, peak = measured(
        parent.write(tmp_path, lambda header: msgspec.structs.replace(header, cases=11, repeat=10**7)),
        settings,
        include_not_run=True,
    )
    assert "more than 1,000,000 cases" in str(outcome)
    many = parent.write(
        tmp_path,
        lambda header: msgspec.structs.replace(header, cases=11, datasets=header.datasets * 5000),
    )
    replay, more = measured(many, settings, include_not_run=True)
    assert isinstance(replay, Replay)
    assert replay.selected == 3
    assert max(peak, more) < 50_000_000


@pytest.mark.parametrize("value", [-1, 0, 10**30])
def test_numbers_that_no_plan_has_are_refused_in_a_line(
    parent: Parent, settings: Settings, tmp_path: Path, value: int
) -> None:
    def change(header: RunHeader) -> RunHeader:
        (dataset,) = header.datasets
        datasets = (msgspec.structs.replace(dataset, sample=value, seed=value, items_planned=value),)
        return msgspec.structs.replace(header, cases=11, datasets=datasets)

    outcome, _ = measured(parent.write(tmp_path, change), settings, include_not_run=True)
    assert isinstance(outcome, MismatchError)
    limits = Limits(
        connect_timeout_s=float(value),
        idle_timeout_s=float(value),
        final_timeout_s=float(value),
        case_timeout_s=float(value),
        attempts=value,
    )
    path = parent.write(tmp_path, lambda header: msgspec.structs.replace(header, limits=limits))
    refused, _ = measured(path, settings)
    assert isinstance(refused, MismatchError)
    assert str(refused).count("  limits.") == 5


def test_a_file_that_contradicts_itself_is_corrupt(parent: Parent, settings: Settings, tmp_path: Path) -> None:
    fewer = parent.write(tmp_path)
    with_fewer_planned(fewer, 3)
    assert isinstance(measured(fewer, settings)[0], CorruptArtifactError)
    contradictions: list[Changed] = [
        lambda header: msgspec.structs.replace(header, repeat=0),
        lambda header: msgspec.structs.replace(header, targets=header.targets * 2),
    ]
    for change in contradictions:
        outcome, _ = measured(parent.write(tmp_path, change), settings)
        assert isinstance(outcome, CorruptArtifactError)


async def test_a_key_that_is_another_target_than_it_says_is_refused(
    parent: Parent, settings: Settings, tmp_path: Path
) -> None:
    path = parent.write(tmp_path, of_target(OPENAI_TTS, provider="deepgram", model="aura", voice=None))
    text = await refusal(path, settings)
    for name, then in (("provider", "deepgram"), ("model", "aura"), ("voice", "None")):
        assert f"{name}.{OPENAI_TTS}: {then} then" in text

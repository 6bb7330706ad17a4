"""From an artifact to a plan of its failed cases, or to a refusal that lists everything; nothing is called."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sayagain.analysis.comparison import compare_runs
from sayagain.analysis.outcomes import Outcome
from sayagain.config import Settings
from sayagain.errors import (
    CorruptArtifactError,
    DatasetError,
    MismatchError,
    SayagainError,
    UnsupportedSchemaError,
    UsageError,
)
from sayagain.metrics import METRICS, NORMALIZER
from sayagain.records import Limits, RunHeader
from sayagain.report.replay import plan_lines
from sayagain.runner.cost import cost_of
from sayagain.runner.replay import Replay, ReplayRequest, prepare_replay
from sayagain.runner.selection import Selector
from support.comparisons import run as run_of
from support.parents import (
    DEEPGRAM_TTS,
    LOST,
    OPENAI_STT,
    OPENAI_TTS,
    QUOTA,
    Changed,
    Parent,
    Trap,
    rows_of,
    write_prompts,
)


@pytest.fixture
def trap() -> Iterator[Trap]:
    """The provider, which nobody may call before a replay starts."""
    trap = Trap()
    yield trap
    assert not trap.was_called()
    trap.close()


@pytest.fixture
def settings(trap: Trap, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-these-tests")
    return Settings(endpoints={"openai": f"http://{trap.address}"}, concurrency=7, grace=1.0)


@pytest.fixture
def parent(settings: Settings) -> Parent:
    return Parent(settings)


async def prepared(path: Path, settings: Settings, **request: Any) -> Replay:
    return await prepare_replay(ReplayRequest(path, **request), settings)


async def refusal(path: Path, settings: Settings, **request: Any) -> str:
    with pytest.raises(MismatchError) as refused:
        await prepared(path, settings, **request)
    return str(refused.value)


def ids(replay: Replay) -> list[str]:
    return [case.id for stage in replay.prepared.plan.stages for case, _ in stage.cases()]


def changed_target(**changes: Any) -> Changed:
    def change(header: RunHeader) -> RunHeader:
        (target,) = header.targets
        return msgspec.structs.replace(header, targets=(msgspec.structs.replace(target, **changes),))

    return change


def changed_setting(name: str, value: Any) -> Changed:
    def change(header: RunHeader) -> RunHeader:
        settings = {**header.targets[0].settings, name: value}
        return changed_target(settings=settings)(header)

    return change


def changed(**changes: Any) -> Changed:
    return lambda header: msgspec.structs.replace(header, **changes)


async def test_the_failed_cases_are_planned_once_each_under_their_own_ids(
    parent: Parent, settings: Settings, tmp_path: Path
) -> None:
    replay = await prepared(parent.write(tmp_path), settings)
    assert ids(replay) == parent.failed_ids()
    assert replay.selected == 3


async def test_a_case_of_which_only_a_metric_failed_is_replayed_whole(
    parent: Parent, settings: Settings, tmp_path: Path
) -> None:
    parent.scoring, parent.failed = LOST, {}
    assert ids(await prepared(parent.write(tmp_path), settings)) == [parent.cases()[0].id]


async def test_the_child_names_its_parent_by_run_id_and_by_every_byte(
    parent: Parent, settings: Settings, tmp_path: Path
) -> None:
    path = parent.write(tmp_path)
    link = (await prepared(path, settings)).prepared.header.replay_of
    assert link is not None
    assert (link.run_id, link.artifact_sha256) == ("parent", hashlib.sha256(path.read_bytes()).hexdigest())


async def test_the_bounds_of_a_case_are_the_parent_s_and_how_many_run_at_once_is_decided_here(
    parent: Parent, settings: Settings, tmp_path: Path
) -> None:
    then = Limits(idle_timeout_s=3.5, attempts=2, concurrency=99, provider_concurrency=99, grace_s=99.0)
    limits = (await prepared(parent.write(tmp_path, changed(limits=then)), settings)).prepared.limits
    assert (limits.idle_timeout_s, limits.attempts) == (3.5, 2)
    assert (limits.concurrency, limits.provider_concurrency, limits.grace_s) == (7, 1, 1.0)


DIFFERENCES: list[tuple[Changed, str, str]] = [
    (changed(metrics={name: m.version for name, m in METRICS.items()} | {"ttfa": 99}), "metrics.ttfa", "99 then"),
    (changed_target(adapter="openai-tts/0"), f"adapter.{OPENAI_TTS}", "openai-tts/0 then"),
    (changed_setting("speed", 2.0), f"settings.speed.{OPENAI_TTS}", "2.0 then, 1.0 now"),
    (changed_setting("accent", "scots"), f"settings.accent.{OPENAI_TTS}", "scots then, absent now"),
    (changed_target(model="gpt-9"), f"model.{OPENAI_TTS}", "gpt-9 then"),
    (changed(limits=Limits(case_timeout_s=1e300)), "limits.case_timeout_s", "1e+300 then, 86400 now"),
    (changed(limits=Limits(attempts=10**9)), "limits.attempts", "1e+09 then, 10 now"),
]


@pytest.mark.parametrize(("change", "key", "says"), DIFFERENCES, ids=[key for _, key, _ in DIFFERENCES])
async def test_a_difference_is_refused_by_name_and_can_be_allowed_by_it(
    parent: Parent, settings: Settings, tmp_path: Path, change: Changed, key: str, says: str
) -> None:
    path = parent.write(tmp_path, change)
    text = await refusal(path, settings)
    assert f"{key}: {says}" in text
    assert await refusal(path, settings, allow=frozenset({"another"})) == text
    replay = await prepared(path, settings, allow=frozenset({key, "another"}))
    assert replay.prepared.header.allowed_differences == (key,)
    assert f"  allowed to differ: {key}" in list(plan_lines(replay))


async def test_every_difference_is_listed_at_once(parent: Parent, settings: Settings, tmp_path: Path) -> None:
    def change(header: RunHeader) -> RunHeader:
        for one, _, _ in DIFFERENCES:
            header = one(header)
        return header

    text = await refusal(parent.write(tmp_path, change), settings)
    assert [key for _, key, _ in DIFFERENCES if key not in text and key != "limits.case_timeout_s"] == []


async def test_versions_that_no_replayed_case_is_measured_by_are_no_difference(
    parent: Parent, settings: Settings, tmp_path: Path
) -> None:
    metrics = {name: info.version for name, info in METRICS.items()} | {"wer": 99}
    path = parent.write(tmp_path, changed(metrics=metrics, normalizer="another/1"))
    assert (await prepared(path, settings)).prepared.header.normalizer == NORMALIZER


async def test_another_normalizer_is_a_difference_for_speech_to_text(settings: Settings, tmp_path: Path) -> None:
    parent = Parent(settings, targets=(OPENAI_STT,), datasets=("cards-5",), failed={0: LOST})
    text = await refusal(parent.write(tmp_path, changed(normalizer="another/1")), settings)
    assert f"normalizer: another/1 then, {NORMALIZER} now" in text


async def test_a_model_or_voice_that_is_no_longer_known_is_refused(
    parent: Parent, settings: Settings, tmp_path: Path
) -> None:
    gone = "tts:openai/gpt-4o-mini-tts/gone"
    rows = [msgspec.structs.replace(row, target=gone) for row in parent.rows()]
    path = parent.write(tmp_path, changed_target(key=gone, voice="gone"), rows)
    assert f"target.{gone}: known then, (none) now" in await refusal(path, settings)
    with pytest.raises(UsageError, match="no selected case can be run here"):
        await prepared(path, settings, allow=frozenset({f"target.{gone}"}))


async def test_another_build_of_the_runner_is_named_and_only_refused_when_that_is_asked_for(
    parent: Parent, settings: Settings, tmp_path: Path
) -> None:
    def change(header: RunHeader) -> RunHeader:
        runner = msgspec.structs.replace(header.runner, version="0.0.9", sha=None)
        return msgspec.structs.replace(header, runner=runner)

    path = parent.write(tmp_path, change)
    replay = await prepared(path, settings)
    assert replay.prepared.header.allowed_differences == ()
    assert any("runner.version was 0.0.9" in line for line in plan_lines(replay))
    assert "runner.version: 0.0.9 then" in await refusal(path, settings, strict=True)


@pytest.fixture
def prompts(tmp_path: Path) -> dict[str, str]:
    prompts = {f"prompt-{number}": f"This is sentence number {number}." for number in range(4)}
    write_prompts(tmp_path / "datasets" / "mine", prompts)
    return prompts


@pytest.fixture
def own_data(settings: Settings, prompts: dict[str, str]) -> Parent:
    return Parent(settings, datasets=("mine",), sample=None, failed={0: QUOTA, 1: LOST, 2: LOST, 3: LOST})


async def test_an_item_whose_content_changed_is_refused_and_another_is_not(
    own_data: Parent, settings: Settings, tmp_path: Path, prompts: dict[str, str]
) -> None:
    path = own_data.write(tmp_path)
    write_prompts(tmp_path / "datasets" / "mine", prompts | {"prompt-1": "Something else."})
    text = await refusal(path, settings)
    assert [line.split(":")[0] for line in text.splitlines()[1:]] == ["  item.prompt-1"]
    others = Selector(items=frozenset({"prompt-0", "prompt-2"}))
    assert (await prepared(path, settings, selector=others)).selected == 2
    assert len(ids(await prepared(path, settings, allow=frozenset({"item.prompt-1"})))) == 4


async def test_an_item_that_is_gone_can_be_left_out_by_name(
    own_data: Parent, settings: Settings, tmp_path: Path, prompts: dict[str, str]
) -> None:
    path = own_data.write(tmp_path)
    del prompts["prompt-3"]
    write_prompts(tmp_path / "datasets" / "mine", prompts)
    assert "item.prompt-3: known then, (none) now" in await refusal(path, settings)
    replay = await prepared(path, settings, allow=frozenset({"item.prompt-3"}))
    assert len(ids(replay)) == 3
    assert "  1 cases cannot be run here and are left out, as allowed" in list(plan_lines(replay))


async def test_another_version_of_a_dataset_is_refused(
    own_data: Parent, settings: Settings, tmp_path: Path, prompts: dict[str, str]
) -> None:
    path = own_data.write(tmp_path)
    write_prompts(tmp_path / "datasets" / "mine", prompts, version="2")
    assert "dataset.mine.version: 1 then, 2 now" in await refusal(path, settings)


async def test_a_dataset_that_is_not_here_is_one_difference_and_is_found_where_a_person_says_it_is(
    own_data: Parent, settings: Settings, tmp_path: Path
) -> None:
    path = own_data.write(tmp_path)
    (tmp_path / "datasets").rename(tmp_path / "elsewhere")
    text = await refusal(path, settings)
    assert [line.strip() for line in text.splitlines()[1:]] == ["dataset.mine: 1 then, (none) now"]
    named = msgspec.structs.replace(settings, dataset="elsewhere/mine")
    assert len(ids(await prepared(path, named))) == 4


async def test_a_dataset_that_is_damaged_here_is_named_with_its_items(
    own_data: Parent, settings: Settings, tmp_path: Path
) -> None:
    path = own_data.write(tmp_path)
    manifest = tmp_path / "datasets" / "mine" / "manifest.json"
    manifest.write_text(manifest.read_text("utf-8").replace("sentence number 1", "sentence number one"), "utf-8")
    with pytest.raises(DatasetError, match="prompt-1"):
        await prepared(path, settings)


async def test_a_missing_key_is_named_and_only_that_of_a_target_to_be_replayed(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEEPGRAM_API_KEY", "another-key-of-these-tests")
    parent = Parent(settings, targets=(OPENAI_TTS, DEEPGRAM_TTS), sample=3, failed={})
    parent.failed = {place: QUOTA for place, case in enumerate(parent.cases())}
    path = parent.write(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(UsageError, match="OPENAI_API_KEY must be set") as missing:
        await prepared(path, settings)
    assert missing.value.exit_code == 2
    assert len(ids(await prepared(path, settings, selector=Selector(targets=frozenset({DEEPGRAM_TTS}))))) == 3


async def test_damage_is_found_before_anything_else(parent: Parent, settings: Settings, tmp_path: Path) -> None:
    path = parent.write(tmp_path)
    whole = path.read_bytes()
    for number, content in enumerate(
        (
            whole[:-20],
            whole[: len(whole) // 2],
            whole.replace(b'"idle_timeout_s":15.0', b'"idle_timeout_s":25.0'),
            whole.replace(b'"value":100.0', b'"value":101.0', 1),
            b"",
            b"not an artifact\n",
        )
    ):
        damaged = tmp_path / f"{number}.jsonl"
        damaged.write_bytes(content)
        with pytest.raises(CorruptArtifactError) as corrupt:
            await prepared(damaged, settings)
        assert corrupt.value.exit_code == 4


async def test_another_major_schema_is_refused(parent: Parent, settings: Settings, tmp_path: Path) -> None:
    path = parent.write(tmp_path)
    path.write_bytes(path.read_bytes().replace(b'"schema":"1.0"', b'"schema":"2.0"', 1))
    with pytest.raises(UnsupportedSchemaError) as refused:
        await prepared(path, settings)
    assert refused.value.exit_code == 3


async def test_cases_that_never_ran_are_added_when_they_are_asked_for(
    parent: Parent, settings: Settings, tmp_path: Path
) -> None:
    parent.repeat, parent.not_run = 2, frozenset({11, 17, 18, 19})
    path = parent.write(tmp_path)
    assert ids(await prepared(path, settings)) == parent.failed_ids()
    never = [parent.cases()[place].id for place in sorted(parent.not_run)]
    assert ids(await prepared(path, settings, include_not_run=True)) == parent.failed_ids() + never


async def test_cases_that_never_ran_cannot_be_named_from_other_data(
    own_data: Parent, settings: Settings, tmp_path: Path, prompts: dict[str, str]
) -> None:
    own_data.failed, own_data.not_run = {}, frozenset({2, 3})
    path = own_data.write(tmp_path)
    write_prompts(tmp_path / "datasets" / "mine", prompts | {"prompt-9": "One more."})
    assert "do not make the plan" in await refusal(path, settings, include_not_run=True)
    (tmp_path / "datasets").rename(tmp_path / "elsewhere")
    assert "without the dataset mine" in await refusal(path, settings, include_not_run=True)


async def test_nothing_to_replay_is_a_wrong_usage(parent: Parent, settings: Settings, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="none matches item nobody"):
        await prepared(parent.write(tmp_path), settings, selector=Selector(items=frozenset({"nobody"})))
    parent.failed = {}
    with pytest.raises(UsageError, match="no case of this artifact failed"):
        await prepared(parent.write(tmp_path), settings)


async def test_a_replay_of_a_repeated_replay_has_no_case_twice(
    parent: Parent, settings: Settings, tmp_path: Path
) -> None:
    parent.repeat = 3
    child = await prepared(parent.write(tmp_path), settings, repeat=2)
    header = child.prepared.header
    rows = [
        row for stage in child.prepared.plan.stages for case, _ in stage.cases() for row in rows_of(case, LOST)
    ]
    path = parent.write(tmp_path, lambda _: header, rows)
    grandchild = await prepared(path, settings, repeat=3)
    found = ids(grandchild)
    assert len(found) == len(set(found)) == 3 * header.cases == 18
    link = grandchild.prepared.header.replay_of
    assert link is not None
    assert link.run_id == header.run_id


async def test_a_stopped_replay_cannot_name_its_unrun_cases_and_says_which_run_can(
    parent: Parent, settings: Settings, tmp_path: Path
) -> None:
    header = (await prepared(parent.write(tmp_path), settings)).prepared.header
    rows = rows_of(next(case for case in parent.cases() if case.id in parent.failed_ids()), LOST)
    path = parent.write(tmp_path, lambda _: header, rows)
    assert len(ids(await prepared(path, settings))) == 1
    with pytest.raises(UsageError, match="run parent"):
        await prepared(path, settings, include_not_run=True)


async def test_after_a_replay_only_real_differences_are_listed(
    parent: Parent, settings: Settings, tmp_path: Path
) -> None:
    replay = await prepared(parent.write(tmp_path), settings)
    cases = [case for stage in replay.prepared.plan.stages for case, _ in stage.cases()]
    child = run_of([rows_of(cases[0]), rows_of(cases[1], LOST), rows_of(cases[2], QUOTA)], replay.prepared.header)
    compared = compare_runs(replay.parent, child)
    assert [one.key for one in compared.differences if not one.key.startswith("limits.")] == []
    assert compared.equivalent
    counts = {outcome: count for outcome, count in compared.outcomes.items() if count}
    assert counts == {Outcome.FIXED: 1, Outcome.SAME_FAILURE: 2, Outcome.NOT_REPLAYED: 7}


async def test_what_was_allowed_to_differ_makes_every_comparison_not_equivalent(
    parent: Parent, settings: Settings, tmp_path: Path
) -> None:
    path = parent.write(tmp_path, changed_setting("speed", 2.0))
    key = f"settings.speed.{OPENAI_TTS}"
    replay = await prepared(path, settings, allow=frozenset({key}))
    cases = [case for stage in replay.prepared.plan.stages for case, _ in stage.cases()]
    child = run_of([rows_of(case) for case in cases], replay.prepared.header)
    compared = compare_runs(replay.parent, child)
    assert not compared.equivalent
    assert compared.allowed == (key,)
    assert compared.outcomes[Outcome.FIXED] == 3


async def test_what_a_replay_sends_is_counted_in_seconds_of_audio_and_in_characters(
    settings: Settings, tmp_path: Path
) -> None:
    parent = Parent(settings, targets=(OPENAI_STT, OPENAI_TTS), datasets=("cards-5", "prompts-30"), sample=3)
    parent.failed = {0: LOST, 1: LOST, 4: QUOTA}
    heard, also_heard, said = (parent.cases()[place].item for place in (0, 1, 4))
    replay = await prepared(parent.write(tmp_path), settings, repeat=2)
    speech, voice = cost_of(replay.prepared.plan)
    assert (speech.target, speech.cases, speech.characters) == (OPENAI_STT, 4, 0)
    assert speech.audio_s == pytest.approx(2 * ((heard.duration_s or 0) + (also_heard.duration_s or 0)))
    assert (voice.target, voice.cases, voice.audio_s) == (OPENAI_TTS, 2, 0.0)
    assert voice.characters == 2 * len(said.text)
    assert f"  {OPENAI_STT}: 4 cases, {speech.audio_s:.1f} s of audio" in list(plan_lines(replay))


async def test_a_file_that_is_not_there_is_a_wrong_usage(settings: Settings, tmp_path: Path) -> None:
    with pytest.raises(SayagainError) as error:
        await prepared(tmp_path / "nowhere.jsonl", settings)
    assert error.value.exit_code == 2

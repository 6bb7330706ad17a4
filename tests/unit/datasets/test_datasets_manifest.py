import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayagain.datasets.manifest import FORMAT, Dataset, audio_path, encode, parse
from sayagain.errors import DatasetError
from sayagain.records import Benchmark, Item, SpeechSpan

WHERE = Path("somewhere/manifest.json")
SHA = "0" * 64

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
ids = st.text(st.characters(categories=["L", "N", "P"]), min_size=1, max_size=20)
spans = st.builds(
    lambda start, length: SpeechSpan(start_s=start, end_s=start + length, vad="v"),
    st.floats(0, 50),
    st.floats(0.1, 9),
)
items = st.builds(
    Item,
    id=ids,
    text=texts,
    sha256=st.binary(min_size=32, max_size=32).map(bytes.hex),
    audio=st.none() | texts,
    duration_s=st.floats(60, 1e6),
    speech=st.none() | spans,
    language=st.sampled_from(["en", "de", "pt-BR"]),
    speaker=st.none() | texts,
    tags=st.lists(texts, max_size=3).map(tuple),
    reference_origin=st.none() | texts,
)
datasets = st.builds(
    Dataset,
    id=st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", fullmatch=True),
    version=texts,
    benchmark=st.sampled_from(Benchmark),
    licence=texts,
    origin=texts,
    language=st.sampled_from(["en", "de"]),
    items=st.lists(items, max_size=4).map(tuple),
    root=st.just(WHERE.parent),
)


def manifest(*entries: Any, **changes: Any) -> bytes:
    about = {"format": FORMAT, "id": "x", "version": "1", "benchmark": "stt", "licence": "", "origin": ""}
    return json.dumps(about | {"language": "en", "items": entries} | changes).encode()


def entry(**changes: Any) -> dict[str, Any]:
    return {"id": "a", "text": "hidden words", "sha256": SHA, "audio": "a.wav", "duration_s": 2.0} | changes


@given(datasets)
def test_a_manifest_read_back_is_the_dataset_that_was_written(dataset: Dataset) -> None:
    assert parse(encode(dataset), WHERE) == (dataset, ())


@given(st.binary(max_size=200))
def test_any_bytes_are_a_dataset_or_an_error_of_one_kind(content: bytes) -> None:
    with pytest.raises(DatasetError):
        parse(content, WHERE)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


@given(st.sampled_from(["id", "text", "sha256", "audio", "duration_s", "speech", "tags", "language"]), json_values)
def test_any_value_in_a_field_is_accepted_or_blamed_on_that_item(field: str, value: Any) -> None:
    dataset, problems = parse(manifest(entry(), entry(**{field: value})), WHERE)
    assert len(dataset.items) in (1, 2)
    assert len(dataset.items) == 2 or problems
    assert all(problem.startswith("$.items[1]") for problem in problems)


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"speech": {"start_s": "0", "end_s": 1.0, "vad": "v"}}, "$.items[1].speech.start_s: expected `float`"),
        (
            {"speech": {"start_s": 1.0, "end_s": 1.0, "vad": "v"}},
            "$.items[1].speech: expected 0 <= start_s < end_s",
        ),
        ({"speech": {"start_s": 1.0, "end_s": 2.5, "vad": "v"}}, "$.items[1].speech.end_s: lies after the end"),
        ({"sha256": SHA[1:]}, "$.items[1].sha256: expected 64"),
        ({"duration_s": 0}, "$.items[1].duration_s: expected more than 0"),
        ({"tags": ["a", 1]}, "$.items[1].tags[1]: expected `str`, got `int`"),
        ({"id": ""}, "$.items[1].id: expected 1 to 200 printable characters"),
        ({"id": "a\u0007b"}, "$.items[1].id: expected 1 to 200 printable characters"),
        ({"speeker": "s"}, "$.items[1]: object contains unknown field `speeker`"),
    ],
)
def test_a_malformed_item_is_named_with_the_path_of_its_field(wrong: dict[str, Any], problem: str) -> None:
    _, problems = parse(manifest(entry(), entry(**wrong)), WHERE)
    assert len(problems) == 1
    assert problems[0].startswith(problem)
    assert "hidden" not in problems[0]


def test_every_malformed_item_is_listed_and_the_others_are_read() -> None:
    dataset, problems = parse(manifest(entry(text=1), entry(), 7, {"id": "b", "text": "t"}), WHERE)
    assert [item.id for item in dataset.items] == ["a"]
    assert problems == (
        "$.items[0].text: expected `str`, got `int`",
        "$.items[2]: expected `object`, got `int`",
        "$.items[3]: object missing required field `sha256`",
    )


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is not a dataset manifest"),
        (b"[]", "is not a dataset manifest"),
        (b"\xff\xfe{", "is not a dataset manifest"),
        (manifest(format="sayagain-dataset/2"), "'sayagain-dataset/2'"),
        (manifest(benchmark="asr"), "$.benchmark"),
        (manifest(id="../up"), "$.id"),
        (manifest(items=None), "$.items"),
        (manifest(entry())[:-9], "is not a dataset manifest"),
        (manifest(entry()).replace(b"2.0", b"NaN"), "is not a dataset manifest"),
    ],
)
def test_what_is_wrong_outside_the_items_is_said_with_the_file(content: bytes, said: str) -> None:
    with pytest.raises(DatasetError) as error:
        parse(content, WHERE)
    assert str(WHERE) in str(error.value)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_items_without_a_language_have_the_language_of_their_dataset() -> None:
    dataset, _ = parse(manifest(entry(), entry(language="fr"), language="de"), WHERE)
    assert [item.language for item in dataset.items] == ["de", "fr"]


def test_the_digest_is_of_the_content_and_its_order_and_not_of_its_place_or_spelling() -> None:
    one, two = entry(id="one"), entry(id="two")
    dataset, _ = parse(manifest(one, two), WHERE)
    elsewhere, _ = parse(
        json.dumps(json.loads(manifest(one, two)), indent=4).encode(), Path("other/manifest.json")
    )
    turned, _ = parse(manifest(two, one), WHERE)
    relicensed, _ = parse(manifest(one, two, licence="MIT"), WHERE)
    assert dataset.sha256 == elsewhere.sha256
    assert len({dataset.sha256, turned.sha256, relicensed.sha256}) == 3


@pytest.mark.parametrize("path", ["", "/etc/passwd", "../a.wav", "audio/../../a.wav", "a\0.wav", ".."])
def test_an_audio_path_may_not_leave_its_folder(path: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="must be relative and stay inside"):
        audio_path(tmp_path, path)


def test_an_audio_path_may_not_leave_its_folder_through_a_symbolic_link(tmp_path: Path) -> None:
    root = tmp_path / "set"
    root.mkdir()
    (tmp_path / "a.wav").touch()
    (root / "out").symlink_to(tmp_path)
    (root / "loop").symlink_to(root / "loop")
    (root / "b.wav").touch()
    (root / "inside.wav").symlink_to(root / "b.wav")
    with pytest.raises(ValueError, match="symbolic link"):
        audio_path(root, "out/a.wav")
    assert audio_path(root, "inside.wav") == (root / "b.wav").resolve()
    assert audio_path(root, "new/c.wav") == root.resolve() / "new" / "c.wav"

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayagain.datasets.sampling import sample
from sayagain.records import Item

items = st.lists(st.text(min_size=1, max_size=8), unique=True, max_size=30).map(
    lambda ids: tuple(Item(id=item_id, text="t", sha256="0" * 64) for item_id in ids)
)
seeds = st.integers(-(2**70), 2**70)
NUMBERED = tuple(Item(id=f"item-{number}", text="t", sha256="0" * 64) for number in range(10))


@given(items, st.integers(0, 40), seeds)
def test_a_sample_has_the_asked_size_and_keeps_the_order_of_the_items(
    population: tuple[Item, ...], size: int, seed: int
) -> None:
    chosen = sample(population, size, seed)
    assert len(chosen) == min(size, len(population))
    assert [item for item in population if item in chosen] == list(chosen)


@given(items, st.integers(0, 30), st.integers(0, 30), seeds)
def test_a_smaller_sample_is_part_of_a_larger_one(
    population: tuple[Item, ...], size: int, more: int, seed: int
) -> None:
    assert set(sample(population, size, seed)) <= set(sample(population, size + more, seed))


@given(items, st.integers(0, 30), seeds)
def test_the_choice_does_not_depend_on_the_order_of_the_items(
    population: tuple[Item, ...], size: int, seed: int
) -> None:
    turned = tuple(reversed(population))
    assert set(sample(population, size, seed)) == set(sample(turned, size, seed))


def test_the_choice_is_the_same_on_every_machine_and_in_every_version() -> None:
    assert [item.id for item in sample(NUMBERED, 4, seed=0)] == ["item-2", "item-5", "item-8", "item-9"]
    assert [item.id for item in sample(NUMBERED, 4, seed=1)] == ["item-3", "item-4", "item-8", "item-9"]


def test_no_size_means_every_item() -> None:
    assert sample(NUMBERED, None, seed=3) == NUMBERED


def test_a_negative_size_is_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        sample(NUMBERED, -1, seed=0)

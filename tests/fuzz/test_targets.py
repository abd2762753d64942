"""Each parser of foreign bytes keeps its promises on the corpus and on some seconds of made-up inputs.

`make fuzz` does the same for ten minutes each, guided by coverage where Atheris is installed.
"""

from __future__ import annotations

import itertools
import time
from pathlib import Path
from random import Random

import pytest

from tests.fuzz.mutation import inputs
from tests.fuzz.oracle import Finding, FuzzTarget, check
from tests.fuzz.targets import targets

CORPUS = Path(__file__).parent / "corpus"
INPUTS_MAX = 4_000
SECONDS_MAX = 1.0  # of this thread's processor; the inputs are the same, their number may differ
MEMORY_EVERY = 40
SEED = 20_261_118


@pytest.mark.parametrize("name", targets())
def test_what_was_found_once_stays_fixed(name: str) -> None:
    target = targets()[name]
    for path in sorted((CORPUS / name).glob("*")):
        check(target, path.read_bytes(), with_memory=True)


@pytest.mark.parametrize("name", targets())
def test_made_up_inputs_break_no_promise(name: str) -> None:
    target = targets()[name]
    until = time.thread_time() + SECONDS_MAX
    made = inputs(target.seeds, Random(SEED), target.bytes_max)
    for number, data in enumerate(itertools.islice(made, INPUTS_MAX)):
        check(target, data, with_memory=number % MEMORY_EVERY == 1)
        if time.thread_time() > until:
            return


@pytest.mark.parametrize("name", targets())
def test_honest_inputs_are_read(name: str) -> None:
    """Seeds that are refused would leave most of a parser untried."""
    target = targets()[name]
    assert target.seeds
    for seed in target.seeds if name != "registry" else ():
        target.run(seed)


def busy(data: bytes) -> None:
    until = time.thread_time() + 1.0
    while time.thread_time() < until:
        pass


@pytest.mark.parametrize(
    ("target", "finding"),
    [
        (FuzzTarget(lambda data: data[9], (b"",)), "IndexError"),
        (FuzzTarget(busy, (b"",)), "take 1"),
        (FuzzTarget(lambda data: bytearray(80 << 20), (b"",)), "MiB"),
    ],
)
def test_a_broken_promise_is_found(target: FuzzTarget, finding: str) -> None:
    with pytest.raises(Finding, match=finding):
        check(target, b"short", with_memory="MiB" in finding)


def test_a_declared_refusal_is_no_finding() -> None:
    check(FuzzTarget(lambda data: data[9], (b"",), (IndexError,)), b"short")


def test_the_same_seed_makes_the_same_inputs() -> None:
    first, second = (
        list(itertools.islice(inputs((b"abc", b"def"), Random(1), 100), 50)) for _ in range(2)
    )
    assert first == second
    assert len(set(first)) > 20

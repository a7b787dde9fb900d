"""Readers accept damaged bytes or refuse them with an IndexTablesError, in bounded time and memory."""

from __future__ import annotations

import importlib.util
import os
import random
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support import fuzz_columns, fuzz_targets
from support.fuzz_splits import SLOW
from support.fuzz_targets import (
    GROUPS,
    MAX_LENGTH,
    SEEDS,
    TARGETS,
    USUAL_LENGTH,
    Target,
    corpus_of,
    feed,
    mutated,
)

INPUTS = 1000
"""Inputs for each reader in a normal run."""

INPUTS_OF_FILES = 120
"""Inputs for each reader of files with rows, which takes a hundred times as long."""

LONGEST_S = 5.0
MOST_MEMORY_MB = 1024
SOAK_S = 600


def reproduce(target: Target, data: bytes, seed: int) -> str:
    return f"{target.__name__}(bytes.fromhex({data.hex()!r})), from seed {seed}"


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.__name__)
def test_what_a_writer_produced_is_accepted(target: Target):
    for data in SEEDS[target]:
        assert feed(target, data), data


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.__name__)
def test_damaged_bytes_are_accepted_or_refused_with_an_error_of_this_package(target: Target):
    seed = 20_240
    rng = random.Random(seed)
    others = [data for seeds in SEEDS.values() for data in seeds]
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(INPUTS_OF_FILES if target in fuzz_columns.SEEDS else SLOW.get(target, INPUTS)):
        data = mutated(rng, rng.choice(SEEDS[target]), others)
        began = time.process_time()
        try:
            feed(target, data)
        except BaseException as reason:
            reason.add_note(reproduce(target, data, seed))
            raise
        assert time.process_time() - began < LONGEST_S, f"too slow: {reproduce(target, data, seed)}"
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory) >> 10
    assert grown < MOST_MEMORY_MB, f"{target.__name__} took {grown} MB of memory"


@pytest.mark.parametrize("depth", [100, 300, 500, 1000, 100_000])
@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.__name__)
def test_deep_nesting_is_accepted_or_refused_with_an_error_of_this_package(target: Target, depth: int):
    for opening, closing in ((b'{"type":"record","fields":', b"}"), (b'{"metaData":', b"}"), (b"[", b"]")):
        feed(target, opening * depth + b"1" + closing * depth)
        feed(target, b'{"type":"record","name":"x","fields":' + opening * depth + closing * depth + b"}")


@pytest.mark.parametrize("group", GROUPS)
def test_every_reader_is_in_one_group_and_no_seed_is_cut(group: str):
    longest = max(len(data) for data in corpus_of(GROUPS[group]).values())
    assert longest <= MAX_LENGTH.get(group, USUAL_LENGTH)
    others = [target for name, targets in GROUPS.items() if name != group for target in targets]
    assert sorted(map(repr, [*GROUPS[group], *others])) == sorted(map(repr, TARGETS))


@pytest.mark.soak
@pytest.mark.timeout(SOAK_S + 600)
@pytest.mark.skipif(
    importlib.util.find_spec("atheris") is None, reason="atheris is not available on this platform"
)
@pytest.mark.parametrize("group", GROUPS)
def test_ten_minutes_of_atheris_find_no_other_error(tmp_path: Path, group: str):
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for name, data in corpus_of(GROUPS[group]).items():
        (corpus / name).write_bytes(data)
    tests = Path(fuzz_targets.__file__).parents[1]
    command = [
        sys.executable,
        str(tests / "support" / "fuzz_process.py"),
        group,
        f"-max_total_time={SOAK_S}",
        "-timeout=20",
        "-rss_limit_mb=3000",
        f"-max_len={MAX_LENGTH.get(group, USUAL_LENGTH)}",
        f"-artifact_prefix={tmp_path}/",
        str(corpus),
    ]
    search_path = os.pathsep.join([str(tests), *filter(None, sys.path)])
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=os.environ | {"PYTHONPATH": search_path}
    )
    print(done.stderr[-2000:])
    artifacts = {path.name: path.read_bytes().hex() for path in tmp_path.glob("*-*") if path.is_file()}
    assert (done.returncode, artifacts) == (0, {}), done.stderr[-6000:]

"""What only version files said is in the state too: nothing is lost when they are cleaned up."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from indextables.config import Settings, keys
from indextables.errors import CorruptTableError
from indextables.log import (
    Append,
    DropPartitions,
    SkipFile,
    Snapshot,
    Txn,
    UnknownAction,
    checkpoint,
    commit,
    load_snapshot,
    version_key,
)
from indextables.log.snapshots import Extras, cache, decode_extras, encode_extras
from indextables.maintenance import clean_versions, describe_log, repair, truncate_time_travel
from indextables.predicates import Compare
from indextables.storage import open_store
from support.faults import MemoryStore
from support.logs import add, metadata, put_table, put_version

SKIP = SkipFile(
    "a", 5, "damaged footer", "merge", {"day": "mon"}, 10, retry_after=9, skip_count=2, extra={"why": 1}
)
UNKNOWN = UnknownAction("domainMetadata", {"domain": "x", "n": [1, {"y": None}]})
FORMATS = ("avro", "json")


def chosen(form: str = "avro") -> Settings:
    return Settings({keys.STATE_FORMAT.key: form, keys.CHECKPOINT_ENABLED.key: "false"})


def told(store: Any) -> Snapshot:
    cache.forget()
    return load_snapshot(store)


def with_rest(store: Any) -> Snapshot:
    put_table(
        store,
        [add("a"), add("b"), Txn("app", 3, extra={"lastUpdated": 7}), Txn("other", 1)],
        [SKIP, UNKNOWN, SkipFile("b", 5, "too large", "merge")],
        [UNKNOWN, Txn("app", 4, extra={"lastUpdated": 8})],
    )
    return told(store)


def test_replay_keeps_skips_batches_and_unknown_actions(store):
    extras = with_rest(store).extras
    assert extras.skips == {"a": SKIP, "b": SkipFile("b", 5, "too large", "merge")}
    assert extras.unknown == (UNKNOWN,), "the same again is no second one"
    assert extras.txn_extra == {"app": {"lastUpdated": 8}}
    assert extras.batches(told(store).txns) == [Txn("app", 4, extra={"lastUpdated": 8}), Txn("other", 1)]


@pytest.mark.parametrize("form", FORMATS)
def test_a_state_alone_says_what_the_version_files_said(store, form: str):
    before = with_rest(store)
    checkpoint(store, chosen(form))
    for version in range(before.version):
        store.delete(version_key(version))
    after = told(store)
    assert after.extras == before.extras
    assert after.txns == before.txns == {"app": 4, "other": 1}
    assert after == before


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("uri", ["memory://carried", "local"])
def test_a_clean_up_loses_no_batch_no_skip_and_no_unknown_action(form: str, uri: str, tmp_path):
    store = open_store(f"{uri}-{form}" if uri.startswith("memory") else str(tmp_path / "t"))
    before = with_rest(store)
    checkpoint(store, chosen(form))
    done = clean_versions(store, chosen(form), hours=0, clock=lambda: 10**15)
    assert done.versions_deleted == before.version
    after = told(store)
    assert (after.txns, after.extras, dict(after.files.items())) == (
        before.txns,
        before.extras,
        dict(before.files.items()),
    )
    again = commit(
        store, Append((add("late"),), metadata(), txn=Txn("app", 4)), base=after, settings=chosen(form)
    )
    assert again.skipped, "the batch is known although no version file tells of it"
    assert not commit(
        store, Append((add("new"),), metadata(), txn=Txn("app", 5)), base=after, settings=chosen(form)
    ).skipped


@pytest.mark.parametrize("form", FORMATS)
def test_truncation_keeps_them_too(store, form: str):
    before = with_rest(store)
    truncate_time_travel(store, chosen(form))
    after = told(store)
    assert (after.txns, after.extras) == (before.txns, before.extras)


@pytest.mark.parametrize("form", FORMATS)
def test_they_pass_from_state_to_state(store, form: str):
    before = with_rest(store)
    for n in range(4):
        checkpoint(store, chosen(FORMATS[n % 2] if form == "json" else form))
        commit(store, Append((add(f"n{n}"),), metadata()), base=None, settings=chosen(form))
    checkpoint(store, chosen(form))
    assert told(store).extras == before.extras


def test_a_file_that_lives_no_more_is_not_skipped_any_more(store):
    with_rest(store)
    put_version(store, 4, [add("c", day="tue"), SkipFile("c", 1, "r", "merge")])
    commit(store, DropPartitions(Compare("=", "day", "mon")), base=None, settings=chosen())
    checkpoint(store, chosen())
    assert list(told(store).extras.skips) == ["c"]


def test_a_newer_skip_takes_the_place_of_an_older_one(store):
    with_rest(store)
    newer = SkipFile("a", 50, "still damaged", "merge", skip_count=3)
    put_version(store, 4, [newer])
    assert told(store).extras.skips["a"] == newer


def test_the_log_is_described_with_them_after_a_checkpoint(store):
    with_rest(store)
    checkpoint(store, chosen())
    rows = describe_log(store, chosen()).to_pylist()
    kinds = [row["action_type"] for row in rows]
    assert (kinds.count("skip"), kinds.count("unknown")) == (2, 1)
    assert {row["skip_reason"] for row in rows if row["action_type"] == "skip"} == {
        "damaged footer",
        "too large",
    }


@pytest.mark.parametrize("form", [None, *FORMATS])
def test_a_repair_keeps_them(form: str | None):
    source = open_store(f"memory://repair-rest-{form}")
    before = with_rest(source)
    for name in ("a", "b"):
        source.put(name, b"x")
    if form is not None:
        checkpoint(source, chosen(form))
    repair(f"memory://repair-rest-{form}/_transaction_log", f"memory://repaired-rest-{form}/_transaction_log")
    after = told(open_store(f"memory://repaired-rest-{form}"))
    assert (after.extras, after.txns) == (before.extras, before.txns)


def _made(skips: list, unknown: list, extra: dict) -> Extras:
    edit = Extras(txn_extra=extra).edit()
    for key, when in skips:
        edit.skip(key, SkipFile(key, when, "r", "merge"))
    for name, body in unknown:
        edit.keep(UnknownAction(name, body))
    return edit.done()


bodies = st.recursive(st.none() | st.integers(0, 9) | st.text(max_size=3), st.lists, max_leaves=4)
rests = st.builds(
    _made,
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 9)), max_size=3),
    st.lists(st.tuples(st.sampled_from(["p", "q"]), bodies), max_size=4),
    st.dictionaries(
        st.text(max_size=2), st.dictionaries(st.just("x"), st.integers(0, 9), min_size=1), max_size=2
    ),
)


@settings(max_examples=60, deadline=None)
@given(rests, st.dictionaries(st.text(max_size=3), st.integers(0, 1 << 60), max_size=3))
def test_what_is_carried_reads_back(extras: Extras, txns: dict[str, int]):
    base = with_rest(MemoryStore())
    snapshot = Snapshot(base.uri, 3, 77, base.protocol, base.metadata, base.files, txns, "id", extras=extras)
    back = decode_extras(
        encode_extras(snapshot.checkpoint_extras), base.uri, "a state", version=3, created_ms=1
    )
    assert (back.extras, back.txns, back.txn_id, back.timestamp_ms) == (extras, txns, "id", 77)


@pytest.mark.parametrize(
    "document",
    [
        {"mergeskip": [{"path": 3}]},
        {"mergeskip": 3},
        {"txns": 4},
        {"timestamp": "x"},
        {"unknown": [3]},
        {"txns": {"a": "b"}},
        {"txns": {"a": None}},
        {"txnId": 3},
        {"txnExtra": 3},
        {"addedAtKnownFrom": []},
    ],
)
def test_what_cannot_be_read_is_an_error_that_names_the_state(document: dict):
    with pytest.raises(CorruptTableError, match="state 7"):
        decode_extras(document, "memory://t", "state 7", version=1, created_ms=1)

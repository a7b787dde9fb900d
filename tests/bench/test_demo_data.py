"""The sample data set: the same everywhere, with the shares of words that the demo and the bench count on."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from indextables.demo import BROAD_WORD, LOG_SCHEMA, RARE_WORD, log_batch, log_table
from indextables.demo.logs import CHUNK_ROWS, SPARK_SCHEMA
from indextables.demo.messages import QUARANTINED, TEMPLATES
from indextables.schema import ARROW_TYPES

ROWS = 120_000


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return log_table(ROWS)


def test_the_same_seed_gives_the_same_rows(table):
    assert table.equals(log_table(ROWS))
    assert not table.equals(log_table(ROWS, seed=8))


def test_a_chunk_does_not_depend_on_the_chunks_before_it(table):
    alone = log_batch(2, ROWS)
    assert alone.equals(table.slice(2 * CHUNK_ROWS).combine_chunks().to_batches()[0])


def test_the_number_of_rows_is_the_number_asked_for(table):
    assert table.num_rows == ROWS
    assert log_table(1).num_rows == 1
    with pytest.raises(ValueError, match="at least one row"):
        log_table(0)


def test_every_type_that_a_table_takes_has_a_column():
    plain = {kind for name, kind in ARROW_TYPES.items() if name not in ("timestamp_ntz", "void")}
    assert set(LOG_SCHEMA.types) == plain


def test_the_spark_schema_names_the_same_columns():
    assert [part.split()[0] for part in SPARK_SCHEMA.split(", ")] == LOG_SCHEMA.names


def test_the_rare_word_stands_in_one_message_of_ten_thousand(table):
    assert pc.sum(pc.match_substring(table["message"], RARE_WORD)).as_py() == ROWS // 10_000


def test_the_broad_word_stands_in_every_tenth_message_and_in_no_other_word(table):
    as_text = pc.sum(pc.match_substring(table["message"], BROAD_WORD)).as_py()
    as_word = pc.sum(pc.match_substring_regex(table["message"], rf"\b{BROAD_WORD}\b")).as_py()
    assert as_text == as_word
    assert 0.095 < as_text / ROWS < 0.105


def test_levels_are_skewed_as_in_real_logs(table):
    counts = {row["values"]: row["counts"] for row in pc.value_counts(table["level"]).to_pylist()}
    assert counts["INFO"] > counts["DEBUG"] > counts["WARN"] > counts["ERROR"] > counts["FATAL"] > 0
    assert len(pc.unique(table["service"])) >= 12


def test_the_weights_of_the_templates_add_up_to_one():
    assert sum(template.weight for template in TEMPLATES) == pytest.approx(1.0)
    assert len(TEMPLATES) >= 60
    assert RARE_WORD in QUARANTINED.text


def test_columns_other_than_the_essential_ones_have_nulls(table):
    without = {name for name in table.column_names if table[name].null_count == 0}
    assert without == {"timestamp", "date", "service", "level", "message", "severity", "pid"}


def test_time_rises_over_several_days(table):
    micros = table["timestamp"].cast(pa.int64()).to_numpy()
    assert (micros[1:] >= micros[:-1]).all()
    assert len(pc.unique(table["date"])) == 5
    assert table["timestamp"].cast(pa.date32()).equals(table["date"])

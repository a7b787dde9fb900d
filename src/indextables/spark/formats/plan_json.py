"""Plans of tables as JSON text, in which form they pass through the JVM and come back in a request.

A plan that comes back is checked like any other input. What the request itself says (the table's address, the settings,
the columns and filters of a scan) is not repeated in it: no credential is in a plan.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final, get_args

import orjson

from indextables.config import Settings
from indextables.log import Metadata, Txn
from indextables.log.actions import FieldError, from_document, to_document
from indextables.predicates import at_one_moment
from indextables.schema import (
    FieldMapping,
    IndexKind,
    MappedField,
    TableSchema,
    decode_value,
    encode_value,
    stored_columns,
)
from indextables.spark.request import bounded_object, is_number, is_text, is_texts, refused
from indextables.split import Corpus, DeltaLogRef, RankingStatistics, RestoredRows
from indextables.storage import options_for_tasks
from indextables.table import (
    Replacement,
    ScanRequest,
    ScanTask,
    SplitRef,
    WriteMode,
    WritePlan,
    task_options,
)

MAX_PLAN_BYTES: Final = 1 << 20
"""A larger plan is not sent but made again. Spark's schema JSON, which carries answers, takes a few times more."""


def encode_scan(tasks: Sequence[ScanTask]) -> str | None:
    """Return the splits of each task as text, or None if the text would be too large for an option.

    Splits of one partition share its values, so each set of values is stored once. The columns of the splits are stored
    once too: None if not all tasks have the same, as those of a stream over a change of columns.
    """
    first = tasks[0]
    if any((task.schema, task.mapping) != (first.schema, first.mapping) for task in tasks):
        return None
    kinds = {column.name: column.type for column in first.schema}
    partitions: list[dict[str, str | None]] = []
    numbers: dict[int, int] = {}
    groups = []
    for task in tasks:
        in_partition = []
        for ref in task.splits:
            values = ref.partition_values
            number = numbers.get(id(values))
            if number is None:
                number = numbers[id(values)] = len(partitions)
                partitions.append({name: encode_value(value, kinds[name]) for name, value in values.items()})
            in_partition.append(number)
        splits = task.splits
        groups.append(
            [
                [ref.path for ref in splits],
                [ref.size for ref in splits],
                [ref.num_records for ref in splits],
                in_partition,
                [_encoded_log(ref.delta_log) for ref in splits],
            ]
        )
    return _encode(
        {
            "schema": first.schema.to_json(),
            "mapping": list(map(_mapped, first.mapping.fields)),
            "partitions": partitions,
            "now": first.request.now,
            "corpus": None if first.corpus is None else _corpus(first.corpus),
            "tasks": groups,
        }
    )


class DecodedScan:
    """A scan's plan. Its `schema` is needed first, to read the filters of the request."""

    def __init__(self, text: str) -> None:
        self._fields = _fields(text, "schema", "mapping", "partitions", "now", "corpus", "tasks")
        if not is_text(self._fields["schema"]):
            raise refused("the schema in its plan is not a string")
        self.schema = TableSchema.of_table(self._fields["schema"])

    def tasks(self, uri: str, settings: Settings, request: ScanRequest) -> tuple[ScanTask, ...]:
        options = options_for_tasks(uri, settings)
        mapping = self._mapping()
        corpus = None if self._fields["corpus"] is None else _decoded_corpus(self._fields["corpus"])
        now = self._fields["now"]
        if now is not None:
            if not is_number(now):
                raise refused("the time in its plan is not a number")
            request = replace(request, predicate=at_one_moment(request.predicate, now))
        kinds = {column.name: column.type for column in self.schema}
        partitions = []
        for texts in _as_list(self._fields["partitions"]):
            if not isinstance(texts, dict) or not all(
                name in kinds and (text is None or is_text(text)) for name, text in texts.items()
            ):
                raise refused("the partition values in its plan are not texts by column")
            partitions.append({name: decode_value(text, kinds[name]) for name, text in texts.items()})
        tasks = []
        for number, group in enumerate(_as_list(self._fields["tasks"])):
            columns = [_as_list(column) for column in _as_list(group)]
            if len(columns) != 5 or len(set(map(len, columns))) != 1:
                raise refused(
                    f"task {number} in its plan is not five lists of the same length: the paths, sizes, rows, "
                    "partitions and delta logs of splits"
                )
            paths, sizes, records, numbers, logs = columns
            # Whether a path is inside the table is for the store to check.
            if not (
                _all_of(str, paths)
                and _all_of(int, sizes)
                and _all_of(int, [count for count in records if count is not None])
                and _all_of(int, numbers)
                and (not paths or (min(sizes) >= 0 and 0 <= min(numbers) <= max(numbers) < len(partitions)))
            ):
                raise refused(f"a split of task {number} in its plan is not path, size, rows and partition")
            values = map(partitions.__getitem__, numbers)
            splits = tuple(map(SplitRef, paths, sizes, records, values, map(_delta_log, logs)))
            tasks.append(
                ScanTask(
                    uri=uri,
                    options=options,
                    schema=self.schema,
                    mapping=mapping,
                    request=request,
                    splits=splits,
                    corpus=corpus,
                )
            )
        if not tasks:
            raise refused("its plan has no task")
        return tuple(tasks)

    def _mapping(self) -> FieldMapping:
        try:
            fields = tuple(map(_mapped_field, _as_list(self._fields["mapping"])))
        except RecursionError:
            raise refused("a mapping in its plan is nested too deep") from None
        mapped = {field.name for field in fields}
        columns = stored_columns(self.schema, [c.name for c in self.schema if c.name not in mapped])
        if columns and {column.name for column in columns} != mapped:
            raise refused("the mapping in its plan is not one of its schema")
        return FieldMapping(fields, columns)


def _corpus(corpus: Corpus) -> list[object]:
    """Return documents, words of each column, and columns, words and their numbers of rows."""
    statistics = corpus.statistics
    frequencies = [[column, word, count] for (column, word), count in corpus.frequencies.items()]
    return [statistics.documents, dict(statistics.tokens), frequencies]


def _decoded_corpus(value: object) -> Corpus:
    match value:
        case [int(documents), dict(tokens), list(frequencies)] if is_number(documents):
            counts = dict[tuple[str, str], int]()
            for number, entry in enumerate(frequencies):
                match entry:
                    case [str(column), str(word), int(count)] if 0 <= count <= documents and column in tokens:
                        counts[column, word] = count
                    case _:
                        raise refused(
                            f"entry {number} of the words in its plan is not a column that has words, a word and its "
                            f"number of rows, of {documents} at most"
                        )
            # A column with a word has words: BM25 divides by their average number.
            if all(map(is_number, tokens.values())) and all(
                tokens[column] for (column, _), count in counts.items() if count
            ):
                return Corpus(RankingStatistics(documents, tokens), counts)
    raise refused("the ranking statistics in its plan are not documents, words and rows of words")


def _mapped(field: MappedField) -> list[object]:
    """Return name, type, kind, tokenizer and record option of a column, and of the fields of a struct."""
    entry: list[object] = [field.name, field.spark_type, field.kind, field.tokenizer, field.record]
    return [*entry, list(map(_mapped, field.inner))] if field.inner else entry


def _mapped_field(entry: object, root: str | None = None) -> MappedField:
    parts = _as_list(entry)
    texts, inner = parts[:5], parts[5:]
    if not is_texts(texts) or len(texts) != 5 or texts[2] not in get_args(IndexKind) or len(inner) > 1:
        raise refused("a mapping in its plan is not name, type, kind, tokenizer and record option")
    fields = tuple(_mapped_field(field, root or texts[0]) for field in _as_list(inner[0])) if inner else ()
    name, spark_type, kind, tokenizer, record = texts
    return MappedField(
        name, spark_type, kind=kind, inner=fields, root=root, tokenizer=tokenizer, record=record
    )


def encode_write(plan: WritePlan | None) -> str | None:
    """Return the plan of a write as text, or None if it is too large or there is nothing to write."""
    if plan is None:
        return None
    replaces = None if plan.replaces is None else to_document(plan.replaces)
    return _encode(
        {
            "base_version": plan.base_version,
            "metadata": to_document(plan.metadata),
            "replaces": replaces,
            "split_bytes": plan.split_bytes,
            "replaces_part": plan.replacement is not None,
            "evolves": None if plan.evolves is None else to_document(plan.evolves),
        }
    )


def decode_write(
    text: str,
    uri: str,
    mode: WriteMode,
    settings: Settings,
    replacement: Callable[[TableSchema], Replacement | None] = lambda _: None,
    txn: tuple[str, int] | None = None,
) -> WritePlan:
    """Return the plan that `encode_write` made text of. The request has the `replacement` and the `txn`."""
    fields = _fields(text, "base_version", "metadata", "replaces", "split_bytes", "replaces_part", "evolves")
    version, split_bytes = fields["base_version"], fields["split_bytes"]
    if version is not None and not is_number(version):
        raise refused("the version in its plan is not a version")
    if not is_number(split_bytes) or split_bytes < 1:
        raise refused("the size of a split in its plan is not a size")
    metadata = _metadata(fields["metadata"])
    replaces = None if fields["replaces"] is None else _metadata(fields["replaces"])
    return WritePlan(
        uri=uri,
        options=task_options(uri, settings, metadata),
        mode=mode,
        base_version=version,
        metadata=metadata,
        replaces=replaces,
        split_bytes=split_bytes,
        replacement=replacement(TableSchema.of_table(metadata.schema_string))
        if fields["replaces_part"]
        else None,
        txn=None if txn is None else Txn(*txn),
        evolves=None if fields["evolves"] is None else _metadata(fields["evolves"]),
    )


def _encode(plan: dict[str, Any]) -> str | None:
    text = orjson.dumps(plan)
    return text.decode() if len(text) <= MAX_PLAN_BYTES else None


def _fields(text: str, *names: str) -> dict[str, Any]:
    fields = bounded_object(text, MAX_PLAN_BYTES, "its plan")
    if set(fields) != set(names):
        raise refused(f"its plan does not have the fields {', '.join(names)}")
    return fields


def _encoded_log(log: DeltaLogRef | None) -> list[object] | None:
    """Return key and number of rows; for restored rows, the number in the delta log and the later delta log too."""
    if log is None:
        return None
    texts: list[object] = [log.key, log.num_deleted]
    return [*texts, log.num_before, _encoded_log(log.later)] if isinstance(log, RestoredRows) else texts


def _delta_log(value: Any) -> DeltaLogRef | None:
    match value:
        case None:
            return None
        case [str(key), int(count), int(before), later] if is_number(count) and is_number(before):
            return RestoredRows(key, count, before, _delta_log(later))
        case [str(key), int(count)] if count >= 0 and not isinstance(count, bool):
            return DeltaLogRef(key, count)
    raise refused("a delta log in its plan is not a path and the number of its rows")


def _as_list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise refused("its plan has something else where a list should be")
    return value


def _all_of(kind: type, values: list[Any]) -> bool:
    return set(map(type, values)) <= {kind}


def _metadata(document: Any) -> Metadata:
    try:
        actions = from_document(document)
    except FieldError as reason:
        raise refused(f"the metadata in its plan: {reason}") from None
    if len(actions) != 1 or not isinstance(actions[0], Metadata):
        raise refused("its plan does not hold the metadata of a table")
    return actions[0]

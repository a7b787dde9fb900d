"""Every row of the specifications' test plans is proved by a test that carries its name.

A test says which rows it proves by `@pytest.mark.spec("testReadEmptyManifest")`. The plans are those of the description
of the state file (sections 1 to 11, 13 and 14; section 12 is measured by `python -m bench states`) and of the
description of the manifest (phases 1 to 3, and of phase 6 the part about Python). Rows on S3 run on SeaweedFS, rows on
Azure on Azurite.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
SPEC = TESTS.parents[1] / "shared" / "spec"

STATE_PLAN = {
    1: "ReadEmptyManifest ReadSingleEntry ReadMultipleEntries ReadAllFields ReadNullableFields "
    "ReadWithPartitionValues ReadWithEmptyPartitionValues ReadLargeManifest ReadCorruptedManifest "
    "ReadTruncatedManifest ReadManifestFromS3 ReadManifestFromAzure ParallelManifestRead FilterByAddedAtVersion "
    "FilterByAddedAtTimestamp FilterByPartition",
    2: "WriteEmptyManifest WriteSingleEntry WriteMultipleEntries WriteAllFields WriteNullableFields "
    "WriteWithZstdCompression WriteWithSnappyCompression WriteWithNoCompression WriteToS3 WriteToAzure "
    "WriteLargeManifest WriteStreamingAppend ManifestFileSizeEstimation ConcurrentWrites",
    3: "ReadStateManifest WriteStateManifest StateManifestWithTombstones StateManifestWithSchemaRegistry "
    "StateManifestVersionBounds StateManifestNumFiles StateManifestTotalBytes ApplyTombstones EmptyTombstones "
    "LargeTombstoneList",
    4: "IncrementalAddFiles IncrementalRemoveFiles IncrementalMixedAddRemove ManifestReuse "
    "ManifestReuseWithPartialOverlap StateVersionIncrement MultipleIncrementalWrites IncrementalWriteToS3",
    5: "CompactionTriggerByTombstoneRatio CompactionTriggerByManifestCount CompactionTriggerAfterMerge "
    "CompactionProducesCleanState CompactionPreservesAllFiles CompactionSplitsLargeManifests "
    "CompactionMergesSmallManifests CompactionWithPartitionedData CompactionSkipsCleanState ConcurrentCompaction "
    "CompactionPerformance70K CompactionMemoryEfficiency CompactionPreservesPartitionLocality "
    "CompactionComputesPartitionBounds",
    6: "PartitionBoundsComputation PartitionBoundsWithNulls PartitionBoundsMultipleColumns PruneByEqualityFilter "
    "PruneByRangeFilter PruneByInFilter PruneByAndFilter PruneByOrFilter NoPruningWithoutBounds "
    "NoPruningForUnknownColumn PartitionPruningEffectiveness PartitionPruningPerformance1M "
    "PartitionLocalitySorting IncrementalWritePartitionBounds MixedBoundsAndNoBounds "
    "PartitionPruningWithTombstones",
    7: "ReadLegacyJsonCheckpoint AutoUpgradeOnRead CheckpointSqlUpgrade UpgradePreservesAllFiles "
    "UpgradePreservesPartitionValues UpgradePreservesStatistics UpgradePreservesSchemaRegistry "
    "WriteAfterUpgrade MixedFormatRollback UpgradeFromV2ToV4 UpgradeLargeTable UpgradeWithActiveTombstones",
    8: "GetChangesSinceVersion GetChangesSinceTimestamp ChangeSetIncludesRemoves StreamingReadEmptyDelta "
    "StreamingReadAllChanges ManifestVersionFiltering StreamingWithCompaction StreamingPerformance",
    9: "AddNewField FieldIdPreservation ReadOldSchemaWithNewReader ReadNewSchemaWithOldReader RenameField "
    "PromoteFieldType",
    10: "FileEntryKryoSerialization FileEntryJavaSerialization StateSnapshotSerialization DistributedStateRead "
    "DistributedCompaction CheckpointSqlParsing CheckpointSqlExecution DescribeStateCommand "
    "ReadWithSparkDataSource WriteWithSparkDataSource",
    11: "ReadMissingManifest ReadMissingStateDir PartialManifestWrite ConcurrentStateUpdate CommitStateUnknown "
    "CorruptedAvroHeader InvalidSchemaVersion StorageException",
    13: "CleanupOldStateDirs RetentionByVersionCount RetentionByAge CleanupPreservesCurrentState "
    "CleanupWithPurgeIntegration CleanupOrphanedManifests ConcurrentCleanup",
    14: "S3FullLifecycle AzureFullLifecycle S3EventualConsistency S3MultipartUpload CrossRegionRead",
}
"""The rows of the state file's plan by section, each without the `test` that they all begin with."""

CHECKLIST = (
    "ColumnGroups metadata preserved for backward compatibility",
    "Old manifests with metadata deserialize correctly",
    "Manifest serialization with delta logs and stats",
    "Manifest deserialization with delta logs and stats",
    "Backward compatibility: reading old manifest format",
    "Forward compatibility: new manifest format",
    "Empty delta logs and stats handling",
    "ColumnGroups delegation methods work correctly",
    "Path resolution for delta log files and stat files",
    "Transaction fluent builder API (AddColumnGroup, AppendFiles, AddDeltaLog, UpdateStat)",
    "Transaction resolver system (MergeResolver, FailResolver)",
    "Transaction commit with delta logs and stats",
    "All delta log types: PRIMARY_KEY, POSITIONAL, EQUALITY",
    "Delta log filtering by type",
    'Typical stats keys: "pk.delete", "bloomfilter", "bm25"',
    "Multiple delta log entries with different types",
    "Multiple stats entries with different keys",
    "Python bindings for Transaction and Manifest delta logs/stats",
)
"""The rows of the manifest's checklist."""

NOTES = {
    "testReadMultipleEntries": "1,000",
    "testReadAllFields": "any values; every manifest of the original",
    "testReadNullableFields": "every optional field is null in some of the generated entries",
    "testReadLargeManifest": "100,000; the time is the bench's",
    "testReadCorruptedManifest": "every region of the file",
    "testManifestFileSizeEstimation": "manifests are cut by their number of entries; block sizes are in the header",
    "testReadStateManifest": "both forms",
    "testWriteStateManifest": "written as Avro",
    "testCompactionPerformance70K": "its outcome; the time is the bench's",
    "testCompactionMemoryEfficiency": "the peak is the bench's",
    "testPartitionBoundsMultipleColumns": "two partition columns, of any types",
    "testNoPruningForUnknownColumn": "the files are then told apart by their minima and maxima",
    "testPartitionPruningPerformance1M": "what is read; the time is the bench's",
    "testUpgradeLargeTable": "70,000 files where there is time",
    "testStreamingPerformance": "what is read, not how long it takes",
    "testFileEntryKryoSerialization": "entries are Python values; Spark serializes the parts of a scan that hold them",
    "testDistributedCompaction": "one process compacts; executors may do so at once",
    "testS3MultipartUpload": "a manifest is one conditional upload, whatever its size",
    "ColumnGroups metadata preserved for backward compatibility": (
        "no version of the manifest has a metadata map of its column groups; metadata belongs to files"
    ),
    "Python bindings for Transaction and Manifest delta logs/stats": (
        "delta logs of every type, not of primary keys only"
    ),
}
"""What the tests of a row prove where that differs from what the row says."""

ROWS = (*(f"test{row}" for names in STATE_PLAN.values() for row in names.split()), *CHECKLIST)


@cache
def marked() -> dict[str, list[str]]:
    """Return the tests that carry each row's name, by an AST walk: a test need not run to be counted."""
    tests: dict[str, list[str]] = {}
    for file in sorted(TESTS.rglob("test_*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                for row in _rows(node):
                    tests.setdefault(row, []).append(f"{file.relative_to(TESTS)}::{node.name}")
    return tests


def _rows(node: ast.FunctionDef) -> list[str]:
    return [
        ast.literal_eval(row)
        for mark in node.decorator_list
        if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.spec"
        for row in mark.args
    ]


@pytest.mark.parametrize("row", ROWS)
def test_a_row_is_proved_by_a_test(row: str):
    assert marked().get(row), f"no test is marked with {row!r}"


def test_no_mark_names_a_row_that_is_in_no_plan():
    assert marked().keys() <= set(ROWS)
    assert NOTES.keys() <= set(ROWS)


def test_the_state_plan_is_that_of_the_description():
    spec = SPEC / "avro-state-file.md"
    if not spec.is_file():
        pytest.skip("the description of the state file is not here")
    parts = re.findall(r"^### (\d+)\. [^\n]*\n(.*?)(?=^### |\Z)", spec.read_text(), re.MULTILINE | re.DOTALL)
    rows = {int(number): re.findall(r"^\| `test(\w+)` \|", body, re.MULTILINE) for number, body in parts}
    assert {number: rows[number] for number in STATE_PLAN} == {
        number: names.split() for number, names in STATE_PLAN.items()
    }
    assert len(ROWS) == 134 + len(CHECKLIST)


def test_the_checklist_is_that_of_the_description():
    spec = SPEC / "manifest-extension.md"
    if not spec.is_file():
        pytest.skip("the description of the manifest is not here")
    text = spec.read_text()
    assert [row for row in CHECKLIST if row not in text] == []

"""Every row of the state file's test plan is in the table of tests, and every test in the table is there."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]

PLAN = {
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
"""The names of the plan's rows by section, each without the `test` that they all begin with."""

TABLE = (TESTS / "state" / "test_plan.md").read_text()
SECTIONS = {
    int(number): re.findall(r"^\| `test(\w+)` \| (.+?) \|", body, re.MULTILINE)
    for number, body in re.findall(r"^## (\d+)\. [^\n]*\n(.*?)(?=^## |\Z)", TABLE, re.MULTILINE | re.DOTALL)
}


@cache
def names_in(file: Path) -> frozenset[str]:
    """The functions that a test file defines, and the ones that it lists by name as cases."""
    tree = ast.parse(file.read_text())
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


@pytest.mark.parametrize("section", PLAN)
def test_every_row_of_the_plan_is_in_the_table(section: int):
    assert [name for name, _ in SECTIONS[section]] == PLAN[section].split()


def test_the_table_has_no_other_sections():
    assert sorted(SECTIONS) == sorted(PLAN)
    assert sum(len(rows) for rows in SECTIONS.values()) == 134


@pytest.mark.parametrize("section", PLAN)
def test_every_test_in_the_table_is_there(section: int):
    for row, tests in SECTIONS[section]:
        found = re.findall(r"`([\w/]+\.py)::(test_\w+)(?:\[([^`\]]+)\])?`", tests)
        assert found, row
        assert len(found) == tests.count("`") // 2, f"{row}: {tests}"
        for file, name, case in found:
            assert name in names_in(TESTS / file), f"{row}: {file}::{name}"
            if case:
                assert case in (TESTS / file).read_text(), f"{row}: {file}::{name}[{case}]"


def test_the_plan_in_here_is_that_of_the_description():
    spec = TESTS.parent.parent / "shared" / "spec" / "avro-state-file.md"
    if not spec.is_file():
        pytest.skip("the description of the state file is not here")
    parts = re.findall(r"^### (\d+)\. [^\n]*\n(.*?)(?=^### |\Z)", spec.read_text(), re.MULTILINE | re.DOTALL)
    rows = {int(number): re.findall(r"^\| `test(\w+)` \|", body, re.MULTILINE) for number, body in parts}
    assert {number: " ".join(rows[number]).split() for number in PLAN} == {
        number: names.split() for number, names in PLAN.items()
    }

"""Keys of the specification, and of IndexTables for Scala, that are accepted and have no effect.

Each says what happens instead. A session that was set up for the Scala release keeps its settings: it gets one warning
for a key, and no error. A key of this package that is read stands in `keys`, never here.
"""

from __future__ import annotations

from typing import Final

from indextables.config.definitions import Unread

PREFIX: Final = "spark.indextables."


def _unread(reason: str, *names: str) -> Unread:
    return Unread(tuple(PREFIX + name for name in names), reason)


_STATE_IS_WRITTEN_LATER: Final = _unread(
    "a state that could not be written is written by the next checkpoint",
    "state.retry.maxAttempts",
    "state.retry.baseDelayMs",
    "state.retry.maxDelayMs",
)

UNREAD: Final = (
    # automatic upkeep
    _unread(
        "a merge begins when a partition has `mergeOnWrite.minSplits` small splits",
        "mergeOnWrite.minBatchesToTrigger",
        "mergeOnWrite.batchCpuFraction",
        "mergeOnWrite.mergeGroupMultiplier",
    ),
    _unread(
        "the groups of an automatic merge run as the tasks of a Spark job, `merge.batchSize` at a time",
        "mergeOnWrite.maxConcurrentBatches",
        "mergeOnWrite.maxConcurrentMergesPerWorker",
    ),
    _unread(
        "a merge has bounded memory, and checks the disk before it begins",
        "mergeOnWrite.memoryOverheadFactor",
        "mergeOnWrite.minDiskSpaceGB",
    ),
    # the log and its states
    _STATE_IS_WRITTEN_LATER,
    _unread(
        "the time-outs of the store's client apply",
        "checkpoint.read.timeoutSeconds",
        "cloud.connectionTimeout",
        "cloud.readTimeout",
    ),
    _unread(
        "states are Avro files; `state.compression` and `state.entriesPerManifest` shape them",
        "checkpoint.actionsPerPart",
        "checkpoint.compression",
        "checkpoint.compression.enabled",
        "checkpoint.maxFileSize",
        "checkpoint.multiPart.enabled",
        "checkpoint.multipart.maxActionsPerPart",
    ),
    _unread(
        "`checkpoint.enabled` and `checkpoint.interval` say when a state is written, and checksums are always verified",
        "checkpoint.auto.enabled",
        "checkpoint.auto.minFileAge",
        "checkpoint.checksumValidation.enabled",
        "checkpoint.maxRetries",
    ),
    _unread(
        "`state.retention.hours` and `state.retention.versions` say how long states are kept",
        "checkpoint.retention",
    ),
    _unread("set `cleanup.dryRun` to true to delete nothing", "cleanup.enabled"),
    _unread(
        "version files are compressed with gzip",
        "transaction.compression.codec",
        "transaction.compression.gzip.level",
    ),
    _unread(
        "a cached snapshot is compared with the store at every use; `transaction.cache.expirationSeconds` and "
        "`transaction.cache.maxSnapshots` say how long and how many are kept",
        "transaction.cache.ttl.ms",
        "transaction.cache.version.ttl.ms",
        "transaction.cache.snapshot.ttl.ms",
        "transaction.cache.fileList.ttl.ms",
        "transaction.cache.metadata.ttl.ms",
        "transaction.cache.version.capacity",
        "transaction.cache.snapshot.capacity",
        "transaction.cache.fileList.capacity",
        "cache.checkpoint.size",
        "cache.checkpoint.ttl",
        "cache.filelist.size",
        "cache.filelist.ttl",
        "cache.log.size",
        "cache.log.ttl",
        "cache.metadata.size",
        "cache.metadata.ttl",
        "cache.snapshot.size",
        "cache.snapshot.ttl",
        "snapshot.maxStaleness",
    ),
    _unread(
        "`state.read.parallelism` is the number of files of the log that are read in parallel",
        "transaction.maxConcurrentReads",
        "parallel.read.enabled",
    ),
    _unread(
        "there is one implementation of the log",
        "transaction.allowDirectUsage",
        "transaction.force.hadoop",
        "transaction.optimized.enabled",
        "transaction.useOptimized",
        "async.updates.enabled",
        "storage.force.standard",
        "storage.type",
    ),
    _unread(
        "the protocol of a table is always checked, and CHECKPOINT INDEXTABLES upgrades it",
        "protocol.checkEnabled",
        "protocol.autoUpgrade",
        "protocol.enforceReaderVersion",
        "protocol.enforceWriterVersion",
    ),
    _unread("a maximum that is cut is rounded up", "stats.truncation.strategy"),
    _unread(
        "files are always pruned by partition values, statistics and Bloom filters",
        "dataSkipping.parallelThreshold",
        "partitionPruning.filterCacheEnabled",
        "partitionPruning.indexEnabled",
        "partitionPruning.parallelThreshold",
        "partitionPruning.selectivityOrdering",
        "read.prescan.enabled",
        "read.prescan.minSplitThreshold",
        "read.prescan.maxConcurrency",
        "read.prescan.timeoutMs",
        "bloom.filters.enabled",
        "schema.filterEmptyObjects",
    ),
    # reads
    _unread(
        "a read without LIMIT returns all rows that match",
        "read.defaultLimit",
        "read.mode",
    ),
    _unread(
        "an aggregate is exact, in the index or in Spark",
        "read.requireAggregatePushdown",
        "read.companion.requireAggregatePushdown",
        "read.aggregation.arrowFfi.enabled",
        "aggregate.bucket.pushdown",
        "aggregate.bucket.maxBuckets",
    ),
    _unread(
        "the sizes of the splits and the cores of the cluster decide how many splits a task reads",
        "read.splitsPerTask",
        "read.maxSplitsPerTask",
        "read.aggregate.splitsPerTask",
        "read.aggregate.maxSplitsPerTask",
    ),
    _unread(
        "LIKE with a pattern of the forms 'x%', '%x' and '%x%' is evaluated by the scan, exactly",
        "filter.stringPattern.pushdown",
        "filter.stringStartsWith.pushdown",
        "filter.stringEndsWith.pushdown",
        "filter.stringContains.pushdown",
    ),
    _unread(
        "a search reads the Parquet pages of its hits, in as few requests as their positions allow",
        "read.adaptiveTuning.enabled",
        "read.adaptiveTuning.minBatchesBeforeAdjustment",
        "read.batchOptimization.enabled",
        "read.batchOptimization.profile",
        "read.batchOptimization.maxRangeSize",
        "read.batchOptimization.gapTolerance",
        "read.batchOptimization.minDocsForOptimization",
        "read.batchOptimization.maxConcurrentPrefetch",
        "read.batchOptimization.metrics.enabled",
        "cache.coalesceMaxGap",
        "docBatch.enabled",
        "docBatch.maxSize",
    ),
    _unread("rows always travel as Arrow batches", "read.columnar.enabled"),
    _unread(
        "indexes are cached on disk as they are, up to `cache.disk.maxSize`, and the system caches them in memory",
        "cache.disk.enabled",
        "cache.disk.compression",
        "cache.disk.minCompressSize",
        "cache.disk.manifestSyncInterval",
        "cache.disk.writeQueue.mode",
        "cache.disk.writeQueue.capacity",
        "cache.disk.writeQueue.maxBudget",
        "cache.disk.dropWritesWhenFull",
        "cache.maxSize",
        "cache.maxAgeSeconds",
        "cache.maxConcurrentLoads",
        "cache.name",
        "cache.queryCache",
    ),
    _unread(
        "a search loads the indexes that it needs into the cache, and PREWARM INDEXTABLES CACHE those of a table",
        "cache.prewarm.enabled",
        "prewarm.enabled",
        "prewarm.segments",
        "prewarm.fields",
        "prewarm.splitsPerTask",
        "prewarm.partitionFilter",
        "prewarm.failOnMissingField",
        "prewarm.catchUpNewHosts",
        "prewarm.maxRetries",
        "prewarm.async.maxConcurrent",
        "prewarm.async.completedJobRetentionMs",
    ),
    # writes and merges
    _unread(
        "rows are indexed as they arrive, and `indexWriter.heapSize` bounds the memory",
        "indexWriter.batchSize",
        "indexWriter.maxBatchBufferSize",
        "indexWriter.threads",
        "indexWriter.useBatch",
        "splitConversion.maxParallelism",
        "write.arrowFfi.batchSize",
        "write.arrowFfi.enabled",
    ),
    _unread("an index is built outside the JVM, in Spark's Python workers", "native.memory.enabled"),
    _unread(
        "a writer starts a new split when one has `write.targetSplitSize` bytes",
        "autoSize.enabled",
        "autoSize.inputRowCount",
        "optimizeWrite.enabled",
        "optimizeWrite.targetRecordsPerSplit",
        "optimizeWrite.minShufflePartitions",
        "optimizeWrite.maxShufflePartitions",
    ),
    _unread(
        "a merge links segments and copies pages with bounded memory, in `indexWriter.tempDirectoryPath`",
        "merge.heapSize",
        "merge.tempDirectoryPath",
        "merge.debug",
        "merge.download.maxConcurrencyPerCore",
        "merge.download.memoryBudget",
        "merge.download.retries",
        "merge.download.retryBaseDelayMs",
        "merge.download.retryMaxDelayMs",
        "merge.upload.maxConcurrency",
    ),
    _unread(
        "MERGE SPLITS runs its batches one after the other, until nothing is left to merge",
        "merge.maxConcurrentBatches",
        "merge.maxPasses",
        "merge.schedulerPool",
    ),
    _unread("a split that a merge cannot read is always recorded", "skippedFiles.trackingEnabled"),
    _unread(
        "a split that cannot be deleted is reported (see `cleanup.failurePolicy`), and the next PURGE tries again",
        "purge.deleteRetries",
    ),
    _unread(
        "REPAIR checks every split, and its result counts those that are missing",
        "repair.failOnMissing",
        "repair.parallelism",
        "repair.preserveStats",
        "repair.validateSplits",
    ),
    # how columns are indexed
    _unread(
        "every column is stored, because conditions, snippets, updates and merges read the rows; leave out a column "
        "that is not to be stored",
        "indexing.indexonlyfields",
    ),
    _unread(
        "a column that holds JSON is a string, and is indexed as `string` or `text`",
        "indexing.json.mode",
        "indexing.json.enableRangeQueries",
        "indexing.json.failOnInvalidJson",
        "indexing.json.parseOnWrite",
    ),
    # stores
    _unread(
        "the store's client decides about connections, parts and retries",
        "cloud.bufferSize",
        "cloud.maxConnections",
        "cloud.maxRetries",
        "s3.maxConcurrency",
        "s3.maxQueueSize",
        "s3.multipartThreshold",
        "s3.partSize",
        "s3.streamingThreshold",
    ),
    _unread(
        "credentials come from `aws.accessKey`, `aws.secretKey` and `aws.sessionToken`, or from the environment",
        "aws.credentialsProviderClass",
        "indexing.aws.accessKey",
        "indexing.aws.secretKey",
        "indexing.aws.sessionToken",
        "databricks.apiToken",
        "databricks.cache.maxSize",
        "databricks.clientId",
        "databricks.clientSecret",
        "databricks.credential.operation",
        "databricks.credential.refreshBuffer.minutes",
        "databricks.fallback.enabled",
        "databricks.oauth.refreshBuffer.seconds",
        "databricks.oauth.scope",
        "databricks.retry.attempts",
        "databricks.workspaceUrl",
        "unity.cache.maxSize",
        "unity.cache.ttl.minutes",
        "unity.fallback.enabled",
        "unity.retry.attempts",
    ),
    _unread("the container is a part of a table's address", "azure.containerName"),
    _unread(
        "tables on Google Cloud Storage are not supported; S3, Azure and local disks are",
        "gcp.bucketName",
        "gcp.credentialsFile",
        "gcp.endpoint",
        "gcp.projectId",
        "gcp.serviceAccountKey",
    ),
    # companion indexes
    _unread(
        "companion indexes of Delta, Parquet and Iceberg tables are not supported: write the rows into a table",
        "companion.aws.accessKey",
        "companion.aws.secretKey",
        "companion.aws.sessionToken",
        "companion.credential.preferPathCredentials",
        "companion.maxAutomaticHashedFastfields",
        "companion.parquet.aws.accessKey",
        "companion.parquet.aws.endpoint",
        "companion.parquet.aws.region",
        "companion.parquet.aws.secretKey",
        "companion.parquet.aws.sessionToken",
        "companion.parquet.azure.accountKey",
        "companion.parquet.azure.accountName",
        "companion.parquet.azure.connectionString",
        "companion.parquetTableRoot",
        "companion.readerBatchSize",
        "companion.schedulerPool",
        "companion.skipFields",
        "companion.stream.errorBackoffMultiplier",
        "companion.stream.maxConsecutiveErrors",
        "companion.stream.maxIncrementalCommits",
        "companion.stream.quietPollLogInterval",
        "companion.sync.arrowFfi.enabled",
        "companion.sync.batchSize",
        "companion.sync.distributedLogRead.enabled",
        "companion.sync.iceberg.maxIncrementalManifests",
        "companion.sync.maxConcurrentBatches",
        "companion.sync.maxIncrementalCommits",
        "companion.tableRootDesignator",
        "companion.writerHeapSize",
        "iceberg.catalogType",
        "iceberg.credential",
        "iceberg.s3Endpoint",
        "iceberg.s3PathStyleAccess",
        "iceberg.token",
        "iceberg.uc.tableId",
        "iceberg.uri",
        "iceberg.warehouse",
    ),
    # options of a read or write that have no prefix
    Unread(
        ("bloomFiltersEnabled",),
        "`spark.indextables.stats.bloom.columns` names the columns with Bloom filters",
    ),
    Unread(("forceStandardStorage",), "there is one implementation of each store"),
    Unread(
        ("targetRecordsPerSplit",), "a writer starts a new split when one has `write.targetSplitSize` bytes"
    ),
)
"""Groups of keys with one reason. A key that ends in a dot is the prefix of many."""

EXACT: Final[dict[str, Unread]] = {
    key.lower(): unread for unread in UNREAD for key in unread.keys if not key.endswith(".")
}
PREFIXES: Final[dict[str, Unread]] = {
    key.lower(): unread for unread in UNREAD for key in unread.keys if key.endswith(".")
}


def find_unread(canonical: str) -> Unread | None:
    """Return what is known about a key that has no effect; None for any other key.

    >>> find_unread("spark.indextables.read.MODE").reason
    'a read without LIMIT returns all rows that match'
    >>> find_unread("spark.indextables.write.compression") is None
    True
    """
    folded = canonical.lower()
    exact = EXACT.get(folded)
    return exact or next((unread for prefix, unread in PREFIXES.items() if folded.startswith(prefix)), None)

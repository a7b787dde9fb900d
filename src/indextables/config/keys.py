"""The table of settings. A key in it is read somewhere; a key that is neither in it nor in `unread` does not exist."""

from __future__ import annotations

from typing import Any, Final

from indextables.config.definitions import Family, Setting
from indextables.config.durations import HOUR_MS, hours, milliseconds
from indextables.config.parsers import (
    between,
    boolean,
    factor,
    local_path,
    names,
    one_of,
    positive,
    positive_size,
    probability,
    ratio,
    size,
    size_from,
    size_or,
    size_up_to,
    text,
    whole,
    whole_or_all,
)

TARGET_SPLIT_SIZE: Final = Setting(
    "spark.indextables.write.targetSplitSize",
    positive_size,
    256 << 20,
    "How many bytes of rows a split holds, about. A writer that has filled one starts the next.",
    aliases=("spark.indextables.autoSize.targetSplitSize",),
)
OPTIMIZE_WRITE: Final = Setting[bool | None](
    "spark.indextables.write.optimizeWrite.enabled",
    boolean,
    None,
    "Shuffle the rows of a Spark write before its tasks write them, so that a task gets the rows of about one split. "
    "In a table without partitions, the rows of neighbouring tasks are combined, and keep their order. Empty: as true, "
    "but tasks of such a table are combined up to an eighth of a split only, so that all cores have work.",
)
OPTIMIZE_WRITE_TARGET: Final = Setting[int | None](
    "spark.indextables.write.optimizeWrite.targetSplitSize",
    positive_size,
    None,
    "Size of the splits of an optimised write on disk, about. Empty: the size of a split with "
    "`write.targetSplitSize` bytes of rows.",
)
OPTIMIZE_WRITE_MODE: Final = Setting(
    "spark.indextables.write.optimizeWrite.distributionMode",
    one_of("hash", "balanced", "none"),
    "hash",
    "How an optimised write distributes rows. `hash`: the rows of a partition go to as few tasks as the target size "
    "allows; without partitions, rows keep their order. `balanced`: as many tasks as the cluster has cores, with equal "
    "numbers of rows; each writes a split of every partition. `none`: no shuffle.",
)
OPTIMIZE_WRITE_MAX_SIZE: Final = Setting(
    "spark.indextables.write.optimizeWrite.maxSplitSize",
    positive_size,
    4 << 30,
    "Maximum size of a split on disk, about, in the mode `balanced`, which has no target size.",
)
OPTIMIZE_WRITE_RATIO: Final = Setting(
    "spark.indextables.write.optimizeWrite.samplingRatio",
    factor,
    1.1,
    "Bytes of a split for each byte of shuffled rows. It turns a target size into the size of a shuffle partition.",
)
OPTIMIZE_WRITE_MIN_ROWS: Final = Setting(
    "spark.indextables.write.optimizeWrite.minRowsForEstimation",
    positive,
    10_000,
    "The size of new splits is estimated from the splits of the table that have at least this many rows. Without such "
    "splits, a split is taken to be as large as its rows.",
)
HEAP_SIZE: Final = Setting(
    "spark.indextables.indexWriter.heapSize",
    positive_size,
    512 << 20,
    "Memory that an index writer may fill before it flushes a segment to the local disk. At least 15M. A write in "
    "plain Python builds several splits at a time: their writers divide this memory, and there are at most as many as "
    "cores, and one for each 128M.",
)
ROW_GROUP_ROWS: Final = Setting(
    "spark.indextables.write.rowGroupRows",
    positive,
    65536,
    "Rows in one Parquet row group of a split. A search fetches single pages of it; a filter skips whole groups.",
)
ROW_COMPRESSION: Final = Setting(
    "spark.indextables.write.compression",
    one_of("auto", "lz4", "zstd", "snappy", "none"),
    "auto",
    "Compression of the rows in a split: `auto` (`zstd` for columns that are indexed as text, `lz4` for the rest: a "
    "fifth smaller than `lz4` alone), `lz4` (fastest to read), `zstd` (a third smaller than `lz4`, twice the time to "
    "read), `snappy` or `none`.",
)
COLUMN_GROUPS: Final = Setting(
    "spark.indextables.columns.groups",
    text,
    "",
    "Columns that a split stores in separate files, such as wide texts: `body; image, thumbnail`. Semicolons "
    "separate groups, commas the columns of a group. All other columns stay together.",
)
TEMP_DIRECTORY: Final = Setting(
    "spark.indextables.indexWriter.tempDirectoryPath",
    local_path,
    "",
    "The directory in which splits are built before they are uploaded. Empty: the system's temporary directory.",
)
CACHE_DIRECTORY: Final = Setting(
    "spark.indextables.cache.directoryPath",
    local_path,
    "",
    "The directory of the index cache. Empty: `indextables` in XDG_CACHE_HOME or in ~/.cache, or, without a home "
    "directory, one in the temporary directory. If other users can write to the directory, the cache is a "
    "private directory inside it.",
    aliases=("spark.indextables.cache.disk.path",),
)
CACHE_MAX_SIZE: Final = Setting(
    "spark.indextables.cache.disk.maxSize",
    size_or(20 << 30),
    20 << 30,
    "Maximum size of the index cache. Above it, the least recently used indexes are deleted. 0: the default.",
)
MAX_OPEN_SPLITS: Final = Setting(
    "spark.indextables.read.maxOpenSplits",
    positive,
    128,
    "How many splits a process keeps open between searches. Each one has a thread and about 2 MB of memory. A "
    "search of more splits than this opens some of them again every time.",
)
ANSWER_MAX_ROWS: Final = Setting(
    "spark.indextables.read.answerOnDriver.maxRows",
    whole,
    2000,
    "A query that returns at most this many rows, from splits on the driver's own disk whose indexes are cached "
    "there, is answered on the driver while Spark plans it. `0`: every query runs in tasks.",
)
PUSH_AGGREGATES: Final = Setting(
    "spark.indextables.read.aggregatePushdown",
    boolean,
    True,
    "Let the tasks that read a table also compute COUNT, SUM, MIN, MAX, AVG and GROUP BY, where the result is the same "
    "as Spark's. `false`: Spark computes them from the rows.",
)
AGGREGATION_MAX_MEMORY: Final = Setting(
    "spark.indextables.aggregation.maxMemory",
    size_up_to(512 << 20),
    128 << 20,
    "Size of the distinct values and buckets that `Table.histogram`, `Table.top_values` and `Table.stats` may "
    "count. A column with more of them is an error. The operation takes about three times as much. At most 512M.",
)
AGGREGATION_COLUMN_CACHE: Final = Setting(
    "spark.indextables.aggregation.columnCache",
    size,
    256 << 20,
    "Memory of a process for decoded columns of splits, which the web UI counts again with every query. 0: none.",
)
INDEX_ALL_MAX_FIELDS: Final = Setting(
    "spark.indextables.indexquery.indexall.maxUnqualifiedFields",
    whole,
    10,
    "A search over all columns (`* TEXTSEARCH ...`) is an error if the table has more searchable columns than "
    "this. 0: no limit.",
)
QUERY_MAX_LENGTH: Final = Setting(
    "spark.indextables.query.maxLength",
    positive,
    262_144,
    "Maximum number of characters in a search query, or in a condition in `where=`.",
)
QUERY_MAX_TERMS: Final = Setting(
    "spark.indextables.query.maxTerms",
    positive,
    10_000,
    "Maximum number of words, phrases, ranges and values in a search query, or in a condition in `where=`.",
)
QUERY_MAX_PATTERNS: Final = Setting(
    "spark.indextables.query.maxPatterns",
    positive,
    100,
    "Maximum number of words with wildcards, fuzzy words and phrase prefixes in a search query. Each is compared "
    "with all words of every split.",
)
QUERY_MAX_DEPTH: Final = Setting(
    "spark.indextables.query.maxDepth",
    positive,
    40,
    "Maximum depth of nested parentheses and NOTs in a search query, or in a condition in `where=`.",
)
STATS_COLUMNS_COUNT: Final = Setting(
    "spark.indextables.dataSkippingNumIndexedCols",
    whole_or_all,
    32,
    "Number of leading columns that get min/max statistics. -1: all columns, 0: none.",
)
STATS_COLUMNS: Final = Setting[tuple[str, ...]](
    "spark.indextables.dataSkippingStatsColumns",
    names,
    (),
    "The columns that get min/max statistics, separated by commas. If set, `dataSkippingNumIndexedCols` is "
    "ignored.",
)
BLOOM_COLUMNS: Final = Setting[tuple[str, ...]](
    "spark.indextables.stats.bloom.columns",
    names,
    (),
    "The columns that get a Bloom filter in every split, separated by commas. With it, `=`, `<=>` and `IN` skip "
    "splits that do not contain the value, also in columns of ids and names, where min/max statistics do not "
    "help.",
)
BLOOM_FPP: Final = Setting(
    "spark.indextables.stats.bloom.fpp",
    probability,
    0.01,
    "Share of false positives of a Bloom filter. 0.01 takes 1.2 bytes for each distinct value, 0.0001 twice "
    "that.",
)
BLOOM_MAX_INLINE_BYTES: Final = Setting(
    "spark.indextables.stats.bloom.maxInlineBytes",
    whole,
    128,
    "Bloom filters up to this size, in bytes, are also stored in the log, where query planning uses them. Larger "
    "ones are read from the split. For each file and column the log grows by up to 4/3 of this.",
)
STATS_TRUNCATION: Final = Setting(
    "spark.indextables.stats.truncation.enabled",
    boolean,
    True,
    "Truncate long strings in min/max statistics.",
)
STATS_MAX_LENGTH: Final = Setting(
    "spark.indextables.stats.truncation.maxLength",
    positive,
    32,
    "Number of characters of a string that min/max statistics keep. A maximum that is cut is rounded up.",
)
RETRY_MAX_ATTEMPTS: Final = Setting(
    "spark.indextables.transaction.retry.maxAttempts",
    positive,
    100,
    "How many times a commit is tried against concurrent writers before it fails.",
)
RETRY_BASE_DELAY_MS: Final = Setting(
    "spark.indextables.transaction.retry.baseDelayMs",
    whole,
    10,
    "Pause before the second attempt of a commit, in milliseconds. It doubles with every attempt, with jitter.",
)
RETRY_MAX_DELAY_MS: Final = Setting(
    "spark.indextables.transaction.retry.maxDelayMs",
    whole,
    5000,
    "Maximum pause between two attempts of a commit, in milliseconds.",
)
COMPRESS_VERSION_FILES: Final = Setting(
    "spark.indextables.transaction.compression.enabled", boolean, True, "Compress version files with gzip."
)
LOG_CACHE_ENABLED: Final = Setting(
    "spark.indextables.transaction.cache.enabled",
    boolean,
    True,
    "Cache snapshots in the process, so that the next read fetches only what is new.",
)
LOG_CACHE_SECONDS: Final = Setting(
    "spark.indextables.transaction.cache.expirationSeconds",
    whole,
    300,
    "How long a snapshot stays in the cache. At every use it is compared with the store, so it is never stale.",
)
LOG_CACHE_SNAPSHOTS: Final = Setting(
    "spark.indextables.transaction.cache.maxSnapshots",
    whole,
    32,
    "Maximum number of snapshots in the cache of a process.",
)
LOG_CACHE_FILES: Final = Setting(
    "spark.indextables.transaction.cache.maxFiles",
    whole,
    200_000,
    "Maximum number of files that all snapshots in the cache of a process name together.",
)
CHECKPOINT_ENABLED: Final = Setting(
    "spark.indextables.checkpoint.enabled",
    boolean,
    True,
    "Write the state of the table after some of the commits (see `checkpoint.interval`).",
)
CHECKPOINT_INTERVAL: Final = Setting(
    "spark.indextables.checkpoint.interval",
    whole,
    10,
    "Number of versions after which a commit also writes the state of the table. 0: never.",
)
STATE_FORMAT: Final = Setting(
    "spark.indextables.state.format",
    one_of("avro", "json"),
    "avro",
    "Format of the states that are written: `avro`, or `json` for checkpoints that releases before the Avro "
    "state can read. Both are always readable. For such old releases also set `transaction.compression.enabled` "
    "to false.",
)
STATE_COMPRESSION: Final = Setting(
    "spark.indextables.state.compression",
    one_of("zstd", "snappy", "none"),
    "zstd",
    "Compression of the Avro files of a state: `zstd`, `snappy` or `none`.",
)
STATE_COMPRESSION_LEVEL: Final = Setting(
    "spark.indextables.state.compressionLevel",
    between(1, 22),
    3,
    "Compression level of zstd, from 1 (fast) to 22 (small).",
)
STATE_ENTRIES_PER_MANIFEST: Final = Setting(
    "spark.indextables.state.entriesPerManifest",
    positive,
    50_000,
    "Number of files that one manifest of a state, or one part of a JSON checkpoint, lists.",
)
STATE_READ_PARALLELISM: Final = Setting(
    "spark.indextables.state.read.parallelism",
    positive,
    8,
    "Number of manifests that are read in parallel.",
    aliases=("spark.indextables.checkpoint.parallelism",),
)
STATE_TOMBSTONE_THRESHOLD: Final = Setting(
    "spark.indextables.state.compaction.tombstoneThreshold",
    ratio,
    0.10,
    "The state is compacted when the ratio of removed files to live files is above this.",
)
STATE_MAX_MANIFESTS: Final = Setting(
    "spark.indextables.state.compaction.maxManifests",
    positive,
    20,
    "The state is compacted when it has more manifests than this.",
)
STATE_LARGE_REMOVE: Final = Setting(
    "spark.indextables.state.compaction.largeRemoveThreshold",
    whole,
    0,
    "The state is compacted when more files than this were removed since the last one. 0: never for this reason.",
)
STATE_COMPACT_AFTER_MERGE: Final = Setting(
    "spark.indextables.state.compaction.afterMerge",
    boolean,
    True,
    "Write a compacted state after splits were merged.",
)

RENORMALIZE_THRESHOLD: Final = Setting(
    "spark.indextables.state.schema.renormalizeThreshold",
    whole,
    5,
    "A checkpoint, requested or automatic, gives equal field mappings one name when the live files use more names "
    "than this.",
)
LOG_RETENTION_HOURS: Final = Setting[int | None](
    "spark.indextables.purge.txLogRetentionHours",
    hours,
    None,
    "Minimum age of a version file before clean-up deletes it, in hours. Empty: `logRetention.duration` applies.",
)
LOG_RETENTION_MS: Final = Setting(
    "spark.indextables.logRetention.duration",
    milliseconds,
    30 * 24 * HOUR_MS,
    "Minimum age of a version file before clean-up deletes it, in milliseconds (30 days). An older key: "
    "`purge.txLogRetentionHours` has precedence.",
)
STATE_RETENTION_VERSIONS: Final = Setting(
    "spark.indextables.state.retention.versions",
    positive,
    2,
    "Number of newest states that are kept at any age, the current one included.",
)
STATE_RETENTION_HOURS: Final = Setting(
    "spark.indextables.state.retention.hours",
    hours,
    168,
    "Minimum age of a state before clean-up deletes it, in hours (7 days).",
)
STATE_RETENTION_MS: Final = Setting[int | None](
    "spark.indextables.checkpointRetention.duration",
    milliseconds,
    None,
    "Minimum age of a state before clean-up deletes it, in milliseconds. An older key: `state.retention.hours` "
    "has precedence.",
)
MANIFEST_MIN_AGE_HOURS: Final = Setting(
    "spark.indextables.state.gc.minManifestAgeHours",
    hours,
    1,
    "Minimum age of a manifest that no state names before clean-up deletes it, in hours. A writer may be about "
    "to name a younger one in a new state.",
)
PURGE_RETENTION_HOURS: Final = Setting(
    "spark.indextables.purge.defaultRetentionHours",
    hours,
    168,
    "Minimum age of a split that no version names before PURGE deletes it, in hours (7 days). OLDER THAN has "
    "precedence.",
)
PURGE_MIN_RETENTION_HOURS: Final = Setting(
    "spark.indextables.purge.minRetentionHours",
    hours,
    24,
    "Minimum for the retention of a PURGE, in hours. A shorter one is an error, as it could delete splits of a "
    "writer that has yet to commit them.",
)
PURGE_RETENTION_CHECK: Final = Setting(
    "spark.indextables.purge.retentionCheckEnabled",
    boolean,
    True,
    "Enforce `purge.minRetentionHours`.",
)
PURGE_MAX_FILES: Final = Setting(
    "spark.indextables.purge.maxFilesToDelete",
    positive,
    1_000_000,
    "Maximum number of splits that one PURGE deletes. The next PURGE continues.",
)
PURGE_PARALLELISM: Final = Setting[int | None](
    "spark.indextables.purge.parallelism",
    positive,
    None,
    "Number of Spark tasks, or of threads without Spark, that delete splits. Empty: one per core of the cluster, "
    "or 16 threads.",
)
MERGE_SKIP_THRESHOLD: Final = Setting(
    "spark.indextables.merge.skipSplitThreshold",
    ratio,
    0.45,
    "MERGE SPLITS leaves splits alone that have at least this share of the target size.",
)
MERGE_DELETED_SHARE: Final = Setting(
    "spark.indextables.merge.deletedShare",
    ratio,
    0.2,
    "MERGE SPLITS also rewrites a split, whatever its size, if at least this share of its rows is deleted.",
)
MERGE_MAX_SOURCES: Final = Setting(
    "spark.indextables.merge.maxSourceSplitsPerMerge",
    between(2, 1_000_000),
    1000,
    "Maximum number of splits that MERGE SPLITS merges into one. MAX SOURCE SPLITS PER MERGE has precedence.",
)
MERGE_BATCH_SIZE: Final = Setting(
    "spark.indextables.merge.batchSize",
    positive,
    16,
    "Number of merged splits that MERGE SPLITS commits at once; on Spark, also the number of tasks of one job. If "
    "it is not set, a cluster with more cores has a task for each. A failure costs the batch in which it happens.",
)
MERGE_SKIP_HOURS: Final = Setting(
    "spark.indextables.skippedFiles.cooldownDuration",
    hours,
    24,
    "How long merges leave a split alone that one of them could not read, in hours.",
)
MERGE_SCHEMA: Final = Setting(
    "spark.indextables.write.mergeSchema",
    boolean,
    False,
    "Add the columns that the rows of an append have and the table does not have. Rows that are there already have "
    "null in them.",
)
MERGE_ON_WRITE: Final = Setting(
    "spark.indextables.mergeOnWrite.enabled",
    boolean,
    True,
    "Merge small splits in the background after a write, when a partition has too many of them.",
)
MERGE_ON_WRITE_ASYNC: Final = Setting(
    "spark.indextables.mergeOnWrite.async.enabled",
    boolean,
    True,
    "Merge and purge automatically in a thread of their own. false: before the write returns, after its commit; a "
    "failure is still not one of the write.",
)
MERGE_ON_WRITE_SPLITS: Final = Setting(
    "spark.indextables.mergeOnWrite.minSplits",
    between(2, 1_000_000),
    32,
    "Number of small splits of one partition after which they are merged automatically. A split is small below "
    "`merge.skipSplitThreshold` of `mergeOnWrite.targetSize`.",
)
MERGE_ON_WRITE_TARGET: Final = Setting(
    "spark.indextables.mergeOnWrite.targetSize",
    size_from(1 << 20),
    4 << 30,
    "Size of the splits that automatic merges aim at.",
)
MERGE_ON_WRITE_EXIT_MS: Final = Setting(
    "spark.indextables.mergeOnWrite.shutdownTimeoutMs",
    whole,
    300_000,
    "How long the end of a Python process waits for automatic merges and purges that are running, in milliseconds. In "
    "Spark, the end of the session ends them.",
)
PURGE_ON_WRITE: Final = Setting(
    "spark.indextables.purgeOnWrite.enabled",
    boolean,
    False,
    "Purge automatically in the background after writes (see `purgeOnWrite.triggerAfterMerge`).",
)
PURGE_AFTER_MERGE: Final = Setting(
    "spark.indextables.purgeOnWrite.triggerAfterMerge",
    boolean,
    True,
    "Purge after an automatic merge, if the last one was an eighth of the shorter retention ago, and an hour at least.",
)
PURGE_AFTER_WRITES: Final = Setting(
    "spark.indextables.purgeOnWrite.triggerAfterWrites",
    whole,
    0,
    "Purge after every so many versions of the table. 0: not for this reason.",
)
PURGE_ON_WRITE_HOURS: Final = Setting(
    "spark.indextables.purgeOnWrite.splitRetentionHours",
    hours,
    168,
    "Minimum age of a split that no version names before an automatic purge deletes it, in hours (7 days). "
    "`purge.minRetentionHours` applies.",
)
PURGE_ON_WRITE_LOG_HOURS: Final = Setting(
    "spark.indextables.purgeOnWrite.txLogRetentionHours",
    hours,
    720,
    "Minimum age of a version file or state before an automatic purge deletes it, in hours (30 days).",
)
CLEANUP_FAILURE_POLICY: Final = Setting(
    "spark.indextables.cleanup.failurePolicy",
    one_of("continue", "stop"),
    "continue",
    "What happens if a file cannot be deleted: `continue` reports it and goes on, `stop` raises an error.",
)
CLEANUP_DRY_RUN: Final = Setting(
    "spark.indextables.cleanup.dryRun",
    boolean,
    False,
    "PURGE, TRUNCATE TIME TRAVEL, the clean-up of version files and the clean-up after a checkpoint report what "
    "they would delete, and delete nothing.",
)

TYPEMAP: Final = Family(
    "spark.indextables.indexing.typemap.",
    "How a column of strings, an array of strings or a string in a struct (`typemap.user.bio`) is indexed: `text` "
    "(tokenised, for TEXTSEARCH), `string` (exact, the default) or `ip` (addresses, for networks and ranges); `json` "
    "is taken as `string`. Also `typemap.text = message,title`, with the names of columns as the value.",
    substitutes=frozenset({"json"}),
    substitution="JSON has no index of its own; the column is indexed as `string`, by exact value",
)
TOKENIZER: Final = Family(
    "spark.indextables.indexing.tokenizer.",
    "How a text column is split into words: `default`, `simple`, `whitespace`, `code`, `ngram` (`ngram2` to `ngram5`), "
    "`en_stem` and other languages, or `raw` for one exact value. Also `tokenizer.en_stem = message,title`.",
)
STOP_WORDS: Final = Family(
    "spark.indextables.indexing.stopwords.",
    "Words that a text column does not index: a language, such as `en`, or words separated by commas.",
)
ASCII_FOLDING: Final = Family(
    "spark.indextables.indexing.asciifolding.",
    "`true`: letters of a text column lose their accents, in the index and in queries.",
)
TOKEN_LENGTH: Final = Family(
    "spark.indextables.indexing.tokenLength.",
    "The most bytes of a word of a text column: longer ones are not indexed and cannot be found. A number, "
    "`legacy` (39), `default` (255) or `tantivy_max` (no limit). Also `tokenLength.255 = message,title`.",
)
RECORD_OPTION: Final = Family(
    "spark.indextables.indexing.indexrecordoption.",
    "What the index records of a word of a text column: `position` (the default; phrases need it), `freq` or `basic`, "
    "which are smaller. Also `indexrecordoption.basic = message,title`.",
)
TEXT_TOKEN_LENGTH: Final = Setting(
    "spark.indextables.indexing.text.maxTokenLength",
    text,
    "",
    "`tokenLength` of the text columns that have none of their own. Empty: words of any length are indexed.",
)
TEXT_RECORD_OPTION: Final = Setting(
    "spark.indextables.indexing.text.indexRecordOption",
    text,
    "",
    "`indexrecordoption` of the text columns that have none of their own. Empty: `position`.",
)
STORE_ONLY_FIELDS: Final = Setting[tuple[str, ...]](
    "spark.indextables.indexing.storeonlyfields",
    names,
    (),
    "Columns that are stored and not indexed, separated by commas. They can be selected and compared, which reads "
    "their rows, and not searched.",
)
NON_FAST_FIELDS: Final = Setting[tuple[str, ...]](
    "spark.indextables.indexing.nonfastfields",
    names,
    (),
    "Columns of numbers, dates, timestamps and booleans that the index does not have, separated by commas: the "
    "split is smaller, conditions on them read their rows, and searches cannot name them. A string column has no fast "
    "field: it is searched by its terms, and named here it stays as it is.",
)
FAST_FIELDS: Final = Setting[tuple[str, ...]](
    "spark.indextables.indexing.fastfields",
    names,
    (),
    "Columns of numbers, dates, timestamps and booleans that have a fast field although `nonfastfields` names them, "
    "separated by commas: for one table, where a session sets `nonfastfields` for all. Others have one by default. "
    "Columns that the table does not have are ignored. A string column has none: grouping reads its stored values.",
)
AWS: Final = Family(
    "spark.indextables.aws.",
    "accessKey, secretKey, sessionToken, region, endpoint, forcePathStyle (or pathStyleAccess): access to S3.",
    shown=frozenset({"region", "endpoint", "forcepathstyle", "pathstyleaccess"}),
    members=frozenset(
        {"accesskey", "secretkey", "sessiontoken", "region", "endpoint", "forcepathstyle", "pathstyleaccess"}
    ),
)
S3: Final = Family(
    "spark.indextables.s3.",
    "endpoint (or serviceUrl), pathStyleAccess, region: other names of endpoint, forcePathStyle and region in `aws.`.",
    members=frozenset({"endpoint", "serviceurl", "pathstyleaccess", "region"}),
)
AZURE: Final = Family(
    "spark.indextables.azure.",
    "accountName, accountKey, sasToken, connectionString, endpoint, tenantId, clientId, clientSecret, bearerToken: "
    "access to Azure.",
    shown=frozenset({"accountname", "endpoint", "tenantid", "clientid"}),
    members=frozenset(
        {
            "accountname",
            "accountkey",
            "sastoken",
            "connectionstring",
            "endpoint",
            "tenantid",
            "clientid",
            "clientsecret",
            "bearertoken",
        }
    ),
)

TABLE_PROPERTIES: Final[tuple[Setting[Any], ...]] = (
    STATS_COLUMNS,
    STATS_COLUMNS_COUNT,
    STATS_TRUNCATION,
    STATS_MAX_LENGTH,
    BLOOM_COLUMNS,
    BLOOM_FPP,
    BLOOM_MAX_INLINE_BYTES,
)
"""A write that creates or overwrites a table stores these with it. Later writes use them, unless they set their own."""

ALL: Final[tuple[Setting[Any], ...]] = tuple(v for v in list(globals().values()) if isinstance(v, Setting))
BY_NAME: Final[dict[str, Setting[Any]]] = {
    name.lower(): setting for setting in ALL for name in (setting.key, *setting.aliases)
}
FAMILIES: Final[tuple[Family, ...]] = tuple(v for v in list(globals().values()) if isinstance(v, Family))

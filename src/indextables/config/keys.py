"""The table of settings. A key that is not here does not exist; one that is here is read by something, or `UNREAD`."""

from __future__ import annotations

from typing import Any, Final

from indextables.config.definitions import Family, Setting, Unread
from indextables.config.durations import hours, milliseconds
from indextables.config.parsers import (
    between,
    boolean,
    local_path,
    names,
    one_of,
    positive,
    positive_size,
    probability,
    ratio,
    text,
    whole,
    whole_or_all,
)

TARGET_SPLIT_SIZE: Final = Setting(
    "spark.indextables.write.targetSplitSize",
    positive_size,
    256 << 20,
    "A split is closed and the next one begun when it has taken in about this many bytes of rows.",
    aliases=("spark.indextables.write.optimizeWrite.targetSplitSize",),
)
HEAP_SIZE: Final = Setting(
    "spark.indextables.indexWriter.heapSize",
    positive_size,
    512 << 20,
    "Memory an index writer may fill before it flushes a segment to local disk. At least 15M.",
)
ROW_GROUP_ROWS: Final = Setting(
    "spark.indextables.write.rowGroupRows",
    positive,
    65536,
    "Rows in one Parquet row group of a split. A search fetches single pages of it, a filter skips whole ones.",
)
ROW_COMPRESSION: Final = Setting(
    "spark.indextables.write.compression",
    one_of("lz4", "zstd", "snappy", "none"),
    "lz4",
    "How the rows in a split are compressed: `lz4` (as large as Parquet by Spark, fastest to read), `zstd` (a third "
    "smaller, twice the time), `snappy` or `none`.",
)
COLUMN_GROUPS: Final = Setting(
    "spark.indextables.columns.groups",
    text,
    "",
    "Columns that a split stores in files of their own, such as wide texts, as in `body; image, thumbnail`: groups are "
    "separated by semicolons, the columns of a group by commas. All other columns stay together.",
)
TEMP_DIRECTORY: Final = Setting(
    "spark.indextables.indexWriter.tempDirectoryPath",
    local_path,
    "",
    "Where splits are built before they are uploaded; empty means the system's temporary directory.",
)
CACHE_DIRECTORY: Final = Setting(
    "spark.indextables.cache.directoryPath",
    local_path,
    "",
    "Where the index part of splits is kept for the next search; empty means below XDG_CACHE_HOME or ~/.cache, or, "
    "without a home, the temporary directory. In a directory that others may write to, a private one is made.",
)
CACHE_MAX_SIZE: Final = Setting(
    "spark.indextables.cache.disk.maxSize",
    positive_size,
    20 << 30,
    "The index cache drops its least recently used splits above this size.",
)
ANSWER_MAX_ROWS: Final = Setting(
    "spark.indextables.read.answerOnDriver.maxRows",
    whole,
    2000,
    "A query that finds at most so many rows, in splits on the driver's own disk whose indexes are at hand, is "
    "answered while Spark plans it, without a task; `0` leaves every query to tasks.",
)
INDEX_ALL_MAX_FIELDS: Final = Setting(
    "spark.indextables.indexquery.indexall.maxUnqualifiedFields",
    whole,
    10,
    "A search over all columns ('* TEXTSEARCH ...') of a table with more searchable ones is refused; 0 = no limit.",
)
QUERY_MAX_LENGTH: Final = Setting(
    "spark.indextables.query.maxLength",
    positive,
    262_144,
    "How many characters a search query, or a condition in `where=`, may have.",
)
QUERY_MAX_TERMS: Final = Setting(
    "spark.indextables.query.maxTerms",
    positive,
    10_000,
    "How many words, phrases, ranges and values a search query, or a condition in `where=`, may have.",
)
QUERY_MAX_PATTERNS: Final = Setting(
    "spark.indextables.query.maxPatterns",
    positive,
    100,
    "How many words with wildcards, fuzzy words and unfinished phrases a search query may have: each one is compared "
    "with the vocabulary of every split.",
)
QUERY_MAX_DEPTH: Final = Setting(
    "spark.indextables.query.maxDepth",
    positive,
    40,
    "How deep parentheses and NOTs may be nested in a search query or a condition in `where=`.",
)
STATS_COLUMNS_COUNT: Final = Setting(
    "spark.indextables.dataSkippingNumIndexedCols",
    whole_or_all,
    32,
    "How many leading columns get min/max statistics; -1 = all, 0 = none.",
)
STATS_COLUMNS: Final = Setting[tuple[str, ...]](
    "spark.indextables.dataSkippingStatsColumns",
    names,
    (),
    "The columns that get min/max statistics, separated by commas, whatever `dataSkippingNumIndexedCols` says.",
)
BLOOM_COLUMNS: Final = Setting[tuple[str, ...]](
    "spark.indextables.stats.bloom.columns",
    names,
    (),
    "The columns that get a Bloom filter in every split, separated by commas: `=`, `<=>` and `IN` then skip splits "
    "that lack the value, which min/max cannot tell for ids and names.",
)
BLOOM_FPP: Final = Setting(
    "spark.indextables.stats.bloom.fpp",
    probability,
    0.01,
    "How often a Bloom filter may be wrong: 0.01 takes 1.2 bytes for each distinct value, 0.0001 twice that.",
)
BLOOM_MAX_INLINE_BYTES: Final = Setting(
    "spark.indextables.stats.bloom.maxInlineBytes",
    whole,
    128,
    "A Bloom filter up to this size, in bytes, is also in the log, where planning sees it; larger ones are read from "
    "the split, before anything else of it. The log grows by a third more than this for each file and column.",
)
STATS_TRUNCATION: Final = Setting(
    "spark.indextables.stats.truncation.enabled", boolean, True, "Cut long strings in min/max statistics."
)
STATS_MAX_LENGTH: Final = Setting(
    "spark.indextables.stats.truncation.maxLength",
    positive,
    32,
    "How many characters of a string a min/max statistic keeps; a cut maximum is rounded up.",
)
RETRY_MAX_ATTEMPTS: Final = Setting(
    "spark.indextables.transaction.retry.maxAttempts",
    positive,
    100,
    "How often a commit is tried against concurrent writers before it gives up.",
)
RETRY_BASE_DELAY_MS: Final = Setting(
    "spark.indextables.transaction.retry.baseDelayMs",
    whole,
    10,
    "The first pause after a lost race, in milliseconds; it doubles, with jitter.",
)
RETRY_MAX_DELAY_MS: Final = Setting(
    "spark.indextables.transaction.retry.maxDelayMs",
    whole,
    5000,
    "The longest pause between two tries of a commit, in milliseconds.",
)
COMPRESS_VERSION_FILES: Final = Setting(
    "spark.indextables.transaction.compression.enabled", boolean, True, "Write version files as gzip."
)
LOG_CACHE_ENABLED: Final = Setting(
    "spark.indextables.transaction.cache.enabled",
    boolean,
    True,
    "Keep the snapshots that a process has read, so that it next reads only what is new.",
)
LOG_CACHE_SECONDS: Final = Setting(
    "spark.indextables.transaction.cache.expirationSeconds",
    whole,
    300,
    "How long a snapshot is kept. A kept one is compared with the store whenever it is used, so it is never stale.",
)
LOG_CACHE_SNAPSHOTS: Final = Setting(
    "spark.indextables.transaction.cache.maxSnapshots",
    whole,
    32,
    "How many snapshots a process keeps.",
)
LOG_CACHE_FILES: Final = Setting(
    "spark.indextables.transaction.cache.maxFiles",
    whole,
    200_000,
    "How many files the snapshots that a process keeps may name, all together.",
)
CHECKPOINT_ENABLED: Final = Setting(
    "spark.indextables.checkpoint.enabled",
    boolean,
    True,
    "Write the table's state now and then, after a commit.",
)
CHECKPOINT_INTERVAL: Final = Setting(
    "spark.indextables.checkpoint.interval",
    positive,
    10,
    "How many versions lie between two states that commits write by themselves.",
)
STATE_FORMAT: Final = Setting(
    "spark.indextables.state.format",
    one_of("avro", "json"),
    "avro",
    "What states are written as: `avro`, or `json` for checkpoints that releases before the Avro state read. "
    "Both are read, whatever this says; for such releases turn `transaction.compression.enabled` off too.",
)
STATE_COMPRESSION: Final = Setting(
    "spark.indextables.state.compression",
    one_of("zstd", "snappy", "none"),
    "zstd",
    "How the Avro files of the state are compressed: `zstd`, `snappy` or `none`.",
)
STATE_COMPRESSION_LEVEL: Final = Setting(
    "spark.indextables.state.compressionLevel",
    between(1, 22),
    3,
    "The level of zstd, 1 (fast) to 22 (small).",
)
STATE_ENTRIES_PER_MANIFEST: Final = Setting(
    "spark.indextables.state.entriesPerManifest",
    positive,
    50_000,
    "How many files one manifest of the state, or one part of a JSON checkpoint, lists.",
)
STATE_READ_PARALLELISM: Final = Setting(
    "spark.indextables.state.read.parallelism",
    positive,
    8,
    "How many manifests are read at a time.",
    aliases=("spark.indextables.checkpoint.parallelism",),
)
STATE_TOMBSTONE_THRESHOLD: Final = Setting(
    "spark.indextables.state.compaction.tombstoneThreshold",
    ratio,
    0.10,
    "The state is compacted when removed files are more than this part of the live ones.",
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
    "The state is compacted when more files than this were removed since the last one; 0 = never for that.",
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
    "A checkpoint gives each field mapping one name when the live files use more names than this.",
)
LOG_RETENTION_HOURS: Final = Setting[int | None](
    "spark.indextables.purge.txLogRetentionHours",
    hours,
    None,
    "How old a version file must be before clean-up deletes it, in hours; empty = `logRetention.duration` decides.",
)
LOG_RETENTION_MS: Final = Setting(
    "spark.indextables.logRetention.duration",
    milliseconds,
    30 * 24 * 3_600_000,
    "The older way to say the same, in milliseconds (30 days).",
)
STATE_RETENTION_VERSIONS: Final = Setting(
    "spark.indextables.state.retention.versions",
    positive,
    2,
    "How many of the newest states are kept whatever their age, the current one among them.",
)
STATE_RETENTION_HOURS: Final = Setting(
    "spark.indextables.state.retention.hours",
    hours,
    168,
    "How old a state must be before it is deleted, in hours (7 days).",
)
STATE_RETENTION_MS: Final = Setting[int | None](
    "spark.indextables.checkpointRetention.duration",
    milliseconds,
    None,
    "The older way to say the same, in milliseconds; read where `state.retention.hours` is not set.",
)
MANIFEST_MIN_AGE_HOURS: Final = Setting(
    "spark.indextables.state.gc.minManifestAgeHours",
    hours,
    1,
    "How old a manifest that no state names must be before it is deleted: a state that is being written may name it.",
)
PURGE_RETENTION_HOURS: Final = Setting(
    "spark.indextables.purge.defaultRetentionHours",
    hours,
    168,
    "How old a split that no version names must be before PURGE deletes it, in hours (7 days); OLDER THAN overrides.",
)
PURGE_MIN_RETENTION_HOURS: Final = Setting(
    "spark.indextables.purge.minRetentionHours",
    hours,
    24,
    "PURGE refuses to delete splits younger than this: a write that is under way may still commit them.",
)
PURGE_RETENTION_CHECK: Final = Setting(
    "spark.indextables.purge.retentionCheckEnabled",
    boolean,
    True,
    "Whether that minimum holds.",
)
PURGE_MAX_FILES: Final = Setting(
    "spark.indextables.purge.maxFilesToDelete",
    positive,
    1_000_000,
    "How many splits one PURGE deletes at most; the next one goes on.",
)
PURGE_PARALLELISM: Final = Setting[int | None](
    "spark.indextables.purge.parallelism",
    positive,
    None,
    "How many tasks of Spark, or without Spark threads, delete splits; empty = as many as there are cores, or 16.",
)
CLEANUP_FAILURE_POLICY: Final = Setting(
    "spark.indextables.cleanup.failurePolicy",
    one_of("continue", "stop"),
    "continue",
    "When a file cannot be deleted: `continue` reports it and leaves the rest for another time, `stop` is an error.",
)
CLEANUP_DRY_RUN: Final = Setting(
    "spark.indextables.cleanup.dryRun",
    boolean,
    False,
    "PURGE, TRUNCATE TIME TRAVEL, clean-up of version files and the clean-up after a checkpoint say what they would "
    "delete, and delete nothing.",
)

TYPEMAP: Final = Family(
    "spark.indextables.indexing.typemap.",
    "How a string column is indexed: `text` (tokenised, for TEXTSEARCH) or `string` (exact, the default).",
)
AWS: Final = Family(
    "spark.indextables.aws.",
    "accessKey, secretKey, sessionToken, region, endpoint, forcePathStyle: S3, where the environment does not say.",
    shown=frozenset({"region", "endpoint", "forcepathstyle"}),
    members=frozenset({"accesskey", "secretkey", "sessiontoken", "region", "endpoint", "forcepathstyle"}),
)
S3: Final = Family(
    "spark.indextables.s3.",
    "endpoint, pathStyleAccess, region: other names of endpoint, forcePathStyle and region of S3.",
    members=frozenset({"endpoint", "pathstyleaccess", "region"}),
)
AZURE: Final = Family(
    "spark.indextables.azure.",
    "accountName, accountKey, sasToken, connectionString, endpoint, tenantId, clientId, clientSecret, bearerToken: "
    "Azure, likewise.",
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

UNREAD: Final = (
    Unread("spark.indextables.mergeOnWrite.", "splits are not merged yet"),
    Unread("spark.indextables.purgeOnWrite.", "nothing is purged by itself: run PURGE INDEXTABLE"),
    Unread(
        "spark.indextables.state.retry.maxAttempts",
        "a state that cannot be written is left to the next checkpoint",
    ),
    Unread(
        "spark.indextables.state.retry.baseDelayMs",
        "a state that cannot be written is left to the next checkpoint",
    ),
    Unread(
        "spark.indextables.state.retry.maxDelayMs",
        "a state that cannot be written is left to the next checkpoint",
    ),
    Unread(
        "spark.indextables.checkpoint.read.timeoutSeconds", "reads end by the time-outs of the store's client"
    ),
)
"""Keys of the format's descriptions that are accepted and have no effect yet."""

TABLE_PROPERTIES: Final[tuple[Setting[Any], ...]] = (
    STATS_COLUMNS,
    STATS_COLUMNS_COUNT,
    STATS_TRUNCATION,
    STATS_MAX_LENGTH,
    BLOOM_COLUMNS,
    BLOOM_FPP,
    BLOOM_MAX_INLINE_BYTES,
)
"""Set by a write that makes or overwrites a table, these are the table's, and hold for later writes that are silent."""

ALL: Final[tuple[Setting[Any], ...]] = tuple(v for v in list(globals().values()) if isinstance(v, Setting))
BY_NAME: Final[dict[str, Setting[Any]]] = {
    name.lower(): setting for setting in ALL for name in (setting.key, *setting.aliases)
}
FAMILIES: Final[tuple[Family, ...]] = tuple(v for v in list(globals().values()) if isinstance(v, Family))

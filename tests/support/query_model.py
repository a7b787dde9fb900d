"""Random queries with their meaning: each is drawn as text together with a function that decides it for a row.

The functions are written from `docs/query-language.md` alone. They share no code with the package: they have their own
tokenizer, edit distance, phrase search and three-valued logic. There is no parser: a query is drawn with its meaning.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import cache, partial
from ipaddress import ip_address, ip_network
from itertools import product
from typing import Any, Literal

import pyarrow as pa

Row = dict[str, Any]
Kind = Literal[
    "text",
    "texts",
    "string",
    "strings",
    "integer",
    "integers",
    "double",
    "single",
    "boolean",
    "date",
    "timestamp",
    "local",
    "decimal",
    "wide",
    "ip",
    "entry",
]
"""The type of a column. The plurals are arrays, and an entry is the value of one key of a map."""

COLUMNS: dict[str, Kind] = {
    "message": "text",
    "title": "text",
    "host": "string",
    "path": "string",
    "n": "integer",
    "f": "double",
    "b": "boolean",
    "d": "date",
    "ts": "timestamp",
    "local": "local",
    "price": "decimal",
    "total": "wide",
    "client": "ip",
    "ratio": "single",
    "tags": "strings",
    "notes": "texts",
    "nums": "integers",
    "user.name": "string",
    "user.age": "integer",
    "attrs.color": "entry",
}
"""The columns, the fields of the struct `user`, and a key of the map `attrs`. A row has the values by these names."""

TEXT_KINDS = ("text", "texts")
WORD_KINDS = (*TEXT_KINDS, "string", "strings")
ARRAYS = ("texts", "strings", "integers")


def of_kinds(*kinds: str) -> list[str]:
    return [name for name, kind in COLUMNS.items() if kind in kinds]


NOW = datetime(2024, 3, 31, 1, 30, tzinfo=UTC)
"""The time of the rows and, for the table under test, of the query."""


def _utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


DATES: list[tuple[str, Any, Any]] = [
    ("now", date(2024, 3, 31), date(2024, 3, 31)),
    ("now-1M", date(2024, 2, 29), date(2024, 2, 29)),
    ("now/M", date(2024, 3, 1), date(2024, 3, 31)),
    ("now/w", date(2024, 3, 25), date(2024, 3, 31)),
    ("now-10d/w", date(2024, 3, 18), date(2024, 3, 24)),
    ("2024-02", date(2024, 2, 1), date(2024, 2, 29)),
    ("2024", date(2024, 1, 1), date(2024, 12, 31)),
    ("2024-01-31||+1M", date(2024, 2, 29), date(2024, 2, 29)),
    ("2024-01-31||+1M+1d/M", date(2024, 3, 1), date(2024, 3, 31)),
]
TIMES: list[tuple[str, Any, Any]] = [
    ("now", NOW, NOW),
    ("now-1h", _utc("2024-03-31T00:30"), _utc("2024-03-31T00:30")),
    ("now-36h", _utc("2024-03-29T13:30"), _utc("2024-03-29T13:30")),
    ("now+90m", _utc("2024-03-31T03:00"), _utc("2024-03-31T03:00")),
    ("now/h", _utc("2024-03-31T01:00"), _utc("2024-03-31T01:59:59.999999")),
    ("now/d", _utc("2024-03-31"), _utc("2024-03-31T23:59:59.999999")),
    ("now-1d/d", _utc("2024-03-30"), _utc("2024-03-30T23:59:59.999999")),
    ("now/w+1d", _utc("2024-03-26"), _utc("2024-03-26")),
    ("2024-03-30", _utc("2024-03-30"), _utc("2024-03-30T23:59:59.999999")),
    ("2024-03-30T12", _utc("2024-03-30T12:00"), _utc("2024-03-30T12:59:59.999999")),
    ('"2024-03-31 01:30"', _utc("2024-03-31T01:30"), _utc("2024-03-31T01:30:59.999999")),
    ("2024-04", _utc("2024-04-01"), _utc("2024-04-30T23:59:59.999999")),
    ("2024-03-30||+12h", _utc("2024-03-30T12:00"), _utc("2024-03-30T12:00")),
    ("2024-03-30||/M", _utc("2024-03-01"), _utc("2024-03-31T23:59:59.999999")),
]
"""Spellings of dates and times, with the first and last value that each denotes."""

WORDS = [
    "alpha",
    "alpine",
    "beta",
    "Beta",
    "gamma",
    "gama",
    "web",
    "wob",
    "conn1",
    "conn22",
    "Ärger",
    "漢字",
    "x",
    "500",
    "running",
    "runs",
    "parseHTTPHeader",
]
LATIN = [word for word in WORDS if word.isascii() or word == "Ärger"]
HOSTS = [
    "web-1",
    "web-2",
    "WEB-1",
    "db primary",
    "alpha",
    "alpha beta",
    "a.b",
    "",
    "x/y",
    "conn1",
    r"C:\temp\x",
    "500",
]
ADDRESSES = [
    "10.0.0.1",
    "10.0.0.7",
    "10.1.2.3",
    "10.200.0.1",
    "192.168.1.9",
    "::ffff:10.0.0.1",
    "2001:db8::5",
    "::1",
]
NETWORKS = [
    "10.0.0.0/8",
    "10.0.0.0/29",
    "10.1.0.0/16",
    "0.0.0.0/0",
    "2001:db8::/32",
    "::/0",
    "192.168.1.9/32",
]
COLORS = ["red", "blue", ""]
RATIOS = {str(tenth / 10): pa.scalar(tenth / 10, pa.float32()).as_py() for tenth in range(-9, 20)}
"""Numbers as they are written, and as a column of 32-bit floats has them."""

MARKS = [" ", " ", " ", "-", ", ", "/", "_", " -> "]


def draw_rows(rng: random.Random, count: int) -> list[Row]:
    """Return rows in which every column is sometimes null, and a few words are longer than the index can hold."""

    def text() -> str:
        parts = [rng.choice(WORDS) + rng.choice(MARKS) for _ in range(rng.randrange(0, 7))]
        return "".join(parts)

    makers: dict[str, Callable[[], Any]] = {
        "message": text,
        "title": text,
        "host": lambda: rng.choice(HOSTS),
        "path": lambda: rng.choice(HOSTS) + rng.choice(["", "z", "-1"]),
        "n": lambda: rng.randrange(-5, 12),
        "f": lambda: rng.randrange(-8, 20) / 4,
        "b": lambda: rng.random() < 0.5,
        "d": lambda: NOW.date() + timedelta(days=rng.randrange(-70, 40)),
        "ts": lambda: NOW + timedelta(minutes=30 * rng.randrange(-120, 120)),
        "local": lambda: (NOW + timedelta(minutes=30 * rng.randrange(-120, 120))).replace(tzinfo=None),
        "price": lambda: Decimal(rng.randrange(-500, 1000)) / 100,
        "total": lambda: Decimal(rng.randrange(-3, 4)) * 10**20 + rng.randrange(3),
        "client": lambda: rng.choice(ADDRESSES),
        "ratio": lambda: rng.choice([*RATIOS.values()]),
        "tags": lambda: [rng.choice([*HOSTS, None]) for _ in range(rng.randrange(0, 4))],
        "notes": lambda: [rng.choice([text(), None]) for _ in range(rng.randrange(0, 4))],
        "nums": lambda: [rng.choice([*range(-5, 12), None]) for _ in range(rng.randrange(0, 3))],
        "user.name": lambda: rng.choice(HOSTS),
        "user.age": lambda: rng.randrange(-5, 12),
        "attrs.color": lambda: rng.choice(COLORS),
    }
    rows = [
        {name: None if rng.random() < 0.15 else make() for name, make in makers.items()} for _ in range(count)
    ]
    for name in ("message", "host"):
        rng.choice(rows)[name] = "alpha" + "w" * 70_000 + (" beta" if name == "message" else "")
    return rows


def as_arrow(rows: list[Row], first_id: int) -> pa.Table:
    types: dict[Kind, pa.DataType] = {
        "text": pa.string(),
        "string": pa.string(),
        "integer": pa.int32(),
        "double": pa.float64(),
        "boolean": pa.bool_(),
        "date": pa.date32(),
        "timestamp": pa.timestamp("us", "UTC"),
        "local": pa.timestamp("us"),
        "decimal": pa.decimal128(8, 2),
        "wide": pa.decimal128(30, 0),
        "ip": pa.string(),
        "single": pa.float32(),
        "strings": pa.list_(pa.string()),
        "texts": pa.list_(pa.string()),
        "integers": pa.list_(pa.int32()),
    }
    columns = {
        name: pa.array([row[name] for row in rows], types[kind])
        for name, kind in COLUMNS.items()
        if "." not in name
    }
    users = [{"name": row["user.name"], "age": row["user.age"]} for row in rows]
    none = {"name": None, "age": None}
    user = pa.struct({"name": pa.string(), "age": pa.int32()})
    columns["user"] = pa.array([None if given == none else given for given in users], user)
    attrs = [{"color": row["attrs.color"], "size": "9"} for row in rows]
    columns["attrs"] = pa.array([list(given.items()) for given in attrs], pa.map_(pa.string(), pa.string()))
    return pa.table({"id": pa.array(range(first_id, first_id + len(rows)), pa.int64()), **columns})


# --- what a leaf means ------------------------------------------------------------------------------------------


TOKENIZERS: dict[str, str] = {}
"""The tokenizer of the text columns, where it is not the default: see `set_tokenizers`."""

OPTIONS: dict[str, dict[str, str]] = {
    "whitespace": {"tokenizer": "whitespace"},
    "simple": {"tokenizer": "simple"},
    "code": {"tokenizer": "code"},
    "ngram": {"tokenizer": "ngram"},
    "ngram2": {"tokenizer": "ngram2"},
    "german": {"tokenizer": "de_stem"},
    "basic": {"tokenizer": "simple", "indexrecordoption": "basic"},
    "raw": {"tokenizer": "raw"},
    "stems": {"tokenizer": "en_stem", "stopwords": "web,x", "asciifolding": "true", "tokenLength": "100"},
}
"""The options of a column for each tokenizer of this model."""

GRAMS = {"ngram": 3, "ngram2": 2}


def set_tokenizers(message: str, title: str) -> None:
    """Set the tokenizers of the table that is queried. With the tokenizer `raw`, a column has strings."""
    TOKENIZERS.clear()
    for name, used in (("message", message), ("title", title)):
        COLUMNS[name] = "string" if used == "raw" else "text"
        if used != "raw":
            TOKENIZERS[name] = used


PLAIN = ["alpha", "alpine", "beta", "gamma", "gama", "wob"]
"""Words that every tokenizer leaves whole, for operators that compare single words."""

STEMS = {"alpine": "alpin", "running": "run", "runs": "run", "nothing": "noth", "primary": "primari"}
GERMAN = {"alpine": "alpin", "runs": "run", "ärger": "arg", "parsehttpheader": "parsehttphead"}


@cache
def split_words(text: str, name: str = "default") -> tuple[str | None, ...]:
    """Return the words of a text at their positions, and None for one that is not indexed."""
    if name == "whitespace":
        return tuple(text.split())
    runs = re.findall(r"[^\W_]+", text)
    match name:
        case "code":
            humps = [part for run in runs for part in re.findall(r"\d+|[^\W\d_]+", run)]
            parts = [p for hump in humps for p in re.findall(r"[A-ZÄ]+(?![a-zä])|[A-ZÄ]?[^A-ZÄ]+", hump)]
            return tuple(part.lower() for part in parts)
        case "german":
            return tuple(GERMAN.get(run.lower(), run.lower()) for run in runs)
        case "stems":
            words = [run.lower().replace("ä", "a") for run in runs]
            return tuple(None if w in ("web", "x") or len(w) > 100 else STEMS.get(w, w) for w in words)
        case "simple" | "basic" | "ngram" | "ngram2":
            return tuple(run.lower() for run in runs)
        case _:
            single = [part for run in runs for part in re.findall(r"[\u3400-\u9fff]|[^\u3400-\u9fff]+", run)]
            return tuple(part.lower() for part in single)


Placed = list[tuple[int, str]]


def placed(row: Row, column: str) -> Placed:
    """Return what a column of words or strings can match, with its position: its words, or its one value."""
    words: Placed = []
    for value in values_of(row, column):
        start = 1 + max(at for at, _ in words) + 1 if words and COLUMNS[column] == "texts" else 0
        words += [(start + at, word) for at, word in sought(value, column)]
    return words


def has_value(row: Row, column: str) -> bool:
    """Return what `column:*` means: an array has an element, and one of texts a word."""
    return bool(placed(row, column) if COLUMNS[column] == "texts" else values_of(row, column))


def values_of(row: Row, column: str) -> list[Any]:
    """Return the values of a column in a row: none if it is null, and those of an array that are not null."""
    value = row[column]
    if COLUMNS[column] in ARRAYS:
        return [element for element in value or () if element is not None]
    return [] if value is None else [value]


def terms_of(row: Row, column: str) -> list[str]:
    return [term for _, term in placed(row, column)]


def sought(text: str, column: str) -> Placed:
    """Return a text of a query as a column has it: words, or one value."""
    if COLUMNS[column] not in TEXT_KINDS:
        return [(0, text)]
    words = split_words(text, TOKENIZERS.get(column, "default"))
    return [(at, word) for at, word in enumerate(words) if word is not None]


def folded(text: str, column: str) -> str:
    """Return a pattern in the case of the words of a column."""
    is_lower = COLUMNS[column] in TEXT_KINDS and TOKENIZERS.get(column) != "whitespace"
    return text.lower() if is_lower else text


def has_text(row: Row, column: str, text: str, slop: int = 0, *, prefix: bool = False) -> bool:
    """Return True if a row has the words of a text next to each other, or the text as one value."""
    words = sought(text, column)
    if TOKENIZERS.get(column) in GRAMS:
        return has_runs([word for _, word in words], terms_of(row, column), GRAMS[TOKENIZERS[column]])
    tests: list[tuple[int, Callable[[str], bool]]] = [(at, word.__eq__) for at, word in words]
    if prefix and words:
        at, last = words[-1]
        tests[-1] = (at, lambda term: term.startswith(last))
    return phrase_in(tests, placed(row, column), slop)


def has_runs(wanted: list[str], words: list[str], size: int) -> bool:
    """Return True if a word has the one run, or words next to each other begin, are and end with several.

    A run that is shorter than the runs of the index is a whole word.
    """

    def fits(at: int, word: str) -> bool:
        run, is_first, is_last = wanted[at], at == 0, at == len(wanted) - 1
        if len(run) < size or not (is_first or is_last):
            return run == word
        if is_first and is_last:
            return run in word
        return word.endswith(run) if is_first else word.startswith(run)

    return bool(wanted) and any(
        all(fits(at, words[start + at]) for at in range(len(wanted)))
        for start in range(len(words) - len(wanted) + 1)
    )


@cache
def edits(a: str, b: str, most: int) -> bool:
    """Return True if `b` is at most `most` insertions, deletions, changes and swaps of neighbours away from `a`."""
    if abs(len(a) - len(b)) > most:
        return False
    if not a or not b:
        return True
    if a[0] == b[0] and edits(a[1:], b[1:], most):
        return True
    if most == 0:
        return False
    swapped = len(a) > 1 and len(b) > 1 and a[0] == b[1] and a[1] == b[0] and edits(a[2:], b[2:], most - 1)
    shorter = edits(a[1:], b, most - 1) or edits(a, b[1:], most - 1)
    return swapped or shorter or edits(a[1:], b[1:], most - 1)


def globs(pattern: str, term: str) -> bool:
    wild = {"*": ".*", "?": "."}
    return re.fullmatch("".join(wild.get(c, re.escape(c)) for c in pattern), term, re.DOTALL) is not None


def phrase_in(tests: list[tuple[int, Callable[[str], bool]]], terms: Placed, slop: int = 0) -> bool:
    """Return True if different terms pass the tests, each moved from its place, by amounts that differ by `slop`."""
    if not tests:
        return False
    places = [[at for at, term in terms if test(term)] for _, test in tests]
    for chosen in product(*places):
        moves = [at - place for (place, _), at in zip(tests, chosen, strict=True)]
        if len(set(chosen)) == len(chosen) and max(moves) - min(moves) <= slop:
            return True
    return False


# --- drawing ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Drawn:
    """A query, or a part of one: its text, its meaning, the columns that it names and the operators in it.

    `negates` is the meaning of `x` in `NOT x`: in a list without operators, a negation excludes rows.
    """

    text: str
    holds: Callable[[Row], bool]
    named: frozenset[str] = frozenset()
    operators: frozenset[str] = frozenset()
    simple: bool = True
    negates: Callable[[Row], bool] | None = None

    @property
    def operand(self) -> str:
        return self.text if self.simple else f"({self.text})"


def _joined(
    text: str, parts: Iterable[Drawn], holds: Callable[[Row], bool], operator: str, *, simple: bool = False
) -> Drawn:
    parts = list(parts)
    named = frozenset[str]().union(*(part.named for part in parts))
    operators = frozenset[str]({operator}).union(*(part.operators for part in parts))
    return Drawn(text, holds, named, operators, simple)


@dataclass(frozen=True)
class QueryDraw:
    """Draws queries for one operator. `defaults` are searched for what names no column; `others` can be named."""

    rng: random.Random
    defaults: tuple[str, ...]
    others: tuple[str, ...]
    ranges_need_a_name: bool

    def query(self, depth: int = 3) -> Drawn:
        """Return a query, at most `depth` levels deep."""
        if depth == 0 or self.rng.random() < 0.3:
            return self.leaf()
        draw = self.rng.choice(
            [
                self._all_of,
                self._any_of,
                self._listed,
                self._negated,
                self._mixed,
                self._grouped,
                self._boosted,
                self._at_least,
            ]
        )
        return draw(depth - 1)

    def _some(self, depth: int, least: int = 2) -> list[Drawn]:
        return [self.query(depth) for _ in range(self.rng.randrange(least, 4))]

    def _all_of(self, depth: int) -> Drawn:
        parts = self._some(depth)
        text = self.rng.choice([" AND ", " && "]).join(part.operand for part in parts)
        return _joined(text, parts, lambda row: all(part.holds(row) for part in parts), "AND")

    def _any_of(self, depth: int) -> Drawn:
        parts = self._some(depth)
        text = self.rng.choice([" OR ", " || "]).join(part.operand for part in parts)
        return _joined(text, parts, lambda row: any(part.holds(row) for part in parts), "OR")

    def _mixed(self, depth: int) -> Drawn:
        """AND binds tighter than OR."""
        a, b, c = (self.query(depth) for _ in range(3))
        text = f"{a.operand} AND {b.operand} OR {c.operand}"
        return _joined(
            text, (a, b, c), lambda row: (a.holds(row) and b.holds(row)) or c.holds(row), "precedence"
        )

    def _listed(self, depth: int) -> Drawn:
        """A list without operators: `+` requires, `-` and NOT exclude, and one of the others must match."""
        signs = self.rng.choice([["+", "-", ""], [""]])
        drawn = [(self.rng.choice(signs), part) for part in self._some(depth)]
        parts = list({(sign, part.text): (sign, part) for sign, part in drawn}.values())
        text = " ".join(f"{sign}({part.text})" if sign else part.operand for sign, part in drawn)

        def holds(row: Row) -> bool:
            required = [part.holds(row) for sign, part in parts if sign == "+"]
            optional = [part.holds(row) for sign, part in parts if sign == "" and part.negates is None]
            excluded = [part.holds(row) for sign, part in parts if sign == "-"]
            excluded += [part.negates(row) for sign, part in parts if sign == "" and part.negates]
            return all(required) and not any(excluded) and (bool(required) or not optional or any(optional))

        joined = _joined(text, [part for _, part in parts], holds, "signs" if len(signs) > 1 else "words")
        if len(parts) > 1:
            return joined
        (sign, part) = parts[0]
        return replace(joined, negates=part.holds if sign == "-" else part.negates if sign == "" else None)

    def _negated(self, depth: int) -> Drawn:
        part = self.query(depth)
        sign = self.rng.choice(["NOT ", "!"])
        drawn = _joined(f"{sign}{part.operand}", [part], lambda row: not part.holds(row), sign.strip())
        return replace(drawn, negates=part.holds)

    def _at_least(self, depth: int) -> Drawn:
        """Some of the alternatives in a list, as `(a b c)@2`."""
        drawn = (
            [self._word(self.defaults) for _ in range(self.rng.randrange(2, 5))] if self._has_words else []
        )
        parts = list({part.text: part for part in [*drawn, self.query(depth)]}.values())
        optional = [part for part in parts if part.negates is None]
        if not optional:
            return self._negated(depth)
        least = self.rng.randrange(1, len(optional) + 1)

        def holds(row: Row) -> bool:
            excluded = any(part.negates(row) for part in parts if part.negates is not None)
            return not excluded and sum(part.holds(row) for part in optional) >= least

        text = f"({' '.join(part.operand for part in parts)})@{least}"
        return _joined(text, parts, holds, "at least", simple=True)

    @property
    def _has_words(self) -> bool:
        return all(COLUMNS[column] in WORD_KINDS for column in self.defaults)

    def _grouped(self, depth: int) -> Drawn:
        column = self.rng.choice([*self.defaults, *self.others])
        part = QueryDraw(self.rng, (column,), (), ranges_need_a_name=False).query(depth)
        drawn = _joined(f"{column}:({part.text})", [part], part.holds, "field group", simple=True)
        return replace(drawn, named=frozenset({column}), negates=part.negates)

    def _boosted(self, depth: int) -> Drawn:
        part = self.query(depth)
        factor = self.rng.choice(["2", "0.5", "10"])
        drawn = _joined(f"({part.text})^{factor}", [part], part.holds, "boost", simple=True)
        return replace(drawn, negates=part.negates)

    def leaf(self) -> Drawn:
        """Return a part without operands, over the default columns or over a named one."""
        columns, name = self.defaults, ""
        if self.others and self.rng.random() < 0.6:
            columns = (self.rng.choice(self.others),)
            name = f"{columns[0]}:"
        may_range = bool(name) or (not self.ranges_need_a_name and len(columns) == 1)
        if all(COLUMNS[column] in WORD_KINDS for column in columns):
            drawn = self._word_leaf(columns, may_range=may_range)
        else:
            drawn = self._value_leaf(columns[0])
        if name and self.rng.random() < 0.03:
            (column,) = columns
            return Drawn(
                f"_exists_:{column}",
                lambda row: has_value(row, column),
                frozenset({column}),
                frozenset({"_exists_"}),
            )
        if name and self.rng.random() < 0.06:
            drawn = Drawn("*", lambda row: has_value(row, columns[0]), operators=frozenset({"exists"}))
        elif not name and len(self.defaults) == 1 and self.rng.random() < 0.03:
            # In a query over one column, rows in which it is null do not count: see `SqlDraw`.
            star = self.rng.choice(["*", "*:*"]) if self.others else "*"
            drawn = Drawn(star, lambda row: has_value(row, columns[0]), operators=frozenset({"all"}))
            if not self.others:
                return drawn
            return Drawn(star, lambda _: True, operators=frozenset({"all"}))
        inside = {f"in {TOKENIZERS.get(columns[0], COLUMNS[columns[0]])}"} if len(columns) == 1 else set()
        operators = drawn.operators | inside
        return Drawn(name + drawn.text, drawn.holds, frozenset(columns if name else ()), operators)

    def _word_leaf(self, columns: tuple[str, ...], *, may_range: bool) -> Drawn:
        kinds = [
            self._word,
            self._word,
            self._phrase,
            self._wildcards,
            self._wild_phrase,
            self._regex,
            self._fuzzy,
        ]
        if may_range:
            kinds += [self._term_range, self._term_set]
        used = self._tokenizers(columns)
        if used and used <= GRAMS.keys() and len(columns) == 1:
            kinds = [self._word, self._phrase, self._wild_phrase]
        elif "german" in used:
            kinds = [self._word, self._phrase, self._wildcards, self._regex]
        elif "stems" in used:
            kinds = [self._word, self._phrase, self._wildcards, self._wild_phrase, self._regex]
        elif "basic" in used:
            kinds = [kind for kind in kinds if kind not in (self._phrase, self._wild_phrase)]
        return self.rng.choice(kinds)(columns)

    def _tokenizers(self, columns: tuple[str, ...]) -> set[str]:
        return {TOKENIZERS.get(column, "default") for column in columns if COLUMNS[column] in TEXT_KINDS}

    @staticmethod
    def _with_words(columns: tuple[str, ...]) -> tuple[str, ...]:
        """Return the columns that have whole words: a pattern in all columns leaves the others out."""
        return tuple(c for c in columns if TOKENIZERS.get(c) not in GRAMS)

    def _single_words(self, columns: tuple[str, ...]) -> list[str]:
        """Return words that are one word in each column."""
        if self._tokenizers(columns) <= {"simple", "basic"}:
            return WORDS
        return LATIN if self._tokenizers(columns) <= {"simple", "basic", "default", "whitespace"} else PLAIN

    def _searchable(self, text: str, columns: tuple[str, ...]) -> str:
        """Return a text that has a word in one of the columns."""
        return text if any(sought(text, column) for column in columns) else "alpha"

    def _text(self) -> str:
        return self.rng.choice(
            WORDS if self.rng.random() < 0.7 else ["web-1", "alpha-beta", "nothing", "conn"]
        )

    def _word(self, columns: tuple[str, ...]) -> Drawn:
        text = self.rng.choice(WORDS) if "basic" in self._tokenizers(columns) else self._text()
        text = self._searchable(text, columns)

        def holds(row: Row) -> bool:
            return any(has_text(row, c, text) for c in columns)

        return Drawn(text, holds, operators=frozenset({"word"}))

    def _phrase(self, columns: tuple[str, ...]) -> Drawn:
        text = (
            self.rng.choice([host for host in HOSTS if split_words(host)])
            if self.rng.random() < 0.3
            else " ".join(self.rng.choice(WORDS) for _ in range(self.rng.randrange(1, 4)))
        )
        text = self._searchable(text, columns)
        form = self.rng.choice(["exact", "slop", "prefix"])
        used = self._tokenizers(columns)
        if not GRAMS.keys().isdisjoint(used) or (
            form == "prefix" and not {"stems", "german"}.isdisjoint(used)
        ):
            form = "exact"
        slop = self.rng.randrange(4) if form == "slop" else 0
        if form == "prefix":
            text = text[: -1 if split_words(text[:-1]) and text[-2].isalnum() else None]
        suffix = {"exact": "", "slop": f"~{slop}", "prefix": "*"}[form]

        def holds(row: Row) -> bool:
            return any(has_text(row, c, text, slop, prefix=form == "prefix") for c in columns)

        return Drawn(f'"{escaped(text)}"{suffix}', holds, operators=frozenset({f"phrase {form}"}))

    def _wildcards(self, columns: tuple[str, ...]) -> Drawn:
        columns = self._with_words(columns)
        word = list(self.rng.choice([word for word in self._single_words(columns) if len(word) > 1]))
        for _ in range(self.rng.randrange(1, 3)):
            word[self.rng.randrange(len(word))] = self.rng.choice("*?")
        pattern = "".join(word)
        if not pattern.strip("*?"):
            pattern = "a*"

        def holds(row: Row) -> bool:
            return any(globs(folded(pattern, c), term) for c in columns for term in terms_of(row, c))

        return Drawn(pattern, holds, operators=frozenset({"wildcard"}))

    def _wild_phrase(self, columns: tuple[str, ...]) -> Drawn:
        words = [list(self.rng.choice(self._single_words(columns))) for _ in range(self.rng.randrange(1, 4))]
        for word in words[: self.rng.randrange(1, 3)]:
            word[self.rng.randrange(len(word))] = self.rng.choice("*?")
        words = [list("a*") if not "".join(word).strip("*?") else word for word in words]
        patterns = ["".join(word) for word in words]
        if not set("*?").intersection("".join(patterns)):
            patterns[-1] += "*"
        text = " ".join(patterns)
        slop = self.rng.choice([0, 0, 1, 2, 3])
        if not GRAMS.keys().isdisjoint(self._tokenizers(columns)):
            slop = 0

        def tests(column: str) -> list[tuple[int, Callable[[str], bool]]]:
            return [(at, partial(globs, folded(pattern, column))) for at, pattern in enumerate(patterns)]

        def holds(row: Row) -> bool:
            """As a pattern, or as a text in which `*` and `?` are characters."""
            return any(
                (TOKENIZERS.get(c) not in GRAMS and phrase_in(tests(c), placed(row, c), slop))
                or has_text(row, c, text, slop)
                if COLUMNS[c] in TEXT_KINDS
                else any(globs(text, term) for term in terms_of(row, c))
                for c in columns
            )

        drawn = f'"{text}"' + (f"~{slop}" if slop else "")
        return Drawn(drawn, holds, operators=frozenset({"wild phrase slop" if slop else "wild phrase"}))

    def _regex(self, columns: tuple[str, ...]) -> Drawn:
        columns = self._with_words(columns)
        words = (
            HOSTS
            if all(COLUMNS[c] in ("string", "strings") for c in columns)
            else self._single_words(columns)
        )
        forms = [
            "{0}",
            "{0}",
            "{0}",
            ".",
            "[{0}x]",
            "({0}|z)",
            "{0}?",
            "{0}+",
            "[^{0}]",
            "\\w",
            "{0}{{1,2}}",
            "[a-z]",
        ]
        pattern = "".join(
            self.rng.choice(forms).format("\\" + c if c in "./-\\:" else c)
            for c in self.rng.choice(words) or "a"
        )
        pattern += self.rng.choice(["", "", ".*", "(-1|z)?" if words is HOSTS else "e?"])

        def holds(row: Row) -> bool:
            return any(
                re.fullmatch(folded(pattern, c), term, re.ASCII | re.DOTALL) is not None
                for c in columns
                for term in terms_of(row, c)
            )

        return Drawn(f"/{pattern}/", holds, operators=frozenset({"regex"}))

    def _fuzzy(self, columns: tuple[str, ...]) -> Drawn:
        columns = self._with_words(columns)
        word, distance = self.rng.choice(self._single_words(columns)), self.rng.randrange(3)
        letters = list(word)
        for _ in range(self.rng.randrange(3)):
            letters[self.rng.randrange(len(letters))] = self.rng.choice("abgm")
        text = "".join(letters)
        return Drawn(
            f"{text}~{'' if distance == 2 and self.rng.random() < 0.5 else distance}",
            lambda row: any(
                edits(sought(text, c)[0][1], term, distance) for c in columns for term in terms_of(row, c)
            ),
            operators=frozenset({f"fuzzy {distance}"}),
        )

    def _term_range(self, columns: tuple[str, ...]) -> Drawn:
        (column,) = columns
        pool = (
            [folded(word, column) for word in self._single_words(columns)]
            if COLUMNS[column] in TEXT_KINDS
            else [h for h in HOSTS if h]
        )
        text, inside = self._range([(f'"{escaped(value)}"', value, value) for value in pool])
        return Drawn(
            text, lambda row: any(map(inside, terms_of(row, column))), operators=frozenset({"range"})
        )

    def _term_set(self, columns: tuple[str, ...]) -> Drawn:
        (column,) = columns
        pool = self._single_words(columns) if COLUMNS[column] in TEXT_KINDS else HOSTS
        values = [self.rng.choice(pool) for _ in range(self.rng.randrange(1, 4))]
        wanted = {sought(value, column)[0][1] for value in values}
        text = " ".join(f'"{escaped(value)}"' for value in values)
        return Drawn(
            f"IN [{text}]",
            lambda row: not wanted.isdisjoint(terms_of(row, column)),
            operators=frozenset({"set"}),
        )

    def _value_leaf(self, column: str) -> Drawn:
        pool = self._values(COLUMNS[column])
        form = self.rng.choice(["equal", "range", "range", "set"])
        if COLUMNS[column] == "entry":
            form = self.rng.choice(["equal", "set"])
        if form == "range":
            text, inside = self._range(pool)
            return Drawn(
                text,
                lambda row: any(map(inside, numbers_of(row, column))),
                operators=frozenset({f"{COLUMNS[column]} range"}),
            )
        chosen = self.rng.sample(pool, 1 if form == "equal" else 2)
        text = chosen[0][0] if form == "equal" else f"IN [{' '.join(text for text, _, _ in chosen)}]"
        return Drawn(
            text,
            lambda row: any(
                first <= value <= last for value in numbers_of(row, column) for _, first, last in chosen
            ),
            operators=frozenset({f"{COLUMNS[column]} {form}"}),
        )

    def _values(self, kind: Kind) -> list[tuple[str, Any, Any]]:
        """Return some values of a type, each with a spelling: the first and the last value that it denotes."""
        match kind:
            case "entry":
                return [(f'"{color}"', color, color) for color in COLORS]
            case "single":
                return [(f'"{text}"' if value < 0 else text, value, value) for text, value in RATIOS.items()]
            case "integer" | "integers":
                return [(_signed(value), value, value) for value in range(-6, 13)]
            case "double":
                return [(_signed(value / 4), value / 4, value / 4) for value in range(-8, 20)]
            case "boolean":
                return [("true", True, True), ("false", False, False)]
            case "decimal":
                prices = [Decimal(cents) / 100 for cents in range(-500, 1000, 37)]
                return [(_signed(price), price, price) for price in prices]
            case "wide":
                totals = [Decimal(step) * 10**20 + 1 for step in range(-4, 5)]
                return [(_signed(total), total, total) for total in totals]
            case "ip":
                single = [(f'"{text}"', ip_number(text), ip_number(text)) for text in ADDRESSES]
                return single + [
                    (f'"{text}"', ip_number(str(network[0])), ip_number(str(network[-1])))
                    for text in NETWORKS
                    for network in [ip_network(text)]
                ]
            case "local":
                moments = [NOW + timedelta(minutes=30 * step) for step in range(-120, 120, 7)]
                spelled = [(f'"{t.strftime("%Y-%m-%dT%H:%M:%S")}"', t, t) for t in moments]
                return [
                    (text, first.replace(tzinfo=None), last.replace(tzinfo=None))
                    for text, first, last in spelled + TIMES * 3
                ]
            case "date":
                days = [NOW.date() + timedelta(days=offset) for offset in range(-70, 40, 3)]
                return [(str(day), day, day) for day in days] + DATES
            case _:
                times = [NOW + timedelta(minutes=30 * step) for step in range(-120, 120, 7)]
                return [(f'"{t.strftime("%Y-%m-%dT%H:%M:%S")}Z"', t, t) for t in times] + TIMES * 3

    def _range(self, pool: list[tuple[str, Any, Any]]) -> tuple[str, Callable[[Any], bool]]:
        (low_text, low, low_last), (high_text, high_first, high) = sorted(
            self.rng.sample(pool, 2), key=lambda value: value[1]
        )
        form = self.rng.choice(["[]", "{}", "[}", "{]", "[*", "*]", ">", ">=", "<", "<="])
        match form:
            case ">":
                return f">{low_text}", lambda value: value > low_last
            case ">=":
                return f">={low_text}", lambda value: value >= low
            case "<":
                return f"<{high_text}", lambda value: value < high_first
            case "<=":
                return f"<={high_text}", lambda value: value <= high
            case "[*":
                return f"[{low_text} TO *]", lambda value: value >= low
            case "*]":
                return f"[* TO {high_text}]", lambda value: value <= high
            case _:
                return (
                    f"{form[0]}{low_text} TO {high_text}{form[1]}",
                    lambda value: (
                        (low <= value if form[0] == "[" else low_last < value)
                        and (value <= high if form[1] == "]" else value < high_first)
                    ),
                )


def ip_number(text: str) -> int:
    """Return the number of an address; one of IPv4 has the number of the address of IPv6 that stands for it."""
    address = ip_address(text)
    return int(address) | (0xFFFF << 32 if address.version == 4 else 0)


def numbers_of(row: Row, column: str) -> list[Any]:
    """Return the values of a column as the values of a query are compared with them."""
    values = values_of(row, column)
    return [ip_number(value) for value in values] if COLUMNS[column] == "ip" else values


def _signed(value: float | Decimal) -> str:
    """Return a number, in quotes if it is negative: a `-` in front of an operand excludes it."""
    return f'"{value}"' if value < 0 else str(value)


def escaped(text: str) -> str:
    """Return a text as it is written between double quotes."""
    return re.sub(r'(["\\*?])', r"\\\1", text)


# --- conditions -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Condition:
    """A condition in SQL. `holds` is True, False or None."""

    sql: str
    holds: Callable[[Row], bool | None]
    operators: frozenset[str]


def draw_table_query(rng: random.Random) -> Drawn:
    """Return a query for the whole table, as `Table.search` takes it. It is never NULL."""
    draw = QueryDraw(rng, tuple(of_kinds(*WORD_KINDS)), tuple(COLUMNS), ranges_need_a_name=True)
    return draw.query()


def draw_condition(rng: random.Random, depth: int = 2) -> Condition:
    """Return a condition of searches and comparisons, with SQL's three-valued AND, OR and NOT."""
    form = rng.choice(["search", "search", "compare", "not", "and", "or"]) if depth else "search"
    match form:
        case "search":
            return _search(rng)
        case "compare":
            column, value = rng.choice([("n", 3), ("f", 1.5), ("n", -2)])
            return Condition(
                f"{column} < {value}",
                lambda row: None if row[column] is None else row[column] < value,
                frozenset({"SQL comparison"}),
            )
        case "not":
            inner = draw_condition(rng, depth - 1)

            def negated(row: Row) -> bool | None:
                truth = inner.holds(row)
                return None if truth is None else not truth

            return Condition(f"NOT ({inner.sql})", negated, inner.operators | {"SQL not"})
        case _:
            a, b = draw_condition(rng, depth - 1), draw_condition(rng, depth - 1)
            decisive = form == "or"

            def combined(row: Row) -> bool | None:
                truths = [a.holds(row), b.holds(row)]
                if decisive in truths:
                    return decisive
                return None if None in truths else not decisive

            return Condition(
                f"({a.sql}) {form.upper()} ({b.sql})", combined, a.operators | b.operators | {f"SQL {form}"}
            )


def _search(rng: random.Random) -> Condition:
    op = rng.choice(["TEXTSEARCH", "TEXTSEARCH", "FIELDMATCH", "INDEXQUERY", "INDEXQUERY"])
    searchable = {
        "TEXTSEARCH": of_kinds(*TEXT_KINDS),
        "FIELDMATCH": of_kinds("string", "strings", "entry"),
        "INDEXQUERY": list(COLUMNS),
    }[op]
    column = rng.choice([*(name for name in searchable if COLUMNS[name] != "entry"), "*"])
    others = tuple(searchable) if rng.random() < 0.5 else ()
    if column == "*":
        defaults = tuple(name for name in searchable if COLUMNS[name] in WORD_KINDS)
    else:
        defaults = (column,)
    if not others and column != "*":
        others = defaults  # the query names its own column
    drawn = QueryDraw(rng, defaults, others, ranges_need_a_name=op == "TEXTSEARCH" or column == "*").query()
    sole = column if column != "*" and drawn.named <= {column} else None

    def holds(row: Row) -> bool | None:
        return None if sole is not None and row[sole] is None else drawn.holds(row)

    literal = drawn.text.replace("\\", "\\\\").replace("'", "''")
    return Condition(f"{column} {op} '{literal}'", holds, drawn.operators | {op})


# --- what a long run must have drawn ----------------------------------------------------------------------------

_VALUES = of_kinds(*(kind for kind in COLUMNS.values() if kind not in WORD_KINDS))
OPERATORS = frozenset(
    {
        *(
            "word",
            "phrase exact",
            "phrase slop",
            "phrase prefix",
            "wildcard",
            "wild phrase",
            "wild phrase slop",
        ),
        *("regex", "fuzzy 0", "fuzzy 1", "fuzzy 2", "range", "set", "exists", "_exists_", "all"),
        *("AND", "OR", "precedence", "signs", "words", "NOT", "!", "at least", "field group", "boost"),
        *("SQL comparison", "SQL not", "SQL and", "SQL or", "TEXTSEARCH", "FIELDMATCH", "INDEXQUERY"),
        *(f"{COLUMNS[name]} {form}" for name in _VALUES for form in ("equal", "range", "set")),
        *(f"in {kind}" for kind in ("string", "strings", "texts", *OPTIONS, "default")),
    }
) - {"entry range", "in raw"}
"""Every operator, every form of a value of each type, and every tokenizer."""

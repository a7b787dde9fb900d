"""`where=` strings: Spark SQL conditions, with the search operators, as predicates.

sqlglot does the parsing; here its tree becomes ours, or an error says which part is not supported.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError
from sqlglot.tokens import Token, TokenType

from indextables.errors import IndexTablesError, PredicateError
from indextables.predicates.limits import DEFAULT_LIMITS, QueryLimits
from indextables.predicates.literals import from_sql
from indextables.predicates.tree import (
    ALL_FIELDS,
    UTC,
    And,
    Compare,
    CompareOp,
    Constant,
    HasElement,
    In,
    IsNull,
    MatchKind,
    Not,
    Or,
    Predicate,
    StringMatch,
    TextOp,
    TextQuery,
)
from indextables.schema import ALL_COLUMN, Field, TableSchema, Value, element_type, is_nested, shorten

_COMPARISONS: Final[dict[type[exp.Expression], CompareOp]] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "<=>",
}
_FLIPPED: Final[dict[CompareOp, CompareOp]] = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_MATCHES: Final[dict[type[exp.Expression], MatchKind]] = {
    exp.StartsWith: "starts_with",
    exp.EndsWith: "ends_with",
    exp.Contains: "contains",
}
_OPERATORS: Final[dict[str, TextOp]] = {
    "TEXTSEARCH": "TEXTSEARCH",
    "FIELDMATCH": "FIELDMATCH",
    "INDEXQUERY": "INDEXQUERY",
}
_STRINGS: Final = frozenset({TokenType.STRING, TokenType.RAW_STRING})
_VALUES: Final = _STRINGS | {TokenType.NUMBER, TokenType.NULL, TokenType.TRUE, TokenType.FALSE}
_DROPPED_BACKSLASH: Final = re.compile(r"\\(?:([^\W_bnrt])|.)", re.DOTALL)


def parse_where(
    text: str, schema: TableSchema, *, limits: QueryLimits = DEFAULT_LIMITS, zone: str = UTC
) -> Predicate:
    """Parse a condition in Spark SQL.

    >>> schema = TableSchema((Field("level", "string"), Field("code", "integer"), Field("message", "string")))
    >>> parse_where("level = 'ERROR' AND NOT code IN (1, 2)", schema)
    And(children=(Compare(op='=', column='level', value='ERROR'), Not(child=In(column='code', values=(1, 2)))))
    >>> parse_where("message TEXTSEARCH 'disk AND full'", schema)
    TextQuery(op='TEXTSEARCH', column='message', query='disk AND full', zone='UTC', now=None)
    """
    if not isinstance(text, str):
        raise PredicateError(f"a condition is a string, not {type(text).__name__}")
    if len(text) > limits.length:
        raise PredicateError(f"the condition has {limits.too_long(len(text))}")
    reason: object
    try:
        text.encode()
        _check_size(sqlglot.tokenize(text, read="spark"), limits)
        plain = _with_functions(_with_escaped_quotes(text))
        tree = sqlglot.parse_one(plain, read="spark", into=exp.Condition)
        return _Reader(schema, text, zone).predicate(tree)
    except IndexTablesError:
        raise
    except RecursionError:
        reason = "it is nested too deep"
    except UnicodeEncodeError:
        reason = "half of a surrogate pair is no character"
    except Exception as error:  # noqa: BLE001 - sqlglot meets texts that are no SQL with errors of many kinds
        reason = _first_line(error)
    raise PredicateError(f"cannot parse the condition {shorten(text)!r}: {reason}")


def _check_size(tokens: list[Token], limits: QueryLimits) -> None:
    """Refuse, before the slow part of parsing, what is larger than the limits."""
    if sum(token.token_type in _VALUES for token in tokens) > limits.terms:
        raise PredicateError(f"the condition has {limits.too_many_terms()}")
    if len(tokens) > 8 * limits.terms:  # a comparison has four, with AND, NOT and parentheses
        raise PredicateError(f"the condition has {limits.too_many_terms()}")
    depth = nots = 0
    for token in tokens:
        nots = nots + 1 if token.token_type == TokenType.NOT else 0
        if token.token_type == TokenType.L_PAREN:
            depth += 1
        elif token.token_type == TokenType.R_PAREN:
            depth -= 1
        elif token.token_type == TokenType.SEMICOLON:
            raise PredicateError("a condition has no ';' outside of strings: join conditions by AND or OR")
        if depth + nots > limits.depth:
            raise PredicateError(f"the condition cannot be read: {limits.too_deep()}")


def _first_line(reason: Exception) -> str:
    """Return what is wrong in one line, without the names of sqlglot's classes."""
    details = reason.errors if isinstance(reason, ParseError) else []
    description = next((detail["description"] for detail in details if detail.get("description")), None)
    if description is not None:
        place = next((detail["highlight"] for detail in details if detail.get("highlight")), "")
        if "Required keyword" in description:
            return f"a value is missing after {place!r}" if place else "a value is missing"
        text = description.rstrip(".")
        return f"{text} at {place!r}" if place else text
    return str(reason).splitlines()[0] if str(reason) else type(reason).__name__


def _with_escaped_quotes(text: str) -> str:
    r"""`'it''s'` as `'it\'s'`: Spark takes a doubled quote for a quote, sqlglot for two strings side by side."""
    out, copied = [], 0
    tokens = sqlglot.tokenize(text, read="spark")
    for left, right in pairwise(tokens):
        if left.token_type == right.token_type == TokenType.STRING and left.end + 1 == right.start:
            out.append(f"{text[copied : left.end]}\\{text[left.end]}")
            copied = right.start + 1
    return "".join(out) + text[copied:]


def _with_functions(text: str) -> str:
    """`a.b TEXTSEARCH 'q'` as `TEXTSEARCH(a.b, 'q')`, by tokens, so that strings and comments are safe."""
    tokens = sqlglot.tokenize(text, read="spark")
    out, copied = [], 0
    for i, token in enumerate(tokens):
        if token.text.upper() not in _OPERATORS or token.token_type == TokenType.STRING:
            continue
        if i == 0 or i + 1 >= len(tokens) or tokens[i + 1].token_type not in _STRINGS:
            continue
        first = _operand_start(tokens, i)
        operand = text[tokens[first].start : tokens[i - 1].end + 1]
        query = text[tokens[i + 1].start : tokens[i + 1].end + 1]
        if tokens[i + 1].token_type == TokenType.STRING:
            query = _DROPPED_BACKSLASH.sub(_double_backslash, query)
        out.append(text[copied : tokens[first].start])
        out.append(f"{token.text}({ALL_COLUMN if operand == '*' else operand}, {query})")
        copied = tokens[i + 1].end + 1
    return "".join(out) + text[copied:]


def _double_backslash(match: re.Match[str]) -> str:
    r"""Double a backslash that a string literal would lose: in a query, as in `"C:\Windows"`, it separates words."""
    return match[0] if match[1] is None else f"\\{match[0]}"


def _operand_start(tokens: list[Token], operator: int) -> int:
    first = operator - 1
    while first >= 2 and tokens[first - 1].token_type == TokenType.DOT:
        first -= 2
    return first


class _Reader:
    """Walks one parsed condition; holds what its error messages need."""

    def __init__(self, schema: TableSchema, text: str, zone: str) -> None:
        self._schema = schema
        self._text = text
        self._zone = zone

    def predicate(self, node: exp.Expression) -> Predicate:
        if type(node) in _COMPARISONS:
            return self._comparison(node)
        match node:
            case exp.Paren():
                return self.predicate(node.this)
            case exp.And():
                return And(tuple(self.predicate(child) for child in node.flatten()))
            case exp.Or():
                return Or(tuple(self.predicate(child) for child in node.flatten()))
            case exp.Not():
                return Not(self.predicate(node.this))
            case exp.Is():
                return self._is(node)
            case exp.In():
                return self._in(node)
            case exp.Between():
                column = self._column(node.this)
                low, high = self._value(node.args["low"], column), self._value(node.args["high"], column)
                return And((Compare(">=", column.name, low), Compare("<=", column.name, high)))
            case exp.Like():
                return self._like(node)
            case exp.StartsWith() | exp.EndsWith() | exp.Contains():
                column, value = self._string(node)
                if value is None:
                    return Constant(None)
                return StringMatch(_MATCHES[type(node)], column.name, value)
            case exp.ArrayContains():
                return self._array_contains(node)
            case exp.Boolean():
                return Constant(bool(node.this))
            case exp.Null():
                return Constant(None)
            case exp.Anonymous() if node.name.upper() in _OPERATORS:
                return self._text_query(node)
            case exp.Column() | exp.Dot():
                column = self._column(node)
                if column.type == "boolean":
                    return Compare("=", column.name, True)
        raise self._refusal(node)

    def _comparison(self, node: exp.Expression) -> Predicate:
        op = _COMPARISONS[type(node)]
        left, right = node.this, node.expression
        if not isinstance(left, exp.Column | exp.Dot) and isinstance(right, exp.Column | exp.Dot):
            left, right, op = right, left, _FLIPPED.get(op, op)
        if isinstance(left, exp.Literal) and left.is_string and self._schema.get(left.name) is not None:
            raise PredicateError(
                f"{shorten(left.name)!r} is a text in {shorten(self._text)!r}: write a column name in backticks, "
                f"`{left.name}`"
            )
        column = self._column(left)
        return Compare(op, column.name, self._value(right, column))

    def _is(self, node: exp.Is) -> Predicate:
        if isinstance(node.expression, exp.Null):
            return IsNull(self._column(node.this).name)
        if isinstance(node.expression, exp.Boolean):
            column = self._column(node.this)
            if column.type == "boolean":
                return Compare("<=>", column.name, bool(node.expression.this))
        raise self._refusal(node)

    def _in(self, node: exp.In) -> Predicate:
        if not node.expressions:
            raise self._refusal(node)
        column = self._column(node.this)
        return In(column.name, tuple(self._value(item, column) for item in node.expressions))

    def _like(self, node: exp.Like) -> Predicate:
        column, pattern = self._string(node)
        if pattern is None:
            return Constant(None)
        body = pattern.strip("%")
        if any(c in body for c in "%_\\"):
            raise self._refusal(node)
        match pattern.startswith("%"), pattern.endswith("%"):
            case (True, True):
                return StringMatch("contains", column.name, body)
            case (True, False):
                return StringMatch("ends_with", column.name, body)
            case (False, True):
                return StringMatch("starts_with", column.name, body)
            case _:
                return Compare("=", column.name, body)

    def _array_contains(self, node: exp.ArrayContains) -> Predicate:
        column = self._column(node.this)
        element = element_type(column.type)
        if element is None or is_nested(element):
            raise PredicateError(
                f"array_contains needs an array of simple values, and column {column.name!r} is {column.type_name}"
            )
        return HasElement(column.name, self._value(node.expression, Field(column.name, element)))

    def _string(self, node: exp.Expression) -> tuple[Field, str | None]:
        """Return the string column of a string match, and the text that it is matched with."""
        column = self._column(node.this)
        value = self._value(node.expression, column)
        if column.type != "string" or not (value is None or isinstance(value, str)):
            raise self._refusal(node)
        return column, value

    def _text_query(self, node: exp.Anonymous) -> Predicate:
        if len(node.expressions) != 2:
            raise self._refusal(node)
        target, query = node.expressions
        is_text = isinstance(query, exp.RawString) or (isinstance(query, exp.Literal) and query.is_string)
        if not is_text:
            raise self._refusal(node)
        name = ALL_FIELDS if target.name == ALL_COLUMN else self._column(target).name
        return TextQuery(_OPERATORS[node.name.upper()], name, query.this, self._zone)

    def _column(self, node: exp.Expression) -> Field:
        if not isinstance(node, exp.Column | exp.Dot):
            raise self._refusal(node)
        parts = [part.name for part in node.parts]
        column = self._schema.resolve(".".join(parts))
        if column is None and len(parts) > 1 and self._schema.get(parts[0]) is not None:
            raise PredicateError(f"no field {'.'.join(parts)!r} in column {parts[0]!r}")
        column = column or self._schema.get(node.name)  # what stands before it is the name of a table
        if column is None:
            raise PredicateError(f"no column {node.name!r}; the table has {', '.join(self._schema.names)}")
        return column

    def _value(self, node: exp.Expression, column: Field) -> Value | None:
        match node:
            case exp.Null():
                return None
            case exp.Boolean():
                return from_sql(bool(node.this), column)
            case exp.Literal() if column.type == "string" and not node.is_string:
                raise PredicateError(
                    f"column {column.name!r} is a string: compare it with {shorten(str(node.this))!r} in quotes"
                )
            case exp.Literal() | exp.RawString():
                return from_sql(node.this, column, self._zone)
            case exp.Neg() if isinstance(node.this, exp.Literal) and column.type != "string":
                return from_sql(f"-{node.this.this}", column)
            case exp.HexString():
                return from_sql(f"X'{node.this}'", column)
            case exp.Cast() if isinstance(node.this, exp.Literal):
                return from_sql(node.this.this, column, self._zone)
            case exp.Paren():
                return self._value(node.this, column)
            case exp.Column() if len(node.parts) == 1 and self._schema.get(node.name) is None:
                raise PredicateError(f"put text in quotes: {column.name} = '{shorten(node.name)}'")
        raise self._refusal(node)

    def _refusal(self, node: exp.Expression) -> PredicateError:
        return PredicateError(
            f"{shorten(node.sql('spark'))!r} in the condition {shorten(self._text)!r} is not supported: compare a "
            "column with a literal by =, <>, <, <=, >, >=, <=>, IN, BETWEEN, IS NULL, LIKE 'prefix%' or a search "
            "operator, joined by AND, OR, NOT"
        )

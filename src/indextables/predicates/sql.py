"""`where=` strings: Spark SQL conditions, with the search operators, as predicates.

sqlglot does the parsing; here its tree becomes ours, or an error says which part is not supported.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokens import Token, TokenType

from indextables.errors import PredicateError
from indextables.predicates.literals import from_sql
from indextables.predicates.tree import (
    ALL_FIELDS,
    And,
    Compare,
    CompareOp,
    Constant,
    In,
    IsNull,
    MatchKind,
    Not,
    Or,
    Predicate,
    StringMatch,
    TextOp,
    TextQuery,
    Value,
)
from indextables.schema.types import Field, TableSchema

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
_ALL: Final = "_indexall"


def parse_where(text: str, schema: TableSchema) -> Predicate:
    """A condition as Spark SQL writes it.

    >>> schema = TableSchema((Field("level", "string"), Field("code", "integer"), Field("message", "string")))
    >>> parse_where("level = 'ERROR' AND NOT code IN (1, 2)", schema)
    And(children=(Compare(op='=', column='level', value='ERROR'), Not(child=In(column='code', values=(1, 2)))))
    >>> parse_where("message TEXTSEARCH 'disk AND full'", schema)
    TextQuery(op='TEXTSEARCH', column='message', query='disk AND full')
    """
    try:
        plain = _with_functions(_with_escaped_quotes(text))
        tree = sqlglot.parse_one(plain, read="spark", into=exp.Condition)
    except (SqlglotError, ValueError) as reason:
        raise PredicateError(f"cannot parse the condition {text!r}: {_first_line(reason)}") from None
    return _Reader(schema, text).predicate(tree)


def _first_line(reason: Exception) -> str:
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
        if i == 0 or i + 1 >= len(tokens) or tokens[i + 1].token_type != TokenType.STRING:
            continue
        first = _operand_start(tokens, i)
        operand = text[tokens[first].start : tokens[i - 1].end + 1]
        query = text[tokens[i + 1].start : tokens[i + 1].end + 1]
        out.append(text[copied : tokens[first].start])
        out.append(f"{token.text}({_ALL if operand == '*' else operand}, {query})")
        copied = tokens[i + 1].end + 1
    return "".join(out) + text[copied:]


def _operand_start(tokens: list[Token], operator: int) -> int:
    first = operator - 1
    while first >= 2 and tokens[first - 1].token_type == TokenType.DOT:
        first -= 2
    return first


class _Reader:
    """Walks one parsed condition; holds what its error messages need."""

    def __init__(self, schema: TableSchema, text: str) -> None:
        self._schema = schema
        self._text = text

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
                column = self._column(node.this)
                return StringMatch(
                    _MATCHES[type(node)], column.name, str(self._value(node.expression, column))
                )
            case exp.Boolean():
                return Constant(bool(node.this))
            case exp.Null():
                return Constant(None)
            case exp.Anonymous() if node.name.upper() in _OPERATORS:
                return self._text_query(node)
            case exp.Column():
                column = self._column(node)
                if column.type == "boolean":
                    return Compare("=", column.name, True)
        raise self._unsupported(node)

    def _comparison(self, node: exp.Expression) -> Predicate:
        op = _COMPARISONS[type(node)]
        left, right = node.this, node.expression
        if not isinstance(left, exp.Column) and isinstance(right, exp.Column):
            left, right, op = right, left, _FLIPPED.get(op, op)
        column = self._column(left)
        return Compare(op, column.name, self._value(right, column))

    def _is(self, node: exp.Is) -> Predicate:
        if isinstance(node.expression, exp.Null):
            return IsNull(self._column(node.this).name)
        if isinstance(node.expression, exp.Boolean):
            return Compare("<=>", self._column(node.this).name, bool(node.expression.this))
        raise self._unsupported(node)

    def _in(self, node: exp.In) -> Predicate:
        if not node.expressions:
            raise self._unsupported(node)
        column = self._column(node.this)
        return In(column.name, tuple(self._value(item, column) for item in node.expressions))

    def _like(self, node: exp.Like) -> Predicate:
        column = self._column(node.this)
        pattern = str(self._value(node.expression, column))
        body = pattern.strip("%")
        if column.type != "string" or any(c in body for c in "%_\\"):
            raise self._unsupported(node)
        match pattern.startswith("%"), pattern.endswith("%"):
            case (True, True):
                return StringMatch("contains", column.name, body)
            case (True, False):
                return StringMatch("ends_with", column.name, body)
            case (False, True):
                return StringMatch("starts_with", column.name, body)
            case _:
                return Compare("=", column.name, body)

    def _text_query(self, node: exp.Anonymous) -> Predicate:
        target, query = node.expressions
        name = ALL_FIELDS if target.name == _ALL else self._column(target).name
        return TextQuery(_OPERATORS[node.name.upper()], name, query.this)

    def _column(self, node: exp.Expression) -> Field:
        if not isinstance(node, exp.Column):
            raise self._unsupported(node)
        column = self._schema.get(node.name)
        if column is None:
            raise PredicateError(f"no column {node.name!r}; the table has {', '.join(self._schema.names)}")
        return column

    def _value(self, node: exp.Expression, column: Field) -> Value | None:
        match node:
            case exp.Null():
                return None
            case exp.Boolean():
                return from_sql(bool(node.this), column)
            case exp.Literal():
                return from_sql(node.this, column)
            case exp.Neg() if isinstance(node.this, exp.Literal):
                return from_sql(f"-{node.this.this}", column)
            case exp.HexString():
                return from_sql(f"X'{node.this}'", column)
            case exp.Cast() if isinstance(node.this, exp.Literal):
                return from_sql(node.this.this, column)
            case exp.Paren():
                return self._value(node.this, column)
        raise self._unsupported(node)

    def _unsupported(self, node: exp.Expression) -> PredicateError:
        return PredicateError(
            f"{node.sql('spark')!r} in the condition {self._text!r} is not supported: compare a column with a literal "
            "by =, <>, <, <=, >, >=, <=>, IN, BETWEEN, IS NULL, LIKE 'prefix%' or a search operator, "
            "joined by AND, OR, NOT"
        )

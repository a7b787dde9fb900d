"""Conditions on rows: one predicate tree, its parsers, evaluation, and the test against bounds."""

from indextables.predicates.bounds import Bounds, may_match
from indextables.predicates.evaluation import evaluate, holds
from indextables.predicates.fold import bind, normalize, with_names
from indextables.predicates.limits import DEFAULT_LIMITS, QueryLimits
from indextables.predicates.spark import from_spark
from indextables.predicates.sql_text import to_sql
from indextables.predicates.tree import (
    ALL_FIELDS,
    TRUE,
    And,
    Compare,
    Constant,
    HasElement,
    In,
    IsNull,
    Not,
    Or,
    Predicate,
    StringMatch,
    TextQuery,
    at_one_moment,
    columns_of,
    conjunction,
    conjuncts,
    text_queries,
)
from indextables.predicates.where import parse_where
from indextables.schema import ALL_COLUMN, Value

__all__ = [
    "ALL_COLUMN",
    "ALL_FIELDS",
    "DEFAULT_LIMITS",
    "TRUE",
    "And",
    "Bounds",
    "Compare",
    "Constant",
    "HasElement",
    "In",
    "IsNull",
    "Not",
    "Or",
    "Predicate",
    "QueryLimits",
    "StringMatch",
    "TextQuery",
    "Value",
    "at_one_moment",
    "bind",
    "columns_of",
    "conjunction",
    "conjuncts",
    "evaluate",
    "from_spark",
    "holds",
    "may_match",
    "normalize",
    "parse_where",
    "text_queries",
    "to_sql",
    "with_names",
]

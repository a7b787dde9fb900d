"""How large a search query or a condition may be. Larger ones are refused before any work is done."""

from __future__ import annotations

from dataclasses import dataclass

from indextables.config import Settings, keys


@dataclass(frozen=True)
class QueryLimits:
    """Limits of one query, and the messages for queries beyond them, each with the setting that raises the limit.

    >>> QueryLimits.of(Settings()).depth
    40
    """

    length: int
    terms: int
    patterns: int
    depth: int

    @classmethod
    def of(cls, settings: Settings) -> QueryLimits:
        return cls(
            length=settings.get(keys.QUERY_MAX_LENGTH),
            terms=settings.get(keys.QUERY_MAX_TERMS),
            patterns=settings.get(keys.QUERY_MAX_PATTERNS),
            depth=settings.get(keys.QUERY_MAX_DEPTH),
        )

    def too_long(self, length: int) -> str:
        return f"{length} characters, more than {self.length}; {_raise(keys.QUERY_MAX_LENGTH.key)}"

    def too_many_terms(self) -> str:
        return f"more than {self.terms} terms; {_raise(keys.QUERY_MAX_TERMS.key)}"

    def too_many_patterns(self) -> str:
        return f"more than {self.patterns} wildcard or fuzzy words; {_raise(keys.QUERY_MAX_PATTERNS.key)}"

    def too_deep(self) -> str:
        return (
            f"parentheses and NOTs are nested more than {self.depth} deep; {_raise(keys.QUERY_MAX_DEPTH.key)}"
        )


def _raise(key: str) -> str:
    return f"shorten the query, or raise {key}"


DEFAULT_LIMITS = QueryLimits.of(Settings())

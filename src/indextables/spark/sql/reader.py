"""Reading a command from left to right: its words, and what several commands have in common."""

from __future__ import annotations

from typing import Final

from indextables.spark.sql.statements import Condition, TableName, TableRef
from indextables.spark.sql.tokens import Token, misplaced, tokenize

_CATALOG: Final = "indextables"


class CommandReader:
    """The tokens of a command, and the position of the next one."""

    def __init__(self, sql: str) -> None:
        self._sql = sql
        self._tokens = tokenize(sql)
        self._at = 0

    def _table(self) -> TableRef:
        expected = "a table: its path in quotes, or a name"
        if self._next.kind == "string":
            return self._string(expected)
        first = self._next
        parts = [self._part(expected)]
        while self._accept_symbol("."):
            parts.append(self._part("the next part of the name"))
        if len(parts) == 1 and any(mark in parts[0] for mark in "/:"):
            return parts[0]
        if parts[0].lower() != _CATALOG or len(parts) == 3:
            return TableName(tuple(parts))
        if len(parts) != 2:
            raise misplaced(
                "a table of the catalog indextables is named by its path, as in indextables.`/data/logs`, or by its "
                "database and name, as in indextables.default.logs",
                self._sql,
                first.start,
            )
        return parts[1]

    def _part(self, expected: str) -> str:
        token = self._next
        if token.kind not in ("word", "name") or not token.value:
            raise self._expected(expected)
        self._at += 1
        return token.value

    def _string(self, expected: str) -> str:
        token = self._next
        if token.kind != "string" or not token.value:
            raise self._expected(expected)
        self._at += 1
        return token.value

    def _condition(self, expected: str) -> Condition:
        """Take the text up to the next clause of the command, or up to its end or the semicolon there."""
        first = self._next
        while self._next.kind != "end" and not self._is_symbol(";") and not self._is_clause():
            self._at += 1
        if self._next is first:
            raise self._expected(expected)
        last = self._tokens[self._at - 1]
        return Condition(self._sql[first.start : last.end], first.start)

    def _is_clause(self) -> bool:
        """Return True if a clause that may follow a condition begins here. Each is two words that no condition has."""
        if self._next.is_word("PRECOMMIT"):
            return self._tokens[self._at + 1].kind == "end" or self._tokens[self._at + 1].value == ";"
        following = self._tokens[min(self._at + 1, len(self._tokens) - 1)]
        if self._next.is_word("APPLY") and following.kind == "symbol" and following.value == "(":
            return self._tokens[0].is_word("REORG")
        words = {"TARGET": ("SIZE",), "MAX": ("DEST", "SOURCE", "GROUPS"), "ASYNC": ("MODE",)}
        return any(
            self._next.is_word(word) and self._tokens[self._at + 1].is_word(*following)
            for word, following in words.items()
        )

    @property
    def _next(self) -> Token:
        return self._tokens[self._at]

    def _is_symbol(self, symbol: str) -> bool:
        return self._next.kind == "symbol" and self._next.value == symbol

    def _accept_symbol(self, symbol: str) -> bool:
        follows = self._is_symbol(symbol)
        self._at += follows
        return follows

    def _expect_symbol(self, symbol: str) -> None:
        if not self._accept_symbol(symbol):
            raise self._expected(symbol)

    def _accept(self, *words: str) -> Token | None:
        token = self._next
        if not token.is_word(*words):
            return None
        self._at += 1
        return token

    def _expect(self, *words: str) -> Token:
        token = self._accept(*words)
        if token is None:
            raise self._expected(*words)
        return token

    def _phrase(self, *words: str) -> bool:
        """Take all of the words, or none if the first one does not follow."""
        if self._accept(words[0]) is None:
            return False
        for word in words[1:]:
            self._expect(word)
        return True

    def _expected(self, *words: str) -> Exception:
        token = self._next
        expected = ", ".join(words[:-1]) + f" or {words[-1]}" if len(words) > 1 else words[0]
        token_text = "the end" if token.kind == "end" else repr(self._sql[token.start : token.end][:40])
        return misplaced(f"expected {expected}, found {token_text}", self._sql, token.start)

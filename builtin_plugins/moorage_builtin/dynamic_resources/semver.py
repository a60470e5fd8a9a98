"""Semantic versions 2.0.0, compared by precedence: <https://semver.org>."""

from __future__ import annotations

import re
from typing import NamedTuple, Self

__all__ = ["Semver"]

_NUMBER = r"0|[1-9][0-9]*"
_WORD = rf"(?:{_NUMBER}|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)"
_SYNTAX = re.compile(
    rf"({_NUMBER})\.({_NUMBER})\.({_NUMBER})(?:-({_WORD}(?:\.{_WORD})*))?"
    r"(?:\+[0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*)?"
)
_LOOSE = re.compile(r"v?([0-9]+)(?:\.([0-9]+))?(?:\.([0-9]+))?([-+].*)?", re.DOTALL)
_PARTS = 3


class Semver(NamedTuple):
    """A version without its build metadata, which precedence does not know."""

    major: int
    minor: int
    patch: int
    pre: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str, *, normalize: bool = False) -> Self:
        """Read a version; ValueError if it is none.

        `normalize` accepts what people write: a leading v, leading zeros, missing parts.
        """
        found = _SYNTAX.fullmatch(_normalized(text) if normalize else text)
        if found is None:
            raise ValueError(f"{text!r} is not a semantic version such as 1.2.3")
        major, minor, patch, pre = found.groups()
        return cls(int(major), int(minor), int(patch), tuple(pre.split(".")) if pre else ())

    def compare(self, other: Semver) -> int:
        """Return -1, 0 or 1: whether this version comes before the other, with it, or after it."""
        mine, others = _precedence(self), _precedence(other)
        return (mine > others) - (mine < others)

    def __str__(self) -> str:
        release = f"{self.major}.{self.minor}.{self.patch}"
        return f"{release}-{'.'.join(self.pre)}" if self.pre else release


_Rank = tuple[int, int, str]


def _precedence(version: Semver) -> tuple[int, int, int, int, tuple[_Rank, ...]]:
    """Return what compares as versions do: a pre-release comes first, numbers before words."""
    words: tuple[_Rank, ...] = tuple(
        (0, int(word), "") if word.isdecimal() else (1, 0, word) for word in version.pre
    )
    return version.major, version.minor, version.patch, not version.pre, words


def _normalized(text: str) -> str:
    found = _LOOSE.fullmatch(text)
    if found is None:
        return text
    numbers = [str(int(part or "0")) for part in found.groups()[:_PARTS]]
    return ".".join(numbers) + (found.group(_PARTS + 1) or "")

"""What every record of the API has in common: names, immutability, how JSON becomes one."""

from __future__ import annotations

import msgspec

__all__ = ["Record"]


class Record(
    msgspec.Struct, rename="camel", frozen=True, kw_only=True, omit_defaults=True, gc=False
):
    """A read-only API object or a part of one; Python names are the API's in snake_case.

    Unknown JSON fields are skipped. Records hold no cycles, so the garbage collector does not
    track them: a hundred thousand pods cost it nothing.
    """

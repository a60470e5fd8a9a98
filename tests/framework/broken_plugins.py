"""Modules' contents that an entry point may name by mistake."""

from __future__ import annotations

NOT_A_PLUGIN = 3


class NotASubclass:
    """Nothing of moorage's."""

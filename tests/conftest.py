"""What all tests share: how hypothesis looks for counterexamples."""

from __future__ import annotations

import os

from hypothesis import settings

# A slow machine is no bug. In CI the same examples run each time, so that a red build means that
# the change did it; elsewhere each run looks at new ones.
settings.register_profile("moorage", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("moorage")

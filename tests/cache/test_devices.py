"""Claims, slices and classes in the cache, against the plainest way to find them."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import msgspec
from hypothesis import given

from moorage.cache.devices import ClaimStore, ClassStore, SliceStore
from moorage.model import DeviceClass, ResourceClaim, ResourceSlice

NAMES = st.sampled_from(["a", "b", "c"])


@st.composite
def claims(draw: st.DrawFn) -> ResourceClaim:
    """Draw a claim, perhaps with an owner, perhaps with devices."""
    owners = draw(st.lists(st.sampled_from(["p1", "p2"]), max_size=1))
    status: dict[str, Any] = {"allocation": {}} if draw(st.booleans()) else {}
    name = draw(NAMES)
    return msgspec.convert(
        {
            "metadata": {
                "name": name,
                "namespace": "ns",
                "uid": draw(st.sampled_from([f"{name}1", f"{name}2"])),
                "ownerReferences": [{"uid": one, "controller": True} for one in owners],
            },
            "status": status,
        },
        ResourceClaim,
    )


@given(st.lists(claims() | NAMES, max_size=20))
def test_claims_are_found_as_they_are_now(changes: list[ResourceClaim | str]) -> None:
    """By name, by uid, by owner; whoever listens hears of each that came, changed or went."""
    store = ClaimStore()
    plain: dict[str, ResourceClaim] = {}
    heard: list[str] = []
    store.listeners.append(heard.append)
    for change in changes:
        before = plain.get(change if isinstance(change, str) else change.metadata.name)
        heard.clear()
        if isinstance(change, str):
            assert store.drop("ns", change) == plain.pop(change, None)
            assert heard == ([] if before is None else [before.metadata.uid])
        else:
            assert store.put(change) == before
            plain[change.metadata.name] = change
            replaced = {before.metadata.uid} if before is not None else set()
            assert set(heard) == replaced | {change.metadata.uid} or heard == [change.metadata.uid]
        store.check_invariants()
        assert {one.metadata.name: one for one in store} == plain


@given(
    st.lists(st.tuples(NAMES, st.sampled_from(["x", "y"]), st.integers(1, 2)) | NAMES, max_size=20)
)
def test_slices_are_found_by_pool(changes: list[tuple[str, str, int] | str]) -> None:
    """Also those that moved to another pool; a pool's version grows with each change of it."""
    store = SliceStore()
    for change in changes:
        before = dict(store.pools)
        if isinstance(change, str):
            store.drop(change)
        else:
            name, pool, generation = change
            spec = {"driver": "d", "pool": {"name": pool, "generation": generation}}
            store.put(msgspec.convert({"metadata": {"name": name}, "spec": spec}, ResourceSlice))
        store.check_invariants()
        assert all(version >= before.get(key, 0) for key, version in store.pools.items())


def make_class(
    name: str, resource: str | None = None, *, at: str = "2026-01-01T00:00:00Z"
) -> DeviceClass:
    """Make a class of some age."""
    return msgspec.convert(
        {
            "metadata": {"name": name, "creationTimestamp": at},
            "spec": {"extendedResourceName": resource},
        },
        DeviceClass,
    )


def test_newest_class_stands_behind_a_resource() -> None:
    """Of those of one age the first by name; every class by its own name too."""
    store = ClassStore()
    resource = "example.com/gpu"
    for name, at in (
        ("c", "2026-01-01T00:00:00Z"),
        ("b", "2026-02-01T00:00:00Z"),
        ("a", "2026-02-01T00:00:00Z"),
    ):
        store.put(make_class(name, resource, at=at))

    def found() -> str | None:
        one = store.for_resource(resource)
        return None if one is None else one.metadata.name

    assert found() == "a"
    store.drop("a")
    assert found() == "b"
    store.put(make_class("b"))
    assert found() == "c"
    store.drop("c")
    assert found() is None
    implicit = store.for_resource("deviceclass.resource.kubernetes.io/b")
    assert implicit is not None
    assert implicit.metadata.name == "b"

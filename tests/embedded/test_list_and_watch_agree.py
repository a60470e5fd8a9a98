"""Property: a list and the watch that follows it always lead to what the store holds."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.embedded import EmbeddedApiServer, ManualClock

NAMES = st.sampled_from(["a", "b", "c", "d"])
LABELS = st.dictionaries(st.sampled_from(["app", "tier"]), st.sampled_from(["x", "y"]))
ACTIONS: st.SearchStrategy[tuple[str, str, dict[str, str]]] = st.one_of(
    st.tuples(st.just("create"), NAMES, LABELS),
    st.tuples(st.just("label"), NAMES, LABELS),
    st.tuples(st.just("delete"), NAMES, st.just({})),
)
SELECTORS = st.sampled_from(["", "app", "app=x", "app!=x,tier", "!tier"])


def act(server: EmbeddedApiServer, action: tuple[str, str, dict[str, str]]) -> None:
    """Do one thing to a ConfigMap, if it can be done."""
    kind, name, labels = action
    store = server.store
    present = {item["metadata"]["name"] for item in store.list("configmaps")}
    item: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default", "labels": labels},
    }
    if kind == "create" and name not in present:
        store.create(item)
    elif kind == "label" and name in present:
        store.update(item)
    elif kind == "delete" and name in present:
        store.delete("configmaps", name, namespace="default")


@given(before=st.lists(ACTIONS), after=st.lists(ACTIONS, max_size=30), selector=SELECTORS)
@settings(deadline=None, max_examples=60)
def test_a_list_and_its_watch_rebuild_the_store(
    before: list[tuple[str, str, dict[str, str]]],
    after: list[tuple[str, str, dict[str, str]]],
    selector: str,
) -> None:
    """Apply the events to the list; they are consistent at every step, the result is the store's."""
    server = EmbeddedApiServer(kubelet=False, clock=ManualClock())
    store = server.store
    for action in before:
        act(server, action)
    mirror = {
        item["metadata"]["name"]: item for item in store.list("configmaps", label_selector=selector)
    }
    watch = store.watch("configmaps", label_selector=selector, start=store.registry.version)
    resource = store.registry.catalogue.named("configmaps")
    for action in after:
        act(server, action)
        store.registry.shelf(resource).check_invariants()
    for event in watch.pending():
        name = event.version.key.name
        assert (name in mirror) is (event.type != "ADDED")
        if event.type == "DELETED":
            del mirror[name]
        else:
            mirror[name] = event.version.as_dict(resource)
    held = store.list("configmaps", label_selector=selector)
    assert sorted(mirror) == [item["metadata"]["name"] for item in held]
    assert list(dict(sorted(mirror.items())).values()) == held

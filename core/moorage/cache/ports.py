"""Host ports in use, by protocol and port."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from moorage.model.pod_info import HostPort, PodInfo

__all__ = ["EVERY_ADDRESS", "HostPortIndex", "conflicts"]

EVERY_ADDRESS = "0.0.0.0"  # noqa: S104 - the API's word for every address, nothing listens here


def conflicts(one: HostPort, other: HostPort) -> bool:
    """Say whether two pods cannot have these ports on one node.

    Rule: same protocol and port, and the same address or either of them every address.
    """
    return (one.protocol, one.port) == (other.protocol, other.port) and (
        one.ip == other.ip or EVERY_ADDRESS in {one.ip, other.ip}
    )


class HostPortIndex:
    """Who uses a port where: (protocol, port) -> row -> address -> number of pods."""

    def __init__(self) -> None:
        self._uses: dict[tuple[str, int], dict[int, dict[str, int]]] = {}

    def add(self, row: int, ports: Iterable[HostPort]) -> None:
        """Take ports on a row."""
        for ip, protocol, port in ports:
            addresses = self._uses.setdefault((protocol, port), {}).setdefault(row, {})
            addresses[ip] = addresses.get(ip, 0) + 1

    def remove(self, row: int, ports: Iterable[HostPort]) -> None:
        """Give ports on a row back."""
        for ip, protocol, port in ports:
            rows = self._uses[protocol, port]
            addresses = rows[row]
            addresses[ip] -= 1
            if not addresses[ip]:
                del addresses[ip]
            if not addresses:
                del rows[row]
            if not rows:
                del self._uses[protocol, port]

    def rows_in_conflict(self, ports: Iterable[HostPort]) -> set[int]:
        """Return the rows on which one of the ports is taken; O(users of these ports)."""
        taken: set[int] = set()
        for ip, protocol, port in ports:
            for row, addresses in self._uses.get((protocol, port), {}).items():
                if ip == EVERY_ADDRESS or ip in addresses or EVERY_ADDRESS in addresses:
                    taken.add(row)
        return taken

    def check_invariants(self, pods: Mapping[int, Iterable[PodInfo]]) -> None:
        """Raise AssertionError where the index differs from the pods on rows."""
        expected = HostPortIndex()
        for row, infos in pods.items():
            for info in infos:
                expected.add(row, info.host_ports)
        assert self._uses == expected._uses

"""The cluster as typed records: pods, nodes, workloads, quantities, selectors, events; no I/O, no NumPy."""

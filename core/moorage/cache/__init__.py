"""The cluster as arrays: one row a node, with assumed pods, generations and views."""

"""One pod, one decision; pure: no await, no I/O, no clock but the one it is given."""

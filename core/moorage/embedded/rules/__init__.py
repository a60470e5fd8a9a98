"""What an object has to look like: JSON types (a 400), values and changes (a 422).

In: pods, nodes, events, workloads, priority classes, and the metadata of all kinds, as far as
scheduling reads them, in the sentences of a real API server. Out: defaults and admission, which
come before. A check returns `Cause`s and never changes the object.
"""

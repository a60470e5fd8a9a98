"""What a plugin author reads: extension points, verdicts, notes, and how a profile is assembled.

In: plugin classes and arguments. Out: a `Framework`, the hooks of one profile resolved into
ordered calls. Not here: configuration files (`moorage.config`), when hooks are called
(`moorage.cycle`, `moorage.binding`, `moorage.queueing`). May import `cache`, `api`, `model`, `errors`.

Read `hookspecs.py` first: it is the contract. `assembly.py` makes a profile, and `profile.py` is
one; `host.py` finds the plugins, `handle.py` is what each is given.
"""

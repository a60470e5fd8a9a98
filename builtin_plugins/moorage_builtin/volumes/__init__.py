"""What the plugins about volumes have in common.

`claims.py` says which claims a pod uses and what is wrong with them, `hints.py` whether one that came
is among them, `reach.py` from which nodes a volume can be reached, `translation.py` what became of
kinds of volumes that CSI drivers took over.
"""

"""The plugins that kube-scheduler has built in, equal to its release 1.36.

One module a plugin, named after it. They come through the same entry points and use the same
public names, `moorage` and `moorage.model`, as anybody's plugin.
"""

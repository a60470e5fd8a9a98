"""The public kit for plugin authors."""

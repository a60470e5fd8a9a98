"""An in-memory Kubernetes API server over real HTTP, for running without a cluster."""

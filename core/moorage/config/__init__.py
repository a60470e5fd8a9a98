"""KubeSchedulerConfiguration: read, checked, merged with the defaults, turned into profiles."""

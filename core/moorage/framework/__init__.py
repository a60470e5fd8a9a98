"""What a plugin author reads: extension points, verdicts, cycle state, the host and profiles."""

"""Health, metrics and debug endpoints."""

"""A decision becomes a write to the API; a failure is undone and handed back as a requeue request."""

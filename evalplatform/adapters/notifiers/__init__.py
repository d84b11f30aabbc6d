"""Takes alerts to people: by mail, and by a signed webhook."""

"""Reviews that are owed, their leases, and what is on its way."""

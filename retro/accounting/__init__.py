"""From facts to a report: the only room that turns ids, instants and decimals into arrays and back. Pure."""

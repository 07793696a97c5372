"""Everything that belongs to an agent, whatever table it lies in: counted, deleted, renamed, carried elsewhere."""

"""What an agent remembers: experience and records, weighted by how things turned out."""

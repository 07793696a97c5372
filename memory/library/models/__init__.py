"""Models of sentences that can be plugged in, each behind the protocol `Embedder`."""
